from __future__ import annotations

from collections.abc import Iterable

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.program.relaxation import encode_schedulable, value_pods
from dovetail.solve.puzzle import canonical
from dovetail.solve.search.fewer_nodes import with_fewer_nodes
from dovetail.testing.builders import deployment, instance_type, pod
from tests.unit.solve.puzzles import puzzle

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.0904, zones=("a",))
LARGE = instance_type("large", cpu=16, memory="64Gi", price=0.727, zones=("a",))
DEAR = instance_type("large", cpu=16, memory="64Gi", price=0.84, zones=("a",))
LIMITED = {"default": {"cpu": 20_000}}


def planned(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> Attempt:
    """The first plan for these pods."""
    plain = encode_schedulable(canonical(puzzle(pods, *types, policy=Policy(), **parts))).plain
    return run_attempt(plain.enc, plain.offers, value_pods(plain))


def n_nodes(attempt: Attempt) -> int:
    """How many new nodes a plan has."""
    return int((~attempt.bins.dead[: attempt.bins.n]).sum())


def test_larger_nodes_are_taken_where_they_cost_hardly_more() -> None:
    """Small nodes are 0.6 % cheaper for the same pods, and eight times as many."""
    first = planned(deployment(660, cpu="500m", memory="1Gi"), SMALL, LARGE)
    other = with_fewer_nodes(first)
    assert n_nodes(other) < n_nodes(first) / 2
    assert other.price() <= first.price() * 1.01
    assert other.enc is other.bins.enc is first.enc
    assert is_sound(other)


def test_larger_nodes_are_left_where_they_cost_more() -> None:
    """They are 12 % dearer."""
    first = planned(deployment(660, cpu="500m", memory="1Gi"), SMALL, DEAR)
    assert with_fewer_nodes(first) is first


def test_a_plan_of_few_nodes_stays() -> None:
    """There is little to save."""
    first = planned(deployment(12, cpu="450m", memory="1Gi"), SMALL, LARGE)
    assert with_fewer_nodes(first) is first


def test_a_plan_that_leaves_pods_out_stays() -> None:
    """Its limits decide how many nodes there are."""
    pods = deployment(660, cpu="500m", memory="1Gi")
    first = planned(pods, SMALL, LARGE, limits=LIMITED)
    assert with_fewer_nodes(first) is first


def test_a_plan_of_many_sorts_stays() -> None:
    """Planning again would take too long."""
    first = planned([pod(f"p{n:03}", cpu=f"{400 + n}m") for n in range(160)], SMALL, LARGE)
    assert with_fewer_nodes(first) is first
