"""Which few offers are worth buying, and in what mix?

The assignment program over all offers would take a second; over the few that matter it takes
milliseconds. So: start with good offers of every kind, solve, look for an offer that the
multipliers say is a bargain, add the best bargains, repeat (sifting).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail.solve.assignment import PENALTY, Assignment, Program, solve_program
from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encode import Encoded
from dovetail.solve.lots import Classes, Lot, acceptance, merge

_ROUNDS: Final = 8
_ADDED: Final = 12
_GOOD_ENOUGH: Final = 1.001  # chasing the last 0.1 % adds hundreds of offers
_DIRECTIONS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(slots=True)
class Guide:
    """The program's answer, with what its rows and columns stand for."""

    offers: Int  # the sifted offers, by number
    classes: Classes
    accept_lo: Bool  # over the sifted offers
    scale_r: Float
    assignment: Assignment
    program: Program


def guide(
    enc: Encoded, offers: Int, lots: Sequence[Lot], limits: Sequence[tuple[Float, float]] = ()
) -> Guide:
    """Sift the offers for these lots. Every lot must fit some offer."""
    classes = merge(enc, lots)
    accept = acceptance(enc, classes, offers)
    price = enc.plan_price_o[offers] * 1e-9
    cap = enc.cap_or[offers].astype(np.float64)
    scale = _scale(cap, classes)
    cap /= scale
    request = classes.request_lr / scale
    chosen = _first_choice(accept, price, cap, (classes, request, enc.cell_o[offers]))
    for round_number in range(_ROUNDS):
        program = _program(enc, classes, offers[chosen], accept[:, chosen], scale, limits, chosen)
        answer = solve_program(program)
        if round_number == _ROUNDS - 1:
            break
        ratio = _bargains(answer, program, (accept, price, cap, request), classes)
        ratio[chosen] = 0.0
        best = np.argsort(-ratio, kind="stable")[:_ADDED]
        best = best[ratio[best] > _GOOD_ENOUGH]
        if not len(best):
            break
        chosen = np.sort(np.concatenate([chosen, best]))
    return Guide(offers[chosen], classes, accept[:, chosen], scale, answer, program)


def _scale(cap: Float, classes: Classes) -> Float:
    """About one node's worth of each resource; what nobody is short of stays harmless."""
    seen = np.where(cap < 1e15, cap, 0.0)
    mean = seen.mean(axis=0) if len(cap) else np.ones(cap.shape[1])
    return np.maximum(np.maximum(mean, classes.request_lr.max(axis=0, initial=0.0)), 1.0)


def _program(
    enc: Encoded,
    classes: Classes,
    offers: Int,
    accept: Bool,
    scale: Float,
    limits: Sequence[tuple[Float, float]],
    chosen: Int,
) -> Program:
    price = enc.plan_price_o[offers] * 1e-9
    cap = np.minimum(enc.cap_or[offers] / scale, 1e6)
    alone = np.where(accept, price[None, :], np.inf).min(axis=1, initial=np.inf)
    domain = None
    if classes.range_ld:
        domain = np.full(accept.shape, -1, dtype=np.int64)
        for row in classes.range_ld:
            domain[row] = enc.ties.domains_ck[enc.cell_o[offers], classes.key_l[row]]
    return Program(
        price_o=price,
        cap_or=cap,
        supply_o=np.where(enc.supply_o[offers] > 10**12, np.inf, enc.supply_o[offers] * 1.0),
        request_lr=classes.request_lr / scale,
        count_l=classes.count_l,
        accept_lo=accept,
        penalty_l=PENALTY * np.where(np.isfinite(alone), alone + 1e-3, 1.0),
        domain_lo=domain,
        range_ld=_reachable(classes, accept, domain),
        cap_groups=classes.cap_groups,
        limits=[(weight[chosen], limit) for weight, limit in limits],
    )


def _reachable(
    classes: Classes, accept: Bool, domain: Int | None
) -> dict[int, tuple[Float, Float]]:
    """Quotas only over domains that some candidate offer reaches."""
    result = {}
    for row, (low, high) in classes.range_ld.items():
        assert domain is not None
        reached = np.zeros(len(low), dtype=bool)
        reached[domain[row][accept[row] & (domain[row] >= 0)]] = True
        result[row] = (np.where(reached, low, 0.0), np.where(reached, high, np.inf))
    return result


def _first_choice(
    accept: Bool, price: Float, cap: Float, shapes: tuple[Classes, Float, Int]
) -> Int:
    """For every kind of offer the best value in several directions; for every class something."""
    classes, request, cell_o = shapes
    demand = (request * classes.count_l[:, None]).sum(axis=0)
    demand = demand / max(demand.max(initial=0.0), 1e-12)
    chosen: set[int] = set()
    masked = _signatures(accept, classes, cell_o)
    for share in _DIRECTIONS:
        weight = demand.copy()
        weight[0] *= share
        weight[1] *= 1.0 - share
        value = (np.minimum(cap, 1e3) @ weight) / np.maximum(price, 1e-9)
        order = np.lexsort((np.arange(len(price)), -value))
        _, first = np.unique(masked[order], return_index=True)
        chosen.update(order[first].tolist())
    covered = accept[:, sorted(chosen)].any(axis=1)
    cost = np.where(accept, price[None, :], np.inf)
    for row in np.flatnonzero(~covered):
        chosen.add(int(np.argmin(cost[row])))
    for row in classes.range_ld:
        for cell in np.unique(cell_o[accept[row]]):
            inside = np.where(cell_o == cell, cost[row], np.inf)
            chosen.add(int(np.argmin(inside)))
    for _, members in classes.cap_groups:
        for row in members:
            chosen.add(int(np.argmin(cost[row])))
    usable = accept.any(axis=0)
    return np.array(sorted(one for one in chosen if usable[one]), dtype=np.int64)


def _signatures(accept: Bool, classes: Classes, cell_o: Int) -> Int:
    """A number for each kind of offer: whose wishes it meets (sizes apart), and its cell."""
    masks = np.unique(classes.mask_l)
    rows = [accept[classes.mask_l == mask].any(axis=0) for mask in masks]
    table = np.concatenate(
        [np.packbits(np.array(rows), axis=0).T.astype(np.int64), cell_o[:, None]], axis=1
    )
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _bargains(
    answer: Assignment,
    program: Program,
    market: tuple[Bool, Float, Float, Float],
    classes: Classes,
) -> Float:
    """How many times its price each offer might be worth: an upper bound by weak duality.

    For any multipliers, a full node is worth at most lambda.capacity plus what pods are worth
    beyond lambda.request, as far as they fit. The least over the multipliers in use is taken.
    """
    accept, price, cap, request = market
    pi = answer.pi_l.copy()
    for row, surcharge in answer.zone_ld.items():
        pi[row] += max(float(surcharge.max(initial=0.0)), 0.0)
    used = np.flatnonzero(answer.nodes_o > 1e-7)
    vectors = np.unique(np.round(answer.lambda_or[used], 12), axis=0)
    for term, (_, members) in enumerate(program.cap_groups):
        pi[members] = np.maximum(pi[members] - answer.mu_to[term].max(initial=0.0), 0.0)
    fit = _whole_fit(cap, request, classes.count_l, accept)
    best = _least_worth(vectors, pi, (fit, cap, request))
    flagged = np.flatnonzero(best > price * _GOOD_ENOUGH)
    if len(flagged) and len(vectors) > 1:
        left, right = np.triu_indices(min(len(vectors), 10), k=1)
        middle = (vectors[left] + vectors[right]) / 2
        finer = _least_worth(middle, pi, (fit[:, flagged], cap[flagged], request))
        best[flagged] = np.minimum(best[flagged], finer)
    return best / np.maximum(price, 1e-9)


def _whole_fit(cap: Float, request: Float, count: Float, accept: Bool) -> Float:
    """classes x offers: how many pods of a class an empty node takes."""
    fit = np.full(accept.shape, np.inf)
    for resource in range(cap.shape[1]):
        asked = request[:, resource]
        some = asked > 0
        fit[some] = np.minimum(fit[some], cap[:, resource][None, :] / asked[some][:, None])
    return np.where(accept, np.minimum(np.floor(fit + 1e-9), count[:, None]), 0.0)


def _least_worth(vectors: Float, pi: Float, shapes: tuple[Float, Float, Float]) -> Float:
    fit, cap, request = shapes
    best = np.full(cap.shape[0], np.inf)
    for vector in vectors:
        beyond = np.maximum(pi - request @ vector, 0.0)
        best = np.minimum(best, np.minimum(cap, 1e6) @ vector + beyond @ fit)
    return best


def central_program(found: Guide) -> Program:
    """The same program over the offers in use only, to be solved for a point that mixes well."""
    used = np.flatnonzero(found.assignment.nodes_o > 1e-7)
    covered = found.accept_lo[:, used].any(axis=1)
    cost = np.where(found.accept_lo, found.program.price_o[None, :], np.inf)
    more = [int(np.argmin(cost[row])) for row in np.flatnonzero(~covered)]
    keep = np.unique(np.concatenate([used, np.array(more, dtype=np.int64)]))
    found.offers = found.offers[keep]
    found.accept_lo = found.accept_lo[:, keep]
    p = found.program
    found.program = Program(
        price_o=p.price_o[keep],
        cap_or=p.cap_or[keep],
        supply_o=p.supply_o[keep],
        request_lr=p.request_lr,
        count_l=p.count_l,
        accept_lo=p.accept_lo[:, keep],
        penalty_l=p.penalty_l,
        domain_lo=None if p.domain_lo is None else p.domain_lo[:, keep],
        range_ld=p.range_ld,
        cap_groups=p.cap_groups,
        limits=[(weight[keep], limit) for weight, limit in p.limits],
    )
    return found.program
