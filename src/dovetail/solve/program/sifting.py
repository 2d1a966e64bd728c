"""Solves the linear program over few offers, and adds others while they pay (sifting).

The assignment program over all offers would take a second; over the few that matter it takes
milliseconds. So: start with good offers of every kind, solve, look for an offer that the
multipliers say is a bargain, add the best bargains, repeat (sifting).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.packing.units import ANY_CELL
from dovetail.solve.program.answers import SolvedProgram, least_loss, multipliers
from dovetail.solve.program.assignment import PENALTY, Assignment, Cut, Program, Solver
from dovetail.solve.program.cuts import cuts_of, likely, violated_cuts
from dovetail.solve.program.guests import with_guests
from dovetail.solve.program.lots import Classes, Lot, acceptance, merge
from dovetail.solve.program.rounding import round_one_machine

_ROUNDS: Final = 4
_FEW_ROUNDS: Final = 1  # where nothing is proven
_ADDED: Final = 24
_MAJOR: Final = 0.8  # of the bill: the classes that the first offers are chosen for
_NO_GAIN: Final = 1e-4
_MANY_TIES: Final = 100
_TIED_SHARE: Final = 0.2
_PROOF_ROUNDS: Final = 1
_WHOLE: Final = 1e-3  # of the bill: whole pods that weigh less hardly show in the proof
_UNPROVEN: Final = 1e-4  # of the bill; an offer that costs the proof more is priced properly
_SIBLING_PRICE: Final = 1.3
_ROUNDING: Final = 0.001
_SHOWS: Final = 1e-3  # of the bill: a class that pays so much more than it must gets another offer
_GOOD_ENOUGH: Final = 1.001  # chasing the last 0.1 % adds hundreds of offers


@dataclass(frozen=True, slots=True)
class _ClassFits:
    """Classes against offers, scaled: who takes whom, and how many an empty node holds."""

    accept_lp: Bool
    price_p: Float
    cap_pr: Float
    request_lr: Float
    fit_lp: Float


@dataclass(frozen=True, slots=True)
class _OfferSpace:
    """What can be bought, for whom, and under which limits."""

    enc: Encoded
    classes: Classes
    offers: Int
    accept_lp: Bool
    price_p: Float
    scale_r: Float
    limits: Sequence[tuple[Float, float]]

    def program(self, some: Int) -> Program:
        """The program over some of the offers, by their places."""
        enc, classes = self.enc, self.classes
        offers, accept = self.offers[some], self.accept_lp[:, some]
        price = self.price_p[some]
        alone = np.where(accept, price[None, :], np.inf).min(axis=1, initial=np.inf)
        domain = np.full(accept.shape, -1, dtype=np.int64)
        for row in classes.range_ld:
            domain[row] = enc.ties.domains_ck[enc.cell_o[offers], classes.key_l[row]]
        supply = enc.supply_o[offers]
        return Program(
            price_o=price,
            cap_or=np.minimum(enc.cap_or[offers] / self.scale_r, 1e6),
            supply_o=np.where(supply > 10**12, np.inf, supply.astype(np.float64)),
            request_lr=classes.request_lr / self.scale_r,
            count_l=classes.count_l,
            accept_lo=accept,
            penalty_l=PENALTY * np.where(np.isfinite(alone), alone + 1e-3, 1.0),
            domain_lo=domain,
            range_ld=_reachable(classes, accept, domain),
            cap_groups=classes.cap_groups,
            limits=[(weight[some], limit) for weight, limit in self.limits],
        )

    def market(self) -> _ClassFits:
        """All offers, for comparison."""
        cap = self.enc.cap_or[self.offers] / self.scale_r
        request = self.classes.request_lr / self.scale_r
        fit = _whole_fit(cap, request, self.accept_lp)
        return _ClassFits(self.accept_lp, self.price_p, cap, request, fit)

    def guide(self, chosen: Int, answer: Assignment, program: Program) -> SolvedProgram:
        """An answer over some of the offers."""
        accept = self.accept_lp[:, chosen]
        return SolvedProgram(
            self.offers[chosen], self.classes, accept, self.scale_r, answer, program
        )


def _prices(enc: Encoded, offers: Int, classes: Classes, accept: Bool) -> Float:
    """The prices that the program compares, in dollars: a node that makes up much of the whole bill
    is a little dearer, since numbers of nodes are rounded in the end.
    """
    price = enc.plan_price_o[offers].astype(np.float64) * 1e-9
    share, buffer = np.zeros(accept.shape), np.empty(accept.shape)
    for resource in range(enc.cap_or.shape[1]):
        cap = np.maximum(enc.cap_or[offers, resource], 1)
        np.divide(classes.request_lr[:, resource][:, None], cap, out=buffer)
        np.maximum(share, buffer, out=share)
    share *= price
    share[~accept] = np.inf
    cost = share.min(axis=1, initial=np.inf)
    bill = float(classes.count_l @ np.where(np.isfinite(cost), cost, 0.0))
    return price * (1.0 + _ROUNDING * price / max(bill, 1e-9)) if bill > 0 else price


def offer_space(
    enc: Encoded, offers: Int, lots: Sequence[Lot], limits: Sequence[tuple[Float, float]]
) -> _OfferSpace:
    """The offers and the lots that they are for, as far as programs over some of them ask."""
    classes = merge(enc, lots)
    scale = _scale(enc.cap_or[offers].astype(np.float64), classes)
    accept = acceptance(enc, classes, offers)
    price = _prices(enc, offers, classes, accept)
    return _OfferSpace(enc, classes, offers, accept, price, scale, limits)


def solve_program(
    enc: Encoded,
    offers: Int,
    lots: Sequence[Lot],
    limits: Sequence[tuple[Float, float]] = (),
    *,
    is_proof: bool = True,
) -> SolvedProgram:
    """Sift the offers for these lots, roughly if nothing is to be proven by it. Every lot must fit
    some offer.
    """
    space = offer_space(enc, offers, lots, limits)
    market = space.market()
    chosen = _first_choice(market, space.classes, enc.cell_o[offers])
    solver = Solver(_with_likely_cuts(space.program(chosen)))
    answer = solver.solve()
    is_cutting = True
    for _ in range(_ROUNDS if is_proof else _FEW_ROUNDS):
        ratio = _bargains(answer, solver.program, market, space.classes)
        is_cutting = is_cutting and not _has_many_ties(ratio)
        ratio[chosen] = 0.0
        best = np.argsort(-ratio, kind="stable")[:_ADDED]
        best = np.sort(best[ratio[best] > _GOOD_ENOUGH])
        if len(best):
            solver.add_offers(_with_likely_cuts(space.program(best)))
            chosen = np.concatenate([chosen, best])
            answer = solver.solve()
        broken = violated_cuts(solver.program, answer) if is_cutting else []
        if broken:
            last = answer.value
            solver.add_cuts(_for_twins(solver.program, broken))
            answer = solver.solve()
            # Where machines of many sizes cost the same per cpu, pods move on for ever.
            is_cutting = answer.value > last * (1 + _NO_GAIN)
        if not len(best) and not (broken and is_cutting):
            break
    for _ in range(_PROOF_ROUNDS if is_proof else 0):
        best = _needed_offers(space, chosen, (answer, solver.program))
        if not len(best):
            break
        solver.add_offers(_with_likely_cuts(space.program(best)))
        chosen = np.concatenate([chosen, best])
        answer = solver.solve()
    return space.guide(chosen, answer, solver.program)


def _has_many_ties(ratio: Float) -> bool:
    """Whether so many offers are as good as those that were bought that cuts would be in vain: pods
    would move on to the next size, and to the one after that.
    """
    n_tied = int(((ratio > 2 - _GOOD_ENOUGH) & (ratio <= _GOOD_ENOUGH)).sum())
    return n_tied > max(_MANY_TIES, _TIED_SHARE * len(ratio))


def _needed_offers(space: _OfferSpace, chosen: Int, known: tuple[Assignment, Program]) -> Int:
    """The places of offers that are no bargain, but whose multipliers would prove too little.

    Prices of resources fit any machine; weights of whole pods fit only those that they are for.
    """
    answer, program = known
    whole = sum(
        weight * answer.nodes_o[cut.offer]
        for cut, weight in zip(program.cuts, answer.nu.tolist(), strict=True)
    )
    if whole < _WHOLE * answer.value:
        return chosen[:0]
    solved = space.guide(chosen, *known)
    others = np.setdiff1d(np.arange(len(space.offers)), chosen)
    _, loss = least_loss(space.enc, space.offers[others], solved, multipliers(space.enc, solved))
    worst = np.argsort(-loss, kind="stable")[:_ADDED]
    return np.sort(others[worst[loss[worst] > _UNPROVEN * 1e9 * known[0].value]])


def _with_likely_cuts(program: Program) -> Program:
    """The program with the cuts that offers will break once pods come to them."""
    demand = program.count_l * program.request_lr.max(axis=1)
    program.cuts = cuts_of(program, likely(program, demand))
    return program


def _for_twins(program: Program, cuts: Sequence[Cut]) -> list[Cut]:
    """The same cuts for machines of the same size and price: pods would only move on to those."""
    present = {(cut.offer, cut.kind) for cut in program.cuts}
    twins = _equal_offers(program)
    both = dict.fromkeys((twin, cut.kind) for cut in cuts for twin in twins[cut.offer])
    return cuts_of(program, [pair for pair in both if pair not in present])


def _equal_offers(program: Program) -> list[list[int]]:
    """For every offer those of the same size and price, itself among them."""
    rows = np.concatenate([program.cap_or, program.price_o[:, None]], axis=1)
    kind_o = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return [np.flatnonzero(kind_o == kind).tolist() for kind in kind_o.tolist()]


def _siblings(enc: Encoded, offers: Int, favourites: Int) -> Bool:
    """The favourites' types in other cells: pods that must go there want the same machines."""
    liked = {(int(enc.pool_o[offer]), int(enc.type_o[offer])) for offer in favourites.tolist()}
    ceiling = {
        (int(enc.pool_o[offer]), int(enc.type_o[offer])): int(enc.plan_price_o[offer])
        for offer in favourites.tolist()
    }
    kinds = zip(enc.pool_o[offers].tolist(), enc.type_o[offers].tolist(), strict=True)
    price = enc.plan_price_o[offers]
    return np.array(
        [
            kind in liked and price[place] <= _SIBLING_PRICE * ceiling[kind]
            for place, kind in enumerate(kinds)
        ],
        dtype=bool,
    )


def without_sifting(
    enc: Encoded,
    offers: Int,
    lots: Sequence[Lot],
    limits: Sequence[tuple[Float, float]],
    favourites: Int,
) -> SolvedProgram:
    """The answer over offers known to be good, and for whom those are no good, others: the central
    one, which is the easiest to round, unless in haste.
    """
    space = offer_space(enc, offers, lots, limits)
    accept, classes = space.accept_lp, space.classes
    good = np.isin(offers, favourites)
    if (classes.cell_l != ANY_CELL).any():
        good |= _siblings(enc, offers, favourites)
    fit = np.minimum(space.market().fit_lp, classes.count_l[:, None])
    cost = enc.plan_price_o[offers][None, :] / np.maximum(fit, 1e-3)
    cost[~accept] = np.inf
    least = cost.min(axis=1, initial=np.inf)
    bill = classes.count_l * np.where(np.isfinite(least), least, 0.0)
    waste = classes.count_l * cost[:, good].min(axis=1, initial=np.inf) - bill
    uncovered = np.isfinite(least) & (waste > bill) & (waste > _SHOWS * bill.sum())
    good[np.argmin(cost[uncovered], axis=1)] = True
    chosen = np.flatnonzero(good & accept.any(axis=0))
    is_hasty = not enc.problem.policy.effort
    program, again = with_guests(space.program(chosen))
    chosen = np.concatenate([chosen, chosen[again]])
    solver = Solver(_with_likely_cuts(program), central=not is_hasty)
    return space.guide(chosen, round_one_machine(solver), solver.program)


def _scale(cap: Float, classes: Classes) -> Float:
    """About one node's worth of each resource; what nobody is short of stays harmless."""
    seen = np.where(cap < 1e15, cap, 0.0)
    mean = seen.mean(axis=0) if len(cap) else np.ones(cap.shape[1])
    most = classes.request_lr.max(axis=0, initial=0.0)
    scale: Float = np.maximum(np.maximum(mean, most), 1.0)
    return scale


def _reachable(classes: Classes, accept: Bool, domain: Int) -> dict[int, tuple[Float, Float]]:
    """Quotas only over domains that some candidate offer reaches."""
    result = {}
    for row, (low, high) in classes.range_ld.items():
        reached = np.zeros(len(low), dtype=bool)
        reached[domain[row][accept[row] & (domain[row] >= 0)]] = True
        result[row] = (np.where(reached, low, 0.0), np.where(reached, high, np.inf))
    return result


def _first_choice(market: _ClassFits, classes: Classes, cell_o: Int) -> Int:
    """For the classes that ask for most, the offer that holds each most cheaply, in every domain if
    it is spread; for the others only if nothing chosen takes them; and for those of which a node
    takes only a few, the cheapest offer at all. The rest comes as bargains.
    """
    accept, price = market.accept_lp, market.price_p
    cost = np.where(accept, price[None, :] / np.maximum(market.fit_lp, 1e-3), np.inf)
    least = cost.min(axis=1, initial=np.inf)
    bill = classes.count_l * np.where(np.isfinite(least), least, 0.0)
    chosen = np.zeros(len(price), dtype=bool)
    spent = 0.0
    for row in np.argsort(-bill, kind="stable").tolist():
        is_minor = spent > _MAJOR * float(bill.sum())
        if not np.isfinite(least[row]) or (is_minor and (accept[row] & chosen).any()):
            continue
        spent += float(bill[row])
        chosen[np.argmin(cost[row])] = True
        for cell in np.unique(cell_o[accept[row]]) if row in classes.range_ld else ():
            chosen[np.argmin(np.where(cell_o == cell, cost[row], np.inf))] = True
    alone = np.where(accept, price[None, :], np.inf)
    for _, members in classes.cap_groups:
        chosen[np.argmin(alone[members], axis=1)] = True
    return np.flatnonzero(chosen)


def _bargains(answer: Assignment, program: Program, market: _ClassFits, classes: Classes) -> Float:
    """How many times its price each offer might be worth: an upper bound by weak duality.

    For any multipliers, a full node is worth at most lambda.capacity plus what pods are worth
    beyond lambda.request, as far as they fit. The least over the multipliers in use is taken.
    """
    price, cap, request = market.price_p, market.cap_pr, market.request_lr
    pi = answer.pi_l.copy()
    for row, surcharge in answer.zone_ld.items():
        pi[row] += max(float(surcharge.max(initial=0.0)), 0.0)
    used = np.flatnonzero(answer.nodes_o > 1e-7)
    vectors = np.unique(np.round(answer.lambda_or[used], 12), axis=0)
    fit = np.minimum(market.fit_lp, classes.count_l[:, None])
    caps = [(limit, members) for limit, members in program.cap_groups]
    best = _least_worth(vectors, pi, (fit, cap, request), caps)
    flagged = np.flatnonzero(best > price * _GOOD_ENOUGH)
    if len(flagged) and len(vectors) > 1:
        left, right = np.triu_indices(min(len(vectors), 10), k=1)
        middle = (vectors[left] + vectors[right]) / 2
        finer = _least_worth(middle, pi, (fit[:, flagged], cap[flagged], request), caps)
        best[flagged] = np.minimum(best[flagged], finer)
    return best / np.maximum(price, 1e-9)


def _whole_fit(cap: Float, request: Float, accept: Bool) -> Float:
    """classes x offers: how many pods of a class an empty node takes."""
    fit, buffer = np.full(accept.shape, np.inf), np.empty(accept.shape)
    for resource in range(cap.shape[1]):
        asked = request[:, resource, None]
        is_asked = asked > 0
        np.divide(cap[:, resource], asked, out=buffer, where=is_asked)
        np.minimum(fit, buffer, out=fit, where=is_asked)
    fit += 1e-9
    np.floor(fit, out=fit)
    fit[~accept] = 0.0
    return fit


def _least_worth(
    vectors: Float,
    pi: Float,
    shapes: tuple[Float, Float, Float],
    caps: Sequence[tuple[float, list[int]]],
) -> Float:
    fit, cap, request = shapes
    capped = np.zeros(len(pi), dtype=bool)
    for _, members in caps:
        capped[members] = True
    beyond_kl = np.maximum(pi - vectors @ request.T, 0.0)
    worth_kp = vectors @ np.minimum(cap, 1e6).T + (beyond_kl * ~capped) @ fit
    for limit, members in caps:
        # Of all these, a node takes only so many: the best ones.
        best_kp = np.zeros(worth_kp.shape)
        for row in members:
            if beyond_kl[:, row].any():
                most = np.minimum(fit[row], limit)
                np.maximum(best_kp, beyond_kl[:, row, None] * most, out=best_kp)
        worth_kp += best_kp
    least: Float = worth_kp.min(axis=0, initial=np.inf)
    return least
