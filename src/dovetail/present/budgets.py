"""Shows budgets as lines, as a picture of a week, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final

import msgspec

from dovetail.decide.disrupt.calendar import Limit, PoolCalendar, Stretch
from dovetail.decide.disrupt.flaws import Flaw, flaws
from dovetail.model.plan import DisruptionReason
from dovetail.present.plan import Json, instant
from dovetail.present.table import plural

NOTHING_GOES: Final = "."
NO_LIMIT: Final = "#"
CHANGES: Final = "/"
_OUTSIDE: Final = " "
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MORE: Final = "+"  # for the limits that no letter is left for
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_MOST_DAYS: Final = 7
EVERY_REASON: Final = "every reason"


class BudgetCalendar(msgspec.Struct, frozen=True):
    """What the budgets of every pool allow in a span of time. `remarks` are talk."""

    pools: tuple[PoolCalendar, ...]
    starts_at: datetime
    ends_at: datetime
    remarks: tuple[str, ...] = ()


class CalendarRow(msgspec.Struct, frozen=True, gc=False):
    """What is allowed for some reasons between two moments."""

    starts: str
    ends: str
    reasons: str
    allowed: str


class WeekPicture(msgspec.Struct, frozen=True):
    """What is allowed for some reasons in each hour of up to seven days: a row a day."""

    reasons: str
    days: tuple[tuple[str, str], ...]  # the day, and a cell for each of its hours
    legend: tuple[tuple[str, str], ...]  # the cell, and what it means


class BudgetBlock(msgspec.Struct, frozen=True):
    """Everything about one pool."""

    title: str
    rows: tuple[CalendarRow, ...]
    pictures: tuple[WeekPicture, ...]
    warnings: tuple[str, ...]


def budget_blocks(shown: BudgetCalendar, *, is_wide: bool = False) -> tuple[BudgetBlock, ...]:
    """A block a pool. Reasons that are treated alike share lines, unless `is_wide`."""
    return tuple(_block(pool, shown, is_wide=is_wide) for pool in shown.pools)


def _block(calendar: PoolCalendar, shown: BudgetCalendar, *, is_wide: bool) -> BudgetBlock:
    alike = _by_reasons(calendar.stretches, is_wide=is_wide)
    lines = [(stretch, reasons) for reasons, some in alike.items() for stretch in some]
    lines.sort(key=lambda line: line[0].starts_at)  # of one moment, reasons keep their order
    return BudgetBlock(
        title=_title(calendar),
        rows=tuple(_row(stretch, reasons, shown, calendar.n_nodes) for stretch, reasons in lines),
        pictures=tuple(
            _picture(some, reasons, calendar.n_nodes)
            for reasons, some in alike.items()
            if len(some) > 1
        ),
        warnings=tuple(flaw.message for flaw in _flaws(calendar, shown)),
    )


def _flaws(calendar: PoolCalendar, shown: BudgetCalendar) -> tuple[Flaw, ...]:
    return flaws(calendar.node_pool.disruption.budgets, shown.starts_at)


def _title(calendar: PoolCalendar) -> str:
    name = calendar.node_pool.name
    if calendar.n_nodes is None:
        return name
    away = f", {calendar.n_disrupting} of them unavailable now" if calendar.n_disrupting else ""
    return f"{name}: {plural(calendar.n_nodes, 'node')}{away}"


def _by_reasons(
    stretches: Mapping[DisruptionReason, tuple[Stretch, ...]], *, is_wide: bool
) -> dict[str, tuple[Stretch, ...]]:
    """The stretches by the reasons that share them."""
    if is_wide:
        return {str(reason): some for reason, some in stretches.items()}
    reasons_by_stretches: dict[tuple[Stretch, ...], list[str]] = {}
    for reason, some in stretches.items():
        reasons_by_stretches.setdefault(some, []).append(reason)
    return {
        EVERY_REASON if len(reasons) == len(stretches) else ", ".join(reasons): some
        for some, reasons in reasons_by_stretches.items()
    }


def _row(stretch: Stretch, reasons: str, shown: BudgetCalendar, n_nodes: int | None) -> CalendarRow:
    is_open = stretch.ends_at == shown.ends_at
    return CalendarRow(
        starts=_moment(stretch.starts_at),
        ends=f"{_moment(stretch.ends_at)}{' or later' if is_open else ''}",
        reasons=reasons,
        allowed=allowed_text(stretch.limit, n_nodes),
    )


def _moment(at: datetime) -> str:
    """To the minute: schedules strike on full minutes."""
    return f"{at:%a %Y-%m-%d %H:%M}"


def allowed_text(limit: Limit, n_nodes: int | None) -> str:
    """How many may go, in words. `n_nodes` None: nobody knows of how many."""
    if limit.is_zero:
        return "none"
    stated = _limit_text(limit)
    if n_nodes is None:
        return stated or "no limit"
    return f"{limit.of(n_nodes)} of {n_nodes} ({stated or 'no limit'})"


def _limit_text(limit: Limit) -> str:
    parts = [] if limit.count is None else [str(limit.count)]
    if limit.percent is not None:
        parts.append(f"{limit.percent}%")
    return " or ".join(parts) + (", the lesser" if len(parts) > 1 else "")


def _picture(stretches: Sequence[Stretch], reasons: str, n_nodes: int | None) -> WeekPicture:
    midnight = datetime.combine(stretches[0].starts_at.date(), time(), tzinfo=UTC)
    n_days = min(_MOST_DAYS, -((midnight - stretches[-1].ends_at) // _DAY))
    cells = _cells([item for item in stretches if item.starts_at < midnight + n_days * _DAY])
    days = []
    for number in range(n_days):
        day = midnight + number * _DAY
        today = [item for item in stretches if item.starts_at < day + _DAY and item.ends_at > day]
        row = "".join(_cell(day + hour * _HOUR, today, cells) for hour in range(24))
        days.append((f"{day:%a %d %b}", row))
    drawn = "".join(row for _, row in days)
    legend = [
        (cell, allowed_text(limit, n_nodes)) for limit, cell in cells.items() if cell in drawn
    ]
    if CHANGES in drawn:
        legend.append((CHANGES, "changes within the hour"))
    return WeekPicture(reasons, tuple(days), tuple(legend))


def _cells(stretches: Sequence[Stretch]) -> dict[Limit, str]:
    """A cell for each limit, letters in the order in which they first hold."""
    letters = iter(_LETTERS)
    cells: dict[Limit, str] = {}
    for stretch in stretches:
        if stretch.limit not in cells:
            cells[stretch.limit] = _fixed_text(stretch.limit) or next(letters, _MORE)
    return cells


def _fixed_text(limit: Limit) -> str:
    if limit.is_zero:
        return NOTHING_GOES
    return NO_LIMIT if limit == Limit() else ""


def _cell(hour: datetime, stretches: Sequence[Stretch], cells: Mapping[Limit, str]) -> str:
    within = [item for item in stretches if item.starts_at < hour + _HOUR and item.ends_at > hour]
    if not within:
        return _OUTSIDE
    return cells[within[0].limit] if len(within) == 1 else CHANGES


def budgets_json(shown: BudgetCalendar) -> dict[str, Json]:
    """The same for scripts; fields may be added, these stay."""
    return {
        "from": instant(shown.starts_at),
        "until": instant(shown.ends_at),
        "nodePools": [_pool_json(pool, shown) for pool in shown.pools],
    }


def _pool_json(calendar: PoolCalendar, shown: BudgetCalendar) -> dict[str, Json]:
    is_known = calendar.n_nodes is not None
    return {
        "name": calendar.node_pool.name,
        "nodes": calendar.n_nodes,
        "disrupting": calendar.n_disrupting if is_known else None,
        "allowed": list(_stretches_json(calendar)),
        "warnings": [
            {"warning": str(flaw.kind), "budgets": list(flaw.budgets), "message": flaw.message}
            for flaw in _flaws(calendar, shown)
        ],
    }


def _stretches_json(calendar: PoolCalendar) -> Iterator[dict[str, Json]]:
    n_nodes = calendar.n_nodes
    for reason, some in calendar.stretches.items():
        for stretch in some:
            yield {
                "reason": str(reason),
                "from": instant(stretch.starts_at),
                "until": instant(stretch.ends_at),
                "count": stretch.limit.count,
                "percent": stretch.limit.percent,
                "nodes": _count(stretch.limit, n_nodes),
            }


def _count(limit: Limit, n_nodes: int | None) -> int | None:
    """How many nodes that is; None where it cannot be known."""
    if limit.is_zero:
        return 0
    return None if n_nodes is None else limit.of(n_nodes)
