from __future__ import annotations

from benchmarks import catalogues
from benchmarks.seeds import seeded
from dovetail import labels


def test_the_cloud_has_about_1200_types_with_six_offerings_each() -> None:
    """Three zones, on demand and spot; names are unique."""
    types = catalogues.cloud()
    assert 1_150 <= len({one.name for one in types}) == len(types) <= 1_250
    assert {len(one.offerings) for one in types} == {6}


def test_spot_is_a_quarter_to_seven_tenths_of_on_demand() -> None:
    """And drawn for each zone, so that zones differ."""
    for one in catalogues.cloud():
        price = {(held.zone, held.capacity_type): held.price_nanousd for held in one.offerings}
        shares = [
            price[zone, labels.SPOT] / price[zone, labels.ON_DEMAND] for zone in catalogues.ZONES
        ]
        assert all(0.249 < share < 0.701 for share in shares)
        assert len(set(shares)) > 1


def test_a_machine_keeps_something_for_itself() -> None:
    """Less is allocatable than there is, of cpu and memory, and never nothing."""
    for one in (*catalogues.cloud(), *catalogues.linear()):
        for name in ("cpu", "memory"):
            assert 0 < one.allocatable[name] < one.capacity[name], one.name


def test_linear_prices_are_proportional_to_size() -> None:
    """400 types, none of which is the better deal."""
    types = catalogues.linear()
    unit = types[0].offerings[0].price_nanousd
    assert len(types) == 400
    for size, one in enumerate(types, start=1):
        assert one.capacity["cpu"] == 1000 * size
        assert {held.price_nanousd for held in one.offerings} <= {
            unit * size + rest for rest in range(size + 1)
        }


def test_a_tiny_catalogue_has_both_architectures_in_the_largest_size() -> None:
    """So that a selector for either leaves room for every pod."""
    for seed in range(20):
        types = catalogues.tiny(seeded("test", seed))
        assert len({one.name for one in types}) == catalogues.N_TINY_TYPES
        largest = [one for one in types if one.capacity["cpu"] == 16_000]
        arches = {value for one in largest for value in one.requirements[labels.ARCH].values}
        assert arches == {"amd64", "arm64"}
