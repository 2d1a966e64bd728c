"""Of all who run on nodes that stay, who matters to those that move?

Nearly everybody only takes room. Such pods are left out of the puzzle, and what they take is taken
off their node; who is named by a selector of those that move, keeps some of them away, or competes
for ports and volumes, stays in. So a probe costs what its pods are tied to, not what the cluster
runs; its answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.resources import CPU, MEMORY, PODS
from dovetail.model.topology import LabelSelector

_COMMON: Final = (CPU, MEMORY, PODS)


class Crowd(msgspec.Struct, frozen=True):
    """Running pods that nobody else can tell apart."""

    spec: PodSpec
    labels: Mapping[str, str]
    is_daemon: bool
    has_volumes: bool
    pods: tuple[Pod, ...]


class Crowds(msgspec.Struct, frozen=True):
    """All running pods by crowd, and the nodes with only what those leave of them."""

    crowds: tuple[Crowd, ...]
    left: tuple[Node, ...]


class Remainder(msgspec.Struct, frozen=True):
    """The nodes and pods that matter, as the puzzle sees them."""

    nodes: tuple[Node, ...]
    bound: tuple[Pod, ...]


def crowds_of(nodes: Iterable[Node], pods_by_node: Mapping[str, Sequence[Pod]]) -> Crowds:
    """Sort the running pods, once for all probes."""
    alike: dict[tuple[object, ...], list[Pod]] = {}
    left = []
    for node in nodes:
        room = dict(node.allocatable)
        for pod in pods_by_node.get(node.name, ()):
            alike.setdefault(_likeness(pod), []).append(pod)
            for name, amount in pod.spec.requests.items():
                room[name] = room.get(name, 0) - amount
        left.append(msgspec.structs.replace(node, allocatable=room))
    return Crowds(tuple(_crowd(tuple(pods)) for pods in alike.values()), tuple(left))


def _likeness(pod: Pod) -> tuple[object, ...]:
    labels = tuple(sorted(pod.labels.items()))
    return (id(pod.spec), pod.namespace, labels, pod.is_daemon, bool(pod.claim_names))


def _crowd(pods: tuple[Pod, ...]) -> Crowd:
    first = pods[0]
    return Crowd(first.spec, first.labels, first.is_daemon, bool(first.claim_names), pods)


def remainder(crowds: Crowds, moving: Sequence[Pod], gone: frozenset[str]) -> Remainder:
    """What matters to pods that move once these nodes are gone."""
    specs = list({id(pod.spec): pod.spec for pod in moving}.values())
    selectors = [one for spec in specs for one in _selectors(spec)]
    bound = tuple(
        pod
        for crowd in crowds.crowds
        if _matters(crowd, moving, selectors)
        for pod in crowd.pods
        if pod.node_name not in gone
    )
    given_back: dict[str, dict[str, int]] = {}
    for pod in bound:
        room = given_back.setdefault(pod.node_name, {})
        for name, amount in pod.spec.requests.items():
            room[name] = room.get(name, 0) + amount
    # Where others stand, and which domains there are, counts for those that are tied to others.
    least = {} if any(_is_tied(spec) for spec in specs) else _least(specs)
    nodes = (node for node in crowds.left if node.name not in gone)
    return Remainder(tuple(_kept(nodes, given_back, least)), bound)


def _kept(
    nodes: Iterable[Node], given_back: Mapping[str, Mapping[str, int]], least: Mapping[str, int]
) -> Iterator[Node]:
    """The nodes that matter, those that do with the room that their pods are counted in."""
    for node in nodes:
        room = given_back.get(node.name)
        if room is not None:
            held = {name: amount + room.get(name, 0) for name, amount in node.allocatable.items()}
            yield msgspec.structs.replace(node, allocatable=held)
        elif all(node.allocatable.get(name, 0) >= amount for name, amount in least.items()):
            yield node


def _least(specs: Iterable[PodSpec]) -> dict[str, int]:
    """The least that any of them asks for: who has less has room for none."""
    found = list(specs)
    return {name: min(spec.requests.get(name, 0) for spec in found) for name in _COMMON}


def _is_tied(spec: PodSpec) -> bool:
    return any(True for _ in _selectors(spec))


def _selectors(spec: PodSpec) -> Iterator[LabelSelector]:
    """Whom a pod names: to be near, away from, or evenly spread among."""
    yield from (one.selector for one in spec.spread)
    yield from (one.selector for one in (*spec.affinity, *spec.anti_affinity))
    preferred = (*spec.preferred_affinity, *spec.preferred_anti_affinity)
    yield from (one.selector for _, one in preferred)


def _matters(crowd: Crowd, moving: Sequence[Pod], selectors: Sequence[LabelSelector]) -> bool:
    """Whether pods of a crowd are more than room that is taken. Namespaces are not asked: one who
    stays in for nothing changes nothing.
    """
    if crowd.is_daemon:  # it says which daemon pods have come already
        return True
    if crowd.has_volumes and any(pod.claim_names for pod in moving):
        return True
    if crowd.spec.host_ports and any(pod.spec.host_ports for pod in moving):
        return True
    if any(one.matches(crowd.labels) for one in selectors):
        return True
    shy = crowd.spec.anti_affinity
    return any(term.selector.matches(pod.labels) for term in shy for pod in moving)
