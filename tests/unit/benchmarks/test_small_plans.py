from __future__ import annotations

import pytest

from benchmarks.rows import LOOSEST, MEAN_RATIO, SECONDS, WORST, WORST_RATIO
from benchmarks.small_mix import FIRST
from benchmarks.small_plans import impossible, measure_mixes, measure_uniform
from dovetail.model.plan import Cost, Plan


def test_uniform_clusters_are_compared_with_their_optima() -> None:
    """No plan is cheaper, no bound is higher, and the figures that have limits are there."""
    result = measure_uniform(3, repeat=1, seed=1)
    assert not result.failures
    assert result.figures["clusters"] == 3
    assert result.figures[WORST] >= 1.0
    assert result.figures[LOOSEST] >= 1.0
    assert result.figures[SECONDS] > 0
    assert FIRST <= result.figures["worst cluster"] < FIRST + 3


def test_mixes_are_compared_with_the_best_bound_known() -> None:
    """The mean is no more than the worst, and another seed is other clusters."""
    first, second = (measure_mixes("small", 2, repeat=1, seed=seed) for seed in (1, 2))
    for result in (first, second):
        assert not result.failures
        assert 1.0 <= result.figures[MEAN_RATIO] <= result.figures[WORST_RATIO]
        assert result.figures["mean bound/best bound"] <= 1.0
    assert first.figures["worst cluster"] < FIRST + 2 <= second.figures["worst cluster"]


@pytest.mark.parametrize(
    ("price", "bound", "known", "n_wrong"),
    [
        pytest.param(100, 90, 95, 0, id="as it should be"),
        pytest.param(100, 100, 100, 0, id="optimal and proven"),
        pytest.param(94, 90, 95, 1, id="cheaper than the optimum"),
        pytest.param(100, 96, 95, 1, id="a bound above the optimum"),
        pytest.param(90, 96, 95, 2, id="both"),
    ],
)
def test_what_cannot_be_is_a_failure(price: int, bound: int, known: int, n_wrong: int) -> None:
    """Either the plan or the proof is wrong then."""
    plan = Plan(cost=Cost(lower_bound_nanousd=bound))
    assert len(impossible(price, plan, known)) == n_wrong
