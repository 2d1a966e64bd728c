from __future__ import annotations

import pytest

from benchmarks.growth.laws import fitted


@pytest.mark.parametrize("power", [0.0, 0.7, 1.0, 2.0])
def test_a_power_law_is_found_again(power: float) -> None:
    """Its factor and its exponent."""
    law = fitted({size: 0.03 * size**power for size in (10, 50, 1_000, 5_000)})
    assert law is not None
    assert law.exponent == pytest.approx(power)
    assert law.factor == pytest.approx(0.03)
    assert law.at(200) == pytest.approx(0.03 * 200**power)


def test_noise_that_cancels_out_does_not_tilt_the_line() -> None:
    """Least squares, in logarithms: twice too much here and half there."""
    law = fitted({10: 1.0 * 2, 100: 10.0 / 2, 1_000: 100.0 / 2, 10_000: 1_000.0 * 2})
    assert law is not None
    assert law.exponent == pytest.approx(1.0)


@pytest.mark.parametrize("values", [{}, {10: 1.0}])
def test_one_size_alone_says_nothing_about_growth(values: dict[int, float]) -> None:
    """No line through a point."""
    assert fitted(values) is None
