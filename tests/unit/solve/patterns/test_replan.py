from __future__ import annotations

from collections import Counter

import pytest

from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.packing.contents import loads
from dovetail.solve.patterns.replan import replan_by_patterns
from dovetail.testing.builders import deployment, instance_type
from tests.unit.solve.patterns.instances import base_of
from tests.unit.solve.puzzles import lottery

SMALL = (
    instance_type("s", cpu=2, memory="4Gi", price=0.1, zones=("a",)),
    instance_type("m", cpu=2, memory="16Gi", price=0.16, zones=("a",)),
    instance_type("l", cpu=4, memory="8Gi", price=0.21, zones=("a",)),
)
HOST = {"topology_key": "hostname"}
SEEDS = range(6)


def plain_pods(seed: int, count: int = 16, **spec: object) -> list[Pod]:
    """Pods of thirty Deployments, of which about three share a small node."""
    chance = lottery(seed)
    return [
        pod
        for number in range(30)
        for pod in deployment(
            count,
            f"d{number:02}",
            cpu=f"{chance.randint(300, 1100)}m",
            memory=f"{chance.randint(300, 3000)}Mi",
            **spec,
        )
    ]


def packed(pods: list[Pod], **parts: object) -> Attempt:
    """The plan in bulk, which wastes some part of many small nodes."""
    base = base_of(pods, *SMALL, **parts)
    return run_attempt(base.enc, base.offers, base.values)


def pods_by_unit(attempt: Attempt) -> Counter[int]:
    """How many pods of every unit have a node."""
    placed: Counter[int] = Counter()
    for counts in loads(attempt.bins.log).values():
        placed.update(counts)
    return placed


def contents(attempt: Attempt) -> list[tuple[int, dict[int, int]]]:
    """Every node's offer, and its pods."""
    by_node = sorted(loads(attempt.bins.log).items())
    return [(int(attempt.bins.offer[node]), dict(pods)) for node, pods in by_node]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_pods_get_nodes_that_are_no_dearer(seed: int) -> None:
    """Whatever patterns come to; and the plan is sound."""
    attempt = packed(plain_pods(seed))
    before, placed = attempt.price(), pods_by_unit(attempt)
    replan_by_patterns(attempt)
    assert attempt.price() <= before
    assert pods_by_unit(attempt) == placed
    assert not attempt.left_u.any()
    assert is_sound(attempt)


def test_small_nodes_that_waste_much_get_cheaper() -> None:
    """By more than one part in a hundred, over all seeds."""
    before = after = 0
    for seed in SEEDS:
        attempt = packed(plain_pods(seed))
        before += attempt.price()
        replan_by_patterns(attempt)
        after += attempt.price()
    assert after < 0.99 * before


@pytest.mark.parametrize(
    ("pods", "parts"),
    [
        pytest.param(plain_pods(1, count=5), {}, id="few pods, which were searched in other ways"),
        pytest.param(plain_pods(1), {"policy": Policy(effort=0)}, id="no effort is wanted"),
        pytest.param(plain_pods(1, 12, anti_affinity=[HOST]), {}, id="pods that keep others away"),
    ],
)
def test_some_plans_are_left_alone(pods: list[Pod], parts: dict[str, object]) -> None:
    """Node by node."""
    attempt = packed(pods, **parts)
    before = contents(attempt)
    replan_by_patterns(attempt)
    assert contents(attempt) == before


def test_limits_hold() -> None:
    """The pool may have no more CPU than the plan in bulk takes."""
    free = packed(plain_pods(1))
    cpu = free.enc.cap_or[free.bins.offer[: free.bins.n], 0]
    limits = {"default": {"cpu": int(cpu.sum() * 1.02)}}
    attempt = packed(plain_pods(1), limits=limits)
    before = attempt.price()
    replan_by_patterns(attempt)
    assert is_sound(attempt)
    assert attempt.price() <= before
