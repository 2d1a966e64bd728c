"""Lays budgets out in time: how many nodes of a pool may be disrupted, and for which reason.

A budget holds in windows: from each time that its schedule strikes, for its duration. Windows that
touch are one. Between two moments at which a window begins or ends nothing changes: a stretch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from dovetail.decide.disrupt.budgets import allowances, amount_of, schedule_of, share
from dovetail.model.plan import DisruptionReason
from dovetail.model.pool import Budget, NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.units import cron

# Only these ask budgets; expiration, repair and deletion by hand do not.
REASONS: Final = tuple(DisruptionReason)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_LOOK_BACK_DAYS: Final = 5 * 366  # as far as a schedule looks ahead
_MINUTE: Final = timedelta(minutes=1)

Window = tuple[datetime, datetime]


class Limit(msgspec.Struct, frozen=True, gc=False):
    """What several budgets allow together: a count, a percentage, or the lesser of both. Neither:
    there is no limit.
    """

    count: int | None = None
    percent: int | None = None

    @property
    def is_zero(self) -> bool:
        """Whether nothing may go, however many nodes there are."""
        return self.count == 0

    def of(self, n_nodes: int) -> int:
        """How many of so many nodes may go at once."""
        least = n_nodes if self.count is None else min(self.count, n_nodes)
        return least if self.percent is None else min(share(self.percent, n_nodes), least)


UNLIMITED: Final = Limit()
NOTHING: Final = Limit(count=0)


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """A time in which the limit stays the same; its end does not belong to it."""

    starts_at: datetime
    ends_at: datetime
    limit: Limit


class PoolCalendar(msgspec.Struct, frozen=True):
    """What a pool allows in a span of time, for each reason without a gap.

    `n_nodes` is None where nothing is known of the pool's nodes.
    """

    node_pool: NodePool
    stretches: Mapping[DisruptionReason, tuple[Stretch, ...]]
    n_nodes: int | None = None
    n_disrupting: int = 0


def calendars(snapshot: Snapshot, now: datetime, until: datetime) -> tuple[PoolCalendar, ...]:
    """The calendar of every pool from now until then, by name."""
    with_nodes = {node.node_pool for node in snapshot.nodes}
    counted = allowances(snapshot, DisruptionReason.EMPTY, now)
    return tuple(
        PoolCalendar(
            node_pool=pool,
            stretches=_by_reason(pool.disruption.budgets, now, until),
            n_nodes=counted[pool.name].n_nodes if pool.name in with_nodes else None,
            n_disrupting=counted[pool.name].n_disrupting,
        )
        for pool in sorted(snapshot.node_pools, key=lambda pool: pool.name)
    )


def _by_reason(
    budgets: Sequence[Budget], now: datetime, until: datetime
) -> dict[DisruptionReason, tuple[Stretch, ...]]:
    """Worked out once for reasons that have the same budgets."""
    held_by_reason = {reason: about(budgets, reason) for reason in REASONS}
    alike = {
        limits: stretches(limits, now, until) for limits in dict.fromkeys(held_by_reason.values())
    }
    return {reason: alike[limits] for reason, limits in held_by_reason.items()}


def about(budgets: Iterable[Budget], reason: str) -> tuple[Budget, ...]:
    """The budgets that limit this reason."""
    return tuple(budget for budget in budgets if budget.is_about(reason))


def stretches(budgets: Sequence[Budget], now: datetime, until: datetime) -> tuple[Stretch, ...]:
    """What these budgets allow together, from now until then."""
    limits = [limit(budget) for budget in budgets]
    turning = _turns(budgets, now, until)
    active: set[int] = set()
    result: list[Stretch] = []
    for starts_at, ends_at in pairwise([*sorted(turning), until]):
        active ^= turning[starts_at]
        allowed = tightest(limits[index] for index in active)
        if result and result[-1].limit == allowed:
            starts_at = result.pop().starts_at  # noqa: PLW2901  the one before goes on
        result.append(Stretch(starts_at, ends_at, allowed))
    return tuple(result)


def _turns(budgets: Sequence[Budget], now: datetime, until: datetime) -> dict[datetime, set[int]]:
    """Which budgets, by their index, begin or end when. `now` is always among the moments."""
    turns: dict[datetime, set[int]] = {now: set()}
    for index, budget in enumerate(budgets):
        for starts_at, ends_at in windows(budget, now, until):
            turns.setdefault(starts_at, set()).add(index)
            if ends_at < until:
                turns.setdefault(ends_at, set()).add(index)
    return turns


def limit(budget: Budget) -> Limit:
    """What a budget allows while it holds."""
    amount = amount_of(budget)
    if amount is None or not makes_sense(budget) or not amount[0]:
        return NOTHING
    return Limit(percent=amount[0]) if amount[1] else Limit(count=amount[0])


def makes_sense(budget: Budget) -> bool:
    """Whether its schedule and its duration can be read, and go together."""
    if not budget.schedule and budget.duration is None:
        return True
    return schedule_of(budget) is not None and budget.duration is not None


def tightest(limits: Iterable[Limit]) -> Limit:
    """What all of these allow."""
    all_limits = tuple(limits)
    if any(item.is_zero for item in all_limits):
        return NOTHING
    return Limit(
        count=min((item.count for item in all_limits if item.count is not None), default=None),
        percent=min(
            (item.percent for item in all_limits if item.percent is not None), default=None
        ),
    )


def windows(budget: Budget, since: datetime, until: datetime) -> Iterator[Window]:
    """When a budget holds between these moments, in order and apart from each other.

    One that makes no sense holds always: whoever wrote it wanted to hold something back.
    """
    schedule = schedule_of(budget)
    if schedule is None or budget.duration is None or amount_of(budget) is None:
        yield since, until
    elif budget.duration > timedelta(0):
        yield from join(_strikes(schedule, budget.duration, since, until), since, until)


def join(some: Iterable[Window], since: datetime, until: datetime) -> Iterator[Window]:
    """Windows in order of their beginning, cut to a span; those that touch become one."""
    window: Window | None = None
    for starts_at, ends_at in some:
        first, last = max(starts_at, since), min(ends_at, until)
        if last <= first:
            continue
        if window is None:
            window = first, last
        elif first <= window[1]:
            window = window[0], max(window[1], last)
        else:
            yield window
            window = first, last
    if window is not None:
        yield window


def _strikes(
    schedule: cron.Schedule, duration: timedelta, since: datetime, until: datetime
) -> Iterator[Window]:
    """The windows that reach into a span, those of one day joined: O(days + windows)."""
    bursts = _bursts(schedule, duration)
    for day in _days(schedule, since.date(), until.date()):
        midnight = datetime.combine(day, time(), tzinfo=UTC)
        for begins_after, lasts_for in bursts:
            starts_at = midnight + begins_after
            yield starts_at, _plus(starts_at, lasts_for)


def _bursts(
    schedule: cron.Schedule, duration: timedelta
) -> tuple[tuple[timedelta, timedelta], ...]:
    """The windows of a single day: how long after midnight each begins, and how long it lasts."""
    bursts: list[tuple[timedelta, timedelta]] = []
    for minute in schedule.minutes_of_day:
        begins_after, lasts_for = minute * _MINUTE, duration
        if bursts and begins_after - bursts[-1][0] <= bursts[-1][1]:
            first, _ = bursts.pop()
            begins_after, lasts_for = first, _sum(begins_after - first, duration)
        bursts.append((begins_after, lasts_for))
    return tuple(bursts)


def _days(schedule: cron.Schedule, first: date, last: date) -> Iterator[date]:
    """The days on which it strikes, from the last one before the first: all windows are equally
    long, so none from before that reaches further.
    """
    today = first.toordinal()
    earliest = max(date.min.toordinal(), today - _LOOK_BACK_DAYS)
    before = (date.fromordinal(day) for day in range(today - 1, earliest - 1, -1))
    latest_before = next(filter(schedule.runs_on, before), None)
    if latest_before is not None:
        yield latest_before
    after = (date.fromordinal(day) for day in range(today, last.toordinal() + 1))
    yield from filter(schedule.runs_on, after)


def _plus(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment + span
    except OverflowError:
        return _LATEST


def _sum(span: timedelta, other: timedelta) -> timedelta:
    try:
        return span + other
    except OverflowError:
        return timedelta.max
