"""Can an offer that undercuts everybody be given a better multiplier?

Multipliers come from a program over merged classes and the offers that it bought. For other offers,
and for single shapes, a small change often proves more: whole pods weighed in another way (the cut
that fits this node's size), or a place under a cap priced in. Each offer is judged alone, by what
all pods together are worth when it changes.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.solve.axes import Float, Int
from dovetail.solve.cuts import KINDS, weigh_exactly
from dovetail.solve.encode import Encoded
from dovetail.solve.vectors import Shapes, Values, full_node, scales

_ROUNDS: Final = 3
_POLISHED: Final = 20


def polish(enc: Encoded, values: Values, shapes: Shapes, worth_sp: Float) -> None:
    """Improve the choices of the offers most to blame; changes `values` and `worth_sp`."""
    if worth_sp.shape[1] < 2 or not len(shapes.groups):
        return
    twins = _twins(enc, values.offers)
    for _ in range(_ROUNDS):
        lowest = worth_sp.min(axis=1)
        lowest = np.where(np.isfinite(lowest), lowest, 0.0)
        gap = lowest * shapes.count_s
        blame = np.bincount(np.argmin(worth_sp, axis=1), weights=gap, minlength=worth_sp.shape[1])
        blame = np.bincount(twins, weights=blame)
        changed = [
            _rechoose(enc, values, shapes, worth_sp, np.flatnonzero(twins == kind))
            for kind in np.argsort(-blame, kind="stable")[:_POLISHED].tolist()
            if blame[kind] > 0
        ]
        if not any(changed):
            return


def _twins(enc: Encoded, offers: Int) -> Int:
    """A number for each kind of offer: the same machine at the same price, wherever it stands."""
    rows = np.stack([enc.type_o[offers], enc.pool_o[offers], enc.price_o[offers]], axis=1)
    rows = np.concatenate([rows, enc.cap_or[offers]], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _rechoose(enc: Encoded, values: Values, shapes: Shapes, worth_sp: Float, places: Int) -> bool:
    """The multiplier of one kind of offer that leaves all pods together worth most."""
    held = worth_sp[:, places].copy()
    can = np.isfinite(held)
    fits = can.any(axis=1)
    worth_sp[:, places] = np.inf
    others = worth_sp.min(axis=1)
    tried = _candidates(values)
    place = int(places[0])
    worth_ks, scale_k = _worth_at(enc, values, shapes, tried, place)
    kept = np.where(fits, np.minimum(worth_ks, others[None, :]), others[None, :])
    total = np.where(np.isfinite(kept), kept, 0.0) @ shapes.count_s
    now = np.minimum(held.min(axis=1), others)
    before = float(np.where(np.isfinite(now), now, 0.0) @ shapes.count_s)
    best = int(np.argmax(total))
    if total[best] <= before * (1 + 1e-7):
        worth_sp[:, places] = held
        return False
    worth_sp[:, places] = np.where(can, worth_ks[best][:, None], np.inf)
    values.choice_p[places] = _number(values, tried[best])
    values.scale_p[places] = scale_k[best]
    return True


def _candidates(values: Values) -> Float:
    """The multipliers there are, and variants: other weights for whole pods, caps priced in."""
    n_r, n_t = values.vector_kr.shape[1], values.vector_kt.shape[1]
    base = np.concatenate([values.vector_kr, values.vector_kt, values.vector_kw], axis=1)
    rows = [base]
    for row in base[values.vector_kw.any(axis=1)]:
        for resource in (0, 1):
            of = [n_r + n_t + kind for kind, (r, _) in enumerate(KINDS) if r == resource]
            amount = row[of].sum()
            if amount > 0:
                moved = np.repeat(row[None, :], len(of), axis=0)
                moved[:, of] = np.eye(len(of)) * amount
                rows.append(moved)
    caps = values.vector_kt
    if n_t and caps.any():
        priced = base.copy()
        priced[:, n_r : n_r + n_t] = np.maximum(caps, caps.max(axis=0)[None, :])
        rows.append(priced)
    return np.concatenate(rows)


def _worth_at(
    enc: Encoded, values: Values, shapes: Shapes, tried: Float, place: int
) -> tuple[Float, Float]:
    """candidates x shapes: what pods are worth at one offer, and how each candidate is scaled."""
    n_r, n_t = values.vector_kr.shape[1], values.vector_kt.shape[1]
    offer = values.offers[place : place + 1]
    used = [kind for kind in range(len(KINDS)) if tried[:, n_r + n_t + kind].any()]
    request = enc.requests_gr[shapes.groups]
    rows = [shapes.traits]
    for kind in used:
        resource, k = KINDS[kind]
        weight = weigh_exactly(request[:, resource], enc.cap_or[offer, resource], k)
        rows.append(weight.T)
    take = [*range(n_r + n_t), *(n_r + n_t + kind for kind in used)]
    worth = tried[:, take] @ np.concatenate(rows)
    parts = (tried[:, :n_r], tried[:, n_r : n_r + n_t], tried[:, n_r + n_t :])
    scale = scales(enc, offer, full_node(enc, offer, parts, values.cap_t))[:, 0]
    return worth * scale[:, None], scale


def _number(values: Values, row: Float) -> int:
    """The number of a multiplier, added to the others if it is new."""
    n_r, n_t = values.vector_kr.shape[1], values.vector_kt.shape[1]
    base = np.concatenate([values.vector_kr, values.vector_kt, values.vector_kw], axis=1)
    same = np.flatnonzero((base == row[None, :]).all(axis=1))
    if len(same):
        return int(same[0])
    values.vector_kr = np.vstack([values.vector_kr, row[:n_r]])
    values.vector_kt = np.vstack([values.vector_kt, row[n_r : n_r + n_t]])
    values.vector_kw = np.vstack([values.vector_kw, row[n_r + n_t :]])
    return len(values.vector_kr) - 1
