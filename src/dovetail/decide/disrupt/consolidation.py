"""Which nodes could go so that the same pods run for less money? (spec/core.md 6.7 to 6.9)

Moves take any number of nodes away and put any number in their place, or none: the solver says what
it takes. Looked at are the candidates one by one, and the first few of them together, dearest for
what it costs to move their pods first. Of what saves money, what saves most for the pods that it
disturbs is done first; each move is judged once more after those before it. A move waits until each
of its nodes has been part of one for `Policy.confirm_after`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

import msgspec

from dovetail.decide.disrupt.balance import is_balanced, stakes
from dovetail.decide.disrupt.blockers import blocked
from dovetail.decide.disrupt.budgets import Allowance
from dovetail.decide.disrupt.candidates import Findings, disruption_verdict
from dovetail.decide.disrupt.cost import moving_cost
from dovetail.decide.disrupt.course import (
    Course,
    budgets_for,
    carried_on,
    disruption_of,
    launches_of,
    noted,
    over_budget,
    removal_price,
)
from dovetail.decide.disrupt.emptiness import is_dynamic, is_empty, is_quiet
from dovetail.decide.disrupt.probe import Ground, Move, Stuck, ground_of, movable_pods, probe
from dovetail.decide.disrupt.replacing import replacements
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.prices import price_of, prices
from dovetail.model.ledger import Proposal
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pool import ConsolidationPolicy
from dovetail.model.verdict import Blocked, Blocker

_REASON: Final = DisruptionReason.UNDERUTILIZED
_PROBES: Final = 100  # candidates looked at in one plan, for each step of `Policy.effort`


class _Candidate(msgspec.Struct, frozen=True):
    """A node from which pods might move, what it costs, and what it costs to move them."""

    node: Node
    price_nanousd: int
    cost: int


class _Saving(msgspec.Struct, frozen=True):
    """A move that saves money."""

    going: tuple[Node, ...]
    disrupt: Disrupt
    cost: int

    @property
    def ratio(self) -> Fraction:
        """What is saved for each pod that is disturbed."""
        return Fraction(self.disrupt.saving_nanousd, self.cost)


def consolidation(course: Course) -> Course:
    """The plan with every move that saves money and may begin now, and why the other nodes stay."""
    open_nodes = [node for node in course.world.nodes if _is_open(node, course)]
    if not open_nodes:
        return course
    ground = ground_of(course.world, course.now, is_saving=True)
    verdicts = [(node, _verdict(node, course)) for node in open_nodes]
    kept = [one for _, one in verdicts if one is not None]
    found = _in_order((node for node, one in verdicts if one is None), course, ground)
    free = _looked_at(found, course)
    course = noted(course, Findings(blocked=tuple(kept), wake_at=_ends_at(kept)))
    if not free:
        return course
    savings, whys = _savings(course, ground, free)
    return _closed(_carried_out(course, savings), free, whys)


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
    pool = next((one for one in course.world.node_pools if one.name == node.node_pool), None)
    if pool is not None and not pool.problems:
        if pool.disruption.consolidate_after is None:
            return blocked(node.name, Blocker.NEVER, pool=pool.name)
        if pool.disruption.consolidation_policy == ConsolidationPolicy.WHEN_EMPTY:
            return blocked(node.name, Blocker.WHEN_EMPTY, pool=pool.name)
    found = disruption_verdict(node, course.scene)
    if found is None and not price_of(node, prices(course.world)):
        return blocked(node.name, Blocker.UNPRICED)
    return found


def _ends_at(kept: Iterable[Blocked]) -> datetime | None:
    return soonest(*(one.until for one in kept))


def _in_order(nodes: Iterable[Node], course: Course, ground: Ground) -> list[_Candidate]:
    """Dearest first for what it costs to move their pods."""
    known = prices(course.world)
    found = [
        _Candidate(node, price_of(node, known), moving_cost(movable_pods(node.name, ground)))
        for node in nodes
    ]
    return sorted(found, key=lambda one: (-Fraction(one.price_nanousd, one.cost), one.node.name))


def _looked_at(found: Sequence[_Candidate], course: Course) -> list[_Candidate]:
    """As many candidates as effort allows: those that wait to be confirmed, and of the others ever
    different ones from revision to revision, so that each has its turn.
    """
    n_looks = _PROBES * max(1, course.world.policy.effort)
    if len(found) <= n_looks:
        return list(found)
    known = {one.node for one in course.origin.ledger.proposals if one.reason == _REASON}
    others = [one for one in found if one.node.name not in known]
    start = (course.world.revision - 1) * n_looks % len(others) if others else 0
    turn = [one for one in found if one.node.name in known] + others[start:] + others[:start]
    chosen = {one.node.name for one in turn[:n_looks]}
    return [one for one in found if one.node.name in chosen]


# ------------------------------------------------------------------ which moves


def _savings(
    course: Course, ground: Ground, free: Sequence[_Candidate]
) -> tuple[list[_Saving], dict[str, Blocked]]:
    """All moves that would save enough, the best first; and why nodes by themselves would not go,
    if it is not that nothing is saved.
    """
    whys: dict[str, Blocked] = {}
    found: list[_Saving] = []
    for chosen in _sets(free, budgets_for(course, _REASON)):
        judged = _judged(course, ground, chosen)
        if isinstance(judged, _Saving):
            found.append(judged)
        elif judged is not None and len(chosen) == 1:
            whys[judged.node] = judged
    return sorted(found, key=lambda one: (-one.ratio, one.disrupt.nodes)), whys


def _judged(
    course: Course, ground: Ground, chosen: Sequence[_Candidate]
) -> _Saving | Blocked | None:
    """What comes of these nodes together: a saving, or what is against it; None if nothing is."""
    first = chosen[0].node
    move = probe(ground, tuple(one.node.name for one in chosen))
    if isinstance(move, Stuck):
        return blocked(first.name, Blocker.POD_STUCK, pod=move.pod, why=move.why)
    saving = _saving(course, chosen, move)
    if saving is None:
        return None
    held = stakes(ground)
    if not is_balanced(saving.going, saving.disrupt.saving_nanousd, held, ground):
        return blocked(first.name, Blocker.NOT_WORTH_IT, pool=first.node_pool)
    return saving


def _sets(
    free: Sequence[_Candidate], budgets: dict[str, Allowance]
) -> Iterator[tuple[_Candidate, ...]]:
    """What is tried: ever smaller beginnings of what budgets allow at once, then each by itself."""
    left = {pool: one.n_remaining for pool, one in budgets.items()}
    together: list[_Candidate] = []
    for one in free:
        pool = one.node.node_pool
        if left.get(pool, 0) > 0:
            left[pool] -= 1
            together.append(one)
    size = len(together)
    while size > 1:
        yield tuple(together[:size])
        size = size * 2 // 3
    yield from ((one,) for one in free)


def _saving(course: Course, chosen: Sequence[_Candidate], move: Move) -> _Saving | None:
    """The move as the plan would say it, if it is sure to save money."""
    going = tuple(one.node for one in chosen)
    launches = launches_of(course, move)
    saved = removal_price(course, move.nodes) - sum(one.price_nanousd for one in launches)
    narrowed = replacements(course, going, launches, saved)
    if narrowed is None:
        return None
    disrupt = disruption_of(course, move, _REASON, narrowed)
    return _Saving(going, disrupt, sum(one.cost for one in chosen))


# ------------------------------------------------------------------ what is done


def _carried_out(course: Course, savings: Sequence[_Saving]) -> Course:
    """The best moves that go together, as far as budgets last and proposals are confirmed."""
    begun = course
    for one in savings:
        found = _finding(course, begun, one)
        if found is not None:
            begun = carried_on(begun, found)
    return begun


def _finding(course: Course, begun: Course, one: _Saving) -> Findings | None:
    """What becomes of a move after those before it; None if it cannot be done any more."""
    proposed = {given.node for given in begun.plan.proposals}
    is_free = all(
        node.name not in proposed and disruption_verdict(node, begun.scene) is None
        for node in one.going
    )
    budgets = budgets_for(begun, _REASON)
    if not is_free or not _is_within(one.going, budgets):
        return None
    if begun.world is not course.world:
        again = _again(begun, one)
        if again is None:
            return None
        one = again
    return _proposed(begun, one, budgets)


def _is_within(going: Sequence[Node], budgets: dict[str, Allowance]) -> bool:
    pools = [node.node_pool for node in going]
    return all(budgets[pool].n_remaining >= pools.count(pool) for pool in set(pools))


def _again(begun: Course, one: _Saving) -> _Saving | None:
    """The same nodes, judged after what was decided meanwhile."""
    ground = ground_of(begun.world, begun.now, is_saving=True)
    judged = _judged(begun, ground, _in_order(one.going, begun, ground))
    return judged if isinstance(judged, _Saving) else None


def _proposed(begun: Course, one: _Saving, budgets: dict[str, Allowance]) -> Findings:
    """The move if all its nodes have been part of one for long enough, and a proposal of each."""
    ledger, now = begun.origin.ledger, begun.now
    known = {given.node: given.since for given in ledger.proposals if given.reason == _REASON}
    since = {node.name: min(known.get(node.name, now), now) for node in one.going}
    confirmed_at = max(since.values()) + begun.world.policy.confirm_after
    return Findings(
        disruptions=(one.disrupt,) if confirmed_at <= now else (),
        proposals=tuple(Proposal(_REASON, name, since[name]) for name in sorted(since)),
        wake_at=soonest(
            confirmed_at if confirmed_at > now else None,
            *(budgets[node.node_pool].changes_at for node in one.going),
        ),
    )


def _closed(course: Course, free: Sequence[_Candidate], whys: dict[str, Blocked]) -> Course:
    """The plan with a word on every candidate that stays."""
    proposed = {one.node for one in course.plan.proposals}
    budgets = budgets_for(course, _REASON)
    kept = [
        disruption_verdict(one.node, course.scene)  # pods may have been given to it meanwhile
        or whys.get(one.node.name)
        or _stays(one.node, budgets[one.node.node_pool])
        for one in free
        if one.node.name not in proposed
    ]
    return noted(course, Findings(blocked=tuple(kept), wake_at=_ends_at(kept)))


def _stays(node: Node, budget: Allowance) -> Blocked:
    if not budget.n_remaining:
        return over_budget(node, _REASON, budget)
    return blocked(node.name, Blocker.NOTHING_TO_GAIN)
