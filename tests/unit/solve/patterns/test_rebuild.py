from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.volumes import PodVolumes
from dovetail.solve.encoding.limits import Limits
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.patterns.rebuild import Effort, Rebuilder
from dovetail.solve.search.rates import Rates
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.patterns.instances import base_of, sorted_out

TYPES = (
    instance_type("s", cpu=2, memory="8Gi", price=0.11, zones=("a",)),
    instance_type("m", cpu=4, memory="16Gi", price=0.2, zones=("a",)),
    instance_type("l", cpu=16, memory="64Gi", price=0.7, zones=("a",)),
)


def alone(rates: Rates, pods: dict[int, int]) -> list[int]:
    """A node for each pod."""
    return [rates.load(((sort, 1),)) for sort, count in pods.items() for _ in range(count)]


def improved(base: Attempt) -> tuple[Rates, list[int], list[int]]:
    """The loads of a node for each pod, before and after."""
    rates, pods = sorted_out(base)
    before = alone(rates, pods)
    rebuilder = Rebuilder(base.enc, rates, base.offers)
    return rates, before, rebuilder.rebuild(before, Limits(base.enc), Effort(10**6, 400))


def price(rates: Rates, loads: list[int]) -> int:
    """What the loads cost."""
    return sum(rates.price[load] for load in loads)


def pods_of(rates: Rates, loads: list[int]) -> list[int]:
    """All pods of the loads."""
    return sorted(sort for load in loads for sort in rates.pods(load))


def test_the_same_pods_cost_less() -> None:
    """Two sorts that have a node each."""
    pods = [*deployment(9, "a", cpu=1), *deployment(6, "b", cpu="500m")]
    rates, before, after = improved(base_of(pods, *TYPES))
    assert pods_of(rates, after) == pods_of(rates, before)
    assert price(rates, after) < price(rates, before) / 2


@pytest.mark.parametrize(
    ("left", "want"),
    [
        pytest.param(48_000, ["l"], id="a large node"),
        pytest.param(15_000, ["m", "m", "m", "s"], id="a large node is too large"),
    ],
)
def test_limits_of_a_pool_hold(left: int, want: list[str]) -> None:
    """Fourteen pods of 1 CPU: one node for 0.70, or where that has too much CPU four for 0.71."""
    pods = deployment(14, cpu=1, memory="1Mi")
    base = base_of(pods, *TYPES, limits={"default": {"cpu": left}})
    rates, _, after = improved(base)
    market = base.enc.market
    types = [market.types[market.offers[rates.offer[load]].type].name for load in after]
    assert sorted(types) == want


def test_pods_that_share_a_volume_are_left_where_they_are() -> None:
    """So is nobody at all."""
    shared = PodVolumes(attachments=(("csi", ("default/x",)),))
    pods = [pod(name, cpu=1, claims=["x"]) for name in "pq"]
    base = base_of(pods, *TYPES, volumes={one.key: shared for one in pods})
    rates, before, after = improved(base)
    assert after == before
    rebuilder = Rebuilder(base.enc, rates, base.offers)
    assert rebuilder.rebuild([], Limits(base.enc), Effort(10, 10)) == []


def test_what_rules_between_pods_forbid_is_not_done() -> None:
    """A spread over hosts counts pods of another sort too, which the search does not know: then
    the loads stay.
    """
    spread = [{"topology_key": "hostname", "selector": {"tier": "x"}}]
    pods = [
        pod("a", cpu=1, labels={"tier": "x"}, spread=spread),
        pod("b", cpu="900m", labels={"tier": "x"}),
    ]
    rates, before, after = improved(base_of(pods, *TYPES))
    assert pods_of(rates, after) == pods_of(rates, before)
    assert len(after) == 2


def test_only_offers_without_end_are_bought() -> None:
    """A reservation is left to the plan that is improved."""
    kind = instance_type(
        "r",
        cpu=64,
        price=9.0,
        zones=("a",),
        offerings=[
            {
                "zone": "a",
                "price": 0.001,
                "capacity_type": "reserved",
                "reservation_id": "cr-1",
                "reservation_capacity": 1,
            }
        ],
    )
    base = base_of(deployment(4, cpu=1), *TYPES, kind)
    rates, _, after = improved(base)
    assert (np.array([rates.offer[load] for load in after]) >= 0).all()
    assert all(base.enc.supply_o[rates.offer[load]] > 1 for load in after)
