"""Finds budgets that never apply, never end or never let a node go.

"Never" is judged over the next five years, which is as far as a schedule looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from heapq import merge
from typing import Final

import msgspec

from dovetail.decide.disrupt.budgets import amount_of, schedule_of
from dovetail.decide.disrupt.calendar import REASONS, join, limit, makes_sense, windows
from dovetail.model.pool import Budget
from dovetail.units import duration

NO_REASONS: Final = "reasons is an empty list; leave it out to limit every reason"
_HORIZON: Final = timedelta(days=5 * 366)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class FlawKind(StrEnum):
    """What can be wrong with budgets that a schema lets pass."""

    NEVER_ALLOWS = "NeverAllows"
    NEVER_ENDS = "NeverEnds"
    NEVER_BEGINS = "NeverBegins"
    UNKNOWN_REASON = "UnknownReason"
    NO_REASON = "NoReason"
    UNREADABLE = "Unreadable"


class Flaw(msgspec.Struct, frozen=True, gc=False):
    """Something to warn of. `budgets` are the indexes of those that are to blame."""

    kind: FlawKind
    budgets: tuple[int, ...]
    message: str


def flaws(budgets: Sequence[Budget], now: datetime) -> tuple[Flaw, ...]:
    """Everything to warn of in the budgets of a pool, one by one and then together."""
    alone = tuple(
        flaw for index, item in enumerate(budgets) for flaw in _own_flaws(index, item, now)
    )
    return (*alone, *_together(budgets, now))


def _own_flaws(index: int, budget: Budget, now: datetime) -> Iterator[Flaw]:
    name = _index_text([index])
    yield from _odd_reasons(index, budget)
    nonsense = _invalid_text(budget)
    if nonsense:
        yield Flaw(FlawKind.UNREADABLE, (index,), f"{name} allows no disruption: {nonsense}")
    elif _never_begins(budget, now):
        yield Flaw(
            FlawKind.NEVER_BEGINS, (index,), f"{name} never limits anything: {_never_text(budget)}"
        )
    elif _reasons(budget) and _covers([budget], now):
        yield from _always_flaws(index, budget)


def _odd_reasons(index: int, budget: Budget) -> Iterator[Flaw]:
    name = _index_text([index])
    unknown = [reason for reason in budget.reasons or () if reason not in REASONS]
    if unknown:
        yield Flaw(
            FlawKind.UNKNOWN_REASON,
            (index,),
            f"{name} limits {_list_text(unknown)}, which is not a disruption reason; "
            f"expected {_list_text(REASONS, 'or')}",
        )
    elif budget.reasons == ():
        yield Flaw(FlawKind.NO_REASON, (index,), f"{name} never limits anything: {NO_REASONS}")


def _always_flaws(index: int, budget: Budget) -> Iterator[Flaw]:
    name = _index_text([index])
    if limit(budget).is_zero:
        why = _no_gaps(budget) if budget.schedule else "it has no schedule, so it is always active"
        reasons = _list_text(_reasons(budget), "or")
        message = f"{name} never allows a node to be disrupted for {reasons}: {why}"
        yield Flaw(FlawKind.NEVER_ALLOWS, (index,), message)
    elif budget.schedule:
        yield Flaw(FlawKind.NEVER_ENDS, (index,), f"{name} is always active: {_no_gaps(budget)}")


def _invalid_text(budget: Budget) -> str:
    """Why a budget makes no sense; empty if it does."""
    if amount_of(budget) is None:
        return f"nodes is {budget.nodes!r}; expected a number or a percentage"
    if makes_sense(budget):
        return ""
    if not budget.schedule or budget.duration is None:
        return "expected schedule and duration together, or neither"
    return f"schedule {budget.schedule!r} cannot be read"


def _never_begins(budget: Budget, now: datetime) -> bool:
    schedule = schedule_of(budget)
    if schedule is None or budget.duration is None:
        return False
    return budget.duration <= timedelta(0) or schedule.next_after(now) is None


def _never_text(budget: Budget) -> str:
    if budget.duration is not None and budget.duration <= timedelta(0):
        return f"its duration is {duration.render(budget.duration)}"
    return f"its schedule {budget.schedule!r} never matches"


def _no_gaps(budget: Budget) -> str:
    lasts_for = "" if budget.duration is None else duration.render(budget.duration)
    return f"its schedule {budget.schedule!r} matches again before its {lasts_for} are over"


def _together(budgets: Sequence[Budget], now: datetime) -> Iterator[Flaw]:
    """Reasons for which no node ever goes, though no budget alone is to blame."""
    reasons_by_culprits: dict[tuple[int, ...], list[str]] = {}
    for reason in REASONS:
        culprits = tuple(
            index
            for index, budget in enumerate(budgets)
            if limit(budget).is_zero and reason in _reasons(budget)
        )
        reasons_by_culprits.setdefault(culprits, []).append(reason)
    for culprits, reasons in reasons_by_culprits.items():
        strict = [budgets[index] for index in culprits]
        if not any(_covers([budget], now) for budget in strict) and _covers(strict, now):
            yield Flaw(
                FlawKind.NEVER_ALLOWS,
                culprits,
                f"{_index_text(culprits)} together never allow a node to be disrupted for "
                f"{_list_text(reasons, 'or')}: their windows leave no gap",
            )


def _covers(budgets: Sequence[Budget], now: datetime) -> bool:
    """Whether one of these holds at any time to come. Ends at the first gap."""
    try:
        until = now + max((_repeats_after(budget) for budget in budgets), default=_HORIZON)
    except OverflowError:
        until = _LATEST
    all_windows = merge(*(windows(budget, now, until) for budget in budgets))
    return next(join(all_windows, now, until), None) == (now, until)


def _repeats_after(budget: Budget) -> timedelta:
    """How far one must look to have seen every window of a budget; days divide weeks."""
    schedule = schedule_of(budget)
    return _HORIZON if schedule is None else schedule.repeats_after or _HORIZON


def _reasons(budget: Budget) -> tuple[str, ...]:
    """The reasons that a budget limits, of those that there are."""
    return tuple(reason for reason in REASONS if budget.is_about(reason))


def _index_text(indexes: Sequence[int]) -> str:
    return _list_text([f"budgets[{index}]" for index in indexes])


def _list_text(words: Iterable[str], last: str = "and") -> str:
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else final
