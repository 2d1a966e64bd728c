from __future__ import annotations

import numpy as np
import pytest

from dovetail import labels
from dovetail.model.policy import Policy
from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.encoding.spot_risk import with_robust_prices
from dovetail.solve.puzzle import Puzzle
from dovetail.testing.builders import instance_type, node_pool, pod

PRICES = (10, 20, 30, 40, 50, 60)


def encoded(robustness: float, *, cpu: tuple[int, ...] = (2,) * len(PRICES)) -> Encoded:
    """Spot types of these prices (thousandths of a dollar) and sizes, and one on demand."""
    types = [
        instance_type(f"s{price}", cpu=size, spot=price / 1000, zones=("a",))
        for price, size in zip(PRICES, cpu, strict=True)
    ]
    types.append(instance_type("fixed", price=0.5, zones=("a",)))
    return encode(
        Puzzle(
            (pod(cpu=1),),
            node_pools=(node_pool(),),
            instance_types={"default": tuple(types)},
            policy=Policy(spot_robustness=robustness),
        )
    )


def planned(enc: Encoded) -> list[int]:
    """The prices that the search compares for spot, in thousandths of a dollar."""
    spot = [one.offering.capacity_type == labels.SPOT for one in enc.market.offers]
    held: Int = with_robust_prices(enc).plan_price_o
    return [int(price) // 1_000_000 for price in held[np.array(spot)]]


def test_no_robustness_leaves_everything_as_it_is() -> None:
    """The very same arrays come back."""
    enc = encoded(0.0)
    assert with_robust_prices(enc) is enc


@pytest.mark.parametrize(
    ("robustness", "want"),
    [
        pytest.param(1.0, [50, 50, 50, 50, 50, 60], id="the fifth cheapest"),
        pytest.param(0.5, [30, 35, 40, 45, 50, 60], id="half way there"),
        pytest.param(7.0, [50, 50, 50, 50, 50, 60], id="more than all is all"),
    ],
)
def test_spot_counts_as_a_blend_with_the_fifth_cheapest(robustness: float, want: list[int]) -> None:
    """Own price and the fifth cheapest that would do; never less than the offer costs."""
    assert planned(encoded(robustness)) == want


def test_only_types_that_are_no_smaller_would_do() -> None:
    """Of the larger ones there are fewer than five, so the dearest of them is the measure."""
    assert planned(encoded(1.0, cpu=(2, 2, 2, 4, 4, 2))) == [50, 50, 50, 50, 50, 60]
    assert planned(encoded(1.0, cpu=(8, 2, 2, 2, 2, 4))) == [10, 50, 50, 50, 50, 60]


def test_what_is_paid_stays_true() -> None:
    """On demand is not blended, and prices themselves are not touched."""
    enc = encoded(1.0)
    robust = with_robust_prices(enc)
    assert np.array_equal(robust.price_o, enc.price_o)
    fixed = [one.offering.capacity_type == labels.ON_DEMAND for one in enc.market.offers]
    assert (robust.plan_price_o[np.array(fixed)] == 500_000_000).all()
