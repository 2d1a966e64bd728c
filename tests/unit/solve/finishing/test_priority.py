from __future__ import annotations

from dovetail.model.pod import Pod
from dovetail.solve.pipeline import solve
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.puzzles import SMALL, puzzle

ONE_ZONE = instance_type("one", cpu=2, memory="8Gi", price=0.1, zones=("a",))


def unplaced(*pods: Pod, **parts: object) -> list[str]:
    """Who stays out."""
    return [one.name for one in solve(puzzle(pods, ONE_ZONE, **parts)).unplaced]


def test_priorities_do_not_matter_while_everything_fits() -> None:
    """The plan is as cheap as without them."""
    low, high = deployment(2, "low", cpu=1), deployment(2, "high", cpu=1)
    urgent = deployment(2, "high", cpu=1, priority=100)
    plain = solve(puzzle([*low, *high], SMALL))
    ranked = solve(puzzle([*low, *urgent], SMALL))
    assert plain.price_nanousd == ranked.price_nanousd


def test_pods_of_higher_priority_have_what_the_limits_leave() -> None:
    """One node, two pods that fill it."""
    low = pod("low", cpu="1500m")
    high = pod("high", cpu="1500m", priority=100)
    assert unplaced(low, high, limits={"default": {"nodes": 1}}) == ["low"]


def test_one_important_pod_comes_before_two_others() -> None:
    """Priority counts more than the number of pods."""
    low = deployment(2, "low", cpu="800m")
    high = pod("high", cpu="1900m", priority=100)
    assert unplaced(*low, high, limits={"default": {"nodes": 1}}) == ["low-0", "low-1"]


def test_a_pod_takes_the_place_of_its_rival_and_keeps_its_friend() -> None:
    """Only the pod that is in the way has to leave."""
    friend = pod("friend", labels={"tier": "front"})
    rival = pod("rival", labels={"rev": "1"})
    high = pod(
        "high",
        priority=100,
        affinity=[{"topology_key": "zone", "selector": {"tier": "front"}}],
        anti_affinity=[{"topology_key": "zone", "selector": {"rev": "1"}}],
    )
    assert unplaced(friend, rival, high) == ["rival"]


def test_lower_waves_use_the_room_that_higher_ones_leave() -> None:
    """The rest of a node opened for an important pod is not wasted."""
    high = pod("high", cpu=1, priority=100)
    low = deployment(3, "low", cpu="400m")
    assert unplaced(high, *low, limits={"default": {"nodes": 1}}) == ["low-2"]
