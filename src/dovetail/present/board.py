"""What does a picture of the cluster show? Nodes as boxes with their pods, pools, who waits, money.

Everything is a plain value that a page or a terminal can draw; the same cluster gives the same
picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from dovetail.decide.nodes import census, leaving
from dovetail.decide.pools import Prices, price_of, prices
from dovetail.model import resources
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.units import money

_MIB = 2**20


class NodeState(StrEnum):
    """How a node fares."""

    COMING = "coming"
    STARTING = "starting"
    READY = "ready"
    NOT_READY = "not ready"
    CORDONED = "cordoned"
    LEAVING = "leaving"


class PodState(StrEnum):
    """How a pod on a node fares. Daemons come with the node."""

    RUNNING = "running"
    STARTING = "starting"
    LEAVING = "leaving"
    DAEMON = "daemon"


class PodBox(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A pod on a node: its key, what it asks for (millicores and MiB), and how it fares."""

    key: str
    cpu: int
    memory: int
    state: PodState


class NodeBox(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A node and its pods; amounts are [used, held] in millicores and MiB."""

    name: str
    pool: str
    zone: str
    instance_type: str
    capacity_type: str
    state: NodeState
    price_per_hour: float
    cpu: tuple[int, int]
    memory: tuple[int, int]
    pods: tuple[PodBox, ...]
    claim: str = ""
    created_at: datetime | None = None


class WaitingPod(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A pod without a node: where it is to go, or why it cannot be placed and what would help."""

    key: str
    since: datetime | None
    goes_to: str = ""
    summary: str = ""
    fix: str = ""


class TypeInUse(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One way in which machines are bought, and how many there are."""

    instance_type: str
    capacity_type: str
    zone: str
    count: int
    price_per_hour: float


class Totals(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The cluster in numbers. `target_per_hour` is what it would cost at least if all that may be
    moved were bought anew; 0 when nobody knows. Utilisation is what pods ask for of what is there.
    """

    nodes: int
    pods: int
    waiting: int
    price_per_hour: float
    target_per_hour: float
    cpu_utilisation: float
    memory_utilisation: float


def node_box(node: Node, pods: Iterable[Pod], known: Prices, *, is_leaving: bool) -> NodeBox:
    """One node as it is drawn."""
    there = (pod for pod in pods if not pod.is_terminal)  # what is over takes no room
    boxes = tuple(sorted(map(pod_box, there), key=lambda one: (-one.cpu, one.key)))
    held = node.allocatable
    return NodeBox(
        name=node.name,
        pool=node.node_pool,
        zone=node.zone,
        instance_type=node.instance_type,
        capacity_type=node.capacity_type,
        state=node_state(node, is_leaving=is_leaving),
        price_per_hour=money.dollars(price_of(node, known)),
        cpu=(sum(one.cpu for one in boxes), held.get(resources.CPU, 0)),
        memory=(sum(one.memory for one in boxes), held.get(resources.MEMORY, 0) // _MIB),
        pods=boxes,
        claim=node.node_claim,
        created_at=node.created_at,
    )


def pod_box(pod: Pod) -> PodBox:
    """One pod as it is drawn."""
    asked = pod.spec.requests
    memory = asked.get(resources.MEMORY, 0) // _MIB
    return PodBox(pod.key, asked.get(resources.CPU, 0), memory, _pod_state(pod))


def _pod_state(pod: Pod) -> PodState:
    if pod.is_daemon or pod.is_mirror:
        return PodState.DAEMON
    if pod.deleting_at is not None:
        return PodState.LEAVING
    return PodState.RUNNING if pod.phase == "Running" and pod.is_ready else PodState.STARTING


def node_state(node: Node, *, is_leaving: bool) -> NodeState:
    """How a node fares, in a word."""
    if is_leaving:
        return NodeState.LEAVING
    if not node.is_registered:
        return NodeState.COMING
    if not node.is_initialized and node.node_claim:
        return NodeState.STARTING
    if not node.is_ready:
        return NodeState.NOT_READY
    return NodeState.CORDONED if node.is_unschedulable else NodeState.READY


def node_boxes(snapshot: Snapshot) -> tuple[NodeBox, ...]:
    """Every node, in order."""
    where, known, gone = census(snapshot.pods).by_node, prices(snapshot), leaving(snapshot)
    return tuple(
        node_box(one, where.get(one.name, ()), known, is_leaving=one.name in gone)
        for one in sorted(snapshot.nodes, key=lambda node: node.name)
    )


def waiting_pods(snapshot: Snapshot, plan: Plan) -> tuple[WaitingPod, ...]:
    """Every pod without a node, those that nothing helps first, then the oldest."""
    lost = {one.pod: one for one in plan.unschedulable}
    goes_to = _destinations(snapshot, plan)
    found = []
    for pod in census(snapshot.pods).unbound:
        if pod.is_terminal or pod.is_virtual or pod.deleting_at is not None:
            continue
        why = lost.get(pod.key)
        summary, fix = ("", "") if why is None else (why.summary, why.fix)
        node = "" if why else goes_to.get(pod.key, "")
        found.append(WaitingPod(pod.key, pod.created_at, node, summary, fix))
    return tuple(sorted(found, key=_urgency))


def _destinations(snapshot: Snapshot, plan: Plan) -> dict[str, str]:
    """Where pods are to go, by earlier promises and by this plan."""
    key_of = {pod.uid: pod.key for pod in census(snapshot.pods).unbound}
    held = {key_of.get(one.pod_uid, ""): one.node for one in snapshot.ledger.nominations}
    for launch in plan.launches:
        held.update(dict.fromkeys(launch.pods, launch.name))
    for one in plan.nominations:
        held.update(dict.fromkeys(one.pods, one.node))
    return held


def _urgency(one: WaitingPod) -> tuple[bool, str, str]:
    return (not one.summary, one.since.isoformat() if one.since else "", one.key)


def types_in_use(boxes: Sequence[NodeBox]) -> tuple[TypeInUse, ...]:
    """What the nodes are, the dearest first. Pools may pay different prices for the same."""
    count = Counter(
        (one.instance_type, one.capacity_type, one.zone, one.price_per_hour) for one in boxes
    )
    found = [
        TypeInUse(name, capacity_type, zone, n, price)
        for (name, capacity_type, zone, price), n in count.items()
    ]
    return tuple(sorted(found, key=_dearest))


def _dearest(one: TypeInUse) -> tuple[float, str, str, str, float]:
    spent = one.count * one.price_per_hour
    return (-spent, one.instance_type, one.capacity_type, one.zone, one.price_per_hour)


def totals(boxes: Sequence[NodeBox], n_waiting: int, target_nanousd: int) -> Totals:
    """The sums. The target is of the last decision: what has gone since then lowers it, too."""
    paid = sum(one.price_per_hour for one in boxes)
    return Totals(
        nodes=len(boxes),
        pods=sum(len(one.pods) for one in boxes),
        waiting=n_waiting,
        price_per_hour=paid,
        target_per_hour=min(paid, money.dollars(target_nanousd)),
        cpu_utilisation=_share([one.cpu for one in boxes]),
        memory_utilisation=_share([one.memory for one in boxes]),
    )


def _share(pairs: Sequence[tuple[int, int]]) -> float:
    held = sum(one for _, one in pairs)
    return sum(used for used, _ in pairs) / held if held else 0.0


def by_name(boxes: Iterable[NodeBox]) -> Mapping[str, NodeBox]:
    """The boxes by their names."""
    return {one.name: one for one in boxes}
