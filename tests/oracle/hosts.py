"""Which nodes will there be? Those of the snapshot, those of a plan, and the pods on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail import labels as well_known
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.taints import Taint
from dovetail.units import duration
from tests.oracle.filters import UNSCHEDULABLE, daemon_belongs
from tests.oracle.world import Host, World

ATTACH: Final = "attach/"

# What a starting node is expected to lose by itself.
_STARTING_TAINTS: Final = (
    ("node.kubernetes.io/not-ready", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
    ("karpenter.sh/unregistered", "NoExecute"),
)
_SIMULATED: Final = {well_known.REGISTERED: "true", well_known.INITIALIZED: "true"}


def is_leaving(snapshot: Snapshot, node: Node) -> bool:
    """Whether the node is on its way out, by its own word, since a disruption has begun, or since
    its instance will soon be gone.
    """
    terminating = ("InstanceTerminating", "True")
    is_marked = any(one.node == node.name for one in snapshot.ledger.disrupting) or any(
        one.provider_id == node.provider_id for one in snapshot.ledger.endings
    )
    is_ending = any((one.type, one.status) == terminating for one in node.conditions)
    return is_marked or is_ending or node.deleting_at is not None


def is_starting(node: Node) -> bool:
    """Whether the node is ours and not yet what it will be."""
    return bool(node.node_pool or node.node_claim) and not node.is_initialized


def standing_taints(node: Node) -> tuple[Taint, ...]:
    """The taints that will still be there when the node has started."""
    if not is_starting(node):
        return node.taints
    passing = {(one.key, one.effect) for one in node.startup_taints} | set(_STARTING_TAINTS)
    return tuple(
        one
        for one in node.taints
        if (one.key, one.effect) not in passing and not one.key.startswith("readiness.k8s.io/")
    )


def existing_host(snapshot: Snapshot, node: Node, bound: Iterable[Pod]) -> Host:
    """A node of the snapshot; daemon sets that belong there but have not come keep their room.

    A cordon is a taint too (which the node controller adds), but daemon pods put up with it.
    """
    labels = {well_known.HOSTNAME: node.name, **node.labels}
    if node.node_pool:
        labels[well_known.NODE_POOL] = node.node_pool
    taints = standing_taints(node)
    there = {(pod.namespace, pod.owner.name) for pod in bound if pod.owner and pod.is_daemon}
    seen_as = {**_SIMULATED, **labels} if node.node_pool else labels
    kinds = {one.name: one for one in snapshot.instance_types.get(node.node_pool, ())}
    kind = kinds.get(node.labels.get(well_known.INSTANCE_TYPE, ""))
    allocatable, attach_limits = dict(node.allocatable), node.attach_limits
    if is_starting(node):
        # A device plugin reports late: until the node is initialized, the type's word fills gaps,
        # and where nobody knows the type, what the node is said to have.
        known = {name: amount for name, amount in node.allocatable.items() if amount}
        promised = kind.allocatable if kind else {}
        allocatable = {**node.capacity, **promised, **known}
        attach_limits = node.attach_limits or (kind.attach_limits if kind else {})
    return Host(
        name=node.name,
        labels=labels,
        taints=(*taints, UNSCHEDULABLE) if node.is_unschedulable else taints,
        allocatable=allocatable,
        attach_limits=attach_limits,
        daemons=tuple(
            daemon
            for daemon in snapshot.daemon_sets
            if (daemon.namespace, daemon.name) not in there
            and daemon_belongs(daemon, seen_as, taints, node.name)
        ),
        is_unschedulable=node.is_unschedulable,
    )


def launched_host(snapshot: Snapshot, launch: Launch) -> Host:
    """The node that a launch will become. Allocatable is the chosen type's, not the plan's word."""
    labels = {
        **launch.labels,
        well_known.HOSTNAME: launch.name,
        well_known.NODE_POOL: launch.node_pool,
    }
    kinds = {one.name: one for one in snapshot.instance_types.get(launch.node_pool, ())}
    kind = kinds.get(launch.instance_type)
    return new_host(
        snapshot,
        launch.name,
        labels=labels,
        taints=launch.taints,
        holds=({}, {}) if kind is None else (kind.allocatable, kind.attach_limits),
    )


def new_host(
    snapshot: Snapshot,
    name: str,
    *,
    labels: Mapping[str, str],
    taints: tuple[Taint, ...],
    holds: tuple[Mapping[str, int], Mapping[str, int]],
) -> Host:
    """A node that does not exist yet: every daemon set that belongs on it will run there.

    `holds` is what it can allocate and how many volumes of each driver it can attach.
    """
    seen_as = {**_SIMULATED, **labels}
    return Host(
        name=name,
        labels=labels,
        taints=taints,
        allocatable=holds[0],
        attach_limits=holds[1],
        daemons=tuple(
            daemon
            for daemon in snapshot.daemon_sets
            if daemon_belongs(daemon, seen_as, taints, name)
        ),
        is_new=True,
    )


def waiting_pods(snapshot: Snapshot, now: datetime) -> list[Pod]:
    """The pods that need a node: unbound ones, and those that will have to leave theirs.

    A pod that has been promised one needs none, be it by kube-scheduler or by an earlier plan.
    """
    leaving = {node.name for node in snapshot.nodes if is_leaving(snapshot, node)}
    return [
        pod
        for pod in snapshot.pods
        if not (pod.is_terminal or pod.is_daemon or pod.is_mirror)
        and (_must_leave(snapshot, pod, now) if pod.node_name in leaving else _is_new(pod))
        and not promised_node(snapshot, pod)
    ]


def _is_new(pod: Pod) -> bool:
    return not pod.node_name and pod.deleting_at is None


def _must_leave(snapshot: Snapshot, pod: Pod, now: datetime) -> bool:
    """Whether a pod on a node that leaves will be wanted elsewhere; a StatefulSet makes again what
    is being deleted, by the same name.
    """
    if pod.deleting_at is not None:
        return pod.owner is not None and pod.owner.kind == "StatefulSet"
    may_leave = not is_protected(pod, now) and not cannot_be_evicted(snapshot, pod)
    return may_leave or (pod.owner is not None and _is_lost(snapshot, pod.node_name))


def _is_lost(snapshot: Snapshot, name: str) -> bool:
    """Whether the machine of that node goes at an instant that is known, whatever protects it."""
    ids = {node.provider_id for node in snapshot.nodes if node.name == name}
    return any(one.provider_id in ids and one.at is not None for one in snapshot.ledger.endings)


def is_protected(pod: Pod, now: datetime) -> bool:
    """Whether its annotation forbids to disturb it."""
    wish = pod.annotations.get(well_known.DO_NOT_DISRUPT, "")
    if pod.deleting_at is not None or pod.phase in ("Succeeded", "Failed") or not wish:
        return False
    if wish == "true":
        return True
    try:
        span = duration.parse(wish)
    except ValueError:
        return False
    return span > timedelta(0) and (pod.started_at is None or now < pod.started_at + span)


def cannot_be_evicted(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether PodDisruptionBudgets keep the pod for ever: two of them, or one that wants everybody
    to be available.
    """
    n_about = n_wanting_all = 0
    for one in snapshot.disruption_budgets:
        if one.namespace != pod.namespace or not one.selector.matches(pod.labels):
            continue
        if one.always_allows_unhealthy and not pod.is_ready:
            continue
        n_about += 1
        n_wanting_all += _wants_all(one)
    return n_about > 1 or n_wanting_all > 0


def _wants_all(budget: DisruptionBudget) -> bool:
    if budget.max_unavailable:
        return budget.max_unavailable in ("0", "0%")
    if not budget.min_available:
        return False
    if budget.min_available.endswith("%"):
        percent = int(budget.min_available[:-1])
        n_needed = math.ceil(budget.expected_pods * percent / 100)
        return percent == 100 or (budget.expected_pods > 0 and n_needed >= budget.expected_pods)
    return 0 < budget.expected_pods <= int(budget.min_available)


def promised_node(snapshot: Snapshot, pod: Pod) -> str:
    """The node that an earlier plan gave to the pod, or on which kube-scheduler makes room for it,
    if that node stays; else nothing.
    """
    staying = {node.name for node in snapshot.nodes if not is_leaving(snapshot, node)}
    ours = {one.node for one in snapshot.ledger.nominations if one.pod_uid == pod.uid}
    theirs = {pod.nominated_node_name} - ours if not pod.node_name else set()
    kept = {name for name in ours & staying if _is_room_kept(snapshot, pod, name)}
    return next(iter(sorted(theirs & staying) or sorted(kept)), "")


def _is_room_kept(snapshot: Snapshot, pod: Pod, name: str) -> bool:
    """Whether the room that was promised is still there. Pods that were promised room on the same
    node before this one come first, whether they wait or have yet to leave another; where nobody is
    bound yet, nobody can have taken it.
    """
    (node,) = (one for one in snapshot.nodes if one.name == name)
    bound = [one for one in snapshot.pods if one.node_name == name and not one.is_terminal]
    if not bound:
        return True
    left = dict(node.allocatable)
    for other in bound:
        for resource, amount in other.spec.requests.items():
            left[resource] = left.get(resource, 0) - amount
    leaving = {one.name for one in snapshot.nodes if is_leaving(snapshot, one)}
    coming = {one.uid: one for one in snapshot.pods if one.node_name in {"", *leaving}}
    for promise in snapshot.ledger.nominations:
        if promise.node != name or promise.pod_uid not in coming:
            continue
        asked = coming[promise.pod_uid].spec.requests
        is_there = all(left.get(key, 0) >= amount for key, amount in asked.items() if amount)
        if promise.pod_uid == pod.uid:
            return is_there
        if is_there:
            left = {key: value - asked.get(key, 0) for key, value in left.items()}
    return True


def present_world(snapshot: Snapshot) -> World:
    """The cluster as it is: nodes that stay, and the pods on them or promised to them."""
    world = World(snapshot)
    leaving = {node.name for node in snapshot.nodes if is_leaving(snapshot, node)}
    on_node: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        is_there = pod.node_name and pod.node_name not in leaving
        where = pod.node_name if is_there else promised_node(snapshot, pod)
        if where and not pod.is_terminal:
            on_node.setdefault(where, []).append(pod)
    for node in snapshot.nodes:
        if is_leaving(snapshot, node):
            continue
        pods = on_node.get(node.name, [])
        world.add(existing_host(snapshot, node, pods))
        for pod in pods:
            world.bind(pod, node.name)
    return world


def capacity(host: Host, name: str) -> int | None:
    """What an empty node has of a resource once its daemon sets run; None means without limit."""
    if name.startswith(ATTACH):
        return host.attach_limits.get(name.removeprefix(ATTACH))
    taken = sum(daemon.spec.requests.get(name, 0) for daemon in host.daemons)
    return max(0, host.allocatable.get(name, 0) - taken)
