"""Laws of appraisals: a node's pods are worth no more than it costs, all no more than a plan."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.solve import Appraisal, appraisal, solve
from dovetail.solve.puzzle import PlannedNode
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import LARGE, SMALL, puzzle, random_puzzle


def value(launch: PlannedNode, found: Appraisal) -> int:
    """What the pods of a planned node are worth."""
    by_pod = found.by_pod()
    return sum(by_pod[one.key] for one in launch.pods)


def test_nothing_is_worth_nothing() -> None:
    """Without pods there is nothing to appraise."""
    assert appraisal(puzzle(())) == Appraisal()


def test_pods_that_fill_a_node_are_worth_its_price() -> None:
    """Where nothing is wasted, what pods are worth is what the node costs."""
    pods = deployment(7, "web", cpu="1", memory="1Gi")
    found = appraisal(puzzle(pods, LARGE))
    (group,) = found.groups
    assert group == pods
    share = 1000 * LARGE.offerings[0].price_nanousd // LARGE.allocatable["cpu"]
    assert share * 999_999 // 1_000_000 <= found.values_nanousd[0] <= share


def test_pods_that_scheduling_cannot_tell_apart_are_one_group() -> None:
    """A value is stated once for all pods alike."""
    found = appraisal(puzzle([*deployment(3, "a", cpu="1"), *deployment(2, "b", cpu="2")]))
    assert sorted(len(group) for group in found.groups) == [2, 3]
    assert len(found.values_nanousd) == 2
    assert set(found.by_pod()) == {one.key for group in found.groups for one in group}


def test_pods_that_nothing_takes_are_priceless() -> None:
    """Who fits no offer has no value, and is in no group."""
    giant = pod("giant", cpu="1000")
    found = appraisal(puzzle([giant, pod("web", cpu="1")]))
    assert found.priceless == (giant,)
    assert list(found.by_pod()) == ["default/web"]
    assert appraisal(puzzle([giant])) == Appraisal(priceless=(giant,))


def test_nodes_that_are_there_change_no_value() -> None:
    """An appraisal is about buying everything anew."""
    pods = deployment(4, "web", cpu="1")
    there = node("n1", type=LARGE.name, types=(SMALL, LARGE))
    assert appraisal(puzzle(pods, nodes=(there,))) == appraisal(puzzle(pods))


@pytest.mark.parametrize("seed", range(25))
def test_no_planned_node_holds_more_value_than_it_costs(seed: int) -> None:
    """Whatever the constraints, a node's pods are worth no more than the node, and all pods no more
    than a plan for them.
    """
    asked = msgspec.structs.replace(random_puzzle(seed), nodes=(), bound=(), bound_volumes={})
    found, plan = appraisal(asked), solve(asked)
    # Weights are kept even where that costs more, so a lighter pool's node may hold more value.
    if len({one.weight for one in asked.node_pools}) == 1:
        for launch in plan.launches:
            assert value(launch, found) <= launch.offering.price_nanousd
    if not plan.unplaced:
        assert sum(found.by_pod().values()) - 1 <= found.certificate.bound_nanousd
        assert found.certificate.bound_nanousd <= plan.price_nanousd
