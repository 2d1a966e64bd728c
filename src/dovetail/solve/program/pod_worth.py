"""Values pods by the dual values of the linear program, for every offer and zone.

Each offer gets one multiplier vector (a price for each unit of each resource, and for each place
under a cap), scaled so that a full node is worth no more than it costs. A pod is worth the least
that it is worth on any offer that takes it. These values choose zones, order the tail, and make
the bound; see `bound.py` for why they prove one.
"""

from __future__ import annotations

import numpy as np

from dovetail.solve.axes import UNLIMITED, Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.terms import TermKind
from dovetail.solve.encoding.variety import insists
from dovetail.solve.program.answers import SolvedProgram, least_loss, multipliers
from dovetail.solve.program.cuts import KINDS, weigh_exactly
from dovetail.solve.program.multipliers import Values, full_node, scales


def appraise(enc: Encoded, offers: Int, solved: SolvedProgram) -> Values:
    """Values for all searched offers and all groups, from one solved program."""
    vectors, own_o = multipliers(enc, solved)
    vector_kr, vector_kt, vector_kw = vectors
    cap_t = np.array([cap for cap, _ in solved.classes.cap_groups])
    scale_kp = scales(enc, offers, full_node(enc, offers, vectors, cap_t))
    choice, _ = least_loss(enc, offers, solved, (vectors, own_o))
    place = np.searchsorted(offers, solved.offers)
    choice[place[own_o >= 0]] = own_o[own_o >= 0]
    scale = scale_kp[choice, np.arange(len(offers))]
    values = Values(
        offers,
        vector_kr,
        vector_kt,
        vector_kw,
        solved.classes.cap_terms,
        cap_t,
        choice,
        scale,
        np.zeros((0, 0)),
        np.zeros(0, dtype=np.int64),
        solved.offers[solved.assignment.nodes_o > 1e-7],
        solved.assignment.nodes_o[solved.assignment.nodes_o > 1e-7],
    )
    _appraise_shapes(enc, values)
    return values


def _appraise_shapes(enc: Encoded, values: Values) -> None:
    """What every distinct (request, mask, capped terms) is worth in every cell."""
    number_of: dict[tuple[bytes, int, tuple[int, ...], bool], int] = {}
    shape_g = np.zeros(len(enc.groups), dtype=np.int64)
    first: list[int] = []
    members: list[tuple[int, ...]] = []
    slot = {term: place for place, term in enumerate(values.cap_terms)}
    company_g = wanting_company(enc).tolist()
    ties, masks = enc.ties, enc.mask_g.tolist()
    for group, asked in enumerate(np.ascontiguousarray(enc.requests_gr)):
        own, match = ties.host_own_g[group], ties.host_match_g[group]
        capped = tuple([slot[t] for t in own if t in slot and t in match]) if own else ()
        key = (asked.tobytes(), masks[group], capped, company_g[group])
        number = number_of.setdefault(key, len(first))
        if number == len(first):
            first.append(group)
            members.append(capped)
        shape_g[group] = number
    values.shape_g = shape_g
    shapes = np.array(first, dtype=np.int64)
    worth_sp = _worth(enc, values, shapes, members)
    n_cells = len(enc.ties.domains_ck)
    cell_p = enc.cell_o[values.offers]
    values.worth_sc = np.full((len(shapes), n_cells), np.inf)
    for cell in range(n_cells):
        inside = cell_p == cell
        if inside.any():
            values.worth_sc[:, cell] = worth_sp[:, inside].min(axis=1)


def _worth(enc: Encoded, values: Values, shapes: Int, members: list[tuple[int, ...]]) -> Float:
    """shapes x offers: what a pod is worth there; infinite where it cannot go."""
    request = enc.requests_gr[shapes].astype(np.float64)
    worth = request @ (values.vector_kr[values.choice_p] * values.scale_p[:, None]).T
    if values.cap_terms:
        member_st = np.zeros((len(shapes), len(values.cap_terms)))
        for row, terms in enumerate(members):
            member_st[row, list(terms)] = 1.0
        worth += member_st @ (values.vector_kt[values.choice_p] * values.scale_p[:, None]).T
    for resource in sorted({resource for resource, _ in KINDS}):
        # Requests repeat: each is weighed once.
        asked, row_s = np.unique(enc.requests_gr[shapes, resource], return_inverse=True)
        worth += _cut_worth(enc, values, asked, resource)[row_s]
    fits = eligible(enc, shapes, values)
    worth[~fits] = np.inf
    return worth


def _cut_worth(enc: Encoded, values: Values, asked: Int, resource: int) -> Float:
    """requests x offers: what whole pods that ask for so much of a resource are worth more."""
    worth = np.zeros((len(asked), len(values.offers)))
    cap_p = enc.cap_or[values.offers, resource]
    for kind, (cut, k) in enumerate(KINDS):
        nu_p = values.vector_kw[values.choice_p, kind] * values.scale_p
        if cut == resource and nu_p.any():
            worth += nu_p * weigh_exactly(asked, cap_p, k)
    return worth


def eligible(enc: Encoded, shapes: Int, values: Values) -> Bool:
    """shapes x offers: where a pod may go at all, heavier pools first."""
    fits = takes(enc, shapes, values.offers)
    if weights_bind(enc):
        weight_p, cell_p = enc.weight_o[values.offers], enc.cell_o[values.offers]
        endless = enc.supply_o[values.offers] == UNLIMITED
        for cell in np.unique(cell_p):
            inside = np.flatnonzero(cell_p == cell)
            sure = fits[:, inside] & endless[inside][None, :]
            best = np.where(sure, weight_p[inside][None, :], -1).max(axis=1, initial=-1)
            best[wanting_company(enc)[shapes]] = -1
            fits[:, inside] &= weight_p[inside][None, :] >= best[:, None]
    return fits


def wanting_company(enc: Encoded) -> Bool:
    """Whether some affinity ties each group to others, which may draw it to a lighter pool."""
    ties = enc.ties
    is_wanting = np.zeros(len(enc.groups), dtype=bool)
    for zone in ties.zones:
        if zone.kind == TermKind.AFFINITY:
            is_wanting[list(zone.groups)] = True
    hosts = {number for number, term in enumerate(ties.hosts) if term.kind == TermKind.AFFINITY}
    if hosts:
        pairs = zip(ties.host_own_g, ties.host_match_g, strict=True)
        is_wanting |= np.array([not hosts.isdisjoint((*own, *match)) for own, match in pairs])
    return is_wanting


def weights_bind(enc: Encoded) -> bool:
    """Whether weights alone decide which pool a pod goes to: no heavier pool has limits or
    minValues, for which it might not take the pod.
    """
    pools = enc.market.pools
    least = min((pool.weight for pool in pools), default=0)
    heavier = [pool for pool in pools if pool.weight > least]
    return bool(heavier) and not any(
        enc.problem.limits.get(pool.name) or insists([pool]) for pool in heavier
    )


def takes(enc: Encoded, groups: Int, offers: Int) -> Bool:
    """groups x offers: whether an empty node would take one pod of the group."""
    rows = np.concatenate([enc.mask_g[groups][:, None], enc.requests_gr[groups]], axis=1)
    # Few groups differ in what they ask for; a table for those is smaller.
    first, which = _distinct(rows)
    shapes = groups[first]
    fits = enc.masks_me[:, offers][enc.mask_g[shapes]]
    for resource in range(enc.cap_or.shape[1]):
        asked = enc.requests_gr[shapes, resource][:, None]
        fits &= (asked <= enc.cap_or[offers, resource][None, :]) | (asked == 0)
    whole: Bool = fits[which]
    return whole


def _distinct(rows: Int) -> tuple[Int, Int]:
    """The first of each distinct row, and which of those every row equals."""
    place: dict[bytes, int] = {}
    which = [place.setdefault(row.tobytes(), len(place)) for row in rows]
    first = np.zeros(len(place), dtype=np.int64)
    first[which[::-1]] = np.arange(len(rows))[::-1]
    return first, np.array(which, dtype=np.int64)


def rough(enc: Encoded, offers: Int) -> Values:
    """Values without a program: a pod is worth the share of a node that it fills by itself."""
    values = priceless(enc, offers)
    groups = np.arange(len(enc.groups))
    cap = np.maximum(enc.cap_or[offers], 1).astype(np.float64)
    share = np.zeros((len(groups), len(offers)))
    for resource in range(cap.shape[1]):
        mine = enc.requests_gr[:, resource][:, None] / cap[:, resource][None, :]
        np.maximum(share, mine, out=share)
    worth = share * enc.plan_price_o[offers][None, :]
    worth[~eligible(enc, groups, values)] = np.inf
    cell_p = enc.cell_o[offers]
    for cell in np.unique(cell_p).tolist():
        values.worth_sc[:, cell] = worth[:, cell_p == cell].min(axis=1)
    return values


def priceless(enc: Encoded, offers: Int) -> Values:
    """Values when there is nothing to buy: every pod is priceless everywhere."""
    n_groups = len(enc.groups)
    return Values(
        offers,
        np.zeros((1, len(enc.resources))),
        np.zeros((1, 0)),
        np.zeros((1, len(KINDS))),
        [],
        np.zeros(0),
        np.zeros(len(offers), dtype=np.int64),
        np.ones(len(offers)),
        np.full((max(n_groups, 1), len(enc.ties.domains_ck)), np.inf),
        np.arange(n_groups),
        offers,
        np.zeros(len(offers)),
    )
