"""The dual values that pods are valued by, and which of them each offer uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.encoding.encode import Encoded

Vectors = tuple[Float, Float, Float]


@dataclass
class Values:
    """Multipliers (k) in nanodollars per unit, and which one each searched offer (p) uses."""

    offers: Int  # the searched offers
    vector_kr: Float
    vector_kt: Float  # for capped host terms
    vector_kw: Float  # for the weights of whole pods, by kind of cut
    cap_terms: list[int]
    cap_t: Float
    choice_p: Int
    scale_p: Float
    worth_sc: Float  # shapes x cells; infinite where no offer takes the shape
    shape_g: Int
    favourites: Int  # what the program bought
    bought: Float  # how many of each
    dear_g: Bool = field(default_factory=lambda: np.zeros(0, dtype=bool))  # who needs dear nodes
    pattern_worths: dict[tuple[object, ...], float] = field(default_factory=dict)  # by kind of unit

    @property
    def vectors(self) -> Vectors:
        """The multipliers: over resources, places under caps, weights of whole pods."""
        return self.vector_kr, self.vector_kt, self.vector_kw

    @cached_property
    def is_open_sc(self) -> Bool:
        """shapes x cells: whether any offer of the cell takes the shape."""
        is_open: Bool = np.isfinite(self.worth_sc)
        is_open.setflags(write=False)
        return is_open

    def cell_worth(self, group: int) -> Float:
        """What one pod of the group is worth in each cell."""
        worth_c: Float = self.worth_sc[self.shape_g[group]]
        return worth_c


def capacity(enc: Encoded, offers: Int) -> Float:
    """Capacity without the unlimited, whose multipliers are zero anyway."""
    cap = enc.cap_or[offers].astype(np.float64)
    finite: Float = np.where(cap > 1e15, 0.0, cap)
    return finite


def full_node(enc: Encoded, offers: Int, vectors: Vectors, cap_t: Float) -> Float:
    """multipliers x offers: what a full node is worth before scaling."""
    vector_kr, vector_kt, vector_kw = vectors
    full = vector_kr @ capacity(enc, offers).T
    full += (vector_kt @ cap_t + vector_kw.sum(axis=1))[:, None]
    return full


def scales(enc: Encoded, offers: Int, full_kp: Float) -> Float:
    """multipliers x offers: what makes a full node worth just its price."""
    price = enc.price_o[offers].astype(np.float64)[None, :]
    scale: Float = np.where(full_kp > 0, price / np.maximum(full_kp, 1e-9), 0.0)
    return scale
