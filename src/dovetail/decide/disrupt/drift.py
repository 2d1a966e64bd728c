"""Replaces drifted nodes, which are not what their pool would make today.

The node that drifted first goes first, nodes without pods to move before the others. Each goes by
itself, once its pods have a place: on nodes that stay, or on replacements that come first. What it
costs does not matter. Pods that may not be disturbed keep their node, unless its claim says how
long draining may take at most.

A node of a static pool is replaced by one of the pool's template, whatever pods it will hold. The
new node comes first, so that `limits.nodes` must leave room for it. While a pool has more nodes
than it wants, as it has while others are replaced, it waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.course import (
    Course,
    budgets_for,
    carried_on,
    disruption_of,
    launches_of,
    over_budget,
    removal_price,
)
from dovetail.decide.disrupt.emptiness import is_dynamic
from dovetail.decide.disrupt.probe import Stuck, ground_of, movable_pods, probe
from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.pools import node_saving
from dovetail.decide.static import Standing, bare_launches, moving_pods, standings, static_pools
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, DisruptionReason, Launch
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.verdict import Blocked, Blocker

_REASON: Final = DisruptionReason.DRIFTED
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def drift(course: Course) -> Course:
    """The plan with every drifted node that may go now, and why the others may not."""
    for node in _drifted_nodes(course):
        course = carried_on(course, _findings_of(node, course))
    return course


def _findings_of(node: Node, course: Course) -> Findings:
    """What becomes of one drifted node, after all that was decided before."""
    verdict = disruption_verdict(
        node, course.scene, ignores_pods=node.termination_grace_period is not None
    )
    if verdict is not None:
        return Findings(blocked=(verdict,), wake_at=verdict.until)
    budget = budgets_for(course, _REASON)[node.node_pool]
    if not budget.n_remaining:
        kept = over_budget(node, _REASON, budget)
        return Findings(blocked=(kept,), wake_at=budget.changes_at)
    outcome = probe(ground_of(course.world, course.now, is_saving=False), (node.name,))
    if isinstance(outcome, Stuck):
        stuck = block(node.name, Blocker.POD_STUCK, pod=outcome.pod, why=outcome.why)
        return Findings(blocked=(stuck,), wake_at=budget.changes_at)
    gone = disruption_of(course, outcome, _REASON, launches_of(course, outcome))
    return Findings(disruptions=(gone,), wake_at=budget.changes_at)


def _drifted_nodes(course: Course) -> list[Node]:
    """Drifted nodes that are not on their way out, in the order in which they are looked at."""
    drifted = [
        (node, condition)
        for node in course.world.nodes
        if (condition := drift_mark(node)) is not None
        and node.name not in course.scene.leaving
        and is_dynamic(node, course.world)
    ]
    if not drifted:
        return []
    ground = ground_of(course.world, course.now, is_saving=False)

    def turn(pair: tuple[Node, Condition]) -> tuple[bool, datetime, str]:
        node, condition = pair
        return bool(movable_pods(node.name, ground)), condition.changed_at or _EARLIEST, node.name

    return [node for node, _ in sorted(drifted, key=turn)]


def drift_mark(node: Node) -> Condition | None:
    """What says that the node has drifted, if it has."""
    return next(
        (item for item in node.conditions if item.type == DRIFTED and item.status == "True"), None
    )


def static_drift(course: Course) -> Course:
    """The plan with the drifted nodes of static pools that may go now, and why others may not."""
    for pool in static_pools(course.world):
        drifted = _drifted_static_nodes(pool, course)
        if drifted:
            there = standings(course.world, (pool,))[pool.name]
            course = carried_on(course, _static_findings(pool, drifted, there, course))
    return course


def _drifted_static_nodes(pool: NodePool, course: Course) -> list[Node]:
    """Those that drifted first come first, those from which nobody moves before the others."""
    drifted = [
        (node, condition)
        for node in course.world.nodes
        if node.node_pool == pool.name
        and node.name not in course.scene.leaving
        and (condition := drift_mark(node)) is not None
    ]
    drifted.sort(
        key=lambda pair: (
            any(moving_pods(pair[0], course.scene)),
            pair[1].changed_at or _EARLIEST,
            pair[0].name,
        )
    )
    return [node for node, _ in drifted]


def _static_findings(
    pool: NodePool, drifted: Sequence[Node], there: Standing, course: Course
) -> Findings:
    verdicts = [(node, _static_verdict(pool, node, there, course)) for node in drifted]
    kept = [verdict for _, verdict in verdicts if verdict is not None]
    free = [node for node, verdict in verdicts if verdict is None]
    budget = budgets_for(course, _REASON)[pool.name]
    n_allowed = min(len(free), budget.n_remaining)
    n_room = there.room(pool, n_allowed)
    launches = _static_launches(pool, n_room, course)
    within, over = free[len(launches) : n_allowed], free[n_allowed:]
    kept += [_no_room(pool, node, has_room=len(launches) < n_room) for node in within]
    kept += [over_budget(node, _REASON, budget) for node in over]
    return Findings(
        disruptions=tuple(_static_replacements(course, free, launches)),
        blocked=tuple(kept),
        wake_at=soonest(budget.changes_at, *(item.until for item in kept)),
    )


def _static_verdict(pool: NodePool, node: Node, there: Standing, course: Course) -> Blocked | None:
    """What keeps the node, whatever budgets and limits say."""
    verdict = disruption_verdict(
        node, course.scene, ignores_pods=node.termination_grace_period is not None
    )
    n_nodes, replicas = len(there.active) + there.n_replaced, pool.replicas or 0
    if verdict is not None or n_nodes <= replicas:
        return verdict
    return block(node.name, Blocker.UNSETTLED, pool=pool.name, nodes=n_nodes, replicas=replicas)


def _no_room(pool: NodePool, node: Node, *, has_room: bool) -> Blocked:
    if has_room:
        return block(node.name, Blocker.NO_OFFERING, pool=pool.name)
    limit = pool.limits.get(NODES, 0)
    return block(node.name, Blocker.LIMITS, pool=pool.name, limit=limit)


def _static_launches(pool: NodePool, n_nodes: int, course: Course) -> tuple[Launch, ...]:
    plan = course.plan
    others = [*plan.launches, *(new for item in plan.disruptions for new in item.replacements)]
    return bare_launches(pool, n_nodes, course.world, course.now, others)


def _static_replacements(
    course: Course, nodes: Sequence[Node], launches: Sequence[Launch]
) -> Iterator[Disrupt]:
    """One node for one node, as many as come."""
    for node, launch in zip(nodes, launches, strict=False):
        yield Disrupt(
            reason=_REASON,
            nodes=(node.name,),
            replacements=(launch,),
            pods=tuple(sorted(moving_pods(node, course.scene))),
            saving_nanousd=removal_price(course, (node,)) - launch.price_nanousd,
            node_saving_nanousd=node_saving(course.world, (node,), (launch,)),
        )
