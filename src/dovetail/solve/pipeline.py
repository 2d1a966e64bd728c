"""Which nodes for which pods? The whole of `solve` in order."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail.model.plan import Certificate
from dovetail.model.pod import Pod
from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.minvalues import hold_min_values, may_give_way, relaxed_groups
from dovetail.solve.encoding.node_prices import at_provider_prices, has_node_prices
from dovetail.solve.encoding.spot_risk import with_robust_prices
from dovetail.solve.encoding.unplaceable import without_a_place
from dovetail.solve.encoding.wishes import wishes_of
from dovetail.solve.exact.placing import placed_exactly
from dovetail.solve.finishing.preferences import prefer
from dovetail.solve.finishing.priority import Outcome, by_priority, displaced
from dovetail.solve.finishing.promote import could_rise_without_min_values, promote
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.finishing.rightsize import right_size
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.launching.decode import decode, unplaced
from dovetail.solve.packing.attempt import Attempt, left_of, new_attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.patterns.proof import Proven, pattern_bound
from dovetail.solve.patterns.rearrange import rearrange
from dovetail.solve.program.bound import better, certify, fit_existing, is_as_good
from dovetail.solve.program.multipliers import Values
from dovetail.solve.program.pod_worth import rough
from dovetail.solve.program.relaxation import Searched, appraised, encoded, searched
from dovetail.solve.puzzle import Puzzle, Solution, canonical
from dovetail.solve.search.fewer_nodes import with_fewer_nodes
from dovetail.solve.search.portfolio import cheaper_plan, is_small, plan_for_few
from dovetail.solve.zones.colocate import colocate
from dovetail.solve.zones.settle import settle_all

_NEAR: Final = 1.005  # of a bound: a price so near it needs no better one


def solve(puzzle: Puzzle) -> Solution:
    """Place every pod that can be placed, as cheaply as can be found, with a proven bound."""
    if not puzzle.pods:
        return Solution()
    plain, shop, hopeless = encoded(canonical(puzzle))
    if not shop.enc.groups:
        return Solution(unplaced=hopeless)
    values = appraised(shop)
    attempt, waiting = _wished_for(_planned(shop, values))
    found = _said(attempt, waiting, hopeless)
    placed_g = shop.enc.count_g.copy()
    for group, count in waiting.items():
        placed_g[group] -= count
    worths = values.pattern_worths
    if shop is not plain:
        # Others may keep other types in reserve, or compare true prices: the bound knows neither.
        values = appraised(plain)
    price = found.price_nanousd + found.node_price_nanousd
    proof = certify(plain.enc, values, plain.stands_for, placed_g=placed_g, price=price)
    is_close = is_as_good(proof.bound_nanousd, price)
    if plain.enc.problem.policy.effort and shop is plain and not is_close:
        is_near = price <= proof.bound_nanousd * _NEAR
        plan = Proven(attempt, placed_g, price, worths, is_near)
        fits_g = fit_existing(plain.enc)
        proof = better(plain.enc, proof, pattern_bound(plain.enc, values, plan, fits_g))
    if not has_node_prices(plain.enc):
        return msgspec.structs.replace(found, certificate=proof)
    plan = Proven(attempt, placed_g, found.price_nanousd, {})
    money = _provider_proof(plain.enc, plan, by_patterns=shop is plain)
    return msgspec.structs.replace(found, certificate=money, node_certificate=proof)


def _provider_proof(enc: Encoded, plan: Proven, *, by_patterns: bool) -> Certificate:
    """A bound on what the provider asks, where plans are compared by more than that."""
    money = searched(at_provider_prices(enc))
    values, placed_g = appraised(money), plan.placed_g
    proof = certify(money.enc, values, money.stands_for, placed_g=placed_g, price=plan.price)
    if not (enc.problem.policy.effort and by_patterns and plan.price > proof.bound_nanousd):
        return proof
    found = pattern_bound(money.enc, values, plan, fit_existing(money.enc))
    return better(money.enc, proof, found)


def planned(enc: Encoded, start: Attempt, most_nanousd: int | None) -> Solution:
    """The same for a puzzle as arrays, without a proof; pods that nothing could ever take are
    the only ones left out, if there are any. What costs too much is not worked out.

    The start is how many of them nodes that are there would take.
    """
    plain = searched(enc)
    lost = without_a_place(enc, plain.fits_gp)
    if lost:
        return Solution(unplaced=tuple(pod for group in lost for pod in enc.groups[group].pods))
    held = hold_min_values(with_robust_prices(enc))
    shop = plain if held is enc else searched(held)
    dear = Solution(n_groups=len(enc.groups), is_dear=True)
    found = _planned_for_few(shop)
    if found is None:
        values = appraised(shop, is_proof=False)
        if most_nanousd is not None and start.worth_left(values) > most_nanousd:
            return dear
        found = _planned(shop, values)
    attempt, waiting = found
    if most_nanousd is not None and not waiting and attempt.price() > most_nanousd:
        return dear
    return _said(*_wished_for(found), ())


def _planned_for_few(shop: Searched) -> Outcome | None:
    """A plan without the program, where few pods need new nodes; None if that is not the way."""
    if not shop.enc.problem.policy.effort or relaxed_groups(shop.enc):
        return None
    start = new_attempt(shop.enc, shop.offers, rough(shop.enc, shop.offers))
    settle_all(start, range(len(shop.enc.groups)))
    start.left_u = left_of(start)
    colocate(start.bins, start.units, start.left_u)
    found = plan_for_few(start)
    if found is None or not is_sound(found):
        return None
    attempt, waiting = _finished(found)
    return None if waiting else (attempt, waiting)


def _planned(shop: Searched, values: Values) -> Outcome:
    outcome = _best_attempt(shop.enc, shop.offers, values)
    attempt, waiting = outcome
    if may_give_way(shop.enc) and (waiting or could_rise_without_min_values(attempt)):
        return _without_min_values(outcome)
    return outcome


def _said(attempt: Attempt, waiting: dict[int, int], hopeless: tuple[Pod, ...]) -> Solution:
    launches, placed, order = decode(attempt)
    policy = attempt.enc.problem.policy
    return Solution(
        launches=tuple(launches),
        placed=tuple(placed),
        unplaced=(*unplaced(attempt, waiting), *hopeless),
        order=tuple(order),
        price_nanousd=sum(one.offering.price_nanousd for one in launches),
        node_price_nanousd=sum(policy.node_price_of(one.node_pool) for one in launches),
        n_groups=len(attempt.enc.groups),
    )


def _without_min_values(held: Outcome) -> Outcome:
    """Another plan that holds no minValues, if more pods find a place in it, or heavier pools."""
    origin = held[0].enc.origin
    if origin is None:
        return held
    shop = searched(origin.enc)
    free = _best_attempt(origin.enc, shop.offers, appraised(shop))
    return min(held, free, key=lambda outcome: rank(outcome)[:2])


def _best_attempt(enc: Encoded, offers: Int, values: Values) -> Outcome:
    attempt = run_attempt(enc, offers, values)
    if enc.problem.policy.effort and not is_small(enc):
        rearrange(attempt)
        attempt = with_fewer_nodes(attempt)
    other = cheaper_plan(attempt)
    outcome = _finished(attempt)
    if other is not None and is_sound(other):
        outcome = min(outcome, _finished(other), key=rank)
    for exact in map(displaced, placed_exactly(outcome)):
        right_size(exact[0])
        outcome = min(outcome, exact, key=rank)
    return outcome


def _wished_for(outcome: Outcome) -> Outcome:
    """The same plan as its pods like it best."""
    attempt, waiting = outcome
    attempt.wishes = wishes_of(attempt.enc)
    if attempt.wishes is not None:
        prefer(attempt, attempt.wishes)
        if waiting:
            waiting = rescue(attempt)  # whoever moved may have left room
        promote(attempt)
    return attempt, waiting


def _finished(attempt: Attempt) -> Outcome:
    """The plan with whatever can still be placed, and every node no larger than need be."""
    attempt, waiting = by_priority((attempt, rescue(attempt)))
    is_moving = True
    while is_moving:
        right_size(attempt)
        if waiting:
            waiting = rescue(attempt)  # smaller nodes leave more of the limits
        is_moving = promote(attempt)
    return attempt, waiting
