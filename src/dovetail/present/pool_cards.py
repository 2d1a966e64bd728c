"""What is there to know about each NodePool at a glance? Nodes, money, limits, budgets in time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.disrupt.calendar import calendars
from dovetail.decide.pools import price_of, prices
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES, total
from dovetail.model.snapshot import Snapshot
from dovetail.present.budgets import BudgetBlock, BudgetCalendar, budget_blocks
from dovetail.units import money, quantity

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
    found = calendars(snapshot, now, until)
    blocks = budget_blocks(BudgetCalendar(found, starts_at=now, ends_at=until))
    pairs = zip(found, blocks, strict=True)
    return tuple(_card(one.node_pool, block, snapshot) for one, block in pairs)


def _card(pool: NodePool, block: BudgetBlock, snapshot: Snapshot) -> PoolCard:
    known = prices(snapshot)
    nodes = [one for one in snapshot.nodes if one.node_pool == pool.name]
    held = {**total(one.capacity for one in nodes), NODES: len(nodes)}
    return PoolCard(
        name=pool.name,
        weight=pool.weight,
        nodes=len(nodes),
        price_per_hour=money.dollars(sum(price_of(one, known) for one in nodes)),
        limits=_limits(pool, held),
        budgets=block,
        problems=tuple(one.message for one in pool.problems),
    )


def _limits(pool: NodePool, held: Mapping[str, int]) -> tuple[LimitRow, ...]:
    return tuple(
        LimitRow(
            name,
            quantity.render(name, held.get(name, 0)),
            quantity.render(name, limit),
            held.get(name, 0) / limit if limit else 1.0,
        )
        for name, limit in sorted(pool.limits.items())
    )
