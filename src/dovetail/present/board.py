"""Computes the picture of the cluster: nodes with their pods, pools, pending pods, prices.

Everything is a plain value that a page or a terminal can draw; the same cluster gives the same
picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from dovetail.decide.disrupt.calendar import calendars
from dovetail.decide.nodes import census, leaving_nodes
from dovetail.decide.pools import Prices, price_of, prices
from dovetail.model import resources
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES, total
from dovetail.model.snapshot import Snapshot
from dovetail.present.budgets import BudgetBlock, BudgetCalendar, budget_blocks
from dovetail.units import money, quantity

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
    boxes = tuple(sorted(map(pod_box, there), key=lambda box: (-box.cpu, box.key)))
    allocatable = node.allocatable
    return NodeBox(
        name=node.name,
        pool=node.node_pool,
        zone=node.zone,
        instance_type=node.instance_type,
        capacity_type=node.capacity_type,
        state=node_state(node, is_leaving=is_leaving),
        price_per_hour=money.dollars(price_of(node, known)),
        cpu=(sum(box.cpu for box in boxes), allocatable.get(resources.CPU, 0)),
        memory=(sum(box.memory for box in boxes), allocatable.get(resources.MEMORY, 0) // _MIB),
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
    where, known, gone = census(snapshot.pods).by_node, prices(snapshot), leaving_nodes(snapshot)
    return tuple(
        node_box(item, where.get(item.name, ()), known, is_leaving=item.name in gone)
        for item in sorted(snapshot.nodes, key=lambda node: node.name)
    )


def waiting_pods(snapshot: Snapshot, plan: Plan) -> tuple[WaitingPod, ...]:
    """Every pod without a node, those that nothing helps first, then the oldest."""
    lost = {verdict.pod: verdict for verdict in plan.unschedulable}
    goes_to = _destinations(snapshot, plan)
    pods = []
    for pod in census(snapshot.pods).unbound:
        if pod.is_terminal or pod.is_virtual or pod.deleting_at is not None:
            continue
        why = lost.get(pod.key)
        summary, fix = ("", "") if why is None else (why.summary, why.fix)
        node = "" if why else goes_to.get(pod.key, "")
        pods.append(WaitingPod(pod.key, pod.created_at, node, summary, fix))
    return tuple(sorted(pods, key=_urgency))


def _destinations(snapshot: Snapshot, plan: Plan) -> dict[str, str]:
    """Where pods are to go, by earlier promises and by this plan."""
    key_of = {pod.uid: pod.key for pod in census(snapshot.pods).unbound}
    destinations = {key_of.get(item.pod_uid, ""): item.node for item in snapshot.ledger.nominations}
    for launch in plan.launches:
        destinations.update(dict.fromkeys(launch.pods, launch.name))
    for nomination in plan.nominations:
        destinations.update(dict.fromkeys(nomination.pods, nomination.node))
    return destinations


def _urgency(pod: WaitingPod) -> tuple[bool, str, str]:
    return (not pod.summary, pod.since.isoformat() if pod.since else "", pod.key)


def types_in_use(boxes: Sequence[NodeBox]) -> tuple[TypeInUse, ...]:
    """What the nodes are, the dearest first. Pools may pay different prices for the same."""
    count = Counter(
        (box.instance_type, box.capacity_type, box.zone, box.price_per_hour) for box in boxes
    )
    type_in_uses = [
        TypeInUse(name, capacity_type, zone, n, price)
        for (name, capacity_type, zone, price), n in count.items()
    ]
    return tuple(sorted(type_in_uses, key=_dearest))


def _dearest(use: TypeInUse) -> tuple[float, str, str, str, float]:
    spent = use.count * use.price_per_hour
    return (-spent, use.instance_type, use.capacity_type, use.zone, use.price_per_hour)


def totals(boxes: Sequence[NodeBox], n_waiting: int, target_nanousd: int) -> Totals:
    """The sums. The target is of the last decision: what has gone since then lowers it, too."""
    paid = sum(box.price_per_hour for box in boxes)
    return Totals(
        nodes=len(boxes),
        pods=sum(len(box.pods) for box in boxes),
        waiting=n_waiting,
        price_per_hour=paid,
        target_per_hour=min(paid, money.dollars(target_nanousd)),
        cpu_utilisation=_share([box.cpu for box in boxes]),
        memory_utilisation=_share([box.memory for box in boxes]),
    )


def _share(pairs: Sequence[tuple[int, int]]) -> float:
    total = sum(item for _, item in pairs)
    return sum(used for used, _ in pairs) / total if total else 0.0


def by_name(boxes: Iterable[NodeBox]) -> Mapping[str, NodeBox]:
    """The boxes by their names."""
    return {box.name: box for box in boxes}


_SPAN: Final = timedelta(days=7)


class LimitRow(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How much of one limit is used, in words and as a share."""

    resource: str
    used: str
    limit: str
    share: float


class PoolCard(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One NodePool. `problems` say why nothing can be launched from it."""

    name: str
    weight: int
    nodes: int
    price_per_hour: float
    limits: tuple[LimitRow, ...]
    budgets: BudgetBlock
    problems: tuple[str, ...]


def pool_cards(snapshot: Snapshot, now: datetime) -> tuple[PoolCard, ...]:
    """Every pool, by name."""
    until = now + _SPAN
    pool_calendars = calendars(snapshot, now, until)
    blocks = budget_blocks(BudgetCalendar(pool_calendars, starts_at=now, ends_at=until))
    pairs = zip(pool_calendars, blocks, strict=True)
    return tuple(_card(pool_calendar.node_pool, block, snapshot) for pool_calendar, block in pairs)


def _card(pool: NodePool, block: BudgetBlock, snapshot: Snapshot) -> PoolCard:
    known = prices(snapshot)
    nodes = [node for node in snapshot.nodes if node.node_pool == pool.name]
    result = {**total(node.capacity for node in nodes), NODES: len(nodes)}
    return PoolCard(
        name=pool.name,
        weight=pool.weight,
        nodes=len(nodes),
        price_per_hour=money.dollars(sum(price_of(node, known) for node in nodes)),
        limits=tuple(
            LimitRow(
                name,
                quantity.render(name, result.get(name, 0)),
                quantity.render(name, limit),
                result.get(name, 0) / limit if limit else 1.0,
            )
            for name, limit in sorted(pool.limits.items())
        ),
        budgets=block,
        problems=tuple(problem.message for problem in pool.problems),
    )
