"""Holds a plan in the making: what it has decided, and the cluster while that is under way.

Methods of disruption follow each other: each sees nodes that go by what was decided before it as
leaving, pods where they will be, and budgets with less left.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from dovetail.decide.apply import begin
from dovetail.decide.candidates import with_kept_rooms
from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.budgets import Allowance, allowances
from dovetail.decide.disrupt.candidates import Findings, Scene, scene_of
from dovetail.decide.disrupt.probe import Move
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.pools import node_saving, price_of, prices
from dovetail.decide.provision import named_launches
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason, Launch, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker


class Course(msgspec.Struct, frozen=True):
    """The cluster as it was found, the plan so far, and the cluster while that is under way."""

    origin: Snapshot
    plan: Plan
    scene: Scene

    @property
    def world(self) -> Snapshot:
        """The cluster while the plan is under way."""
        return self.scene.snapshot

    @property
    def now(self) -> datetime:
        """When this is decided."""
        return self.scene.now


def start(course: Course) -> Course:
    """The same, with all that is decided so far under way: launches for waiting pods too."""
    return course_of(course.origin, course.plan, course.now)


def course_of(origin: Snapshot, plan: Plan, now: datetime) -> Course:
    """Where further decisions start from."""
    world = with_kept_rooms(begin(origin, plan, now), now)
    return Course(origin, plan, scene_of(world, plan, now))


def with_findings(course: Course, findings: Findings) -> Course:
    """The course with what a method found added to the plan, not under way yet."""
    return msgspec.structs.replace(course, plan=_joined_plan(course.plan, findings))


def carried_on(course: Course, findings: Findings) -> Course:
    """The course with what a method found added to the plan, and under way."""
    return (
        start(with_findings(course, findings))
        if findings.disruptions
        else with_findings(course, findings)
    )


def _joined_plan(plan: Plan, findings: Findings) -> Plan:
    """A node that goes is not blocked; of several reasons why a node stays the first is told."""
    disruptions = (*plan.disruptions, *findings.disruptions)
    going = {name for disruption in disruptions for name in disruption.nodes}
    told = {verdict.node: verdict for verdict in reversed((*plan.blocked, *findings.blocked))}
    saved = sum(disruption.saving_nanousd for disruption in findings.disruptions)
    after = plan.cost.cluster_after_nanousd - saved
    return msgspec.structs.replace(
        plan,
        disruptions=disruptions,
        proposals=tuple(
            sorted((*plan.proposals, *findings.proposals), key=lambda proposal: proposal.node)
        ),
        blocked=tuple(told[name] for name in sorted(told) if name not in going),
        cost=msgspec.structs.replace(plan.cost, cluster_after_nanousd=after),
        wake_at=soonest(plan.wake_at, findings.wake_at),
    )


def budgets_for(course: Course, reason: DisruptionReason) -> dict[str, Allowance]:
    """What each pool still allows for this reason, what was decided so far counted."""
    return allowances(course.world, reason, course.now)


def over_budget(node: Node, reason: DisruptionReason, budget: Allowance) -> Blocked:
    """A node that only the budgets of its pool keep."""
    return block(
        node.name,
        Blocker.NODE_POOL_BUDGET,
        pool=node.node_pool,
        cause=reason,
        allowed=budget.n_allowed,
        nodes=budget.n_nodes,
        disrupting=budget.n_disrupting,
        taken=0,
        needed=max(budget.n_disrupting, budget.n_allowed) + 1,
        until=budget.changes_at,
    )


def removal_price(course: Course, going: Iterable[Node]) -> int:
    """What these nodes cost."""
    known = prices(course.world)
    return sum(price_of(node, known) for node in going)


def disruption_of(
    course: Course, move: Move, reason: DisruptionReason, launches: tuple[Launch, ...]
) -> Disrupt:
    """The move as the plan says it."""
    paid = sum(launch.price_nanousd for launch in launches)
    gone = set(move.nodes)
    going = [node for node in course.world.nodes if node.name in gone]
    return Disrupt(
        reason=reason,
        nodes=move.nodes,
        replacements=launches,
        pods=move.pods,
        saving_nanousd=removal_price(course, going) - paid,
        places=move.places,
        node_saving_nanousd=node_saving(course.world, going, launches),
    )


def launches_of(course: Course, move: Move) -> tuple[Launch, ...]:
    """Its replacements, named on from all launches that the plan has already."""
    plan = course.plan
    others = [*plan.launches, *(new for item in plan.disruptions for new in item.replacements)]
    return named_launches(move.replacements, course.world, others)
