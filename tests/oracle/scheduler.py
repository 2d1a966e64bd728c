"""Can kube-scheduler bind these pods? All filters over one world, and orders in which to try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dovetail.model.pod import Pod
from tests.oracle import between, filters
from tests.oracle.world import Host, World

Filter = Callable[[World, Pod, Host, Iterable[Pod]], str | None]

ALONE: Final[tuple[Filter, ...]] = (
    filters.unschedulable,
    filters.taints,
    filters.node_affinity,
    filters.resources,
    filters.ports,
    filters.volume_zone,
    filters.volume_limits,
)
BETWEEN: Final[tuple[Filter, ...]] = (between.spread, between.anti_affinity, between.affinity)


def refusal(world: World, pod: Pod, host: Host) -> str | None:
    """Why kube-scheduler would not bind the pod to the node; None if it would."""
    bound = world.bound[host.name]
    for one in (*ALONE, *BETWEEN):
        reason = one(world, pod, host, bound)
        if reason is not None:
            return reason
    return None


def bind_in_order(
    world: World, host_by_pod: Mapping[str, str], order: Sequence[Pod]
) -> dict[str, str]:
    """Bind one after the other, on a copy; the reasons of those that did not pass, by pod."""
    world, refused = world.copy(), {}
    for pod in order:
        name = host_by_pod[pod.key]
        reason = refusal(world, pod, world.hosts[name])
        if reason is None:
            world.bind(pod, name)
        else:
            refused[pod.key] = f"{name}: {reason}"
    return refused


def bind_as_nodes_come(
    world: World, host_by_pod: Mapping[str, str], order: Sequence[Pod]
) -> dict[str, str]:
    """Bind as it happens: first on nodes that are there, while no other exists; then the rest.

    Pods that the nodes there refuse wait until the new ones have come, like those planned there.
    """
    present = world.copy()
    for host in world.hosts.values():
        if host.is_new:
            present.drop(host)
    there = [pod for pod in order if host_by_pod[pod.key] in present.hosts]
    refused = _bind_passing(present, host_by_pod, there)
    world = world.copy()
    for pod in there:
        if pod.key not in refused:
            world.bind(pod, host_by_pod[pod.key])
    bound = {pod.key for pod in there} - set(refused)
    return _bind_passing(world, host_by_pod, [pod for pod in order if pod.key not in bound])


def bind_in_any_order(
    world: World, host_by_pod: Mapping[str, str], pods: Sequence[Pod]
) -> dict[str, str]:
    """Bind whoever passes, pass after pass, existing nodes first; who is left when it stalls."""
    waiting = sorted(pods, key=lambda pod: (world.hosts[host_by_pod[pod.key]].is_new, pod.key))
    refused = _bind_passing(world.copy(), host_by_pod, waiting)
    if refused and any(host.is_new for host in world.hosts.values()):
        return bind_as_nodes_come(world, host_by_pod, waiting) and refused
    return refused


def _bind_passing(
    world: World, host_by_pod: Mapping[str, str], waiting: Sequence[Pod]
) -> dict[str, str]:
    """Bind whoever passes, pass after pass, in this very world; who is left when it stalls."""
    while waiting:
        refused: dict[str, str] = {}
        for pod in waiting:
            name = host_by_pod[pod.key]
            reason = refusal(world, pod, world.hosts[name])
            if reason is None:
                world.bind(pod, name)
            else:
                refused[pod.key] = f"{name}: {reason}"
        if len(refused) == len(waiting):
            return refused
        waiting = [pod for pod in waiting if pod.key in refused]
    return {}


def some_order_exists(
    world: World, host_by_pod: Mapping[str, str], pods: Sequence[Pod], *, limit: int = 4096
) -> bool:
    """Whether any order at all binds every pod; tries at most `limit` sets of bound pods."""
    seen: set[frozenset[str]] = set()

    def search(left: tuple[Pod, ...], bound: frozenset[str]) -> bool:
        if not left:
            return True
        if bound in seen or len(seen) >= limit:
            return False
        seen.add(bound)
        for index, pod in enumerate(left):
            name = host_by_pod[pod.key]
            if refusal(world, pod, world.hosts[name]) is not None:
                continue
            world.bind(pod, name)
            found = search(left[:index] + left[index + 1 :], bound | {pod.key})
            world.unbind(pod, name)
            if found:
                return True
        return False

    world = world.copy()
    return search(tuple(pods), frozenset())
