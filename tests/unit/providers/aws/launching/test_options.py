"""Tests of what a claim may be launched as."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from dovetail import labels
from dovetail.cloud.declare import placement, single
from dovetail.cloud.errors import InsufficientCapacityError
from dovetail.cloud.price_list import PriceList
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.requirements import Requirements, requirement
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.options import MAX_TYPES, LaunchOptions, launch_options

A, B = "us-west-2a", "us-west-2b"


def offering(price: int, capacity_type: str = labels.ON_DEMAND, zone: str = A) -> Offering:
    """A plain offering."""
    return Offering(zone, capacity_type, price, placement(zone, capacity_type))


def reserved(
    reservation_id: str,
    price: int = 1,
    *,
    zone: str = A,
    n_left: int = 1,
    kind: str = "default",
    is_interruptible: bool = False,
) -> Offering:
    """An offering of a capacity reservation."""
    stated = placement(zone, labels.RESERVED) & [
        single(labels.RESERVATION_ID, reservation_id),
        single(keys.RESERVATION_TYPE, kind),
        single(keys.RESERVATION_INTERRUPTIBLE, "true" if is_interruptible else "false"),
    ]
    return Offering(
        zone,
        labels.RESERVED,
        price,
        stated,
        reservation_id=reservation_id,
        reservation_capacity=n_left,
    )


def machine(name: str, *offerings: Offering, cpu: int = 4000, **own: str) -> InstanceType:
    """An instance type; `own` are labels of the AWS group, with underscores for hyphens."""
    family, _, size = name.partition(".")
    stated = {"instance-family": family, "instance-size": size}
    stated |= {key.replace("_", "-"): value for key, value in own.items()}
    capacity = {"cpu": cpu, "pods": 10}
    return InstanceType(
        name,
        Requirements(
            [
                single(labels.INSTANCE_TYPE, name),
                *(single(f"{labels.AWS_GROUP}/{key}", value) for key, value in stated.items()),
            ]
        ),
        capacity,
        capacity,
        offerings,
    )


def chosen(claim: ClaimObject, types: Iterable[InstanceType]) -> LaunchOptions:
    """What is asked for."""
    return launch_options(claim, PriceList(tuple(types)))


def names(options: LaunchOptions) -> list[str]:
    """The types that are asked for, in order."""
    return [one.instance_type.name for one in options.options]


def test_only_listed_types_that_hold_the_requests_are_asked_for() -> None:
    """The plan counted on these alone, so that limits hold whatever EC2 picks."""
    types = [
        machine("m5.large", offering(10), cpu=2000),
        machine("m5.xlarge", offering(20)),
        machine("c5.xlarge", offering(5)),
    ]
    listed = requirement(labels.INSTANCE_TYPE, "In", ["m5.large", "m5.xlarge"])
    claim = ClaimObject("c", requirements=(listed,), requests={"cpu": 3000})
    assert names(chosen(claim, types)) == ["m5.xlarge"]


def test_an_unavailable_offering_is_not_asked_for() -> None:
    """And nothing at all is insufficient capacity."""
    gone = Offering(A, labels.ON_DEMAND, 5, placement(A, labels.ON_DEMAND), is_available=False)
    with pytest.raises(InsufficientCapacityError, match="no available offering"):
        chosen(ClaimObject("c"), [machine("m5.large", gone)])


def test_reserved_capacity_goes_first_then_spot_then_on_demand() -> None:
    """Whatever is cheapest."""
    types = [
        machine("m5.large", offering(10), offering(3, labels.SPOT), reserved("cr-1", 50)),
        machine("c5.large", offering(9), offering(2, labels.SPOT)),
    ]
    claim = ClaimObject("c")
    assert chosen(claim, types).capacity_type == labels.RESERVED
    assert names(chosen(claim, types)) == ["m5.large"]
    without = requirement(labels.CAPACITY_TYPE, "NotIn", [labels.RESERVED])
    claim = ClaimObject("c", requirements=(without,))
    assert chosen(claim, types).capacity_type == labels.SPOT
    only = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
    claim = ClaimObject("c", requirements=(only,))
    assert chosen(claim, types).capacity_type == labels.ON_DEMAND
    assert names(chosen(claim, types)) == ["c5.large", "m5.large"]


def test_only_the_cheapest_kind_of_reservation_is_asked_for() -> None:
    """Default, capacity blocks and interruptible ones are never mixed."""
    types = [
        machine("m5.large", reserved("cr-default", 5)),
        machine("p5.large", reserved("cr-block", 3, kind=keys.CAPACITY_BLOCK)),
        machine("c5.large", reserved("cr-lent", 4, is_interruptible=True)),
    ]
    assert names(chosen(ClaimObject("c"), types)) == ["p5.large"]
    assert names(chosen(ClaimObject("c"), [types[0], types[2]])) == ["c5.large"]


def test_equal_prices_prefer_default_reservations_over_blocks_over_interruptible_ones() -> None:
    """The order is fixed."""
    types = [
        machine("a5.large", reserved("cr-lent", 4, is_interruptible=True)),
        machine("b5.large", reserved("cr-block", 4, kind=keys.CAPACITY_BLOCK)),
        machine("c5.large", reserved("cr-default", 4)),
    ]
    assert names(chosen(ClaimObject("c"), types)) == ["c5.large"]
    assert names(chosen(ClaimObject("c"), types[:2])) == ["b5.large"]


def test_one_capacity_block_alone_is_asked_for() -> None:
    """The cheapest."""
    types = [
        machine("p5.large", reserved("cr-1", 3, kind=keys.CAPACITY_BLOCK)),
        machine("p4.large", reserved("cr-2", 2, kind=keys.CAPACITY_BLOCK)),
    ]
    options = chosen(ClaimObject("c"), types)
    assert [(one.instance_type.name, len(one.offerings)) for one in options.options] == [
        ("p4.large", 1)
    ]


def test_of_two_reservations_of_a_type_in_a_zone_the_larger_is_used() -> None:
    """One for each zone."""
    held = machine(
        "m5.large",
        reserved("cr-1", n_left=1),
        reserved("cr-2", n_left=5),
        reserved("cr-3", zone=B),
    )
    (option,) = chosen(ClaimObject("c"), [held]).options
    assert [at.reservation_id for at in option.offerings] == ["cr-2", "cr-3"]


@pytest.mark.parametrize(
    "exotic",
    [
        pytest.param(machine("m5.metal", offering(1)), id="bare metal"),
        pytest.param(machine("g5.large", offering(1), instance_gpu_count="1"), id="a GPU"),
        pytest.param(
            machine("inf2.large", offering(1), instance_accelerator_count="1"), id="an accelerator"
        ),
    ],
)
def test_exotic_types_are_asked_for_only_if_nothing_else_is_left(exotic: InstanceType) -> None:
    """However cheap they are."""
    plain = machine("m5.large", offering(100))
    assert names(chosen(ClaimObject("c"), [exotic, plain])) == ["m5.large"]
    assert names(chosen(ClaimObject("c"), [exotic])) == [exotic.name]


def test_spot_that_costs_more_than_on_demand_is_not_asked_for() -> None:
    """Unless on-demand is not allowed."""
    types = [
        machine("m5.large", offering(10), offering(20, labels.SPOT)),
        machine("c5.large", offering(12), offering(8, labels.SPOT)),
    ]
    assert names(chosen(ClaimObject("c"), types)) == ["c5.large"]
    spot = requirement(labels.CAPACITY_TYPE, "In", [labels.SPOT])
    assert names(chosen(ClaimObject("c", requirements=(spot,)), types)) == ["c5.large", "m5.large"]


def test_min_values_keep_exotic_types_and_dear_spot() -> None:
    """They may be needed for variety."""
    types = [
        machine("m5.metal", offering(10), offering(20, labels.SPOT)),
        machine("c5.large", offering(12), offering(8, labels.SPOT)),
    ]
    wanted = requirement(labels.INSTANCE_TYPE, "Exists", min_values=2)
    claim = ClaimObject("c", requirements=(wanted,))
    assert names(chosen(claim, types)) == ["c5.large", "m5.metal"]


def test_the_sixty_cheapest_types_are_asked_for() -> None:
    """A fleet request takes no more."""
    types = [machine(f"m{number}.large", offering(number)) for number in range(1, 80)]
    options = chosen(ClaimObject("c"), types)
    assert names(options) == [f"m{number}.large" for number in range(1, MAX_TYPES + 1)]
    assert options.n_types_left_out == 19


def test_min_values_that_cannot_be_met_are_insufficient_capacity() -> None:
    """Unless they were relaxed."""
    wanted = requirement(f"{labels.AWS_GROUP}/instance-family", "Exists", min_values=2)
    claim = ClaimObject("c", requirements=(wanted,))
    types = [machine("m5.large", offering(1)), machine("m5.xlarge", offering(1))]
    with pytest.raises(InsufficientCapacityError, match="must have 2 values"):
        chosen(claim, types)
    strict = ClaimObject(
        "c", requirements=(wanted,), annotations={labels.MIN_VALUES_RELAXED: "false"}
    )
    with pytest.raises(InsufficientCapacityError, match="must have 2 values"):
        chosen(strict, types)
    relaxed = ClaimObject(
        "c", requirements=(wanted,), annotations={labels.MIN_VALUES_RELAXED: "true"}
    )
    assert names(chosen(relaxed, types)) == ["m5.large", "m5.xlarge"]
