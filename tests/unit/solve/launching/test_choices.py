from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Launch
from dovetail.model.policy import MinValuesPolicy, Policy
from dovetail.testing.builders import instance_type, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def launch(
    *types: InstanceType,
    least: int,
    policy: MinValuesPolicy = MinValuesPolicy.STRICT,
    **limits: object,
) -> Launch:
    """What is launched for a pod of 6 CPUs and 10Gi in a pool with minValues."""
    said = [{"requirement": "instance-type Exists", "min_values": least}]
    made = snapshot(
        [pod(cpu=6, memory="10Gi")],
        node_pools=[node_pool(requirements=said, limits=limits)],
        types=types,
    )
    held = msgspec.structs.replace(made, policy=Policy(min_values_policy=policy))
    (found,) = decide(held, NOW).launches
    return found


DEAR = instance_type("dear", cpu=8, memory="16Gi", price=0.836)
FAIR = instance_type("fair", cpu=8, memory="12Gi", price=0.259)
WIDE = instance_type("wide", cpu=16, memory="16Gi", price=0.9)


def test_a_node_is_planned_as_the_cheapest_type_of_its_list() -> None:
    """minValues make an offer as small as its siblings, but not dearer than they are."""
    found = launch(DEAR, FAIR, WIDE, least=3)
    assert (found.instance_type, found.price_nanousd) == ("fair", 259_000_000)
    assert found.instance_types == ("fair", "dear", "wide")


def test_another_way_to_buy_is_planned_if_it_has_enough_types() -> None:
    """Spot is cheaper, and as many types are sold as spot."""
    types = [
        instance_type(f"t{number}", cpu=8, memory="16Gi", price=0.5 + number / 10, spot=0.2)
        for number in range(2)
    ]
    found = launch(*types, least=2)
    assert (found.capacity_type, found.price_nanousd) == ("spot", 200_000_000)


def test_a_cheaper_way_to_buy_with_too_few_types_is_not_planned() -> None:
    """One type alone is sold as spot; it would leave no choice."""
    types = [
        instance_type("t0", cpu=8, memory="16Gi", price=0.5, spot=0.2, zones=("a",)),
        instance_type("t1", cpu=8, memory="16Gi", price=0.1, zones=("a",)),
        instance_type("t2", cpu=8, memory="16Gi", price=0.3, zones=("a",)),
    ]
    found = launch(*types, least=3)
    assert not found.is_min_values_relaxed
    assert sorted(found.instance_types) == ["t0", "t1", "t2"]


def test_minvalues_that_give_way_keep_within_limits() -> None:
    """Best effort launches one type where a limit allows no second."""
    found = launch(FAIR, WIDE, least=2, policy=MinValuesPolicy.BEST_EFFORT, cpu=10)
    assert (found.instance_types, found.is_min_values_relaxed) == (("fair",), True)
