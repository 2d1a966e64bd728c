from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dovetail.solve import values as values_module
from dovetail.solve.axes import Float
from dovetail.solve.encode import Encoded
from dovetail.solve.polish import polish
from dovetail.solve.solving import solve
from dovetail.solve.vectors import Shapes, Values, full_node
from tests.unit.solve.puzzles import random_puzzle


@dataclass
class Polished:
    """What one call of polish found, and what it left behind."""

    enc: Encoded
    values: Values
    before: Float
    after: Float
    count_s: Float
    n_vectors: int

    @staticmethod
    def total(worth_sp: Float, count_s: Float) -> float:
        """What all pods together are worth."""
        least = worth_sp.min(axis=1, initial=np.inf)
        return float(np.where(np.isfinite(least), least, 0.0) @ count_s)


@pytest.fixture
def polished(monkeypatch: pytest.MonkeyPatch) -> list[Polished]:
    """Every call of polish while the test runs."""
    seen: list[Polished] = []

    def watched(enc: Encoded, values: Values, shapes: Shapes, worth_sp: Float) -> None:
        before, n_vectors = worth_sp.copy(), len(values.vector_kr)
        polish(enc, values, shapes, worth_sp)
        seen.append(Polished(enc, values, before, worth_sp, shapes.count_s, n_vectors))

    monkeypatch.setattr(values_module, "polish", watched)
    return seen


def test_polish_never_lowers_what_all_pods_are_worth(polished: list[Polished]) -> None:
    """And now and then it raises it."""
    n_better = 0
    for seed in range(80):
        polished.clear()
        solve(random_puzzle(seed))
        for one in polished:
            before, after = one.total(one.before, one.count_s), one.total(one.after, one.count_s)
            assert after >= before * (1 - 1e-9), f"seed {seed}"
            n_better += after > before * (1 + 1e-6)
    assert n_better >= 3


def test_polish_moves_nobody_to_where_it_cannot_go(polished: list[Polished]) -> None:
    """A worth stays finite or infinite."""
    for seed in range(80):
        solve(random_puzzle(seed))
    assert polished
    for one in polished:
        assert (np.isfinite(one.before) == np.isfinite(one.after)).all()


def test_a_polished_offer_is_still_worth_no_more_than_it_costs(polished: list[Polished]) -> None:
    """Its new multipliers are scaled like the old ones, and added to the list if they are new."""
    n_added = 0
    for seed in range(80):
        polished.clear()
        solve(random_puzzle(seed))
        for one in polished:
            values = one.values
            full = full_node(one.enc, values.offers, values.vectors, values.cap_t)
            mine = full[values.choice_p, np.arange(len(values.offers))] * values.scale_p
            assert (mine <= one.enc.price_o[values.offers] * (1 + 1e-9)).all(), f"seed {seed}"
            assert values.choice_p.max(initial=0) < len(values.vector_kr), f"seed {seed}"
            shapes = {len(part) for part in (values.vector_kr, values.vector_kt, values.vector_kw)}
            assert shapes == {len(values.vector_kr)}, f"seed {seed}"
            n_added += len(values.vector_kr) - one.n_vectors
    assert n_added > 0
