"""Computes what a move must save to pay for what it disturbs (designs/0008).

    toll_of  what a move costs, and for how long what it moves has stood

A saving is expected to last as long as the pods that move have stood where they are, at most a
week: who has just come may be gone again soon, who has stood for days likely stays. So a pod is
moved again only for a saving that has made up for it by the time it has stood as long as before,
and the same pods are not moved back and forth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.disrupt.cost import (
    LONGEST_SECONDS,
    START_SECONDS,
    Toil,
    occupied_price,
    standing_seconds,
    toil,
)
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.nodes import recalled
from dovetail.decide.pools import Prices, launch_price, pools_by_name, price_of, whole_prices
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

_SHORTEST_SECONDS: Final = 60
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_MOMENT: Final = timedelta(microseconds=1)


class Toll(msgspec.Struct, frozen=True):
    """What is paid for in vain (a price an hour, times seconds), for how long what moves has stood,
    and what the operator wants at least.
    """

    lost: int = 0
    stood_seconds: int = LONGEST_SECONDS
    wanted_nanousd: int = 0

    @property
    def least_nanousd(self) -> int:
        """More than this must be saved an hour."""
        return max(self.wanted_nanousd, self.lost // self.stood_seconds)

    def pays_at(self, saved_nanousd: int, now: datetime) -> datetime | None:
        """When a saving of so much will pay, to the minute; None if it never does."""
        if saved_nanousd <= self.wanted_nanousd:
            return None
        needed = self.lost // saved_nanousd + 1
        if needed >= LONGEST_SECONDS:
            return None
        at = _minute(now) + max(0, needed - self.stood_seconds) * _SECOND
        return max(now, _minute(at + _MINUTE - _MOMENT))


def toll_of(
    moving: Iterable[Pod],
    *,
    going: Sequence[Node],
    launches: Sequence[Launch],
    snapshot: Snapshot,
    now: datetime,
) -> Toll:
    """What it costs to move these pods off nodes that go. The same for the whole of a minute, but
    for the work of Jobs.
    """
    known = whole_prices(snapshot)
    places = {node.name: _place(node, snapshot, known) for node in going}
    renewed = {pod for launch in launches for pod in launch.pods}
    ordinary = _ordinary_price(snapshot.nodes, snapshot.pods, known)
    lost = stood = wanted = 0
    minute = _minute(now)
    for pod in moving:
        place = places.get(pod.node_name)
        if place is None or pod.is_virtual:
            continue
        is_new = bool(renewed) and pod.key in renewed
        done = toil(pod, now, place.restart_seconds, is_new=is_new)
        paid = _lost(done, occupied_price(pod, place.price_nanousd, place.allocatable), ordinary)
        lost += paid
        stood += paid * standing_seconds(pod, minute)
        wanted += place.wanted_nanousd
    return Toll(
        lost + START_SECONDS * launch_price(launches, snapshot),
        max(_SHORTEST_SECONDS, stood // lost) if lost else LONGEST_SECONDS,
        wanted,
    )


class _Place(msgspec.Struct, frozen=True):
    """A node that goes: what it has and costs, and what its operator says of each of its pods."""

    allocatable: Mapping[str, int]
    price_nanousd: int
    restart_seconds: int
    wanted_nanousd: int


def _place(node: Node, snapshot: Snapshot, known: Prices) -> _Place:
    pool = pools_by_name(snapshot.node_pools).get(node.node_pool)
    return _Place(
        node.allocatable,
        price_of(node, known),
        _eviction_seconds(pool, snapshot),
        _n_wanted(pool, snapshot),
    )


def _lost(done: Toil, occupied: int, ordinary: int) -> int:
    """To start again is as bad for a small pod as for an ordinary one."""
    return done.restart_seconds * max(occupied, ordinary) + done.worked_seconds * occupied


@recalled
def _ordinary_price(nodes: tuple[Node, ...], pods: tuple[Pod, ...], known: Prices) -> int:
    """What a pod costs, on average."""
    priced = {node.name: price for node in nodes if (price := price_of(node, known))}
    n_pods = sum(pod.node_name in priced and not pod.is_daemon and is_active(pod) for pod in pods)
    return sum(priced.values()) // n_pods if n_pods else 0


def _eviction_seconds(pool: NodePool | None, snapshot: Snapshot) -> int:
    theirs = pool.disruption.eviction_cost if pool is not None else None
    return (snapshot.policy.eviction_cost if theirs is None else theirs) // _SECOND


def _n_wanted(pool: NodePool | None, snapshot: Snapshot) -> int:
    theirs = pool.disruption.least_saving_nanousd if pool is not None else None
    return snapshot.policy.least_saving_nanousd if theirs is None else theirs


def _minute(now: datetime) -> datetime:
    """When the minute began."""
    return now.replace(second=0, microsecond=0)
