"""Lists nodes with utilisation and price, sorted and filtered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf
from typing import Final

import msgspec

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.present.board import NodeBox, Totals, node_boxes, totals, waiting_pods
from dovetail.present.plan import Json, instant
from dovetail.present.table import listing, plural


class SortKey(StrEnum):
    """What nodes can be sorted by."""

    NAME = "name"
    PRICE = "price"
    CPU = "cpu"
    MEMORY = "memory"
    AGE = "age"
    POOL = "pool"


class NodeList(msgspec.Struct, frozen=True):
    """Every node at a moment, by name, and the sums."""

    now: datetime
    nodes: tuple[NodeBox, ...]
    totals: Totals


class NodeListView(msgspec.Struct, frozen=True):
    """How a reader wants the nodes: by what, the other way round or not, and only those in which
    every word of `text` occurs.
    """

    sort: SortKey = SortKey.NAME
    is_reversed: bool = False
    text: str = ""


def node_list(snapshot: Snapshot, now: datetime) -> NodeList:
    """The nodes of a cluster. Nothing is decided: pods that have no node just wait."""
    boxes = node_boxes(snapshot)
    n_waiting = len(waiting_pods(snapshot, Plan()))
    return NodeList(now, boxes, totals(boxes, n_waiting, 0))


# By a number, then by a text; whether it falls: the dearest and the fullest first, and the oldest,
# whose instant is the least.
_ORDER: Final[Mapping[SortKey, tuple[Callable[[NodeBox], tuple[float, str]], bool]]] = {
    SortKey.NAME: (lambda box: (0.0, box.name), False),
    SortKey.PRICE: (lambda box: (box.price_per_hour, ""), True),
    SortKey.CPU: (lambda box: (percent(box.cpu), ""), True),
    SortKey.MEMORY: (lambda box: (percent(box.memory), ""), True),
    SortKey.AGE: (lambda box: (_created_at(box), ""), False),
    SortKey.POOL: (lambda box: (0.0, box.pool), False),
}


def _created_at(box: NodeBox) -> float:
    return inf if box.created_at is None else box.created_at.timestamp()


def arrange(nodes: Sequence[NodeBox], wish: NodeListView) -> tuple[NodeBox, ...]:
    """The nodes that are asked for, in the order that is; those that are equal by name."""
    words = wish.text.casefold().split()
    boxes = [node for node in nodes if _has(node, words)] if words else list(nodes)
    boxes.sort(key=lambda node_box: node_box.name)
    by, is_falling = _ORDER[wish.sort]
    boxes.sort(key=by, reverse=is_falling != wish.is_reversed)
    return tuple(boxes)


def _has(box: NodeBox, words: Sequence[str]) -> bool:
    """Whether every word occurs in something that is shown of the node."""
    shown = (
        box.name, box.pool, box.zone, box.instance_type, box.capacity_type, box.state, box.claim
    )  # fmt: skip
    text = "\n".join(shown).casefold()
    return all(word in text for word in words)


def percent(pair: tuple[int, int]) -> int:
    """How much of what is held is used, rounded down, so that 100 means really full."""
    used, whole = pair
    return 100 * used // whole if whole else 0


def age(created_at: datetime | None, now: datetime) -> str:
    """How old something is, in one unit, as `kubectl` says it; empty if nobody knows."""
    if created_at is None:
        return ""
    seconds = max(0, int((now - created_at) / timedelta(seconds=1)))
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def unpriced_remark(nodes: Sequence[NodeBox]) -> str:
    """A remark on nodes of pools whose price nobody knows; empty if there are none."""
    lost = [node for node in nodes if node.pool and not node.price_per_hour]
    if not lost:
        return ""
    types = sorted({node_box.instance_type or "no type" for node_box in lost})
    return (
        f"Price unknown for {plural(len(lost), 'node')} ({listing(types)}), counted as zero; "
        "name the catalogue with --catalog."
    )


def nodes_json(
    listed: NodeList, shown: Sequence[NodeBox], notes: Sequence[str] = ()
) -> dict[str, Json]:
    """Some of the nodes as data, and the sums over all of them."""
    sums = listed.totals
    return {
        "now": instant(listed.now),
        "nodes": [_node_json(node_box) for node_box in shown],
        "totals": {
            "nodes": sums.nodes,
            "pods": sums.pods,
            "waiting": sums.waiting,
            "pricePerHour": round(sums.price_per_hour, 9),
            "cpuUtilisation": round(sums.cpu_utilisation, 4),
            "memoryUtilisation": round(sums.memory_utilisation, 4),
        },
        "notes": list(notes),
    }


def _node_json(box: NodeBox) -> Json:
    return {
        "name": box.name,
        "state": str(box.state),
        "nodePool": box.pool,
        "nodeClaim": box.claim,
        "instanceType": box.instance_type,
        "capacityType": box.capacity_type,
        "zone": box.zone,
        "pricePerHour": box.price_per_hour,
        "cpuMillis": {"requested": box.cpu[0], "allocatable": box.cpu[1]},
        "memoryMebibytes": {"requested": box.memory[0], "allocatable": box.memory[1]},
        "pods": [pod.key for pod in box.pods],
        "createdAt": None if box.created_at is None else instant(box.created_at),
    }
