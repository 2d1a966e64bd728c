"""A plan among others with more or fewer nodes."""

from __future__ import annotations

import msgspec


class FrontierPoint(msgspec.Struct, frozen=True):
    """A plan that no other beats in both nodes and price, and from which price per node on it is
    the best of all; None where a plan with more and one with fewer nodes always beat it.
    """

    n_nodes: int
    price_nanousd: int
    best_from_nanousd: int | None
