"""Whether one move saves money for sure."""

from __future__ import annotations

from datetime import UTC, datetime

from dovetail.decide.disrupt.course import course_of
from dovetail.decide.disrupt.probe import ground_of
from dovetail.decide.disrupt.savings import Saving, candidates_of, judge
from dovetail.model.plan import Plan
from dovetail.model.verdict import Blocked, Blocker
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small", cpu=2, price=0.1), instance_type("large", cpu=8, price=0.4))


def asked(sizes: dict[str, float]) -> Saving | Blocked | None:
    """Large nodes, each with one pod of so many cpus, if all of them went."""
    nodes = [
        node(name, pool="default", type="large", types=TYPES, zone="a", is_consolidatable=True)
        for name in sizes
    ]
    there = snapshot(
        nodes=nodes,
        node_pools=[node_pool()],
        types=TYPES,
        pods=[pod(f"p{name}", node=name, cpu=size) for name, size in sizes.items()],
    )
    ground = ground_of(there, NOW, is_saving=True)
    return judge(course_of(there, Plan(), NOW), ground, candidates_of(nodes, ground), [])


def test_what_would_come_again_stays() -> None:
    """One of three nodes would be bought again, so the other two move onto it."""
    found = asked({"a": 3, "b": 3, "c": 2})
    assert isinstance(found, Saving)
    assert len(found.going) == 2
    (disrupt,) = found.disrupts
    assert disrupt.replacements == ()
    assert disrupt.saving_nanousd == 800_000_000


def test_where_all_would_come_again_nothing_is_saved() -> None:
    """Nothing is replaced by its equal."""
    assert asked({"a": 7, "b": 7}) is None


def test_a_pod_without_a_place_is_said() -> None:
    """Nobody sells what it asks for."""
    found = asked({"b": 0.5, "a": 7})  # the most wasteful first, as they are tried
    assert isinstance(found, Saving)  # b's pod fits beside a's, which stays
    assert [one.name for one in found.going] == ["b"]
    stuck = asked({"a": 9})
    assert isinstance(stuck, Blocked)
    assert stuck.reason == Blocker.POD_STUCK
