"""Finds nodes that could go so that the same pods run for less money.

Candidates are nodes that run pods, have been quiet for as long as their pool wants, and that
nothing keeps. What has been found fit to go for long enough moves first; of the others moves are
proposed.
`walk` says which moves, `savings` what each of them is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.budgets import Allowance
from dovetail.decide.disrupt.calm import unrest
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.cost import ages_at
from dovetail.decide.disrupt.course import Course, budgets_for, over_budget, with_findings
from dovetail.decide.disrupt.emptiness import is_dynamic, is_empty, is_quiet
from dovetail.decide.disrupt.probe import ground_of
from dovetail.decide.disrupt.savings import REASON, Candidate, candidates_of
from dovetail.decide.disrupt.walk import Walk
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.pools import pools_by_name, price_of, whole_prices
from dovetail.model.node import Node
from dovetail.model.pool import ConsolidationPolicy
from dovetail.model.verdict import Blocked, Blocker


def consolidation(course: Course) -> Course:
    """The plan with every move that saves money and may begin now, and why the other nodes stay."""
    open_nodes = [node for node in course.world.nodes if _is_open(node, course)]
    if not open_nodes:
        return course
    verdicts = [(node, _verdict(node, course)) for node in open_nodes]
    kept = [verdict for _, verdict in verdicts if verdict is not None]
    course = with_findings(course, Findings(blocked=tuple(kept), wake_at=_ends_at(kept)))
    ground = ground_of(course.world, course.now, is_saving=True)
    free = candidates_of((node for node, verdict in verdicts if verdict is None), ground)
    walk = Walk(course, ground)
    for some in _by_turn(free, course):
        walk.go(some)
    is_same = walk.course.world is course.world
    closed = _with_verdicts(walk.course, free, walk.blockers, is_same=is_same)
    return _with_target(with_findings(closed, Findings(wake_at=_ends_at(walk.heard))), walk.waste)


def _with_target(course: Course, waste: int) -> Course:
    """The plan with what the cluster would cost if nothing that could move were wasted."""
    cost = course.plan.cost
    target = max(0, cost.cluster_before_nanousd - waste)
    cost = msgspec.structs.replace(cost, cluster_target_nanousd=target)
    return msgspec.structs.replace(course, plan=msgspec.structs.replace(course.plan, cost=cost))


def _by_turn(free: Sequence[Candidate], course: Course) -> tuple[list[Candidate], ...]:
    """Those that have been found fit to go for long enough, and all: what they cannot do by
    themselves they may together with others, as it was found before.
    """
    before = course.now - course.world.policy.confirm_after
    known = {
        proposal.node
        for proposal in course.origin.ledger.proposals
        if proposal.reason == REASON and proposal.since <= before
    }
    first = [candidate for candidate in free if candidate.name in known]
    return (first, list(free)) if 0 < len(first) < len(free) else (list(free),)


# ------------------------------------------------------------------ which nodes


def _is_open(node: Node, course: Course) -> bool:
    """Whether the node runs pods, has been quiet for as long as its pool wants, and stays."""
    return (
        is_quiet(node)
        and node.name not in course.scene.leaving
        and is_dynamic(node, course.world)
        and not is_empty(course.scene.pods_by_node.get(node.name, ()))
    )


def _verdict(node: Node, course: Course) -> Blocked | None:
    pool = pools_by_name(course.world.node_pools).get(node.node_pool)
    if pool is not None and not pool.problems:
        if pool.disruption.consolidate_after is None:
            return block(node.name, Blocker.NEVER, pool=pool.name)
        if pool.disruption.consolidation_policy == ConsolidationPolicy.WHEN_EMPTY:
            return block(node.name, Blocker.WHEN_EMPTY, pool=pool.name)
    verdict = disruption_verdict(node, course.scene)
    if verdict is None and not price_of(node, whole_prices(course.world)):
        return block(node.name, Blocker.UNPRICED)
    return verdict or unrest(node, course.scene)


def _ends_at(kept: Iterable[Blocked]) -> datetime | None:
    return soonest(*(verdict.until for verdict in kept))


def _with_verdicts(
    course: Course, free: Sequence[Candidate], whys: dict[str, Blocked], *, is_same: bool
) -> Course:
    """The plan with a word on every candidate that stays. Unless the cluster is the same, pods may
    have been given to some meanwhile.
    """
    proposed = {proposal.node for proposal in course.plan.proposals}
    budgets = budgets_for(course, REASON)
    kept = [
        (None if is_same else disruption_verdict(candidate.node, course.scene))
        or whys.get(candidate.name)
        or _stays(candidate.node, budgets[candidate.node.node_pool])
        for candidate in free
        if candidate.name not in proposed
    ]
    wake_at = soonest(_ends_at(kept), _turns_at(free, course) if proposed else None)
    return with_findings(course, Findings(blocked=tuple(kept), wake_at=wake_at))


def _turns_at(free: Sequence[Candidate], course: Course) -> datetime | None:
    """When time alone could change which of these nodes go first."""
    pools = pools_by_name(course.world.node_pools)
    return soonest(
        *(ages_at(item.node, pools.get(item.node.node_pool), course.now) for item in free)
    )


def _stays(node: Node, budget: Allowance) -> Blocked:
    if not budget.n_remaining:
        return over_budget(node, REASON, budget)
    return block(node.name, Blocker.NOTHING_TO_GAIN)
