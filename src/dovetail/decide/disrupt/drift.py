"""Which nodes are not what their pool would make today, and may be replaced? (spec/core.md 6.6)

The node that drifted first goes first, those from which nobody moves before the others. Each goes
by itself, once its pods have a place: on nodes that stay, or on replacements that come first. What
it costs is no question. Pods that may not be disturbed keep their node, unless its claim says how
long draining may take at most.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from dovetail.decide.disrupt.blockers import blocked
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.course import (
    Course,
    budgets_for,
    carried_on,
    disruption_of,
    launches_of,
    over_budget,
)
from dovetail.decide.disrupt.emptiness import is_dynamic
from dovetail.decide.disrupt.probe import Stuck, ground_of, movable_pods, probe
from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.verdict import Blocker

_REASON: Final = DisruptionReason.DRIFTED
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def drift(course: Course) -> Course:
    """The plan with every drifted node that may go now, and why the others may not."""
    for node in _drifted(course):
        course = carried_on(course, _finding(node, course))
    return course


def _finding(node: Node, course: Course) -> Findings:
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
    found = probe(ground_of(course.world, course.now, is_saving=False), (node.name,))
    if isinstance(found, Stuck):
        stuck = blocked(node.name, Blocker.POD_STUCK, pod=found.pod, why=found.why)
        return Findings(blocked=(stuck,), wake_at=budget.changes_at)
    gone = disruption_of(course, found, _REASON, launches_of(course, found))
    return Findings(disruptions=(gone,), wake_at=budget.changes_at)


def _drifted(course: Course) -> list[Node]:
    """Drifted nodes that are not on their way out, in the order in which they are looked at."""
    found = [
        (node, said)
        for node in course.world.nodes
        if (said := drift_mark(node)) is not None
        and node.name not in course.scene.leaving
        and is_dynamic(node, course.world)
    ]
    if not found:
        return []
    ground = ground_of(course.world, course.now, is_saving=False)

    def turn(one: tuple[Node, Condition]) -> tuple[bool, datetime, str]:
        node, said = one
        return bool(movable_pods(node.name, ground)), said.changed_at or _EARLIEST, node.name

    return [node for node, _ in sorted(found, key=turn)]


def drift_mark(node: Node) -> Condition | None:
    """What says that the node has drifted, if it has."""
    return next(
        (one for one in node.conditions if one.type == DRIFTED and one.status == "True"), None
    )
