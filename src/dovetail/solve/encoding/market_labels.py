"""The labels that the nodes of every offer will have, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail import labels
from dovetail.model.requirements import Requirement, Requirements
from dovetail.solve.axes import Int
from dovetail.solve.encoding.offers import OfferTable, definite, pool_requirements


def label_column(market: OfferTable, key: str) -> tuple[Int, list[str | None]]:
    """The value of one label for every offer: codes, and what they stand for. Worked out once per
    distinct combination of layers, and remembered with the market.
    """
    if key not in market.label_columns:
        market.label_columns[key] = _find_label_column(market, key)
    return market.label_columns[key]


def _find_label_column(market: OfferTable, key: str) -> tuple[Int, list[str | None]]:
    if key in labels.SIMULATION_ONLY:
        return np.zeros(len(market.offers), dtype=np.int64), ["true"]
    kinds: dict[Requirement | None, int] = {}
    kind_t = np.array(
        [kinds.setdefault(kind.requirements.get(key), len(kinds)) for kind in market.types],
        dtype=np.int64,
    )
    parts: dict[Requirement | None, int] = {}
    part_f = np.array(
        [parts.setdefault(part.get(key), len(parts)) for part in market.parts], dtype=np.int64
    )
    code = market.pool_o * len(kinds) + kind_t[market.type_o]
    code = (code * len(parts) + part_f[market.part_o]) * len(market.choices) + market.choice_o
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    layers = [pool_requirements(pool) for pool in market.pools]
    return inverse.reshape(-1), [_label(market, key, layers, int(row)) for row in first]


def _label(market: OfferTable, key: str, layers: Sequence[Requirements], row: int) -> str | None:
    offer = market.offers[row]
    chosen = dict(market.choices[offer.choice])
    if key in chosen:
        return chosen[key]
    kind = market.types[offer.type].requirements
    return definite(key, (layers[offer.pool], kind, offer.offering.requirements))[1]
