"""The whole solver, stage by stage: which nodes to launch, and which pod goes where.

The stages, in this order: `encoding`, the linear `program`, planning (`zones`, `packing`, `search`,
`patterns`, `exact`, `finishing`), preferences, `launching`, and the proof of the lower bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from dovetail.model.plan import Certificate
from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.minvalues import hold_min_values, may_give_way, relaxed_groups
from dovetail.solve.encoding.node_prices import at_provider_prices, has_node_prices
from dovetail.solve.encoding.spot_risk import with_robust_prices
from dovetail.solve.encoding.unplaceable import without_a_place
from dovetail.solve.encoding.wishes import wishes_of
from dovetail.solve.exact.placing import place_exactly
from dovetail.solve.finishing.preferences import prefer
from dovetail.solve.finishing.priority import displace_lower_priority, prefer_high_priority
from dovetail.solve.finishing.promote import could_rise_without_min_values, promote
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.finishing.rightsize import right_size
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.launching.decode import decode, unplaced_pods
from dovetail.solve.packing.attempt import Attempt, PackingResult, left_of, new_attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.pack import is_very_large
from dovetail.solve.patterns.proof import PricedPlan, pattern_bound
from dovetail.solve.patterns.rearrange import rearrange, rearrange_widely
from dovetail.solve.patterns.replan import replan_by_patterns
from dovetail.solve.program.bound import better, certify, fit_existing, is_as_good
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import rough
from dovetail.solve.program.relaxation import (
    EncodedPuzzle,
    SearchSpace,
    encode_schedulable,
    search_space,
    value_pods,
)
from dovetail.solve.puzzle import Puzzle, Solution, canonical
from dovetail.solve.search.fewer_nodes import with_fewer_nodes
from dovetail.solve.search.portfolio import cheaper_plan, is_small, plan_for_few
from dovetail.solve.zones.colocate import colocate
from dovetail.solve.zones.settle import settle_all

_NEAR: Final = 1.005  # of the lower bound: a price so near it needs no tighter bound


def solve(puzzle: Puzzle) -> Solution:
    """Place every pending pod that can be placed, at the lowest price found, with a lower bound."""
    if not puzzle.pods:
        return Solution()
    encoded = encode_schedulable(canonical(puzzle))
    if not encoded.restricted.enc.groups:
        return Solution(unplaced=encoded.unschedulable)
    values = value_pods(encoded.restricted)
    packing = _apply_preferences(_plan(encoded.restricted, values))
    solution = _solution_of(packing, encoded.unschedulable)
    return _with_lower_bound(solution, packing, encoded, values)


def plan_encoded(enc: Encoded, start: Attempt, most_nanousd: int | None) -> Solution:
    """The same for an encoded puzzle, without a lower bound. Unschedulable pods are the only answer
    if there are any. A plan that costs more than `most_nanousd` is not worked out.

    `start` has as many of the pods on existing nodes as those take.
    """
    plain = search_space(enc)
    lost = without_a_place(enc, plain.fits_gp)
    if lost:
        return Solution(unplaced=tuple(pod for group in lost for pod in enc.groups[group].pods))
    restricted_enc = hold_min_values(with_robust_prices(enc))
    space = plain if restricted_enc is enc else search_space(restricted_enc)
    too_dear = Solution(n_groups=len(enc.groups), is_dear=True)
    packing = _plan_for_few(space)
    if packing is None:
        values = value_pods(space, is_proof=False)
        if most_nanousd is not None and start.worth_left(values) > most_nanousd:
            return too_dear
        packing = _plan(space, values, is_final=False)
    is_complete = not packing.left_out
    if most_nanousd is not None and is_complete and packing.attempt.price() > most_nanousd:
        return too_dear
    return _solution_of(_apply_preferences(packing), ())


def _plan_for_few(space: SearchSpace) -> PackingResult | None:
    """A plan without the linear program, where few pods need new nodes; None if it leaves any out,
    or is no option.
    """
    if not space.enc.problem.policy.effort or relaxed_groups(space.enc):
        return None
    start = new_attempt(space.enc, space.offers, rough(space.enc, space.offers))
    settle_all(start, range(len(space.enc.groups)))
    start.left_u = left_of(start)
    colocate(start.bins, start.units, start.left_u)
    attempt = plan_for_few(start)
    if attempt is None or not is_sound(attempt):
        return None
    packing = _finish(attempt)
    return None if packing.left_out else packing


def _plan(space: SearchSpace, values: Values, *, is_final: bool = True) -> PackingResult:
    """The best plan found; without minValues if those may give way and more is possible so. One
    that is only to be compared, not `is_final`, is improved less.
    """
    packing = _best_plan(space, values, is_final=is_final)
    if may_give_way(space.enc) and (
        packing.left_out or could_rise_without_min_values(packing.attempt)
    ):
        return _plan_without_min_values(packing, is_final=is_final)
    return packing


def _plan_without_min_values(strict: PackingResult, *, is_final: bool) -> PackingResult:
    """Another plan that holds no minValues, if it places more pods or uses heavier pools."""
    origin = strict.attempt.enc.origin
    if origin is None:
        return strict
    space = search_space(origin.enc)
    free = _best_plan(space, value_pods(space), is_final=is_final)
    return min(strict, free, key=lambda packing: rank(packing)[:2])


def _best_plan(space: SearchSpace, values: Values, *, is_final: bool) -> PackingResult:
    """The best of the plan in bulk, a cheaper one by search, and one by exact search."""
    enc = space.enc
    is_large = bool(enc.problem.policy.effort) and not is_small(enc)
    attempt = run_attempt(enc, space.offers, values)
    if is_large and is_very_large(enc):
        rearrange_widely(attempt)
    elif is_large:
        rearrange(attempt)
    cheaper = cheaper_plan(attempt)
    if is_final:
        replan_by_patterns(cheaper or attempt)
    if is_large:
        attempt = with_fewer_nodes(attempt)
    best = _finish(attempt)
    if cheaper is not None and is_sound(cheaper):
        best = min(best, _finish(cheaper), key=rank)
    for exact in map(displace_lower_priority, place_exactly(best)):
        right_size(exact.attempt)
        best = min(best, exact, key=rank)
    return best


def _finish(attempt: Attempt) -> PackingResult:
    """Place pods that are left over, and make every node as small as its pods allow."""
    attempt, left_out = prefer_high_priority(PackingResult(attempt, rescue(attempt)))
    is_moving = True
    while is_moving:
        right_size(attempt)
        if left_out:
            left_out = rescue(attempt)  # smaller nodes leave more of the limits
        is_moving = promote(attempt)
    return PackingResult(attempt, left_out)


def _apply_preferences(packing: PackingResult) -> PackingResult:
    """Move pods to nodes that they prefer, where that costs nothing."""
    attempt, left_out = packing
    attempt.wishes = wishes_of(attempt.enc)
    if attempt.wishes is not None:
        prefer(attempt, attempt.wishes)
        if left_out:
            left_out = rescue(attempt)  # pods that moved may have left room
        promote(attempt)
    return PackingResult(attempt, left_out)


def _solution_of(packing: PackingResult, unschedulable: tuple[Pod, ...]) -> Solution:
    """The plan by names of pods and nodes."""
    attempt, left_out = packing
    launches, placed, order = decode(attempt)
    policy = attempt.enc.problem.policy
    return Solution(
        launches=tuple(launches),
        placed=tuple(placed),
        unplaced=(*unplaced_pods(attempt, left_out), *unschedulable),
        order=tuple(order),
        price_nanousd=sum(launch.offering.price_nanousd for launch in launches),
        node_price_nanousd=sum(policy.node_price_of(launch.node_pool) for launch in launches),
        n_groups=len(attempt.enc.groups),
    )


def _with_lower_bound(
    solution: Solution, packing: PackingResult, encoded: EncodedPuzzle, values: Values
) -> Solution:
    """The solution with a certificate: a proven lower bound on the price of any plan for its pods.

    Where nodes have a price of their own there are two: for the provider's prices, and for the sum.
    """
    plain, is_restricted = encoded.plain, encoded.is_restricted
    enc, placed_g = plain.enc, packing.placed_g()
    price = solution.price_nanousd + solution.node_price_nanousd
    plan = PricedPlan(packing.attempt, placed_g, price, values.pattern_worths)
    if is_restricted:
        # Other plans may list other types for minValues; the bound must hold for them too.
        values = value_pods(plain)
    proof = certify(enc, values, plain.stands_for, placed_g=placed_g, price=price)
    if enc.problem.policy.effort and not is_restricted:
        proof = _tighten_by_patterns(proof, plain, values, plan)
    if not has_node_prices(enc):
        return msgspec.structs.replace(solution, certificate=proof)
    plan = PricedPlan(packing.attempt, placed_g, solution.price_nanousd, {})
    money = _provider_certificate(enc, plan, by_patterns=not is_restricted)
    return msgspec.structs.replace(solution, certificate=money, node_certificate=proof)


def _tighten_by_patterns(
    proof: Certificate, space: SearchSpace, values: Values, plan: PricedPlan
) -> Certificate:
    """The better of a certificate and what patterns prove, unless the price is at the bound."""
    if is_as_good(proof.bound_nanousd, plan.price):
        return proof
    plan = replace(plan, is_close=plan.price <= proof.bound_nanousd * _NEAR)
    by_patterns = pattern_bound(space.enc, values, plan, fit_existing(space.enc))
    return better(space.enc, proof, by_patterns)


def _provider_certificate(enc: Encoded, plan: PricedPlan, *, by_patterns: bool) -> Certificate:
    """A lower bound on what the provider charges, where plans are compared by more than that."""
    space = search_space(at_provider_prices(enc))
    values = value_pods(space)
    proof = certify(space.enc, values, space.stands_for, placed_g=plan.placed_g, price=plan.price)
    if not (enc.problem.policy.effort and by_patterns and plan.price > proof.bound_nanousd):
        return proof
    tighter = pattern_bound(space.enc, values, plan, fit_existing(space.enc))
    return better(space.enc, proof, tighter)
