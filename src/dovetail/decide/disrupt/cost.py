"""Computes what it costs the cluster to move pods.

Counted twice. To compare moves, in parts of an ordinary pod, as a whole number: a node is one, and
each pod that moves is one more, or less by its priority and by the deletion cost that it states;
and the pods count less the nearer the node is to the end of its life.

To say whether a move is worth it, in money (`toll`): what a pod occupies is paid for until it is
again what it was, what a Job has worked is paid for once more, and a node that is replaced is paid
for until its replacement has started.

Pods of one Job, and of the Jobs of one CronJob, do the same work: one that has started is expected
to end about as long after as the slowest that has ended did (`expected_end`). Pods of nodes that
should empty get a low deletion cost where nobody else has a say in it (`may_yield`): only
ReplicaSets read it, owners who have set a cost know better, and pods that ask to be spread over
nodes would end up together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.nodes import recalled
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool

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


def life_left(node: Node, pool: NodePool | None, now: datetime) -> Fraction:
    """Which share of a node's life is still to come: all of it, if it never expires."""
    span = None if pool is None else pool.expire_after
    if span is None or node.created_at is None or span <= _NO_TIME:
        return _WHOLE
    left = (node.created_at + span - now) // _MOMENT
    return max(Fraction(0), min(_WHOLE, Fraction(left, span // _MOMENT)))


def parts_left(node: Node, pool: NodePool | None, now: datetime) -> int:
    """How many parts of a node's life are left, one that has begun counted: what a move costs
    should not change all the time. The same until `ages_at`.
    """
    return -(-life_left(node, pool, now) * PARTS_OF_LIFE // 1)


def ages_at(node: Node, pool: NodePool | None, now: datetime) -> datetime | None:
    """When a node has a part of its life less; None if it never has."""
    span = None if pool is None else pool.expire_after
    parts = parts_left(node, pool, now)
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
        found = int(stated)
    except ValueError:
        return 0
    return found if -_LARGEST - 1 <= found <= _LARGEST else 0


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
    return Toil(restart, _work_lost(age) // _ONE_SECOND)


def standing_seconds(pod: Pod, now: datetime) -> int:
    """For how long the pod has stood where it is, as far as that counts."""
    age = _age(pod, now)
    return LONGEST_SECONDS if age is None else min(LONGEST_SECONDS, age // _ONE_SECOND)


def grows_at(pod: Pod, now: datetime) -> datetime | None:
    """When moving the pod begins to cost more; None if it never does."""
    age = _age(pod, now)
    if age is None or not _works_towards_an_end(pod):
        return None
    return now - age + max(_FIRST_LOSS, 2 * _work_lost(age))


def _works_towards_an_end(pod: Pod) -> bool:
    """Whether what it has done is lost with it. Nobody makes a pod without an owner again."""
    return pod.owner is None or is_job(pod)


def _age(pod: Pod, now: datetime) -> timedelta | None:
    since = pod.started_at or pod.created_at
    if since is None:
        return None
    return now - since if now > since else _NO_TIME


def _work_lost(age: timedelta) -> timedelta:
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
    lasted = _stints(pods).get(_series(pod))
    if lasted is None or pod.started_at is None:
        return pod.ends_at
    told = pod.started_at + lasted
    return told if pod.ends_at is None else min(told, pod.ends_at)


def is_job(pod: Pod) -> bool:
    """Whether it does work that ends."""
    return pod.owner is not None and pod.owner.kind == "Job"


@recalled
def _stints(pods: tuple[Pod, ...]) -> Mapping[str, timedelta]:
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
    return is_asked and is_active(pod) and not _has_spoken(pod) and not _is_spread(pod)


def _has_spoken(pod: Pod) -> bool:
    """Whether its owner says what it costs."""
    return labels.DELETION_COST in pod.annotations


def _is_spread(pod: Pod) -> bool:
    spec = pod.spec
    apart = (*spec.anti_affinity, *(term for _, term in spec.preferred_anti_affinity))
    keys = (*(spread.topology_key for spread in spec.spread), *(one.topology_key for one in apart))
    return labels.HOSTNAME in keys
