"""Computes what it costs the cluster to move pods.

Counted twice. To compare moves, in parts of an ordinary pod, as a whole number: a node is one, and
each pod that moves is one more, or less by its priority and by the deletion cost that it states;
and the pods count less the nearer the node is to the end of its life.

To say whether a move is worth it, in money (`toll_of`, designs/0008): what a pod occupies is paid
for until it is again what it was, what a Job has worked is paid for once more, and a node that is
replaced is paid for until its replacement has started. A saving is expected to last as long as the
pods that move have stood where they are, at most a week: who has just come may be gone again soon,
who has stood for days likely stays. So a pod is moved again only for a saving that has made up for
it by the time it has stood as long as before, and the same pods are not moved back and forth.

Pods of one Job, and of the Jobs of one CronJob, do the same work: one that has started is expected
to end about as long after as the slowest that has ended did (`expected_end`). Pods of nodes that
should empty get a low deletion cost where nobody else has a say in it (`may_yield`): only
ReplicaSets read it, owners who have set a cost know better, and pods that ask to be spread over
nodes would end up together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.nodes import with_memory
from dovetail.decide.pools import Prices, launch_price, pools_by_name, price_of, whole_prices
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot

ONE: Final = 2**27  # an ordinary pod
_MOST: Final = 10 * ONE
_PER_PRIORITY: Final = 4  # 2**27 / 2**25
_LARGEST: Final = 2**31 - 1

PULL_PARTS: Final = 8  # a new node has no images yet: a restart there costs so much of it more
START_SECONDS: Final = 180  # until a new node takes pods; meanwhile the old one is paid for too
LONGEST_SECONDS: Final = 7 * 24 * 60 * 60  # that a saving is expected to last
_FIRST_LOSS: Final = timedelta(minutes=5)  # work of less than that is not counted
PARTS_OF_LIFE: Final = 4  # in so many steps the nodes of a pool that expires grow old
_WHOLE: Final = Fraction(1)
_NO_TIME: Final = timedelta(0)
_MOMENT: Final = timedelta(microseconds=1)
_ONE_SECOND: Final = timedelta(seconds=1)
SUCCEEDED: Final = "Succeeded"
_LEAST_DIGITS: Final = 8  # a CronJob names its Jobs by the minute, counted since 1970


def moving_cost(pods: Iterable[Pod], parts: int = PARTS_OF_LIFE) -> int:
    """What it costs to take away a node from which these pods move; less, the fewer parts of its
    life are left: they would have to move anyway.
    """
    return ONE + sum(max(0, eviction_cost(pod)) for pod in pods) * parts // PARTS_OF_LIFE


def remaining_life(node: Node, pool: NodePool | None, now: datetime) -> Fraction:
    """Which share of a node's life is still to come: all of it, if it never expires."""
    span = None if pool is None else pool.expire_after
    if span is None or node.created_at is None or span <= _NO_TIME:
        return _WHOLE
    left = (node.created_at + span - now) // _MOMENT
    return max(Fraction(0), min(_WHOLE, Fraction(left, span // _MOMENT)))


def remaining_parts(node: Node, pool: NodePool | None, now: datetime) -> int:
    """How many parts of a node's life are left, one that has begun counted: what a move costs
    should not change all the time. The same until `ages_at`.
    """
    return -(-remaining_life(node, pool, now) * PARTS_OF_LIFE // 1)


def ages_at(node: Node, pool: NodePool | None, now: datetime) -> datetime | None:
    """When a node has a part of its life less; None if it never has."""
    span = None if pool is None else pool.expire_after
    parts = remaining_parts(node, pool, now)
    if span is None or node.created_at is None or span <= _NO_TIME or not parts:
        return None
    return node.created_at + span * (PARTS_OF_LIFE + 1 - parts) / PARTS_OF_LIFE


def eviction_cost(pod: Pod) -> int:
    """What it costs to evict one pod; less than nothing if it would rather go than others."""
    if not pod.annotations and not pod.spec.priority:
        return ONE
    cost = ONE + deletion_cost(pod.annotations) + _PER_PRIORITY * pod.spec.priority
    return max(-_MOST, min(_MOST, cost))


def deletion_cost(annotations: Mapping[str, str]) -> int:
    """What a pod says that it costs to give it up; 0 if it says nothing, or nothing sensible."""
    stated = annotations.get(labels.DELETION_COST, "")
    if not stated:
        return 0
    try:
        cost = int(stated)
    except ValueError:
        return 0
    return cost if -_LARGEST - 1 <= cost <= _LARGEST else 0


def occupied_price(pod: Pod, price: int, allocatable: Mapping[str, int]) -> int:
    """What a pod's part of a node costs: the greatest share of anything that it takes."""
    most = 0
    for name, amount in pod.spec.requests.items():
        there = allocatable.get(name)
        if there and amount * price > most * there:
            most = amount * price // there
    return min(price, most)


class Toil(msgspec.Struct, frozen=True):
    """For how long what a pod occupies is paid for in vain if it is moved."""

    restart_seconds: int
    worked_seconds: int = 0


def toil(pod: Pod, now: datetime, restart_seconds: int, *, is_new: bool) -> Toil:
    """What it takes until the pod is what it was: by its own word to start again, and what a Job
    has worked. Never less as time goes on, and the same until `grows_at`.
    """
    cost = max(0, eviction_cost(pod))
    restart = restart_seconds if cost == ONE else restart_seconds * cost // ONE
    restart += restart // PULL_PARTS if is_new else 0
    age = _age(pod, now)
    if age is None or not _works_towards_an_end(pod):
        return Toil(restart)
    return Toil(restart, _rounded_work(age) // _ONE_SECOND)


def standing_seconds(pod: Pod, now: datetime) -> int:
    """For how long the pod has stood where it is, as far as that counts."""
    age = _age(pod, now)
    return LONGEST_SECONDS if age is None else min(LONGEST_SECONDS, age // _ONE_SECOND)


def grows_at(pod: Pod, now: datetime) -> datetime | None:
    """When moving the pod begins to cost more; None if it never does."""
    age = _age(pod, now)
    if age is None or not _works_towards_an_end(pod):
        return None
    return now - age + max(_FIRST_LOSS, 2 * _rounded_work(age))


def _works_towards_an_end(pod: Pod) -> bool:
    """Whether what it has done is lost with it. Nobody makes a pod without an owner again."""
    return pod.owner is None or is_job(pod)


def _age(pod: Pod, now: datetime) -> timedelta | None:
    since = pod.started_at or pod.created_at
    if since is None:
        return None
    return now - since if now > since else _NO_TIME


def _rounded_work(age: timedelta) -> timedelta:
    """How much work is lost, in steps that double: what a move costs should not change all the
    time.
    """
    if age < _FIRST_LOSS:
        return _NO_TIME
    n_doublings = (age // _FIRST_LOSS).bit_length() - 1
    return _FIRST_LOSS * (1 << n_doublings)


def expected_end(pod: Pod, pods: tuple[Pod, ...]) -> datetime | None:
    """When a running pod is going to end, as far as anybody can tell from these pods."""
    if not is_job(pod):
        return pod.ends_at
    lasted = _longest_runs(pods).get(_series(pod))
    if lasted is None or pod.started_at is None:
        return pod.ends_at
    told = pod.started_at + lasted
    return told if pod.ends_at is None else min(told, pod.ends_at)


def is_job(pod: Pod) -> bool:
    """Whether it does work that ends."""
    return pod.owner is not None and pod.owner.kind == "Job"


@with_memory
def _longest_runs(pods: tuple[Pod, ...]) -> Mapping[str, timedelta]:
    """How long the slowest pod of each series of Jobs took, of those that have ended well."""
    stints: dict[str, timedelta] = {}
    for pod in pods:
        if pod.phase == SUCCEEDED and is_job(pod) and pod.started_at and pod.ends_at:
            series, lasted = _series(pod), pod.ends_at - pod.started_at
            stints[series] = max(stints.get(series, lasted), lasted)
    return stints


def _series(pod: Pod) -> str:
    """The Job, or what stands for the CronJob that makes such Jobs."""
    name, _, number = pod.workload.rpartition("-")
    is_minute = number.isdecimal() and len(number) >= _LEAST_DIGITS
    return name if is_minute else pod.workload


def may_yield(pod: Pod) -> bool:
    """Whether it may say that it costs less than others."""
    is_asked = pod.owner is not None and pod.owner.kind == "ReplicaSet"
    is_priced = labels.DELETION_COST in pod.annotations
    return is_asked and is_active(pod) and not is_priced and not _is_spread(pod)


def _is_spread(pod: Pod) -> bool:
    spec = pod.spec
    apart = (*spec.anti_affinity, *(term for _, term in spec.preferred_anti_affinity))
    keys = (
        *(spread.topology_key for spread in spec.spread),
        *(term.topology_key for term in apart),
    )
    return labels.HOSTNAME in keys


_SHORTEST_SECONDS: Final = 60
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)


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
        paid = _restart_price(
            done, occupied_price(pod, place.price_nanousd, place.allocatable), ordinary
        )
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


def _restart_price(done: Toil, occupied: int, ordinary: int) -> int:
    """To start again is as bad for a small pod as for an ordinary one."""
    return done.restart_seconds * max(occupied, ordinary) + done.worked_seconds * occupied


@with_memory
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
