"""Computes how many nodes of a pool may be disrupted now, and when that changes.

Of several budgets that are active, the tightest wins. A budget that makes no sense allows nothing:
whoever wrote it wanted to hold something back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.nodes import is_terminating, leaving_nodes, with_memory
from dovetail.model.node import Node
from dovetail.model.pool import Budget
from dovetail.model.snapshot import Snapshot
from dovetail.units import cron

UNLIMITED: Final = 2**31 - 1
_COUNT: Final = re.compile(r"([0-9]{1,10})(%?)")
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


class Allowance(msgspec.Struct, frozen=True, gc=False):
    """How many nodes of a pool may be disrupted for a reason, of how many, and how many are not
    available already. `changes_at` is when a schedule next begins or ends.
    """

    n_nodes: int
    n_disrupting: int
    n_allowed: int
    changes_at: datetime | None = None

    @property
    def n_remaining(self) -> int:
        """How many more may go."""
        return max(0, self.n_allowed - self.n_disrupting)


def allowances(snapshot: Snapshot, reason: str, now: datetime) -> dict[str, Allowance]:
    """What each pool allows for this reason, by its name."""
    counts = _counts(snapshot.nodes, leaving_nodes(snapshot))
    result = {}
    for pool in snapshot.node_pools:
        n_nodes, n_disrupting = counts.get(pool.name, (0, 0))
        budgets = [budget for budget in pool.disruption.budgets if budget.is_about(reason)]
        result[pool.name] = Allowance(
            n_nodes=n_nodes,
            n_disrupting=n_disrupting,
            n_allowed=allowed_disruptions(budgets, n_nodes, now),
            changes_at=soonest(*(changes_at(budget, now) for budget in budgets)),
        )
    return result


@with_memory
def _counts(nodes: tuple[Node, ...], gone: frozenset[str]) -> Mapping[str, tuple[int, int]]:
    """For each pool how many nodes it has, and how many of them are not ready or leaving."""
    counts: dict[str, tuple[int, int]] = {}
    for node in nodes:
        if node.node_claim and node.is_initialized and not is_terminating(node):
            n_nodes, n_disrupting = counts.get(node.node_pool, (0, 0))
            is_away = not node.is_ready or node.name in gone
            counts[node.node_pool] = (n_nodes + 1, n_disrupting + is_away)
    return counts


def allowed_disruptions(budgets: Iterable[Budget], n_nodes: int, now: datetime) -> int:
    """The least that any of these budgets allows; without any, no end of it."""
    return min((_n_allowed_by(budget, n_nodes, now) for budget in budgets), default=UNLIMITED)


def _n_allowed_by(budget: Budget, n_nodes: int, now: datetime) -> int:
    amount = amount_of(budget)
    active = is_active(budget, now)
    if amount is None or active is None:
        return 0
    if not active:
        return UNLIMITED
    count, is_percentage = amount
    return share(count, n_nodes) if is_percentage else count


def amount_of(budget: Budget) -> tuple[int, bool] | None:
    """What it allows while it holds, and whether that is a percentage; None if it is neither."""
    match = _COUNT.fullmatch(budget.nodes)
    return (int(match[1]), bool(match[2])) if match else None


def share(percent: int, n_nodes: int) -> int:
    """A percentage of the nodes, rounded up."""
    return -(-percent * n_nodes // 100)


def is_active(budget: Budget, now: datetime) -> bool | None:
    """Whether a budget holds now; None if its schedule makes no sense."""
    if not budget.schedule and budget.duration is None:
        return True
    schedule = schedule_of(budget)
    if schedule is None or budget.duration is None:
        return None
    begun_at = schedule.next_after(_before(now, budget.duration))
    return begun_at is not None and begun_at <= now


def changes_at(budget: Budget, now: datetime) -> datetime | None:
    """When the budget next begins or may end; None if it never does."""
    schedule = schedule_of(budget)
    if schedule is None or budget.duration is None:
        return None
    begun_at = schedule.next_after(_before(now, budget.duration))
    if begun_at is None or begun_at > now:
        return begun_at
    try:
        return begun_at + budget.duration
    except OverflowError:
        return None


def schedule_of(budget: Budget) -> cron.Schedule | None:
    """When it begins; None if that cannot be read."""
    try:
        return cron.parse(budget.schedule)
    except ValueError:
        return None


def _before(now: datetime, span: timedelta) -> datetime:
    try:
        return now - span
    except OverflowError:
        return _EARLIEST
