"""Narrows offers so that every launch can list as many instance types as minValues demand.

A pool with minValues wants every launch to be possible with so many different types. So an offer of
such a pool is treated as no larger than the siblings it needs: the componentwise minimum over
itself and those that cost it the least room, for pods that all of them accept. Whatever is packed
into that fits every sibling, and the rest of the solver needs to know nothing of minValues.

A pod for which those siblings are too small, though enough others would hold it, gets a row of its
own: the same offer beside other siblings. Where there are not enough in any case, the strict policy
takes nothing; best effort has rows of full size, only for pods that cannot be held otherwise. Those
are planned first, and others may use what is left of their nodes.

Siblings are bought in the same way (zone, capacity type), so that a launch tied to either has
them; a reservation may fall back on demand. Where one zone sells too few types, those of others
count too, unless pods are tied to the zone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

import numpy as np

from dovetail import labels
from dovetail.model.policy import MinValuesPolicy
from dovetail.model.resources import NODES
from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.encoding.encode import Encoded, Origin
from dovetail.solve.encoding.limits import Limits, binding_use, capacity_t
from dovetail.solve.encoding.siblings import Losses, Shapes, shapes_of
from dovetail.solve.encoding.ties import HostTerm
from dovetail.solve.encoding.variety import MinValues, are_met, demands, gather, later_kinds
from dovetail.solve.packing.bins import Bins

_NEAR: Final = 64  # siblings to look at first
_MOST_TAKERS: Final = 50  # sorts of pods, by the offers that take them, for which limits are spared


@dataclass(frozen=True, slots=True)
class _OfferFamily:
    """Offers of one pool bought in one way, and all that may stand in for them."""

    place: tuple[int, int]  # pool and cell
    asked: tuple[MinValues, ...]
    offers: Int
    beside: tuple[Int, Int]  # of the same zone, and of any


@dataclass(slots=True)
class _Rows:
    """Offers as the solver will see them: the old ones narrowed, then more of them."""

    cap_or: Int
    masks_mo: Bool
    siblings: list[Int]  # of every row, the old ones first; its own offer is among them
    offers: list[int] = field(default_factory=list)
    caps: list[Int] = field(default_factory=list)
    masks: list[Bool] = field(default_factory=list)

    def add(self, offer: int, cap: Int, mask: Bool, siblings: Int) -> None:
        """One more row for an offer."""
        self.offers.append(offer)
        self.caps.append(cap)
        self.masks.append(mask)
        self.siblings.append(siblings)


def hold_min_values(enc: Encoded) -> Encoded:
    """The same problem with offers that leave the choice which their pools insist on."""
    asked_p = [demands(pool, enc.market.types) for pool in enc.market.pools]
    if not any(asked_p) or not enc.groups:
        return enc
    families = list(_families(enc, asked_p))
    alone = list(np.arange(enc.n_offers)[:, None])
    rows = _Rows(enc.cap_or.copy(), enc.masks_me[:, : enc.n_offers].copy(), alone)
    shapes = shapes_of(enc)
    losses = Losses(enc, shapes)
    for family in families:
        _narrow(losses, family, rows)
    _spare_limits(losses, families, shapes, rows)
    missing = _missing_shapes(enc, families, shapes, rows)
    missing = _widen(losses, families, shapes, (rows, missing))
    mask_m, mask_g = np.arange(len(enc.masks_me)), enc.mask_g
    if missing and enc.problem.policy.min_values_policy == MinValuesPolicy.BEST_EFFORT:
        mask_m, mask_g = _relax(enc, shapes, rows, missing)
    return _encode_rows(enc, rows, mask_m, mask_g)


def may_give_way(enc: Encoded) -> bool:
    """Whether minValues have narrowed a problem, but may be given up."""
    policy = enc.problem.policy.min_values_policy
    return enc.origin is not None and policy == MinValuesPolicy.BEST_EFFORT


def relaxed_groups(enc: Encoded) -> list[int]:
    """The groups for which minValues give way somewhere."""
    if enc.origin is None:
        return []
    return np.flatnonzero(enc.mask_g >= len(enc.origin.enc.masks_me)).tolist()


def share_nodes(bins: Bins) -> None:
    """Let all pods use what is left of nodes that are bought without their minValues anyway."""
    origin, masks_me = bins.enc.origin, bins.enc.masks_me
    if origin is None or len(np.unique(bins.enc.weight_o)) > 1:
        return  # room in a lighter pool is no reason to leave a heavier one
    for node in range(bins.n_existing, bins.n):
        offer = int(bins.offer[node])
        is_held = masks_me[: len(origin.enc.masks_me), offer].any()
        if not is_held and not bins.dead[node]:
            bins.accept[:, node] = origin.enc.masks_me[origin.mask_m, origin.offer_o[offer]]


def _families(enc: Encoded, asked_p: list[tuple[MinValues, ...]]) -> Iterator[_OfferFamily]:
    ways: dict[tuple[int, int, tuple[int, int], str, str], list[int]] = {}
    daemons_o = _daemons(enc)
    is_open = Limits(enc).open_offers()  # what exceeds a limit by itself is nobody's sibling
    for number, offer in enumerate(enc.market.offers):
        if asked_p[offer.pool] and is_open[number]:
            cell = int(enc.cell_o[number])
            choice = (offer.choice, int(daemons_o[number]))
            way = (offer.pool, cell, choice, offer.offering.capacity_type, offer.offering.zone)
            ways.setdefault(way, []).append(number)
    for (pool, cell, choice, kind, zone), offers in ways.items():
        kinds = (kind, labels.ON_DEMAND) if kind == labels.RESERVED else (kind,)
        near = [ways.get((pool, cell, choice, kind, zone), []) for kind in kinds]
        far = [
            offers
            for way, offers in ways.items()
            if way[:3] == (pool, cell, choice)
            and way[3] in (kind, *later_kinds(kind))
            and (way[3] not in kinds or way[4] != zone)
        ]
        beside = np.array([offer for offers in near for offer in offers])
        anywhere = np.concatenate([beside, *(np.array(offers) for offers in far)])
        yield _OfferFamily((pool, cell), asked_p[pool], np.array(offers), (beside, anywhere))


def _daemons(enc: Encoded) -> Int:
    """A number for the daemon pods of every offer, as far as any waiting pod cares for them."""
    present = [
        mask for term in enc.ties.hosts for mask in (term.match_o, term.own_o) if mask is not None
    ]
    if not present:
        return np.zeros(enc.n_offers, dtype=np.int64)
    return np.unique(np.array(present), axis=1, return_inverse=True)[1].reshape(-1)


def _narrow(losses: Losses, family: _OfferFamily, rows: _Rows) -> None:
    """Make every offer of the family as small as the siblings it needs."""
    enc = losses.enc
    enough = [row for row in family.beside if are_met(family.asked, enc.type_o[row].tolist())]
    if not enough:
        rows.masks_mo[:, family.offers] = False
        return
    beside = enough[0]
    kind_b = enc.type_o[beside]
    ranked_ob = losses.rank_siblings(family.offers, beside)
    for offer, ranked in zip(family.offers.tolist(), ranked_ob, strict=True):
        nearest = gather(family.asked, kind_b[ranked[:_NEAR]].tolist())
        chosen = nearest or gather(family.asked, kind_b[ranked].tolist()) or []
        siblings = losses.combine(beside[ranked[chosen]], beside)
        rows.cap_or[offer] = enc.cap_or[siblings].min(axis=0)
        rows.masks_mo[:, offer] = enc.masks_me[:, siblings].all(axis=1)
        rows.siblings[offer] = siblings


def _spare_limits(
    losses: Losses, families: list[_OfferFamily], shapes: Shapes, rows: _Rows
) -> None:
    """Add rows whose siblings take less of the pool's limits, for pods that all of them hold: for
    the offer that takes least of them, and for the cheapest one.
    """
    enc = losses.enc
    limited = [family for family in families if losses.share(family.offers)]
    if not limited or not binding_use(enc):
        return
    takers_ko = np.unique(shapes.fits(enc.masks_me[:, : enc.n_offers], enc.cap_or), axis=0)
    for family, takers in product(limited, takers_ko[:_MOST_TAKERS]):
        offers = family.offers[takers[family.offers]]
        if not len(offers):
            continue
        firsts = (
            offers[losses.order_by_limits(offers)[0]],
            offers[np.argmin(enc.plan_price_o[offers])],
        )
        for offer in dict.fromkeys(int(first) for first in firsts):
            siblings = _least_limited_siblings(losses, family, offer, takers)
            if siblings is not None and losses.share(siblings) < losses.share(rows.siblings[offer]):
                accepted: Bool = np.all(enc.masks_me[:, siblings], axis=1)
                rows.add(offer, enc.cap_or[siblings].min(axis=0), accepted, siblings)


def _least_limited_siblings(
    losses: Losses, family: _OfferFamily, offer: int, takers: Bool
) -> Int | None:
    """Siblings of an offer that take the least of limits, of those that hold a pod."""
    for beside in family.beside:
        fitting = beside[takers[beside]]
        ranked = np.concatenate([np.array([offer]), fitting[losses.order_by_limits(fitting)]])
        chosen = gather(family.asked, losses.enc.type_o[ranked].tolist())
        if chosen is not None:
            siblings = losses.combine(ranked[chosen], beside)
            return siblings if takers[siblings].all() else None
    return None


def _missing_shapes(
    enc: Encoded, families: list[_OfferFamily], shapes: Shapes, rows: _Rows
) -> dict[tuple[int, int], list[int]]:
    """By place the shapes that some offer there would take, but no narrowed one does.

    A reservation is soon used up: what only it would take is missing elsewhere.
    """
    lost_offers: dict[tuple[int, int], list[int]] = {}
    for place in dict.fromkeys(family.place for family in families):
        offers = np.concatenate([family.offers for family in families if family.place == place])
        before = shapes.fits(enc.masks_me[:, offers], enc.cap_or[offers])
        after = shapes.fits(rows.masks_mo[:, offers], rows.cap_or[offers])
        endless = enc.supply_o[offers] == UNLIMITED
        lost = before.any(axis=1) & ~after.any(axis=1)
        lost |= before[:, endless].any(axis=1) & ~after[:, endless].any(axis=1)
        if lost.any():
            lost_offers[place] = np.flatnonzero(lost).tolist()
    return lost_offers


def _widen(
    losses: Losses,
    families: list[_OfferFamily],
    shapes: Shapes,
    state: tuple[_Rows, dict[tuple[int, int], list[int]]],
) -> dict[tuple[int, int], list[int]]:
    """Add rows for shapes that enough types would hold; returns the shapes still without one."""
    rows, missing = state
    left: dict[tuple[int, int], list[int]] = {}
    for place, numbers in missing.items():
        local = [family for family in families if family.place == place]
        first = len(rows.offers)
        for shape in numbers:
            request, mask = shapes.request_sr[shape], shapes.mask_s[shape]
            is_held_back = any(
                rows.masks[row][mask] and (rows.caps[row] >= request).all()
                for row in range(first, len(rows.offers))
            )
            if is_held_back:
                continue
            pod = (request, int(mask))
            if not any(_add_row(losses, local, pod, (rows, reach)) for reach in range(2)):
                left.setdefault(place, []).append(shape)
    return left


def _add_row(
    losses: Losses, families: list[_OfferFamily], pod: tuple[Int, int], goal: tuple[_Rows, int]
) -> bool:
    """One more row for each family with enough types for the pod, for its cheapest offer.

    The goal is where to put it, and how far to look for siblings (0: the zone, 1: anywhere).
    """
    enc = losses.enc
    request, mask = pod
    rows, reach = goal
    fits = ((enc.cap_or >= request) | (request == 0)).all(axis=1)
    takers = enc.masks_me[mask, : enc.n_offers] & fits
    is_added = False
    for family in families:
        offers = family.offers[takers[family.offers]]
        if not len(offers):
            continue
        offer = int(offers[np.argmin(enc.plan_price_o[offers])])
        beside = family.beside[reach][takers[family.beside[reach]]]
        ranked = beside[losses.rank_siblings(np.array([offer]), beside)[0]]
        chosen = gather(family.asked, enc.type_o[ranked].tolist())
        if chosen is not None:
            siblings = losses.combine(ranked[chosen], family.beside[reach])
            accepted: Bool = np.all(enc.masks_me[:, siblings], axis=1)
            if accepted[mask] and takers[siblings].all():
                rows.add(offer, enc.cap_or[siblings].min(axis=0), accepted, siblings)
                is_added = is_added or enc.supply_o[offer] == UNLIMITED
    return is_added


def _relax(
    enc: Encoded, shapes: Shapes, rows: _Rows, missing: dict[tuple[int, int], list[int]]
) -> tuple[Int, Int]:
    """Rows of full size for what cannot be held, which only those pods accept.

    Returns which old row of masks every new one was, and the row of every group.
    """
    places_s: dict[int, list[tuple[int, int]]] = {}
    for place, numbers in missing.items():
        for shape in numbers:
            places_s.setdefault(shape, []).append(place)
    wanted: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for shape, places in sorted(places_s.items()):
        wanted.setdefault((int(shapes.mask_s[shape]), tuple(sorted(places))), []).append(shape)
    n_masks = len(enc.masks_me)
    mask_s = shapes.mask_s.copy()
    for number, alike in enumerate(wanted.values()):
        mask_s[alike] = n_masks + number
    old = [mask for mask, _ in wanted]
    rows.masks_mo = np.concatenate([rows.masks_mo, rows.masks_mo[old]])
    rows.masks = [np.concatenate([mask, mask[old]]) for mask in rows.masks]
    for pool, cell in missing:
        accept = np.array([(pool, cell) in places for _, places in wanted])
        for offer in np.flatnonzero((enc.pool_o == pool) & (enc.cell_o == cell)).tolist():
            # A reservation that would hold them is not bought without what minValues ask for.
            other_masks = rows.masks_mo[old, offer] & [
                bool((shapes.request_sr[alike] <= rows.cap_or[offer]).all())
                for alike in wanted.values()
            ]
            admitted = np.zeros(len(rows.masks_mo), dtype=bool)
            admitted[n_masks:] = accept & enc.masks_me[old, offer] & ~other_masks
            if admitted.any():
                rows.add(offer, enc.cap_or[offer], admitted, np.array([offer]))
    return np.concatenate([np.arange(n_masks), old]), mask_s[shapes.shape_g]


def _encode_rows(enc: Encoded, rows: _Rows, mask_m: Int, mask_g: Int) -> Encoded:
    n_offers, n_entities = enc.n_offers, enc.masks_me.shape[1]
    offer_o = np.array([*range(n_offers), *rows.offers], dtype=np.int64)
    own = np.concatenate([rows.masks_mo, *(mask[:, None] for mask in rows.masks)], axis=1)
    hosts = [_host_at(term, offer_o) for term in enc.ties.hosts]
    zones = [replace(term, eligible_o=term.eligible_o[offer_o]) for term in enc.ties.zones]
    return replace(
        enc,
        market=enc.market.at(offer_o),
        columns=enc.columns.at(np.concatenate([offer_o, np.arange(n_offers, n_entities)])),
        mask_g=mask_g,
        masks_me=np.concatenate([own, enc.masks_me[mask_m, n_offers:]], axis=1),
        cap_or=np.concatenate([rows.cap_or, *(cap[None, :] for cap in rows.caps)]),
        overhead_or=enc.overhead_or[offer_o],
        plan_price_o=enc.plan_price_o[offer_o],
        weight_o=enc.weight_o[offer_o],
        supply_o=enc.supply_o[offer_o],
        cell_o=enc.cell_o[offer_o],
        ties=replace(enc.ties, hosts=hosts, zones=zones),
        origin=Origin(enc, offer_o, mask_m, _largest(enc, rows.siblings)),
    )


def _largest(enc: Encoded, siblings: list[Int]) -> dict[str, Int]:
    """The most that any sibling of each row has of what limits count: any of them may come."""
    limited = {name for limit in enc.problem.limits.values() for name in limit} - {NODES}
    if not siblings or not limited:
        return {}
    starts = np.cumsum([0, *(len(offers) for offers in siblings[:-1])])
    largest = {}
    for resource in sorted(limited):
        use_o = capacity_t(enc, resource)[enc.type_o[np.concatenate(siblings)]]
        largest[resource] = np.maximum.reduceat(use_o, starts)
    return largest


def _host_at(term: HostTerm, offer_o: Int) -> HostTerm:
    return replace(
        term,
        eligible_o=term.eligible_o[offer_o],
        match_o=None if term.match_o is None else term.match_o[offer_o],
        own_o=None if term.own_o is None else term.own_o[offer_o],
    )
