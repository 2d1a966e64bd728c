"""Which nodes of static pools are not what their pool would make today? (spec/core.md 6.6)

Each is replaced by a node of the pool's template, without asking whom it will hold: the pool wants
so many nodes, and gets them. The new node comes first, so that `limits.nodes` must leave room for
it. While a pool has more nodes than it wants, as it has while others are replaced, it waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from dovetail.decide.bare import bare_launches
from dovetail.decide.disrupt.blockers import blocked
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.course import (
    Course,
    budgets_for,
    carried_on,
    over_budget,
    removal_price,
)
from dovetail.decide.disrupt.drift import drift_mark
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.prices import node_saving
from dovetail.decide.static import Standing, moving, standings, static_pools
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason, Launch
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.verdict import Blocked, Blocker

_REASON: Final = DisruptionReason.DRIFTED
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def static_drift(course: Course) -> Course:
    """The plan with the drifted nodes of static pools that may go now, and why others may not."""
    for pool in static_pools(course.world):
        drifted = _drifted(pool, course)
        if drifted:
            there = standings(course.world, (pool,))[pool.name]
            course = carried_on(course, _findings(pool, drifted, there, course))
    return course


def _drifted(pool: NodePool, course: Course) -> list[Node]:
    """Those that drifted first come first, those from which nobody moves before the others."""
    found = [
        (node, said)
        for node in course.world.nodes
        if node.node_pool == pool.name
        and node.name not in course.scene.leaving
        and (said := drift_mark(node)) is not None
    ]
    found.sort(
        key=lambda one: (
            any(moving(one[0], course.scene)),
            one[1].changed_at or _EARLIEST,
            one[0].name,
        )
    )
    return [node for node, _ in found]


def _findings(pool: NodePool, drifted: Sequence[Node], there: Standing, course: Course) -> Findings:
    verdicts = [(node, _verdict(pool, node, there, course)) for node in drifted]
    kept = [verdict for _, verdict in verdicts if verdict is not None]
    free = [node for node, verdict in verdicts if verdict is None]
    budget = budgets_for(course, _REASON)[pool.name]
    n_allowed = min(len(free), budget.n_remaining)
    n_room = there.room(pool, n_allowed)
    launches = _launches(pool, n_room, course)
    within, over = free[len(launches) : n_allowed], free[n_allowed:]
    kept += [_no_room(pool, node, has_room=len(launches) < n_room) for node in within]
    kept += [over_budget(node, _REASON, budget) for node in over]
    return Findings(
        disruptions=tuple(_replacing(course, free, launches)),
        blocked=tuple(kept),
        wake_at=soonest(budget.changes_at, *(one.until for one in kept)),
    )


def _verdict(pool: NodePool, node: Node, there: Standing, course: Course) -> Blocked | None:
    """What keeps the node, whatever budgets and limits say."""
    found = disruption_verdict(
        node, course.scene, ignores_pods=node.termination_grace_period is not None
    )
    n_nodes, replicas = len(there.active) + there.n_replaced, pool.replicas or 0
    if found is not None or n_nodes <= replicas:
        return found
    return blocked(node.name, Blocker.UNSETTLED, pool=pool.name, nodes=n_nodes, replicas=replicas)


def _no_room(pool: NodePool, node: Node, *, has_room: bool) -> Blocked:
    if has_room:
        return blocked(node.name, Blocker.NO_OFFERING, pool=pool.name)
    limit = pool.limits.get(NODES, 0)
    return blocked(node.name, Blocker.LIMITS, pool=pool.name, limit=limit)


def _launches(pool: NodePool, n_nodes: int, course: Course) -> tuple[Launch, ...]:
    plan = course.plan
    others = [*plan.launches, *(new for one in plan.disruptions for new in one.replacements)]
    return bare_launches(pool, n_nodes, course.world, course.now, others)


def _replacing(
    course: Course, nodes: Sequence[Node], launches: Sequence[Launch]
) -> Iterator[Disrupt]:
    """One node for one node, as many as come."""
    for node, launch in zip(nodes, launches, strict=False):
        yield Disrupt(
            reason=_REASON,
            nodes=(node.name,),
            replacements=(launch,),
            pods=tuple(sorted(moving(node, course.scene))),
            saving_nanousd=removal_price(course, (node,)) - launch.price_nanousd,
            node_saving_nanousd=node_saving(course.world, (node,), (launch,)),
        )
