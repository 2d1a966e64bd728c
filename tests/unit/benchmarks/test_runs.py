from __future__ import annotations

import pytest

from benchmarks.runs import exponent


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_the_growth_exponent_of_a_power_law_is_its_power(power: float) -> None:
    """Whatever the constant factor is."""
    seconds = {size: 3e-6 * size**power for size in (12_500, 25_000, 50_000, 200_000)}
    assert exponent(seconds) == pytest.approx(power)
