from __future__ import annotations

import msgspec
import pytest

from dovetail.model.pod import Pod
from dovetail.model.policy import MinValuesPolicy, Policy
from dovetail.solve import Puzzle, Solution, solve
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod
from tests.unit.solve.puzzles import LARGE, SMALL, lottery, puzzle, random_puzzle


def names(pods: tuple[Pod, ...]) -> list[str]:
    """Pods by name, sorted."""
    return sorted(one.key for one in pods)


def placed(solution: Solution) -> list[str]:
    """Everybody who has a place, by name."""
    held = [one for launch in solution.launches for one in launch.pods]
    held += [one for _, pods in solution.placed for one in pods]
    return sorted(one.key for one in held)


def with_pods(held: Puzzle, pods: tuple[Pod, ...]) -> Puzzle:
    """The same puzzle for other pods."""
    return msgspec.structs.replace(held, pods=pods)


def test_no_pods_need_nothing() -> None:
    """Whatever could be bought."""
    assert solve(puzzle([])) == Solution()


def test_every_pod_is_placed_once_or_left_out_once() -> None:
    """And every placed pod has its turn in the order of binding."""
    for seed in range(60):
        held = random_puzzle(seed)
        solution = solve(held)
        everybody = sorted([*placed(solution), *names(solution.unplaced)])
        assert everybody == names(held.pods), f"seed {seed}"
        assert sorted(solution.order) == placed(solution), f"seed {seed}"
        price = sum(one.offering.price_nanousd for one in solution.launches)
        assert solution.price_nanousd == price, f"seed {seed}"
        assert solution.certificate.bound_nanousd <= price, f"seed {seed}"


def test_pods_that_nothing_takes_move_nobody() -> None:
    """The plan for all others is the same with and without them."""
    hopeless = tuple(deployment(3, "hopeless", cpu=10_000))
    for seed in range(40):
        held = random_puzzle(seed)
        if not held.pods:
            continue
        want = solve(held)
        got = solve(with_pods(held, (*hopeless[:1], *held.pods, *hopeless[1:])))
        assert got.launches == want.launches, f"seed {seed}"
        assert got.placed == want.placed, f"seed {seed}"
        assert got.order == want.order, f"seed {seed}"
        assert got.certificate == want.certificate, f"seed {seed}"
        assert names(got.unplaced) == sorted([*names(want.unplaced), *names(hopeless)])


def test_only_hopeless_pods_make_an_empty_plan() -> None:
    """They are all left out, and nothing is launched."""
    pods = deployment(2, cpu=100)
    assert solve(puzzle(pods)) == Solution(unplaced=pods)


def test_the_order_of_pods_does_not_show() -> None:
    """The same launches, whoever was listed first."""
    for seed in range(30):
        held = random_puzzle(seed)
        mixed = tuple(lottery(seed).sample(held.pods, len(held.pods)))
        want, got = solve(held), solve(with_pods(held, mixed))
        assert got.launches == want.launches, f"seed {seed}"
        assert got.placed == want.placed, f"seed {seed}"


def test_nodes_that_are_there_come_first() -> None:
    """They cost nothing more."""
    solution = solve(puzzle(deployment(6, cpu=1), nodes=(node("n1", cpu=4),)))
    assert [(name, len(pods)) for name, pods in solution.placed] == [("n1", 4)]
    assert [one.instance_type.name for one in solution.launches] == ["small"]


def test_a_plan_that_cannot_be_beaten_is_proven_so() -> None:
    """Eight pods of one cpu need one large machine, and the bound says just that."""
    solution = solve(puzzle(deployment(8, cpu=1), LARGE))
    assert solution.price_nanousd == 350_000_000
    assert solution.certificate.bound_nanousd == pytest.approx(350_000_000, rel=1e-6)


def test_what_limits_leave_out_waits() -> None:
    """Two nodes may be had, for four of five pods; those with higher priority come first."""
    pods = [*deployment(4, "low", cpu=1), pod("high", cpu=1, priority=9)]
    solution = solve(puzzle(pods, SMALL, limits={"default": {"nodes": 2}}))
    assert len(solution.launches) == 2
    assert names(solution.unplaced) == ["default/low-3"]


def test_without_anything_to_buy_nodes_that_are_there_are_used() -> None:
    """No pool, no type: the node holds what it can."""
    solution = solve(
        puzzle(deployment(3, cpu=2), nodes=(node("n1", cpu=4),), node_pools=(), instance_types={})
    )
    assert (len(solution.launches), len(placed(solution)), len(solution.unplaced)) == (0, 2, 1)
    assert solution.certificate.bound_nanousd == 0


def test_min_values_give_way_by_best_effort_only() -> None:
    """Strictly, a pool with too few types launches nothing."""
    asked = node_pool(requirements=[{"requirement": "instance-type Exists", "min_values": 3}])
    kinds = (instance_type("x"), instance_type("y"))
    for policy, n_launched in ((MinValuesPolicy.STRICT, 0), (MinValuesPolicy.BEST_EFFORT, 1)):
        held = puzzle([pod()], *kinds, node_pools=(asked,), policy=Policy(min_values_policy=policy))
        assert len(solve(held).launches) == n_launched
