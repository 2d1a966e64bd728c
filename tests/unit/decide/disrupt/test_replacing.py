"""What may come instead of nodes that go."""

from __future__ import annotations

from datetime import UTC, datetime

from dovetail import labels
from dovetail.decide import decide
from dovetail.decide.disrupt.course import Course, course_of
from dovetail.decide.disrupt.replacing import replacements
from dovetail.model.plan import Launch, Plan
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TENTH = 100_000_000
TYPES = (
    instance_type("small", cpu=2, price=0.1),
    instance_type("medium", cpu=4, price=0.2),
    instance_type("large", cpu=8, price=0.4),
)
SMALL = node("s", pool="default", type="small", types=TYPES)
LARGE = node("l", pool="default", type="large", types=TYPES)


def course(min_types: int = 0) -> Course:
    """A cluster of both nodes, whose pool may insist on so many types."""
    asked = [{"requirement": "instance-type Exists", "min_values": min_types}] if min_types else []
    pools = [node_pool(requirements=asked)]
    there = snapshot(nodes=[SMALL, LARGE], node_pools=pools, types=TYPES)
    return course_of(there, Plan(), NOW)


def launch() -> Launch:
    """A small node in the zone of the others, or whatever larger would do."""
    waiting = [pod("p", cpu=1, node_selector={"zone": "a"})]
    (found,) = decide(snapshot(node_pools=[node_pool()], types=TYPES, pods=waiting), NOW).launches
    assert found.instance_types == ("small", "medium", "large")
    return found


def test_only_what_is_cheaper_is_asked_for() -> None:
    """At the price that was paid before, nothing is saved."""
    found = replacements(course(), [LARGE], (launch(),), 3 * TENTH)
    assert found is not None
    (narrowed,) = found
    assert narrowed.instance_types == ("small", "medium")
    asked = {one.key: one.values for one in narrowed.requirements}
    assert asked[labels.INSTANCE_TYPE] == {"small", "medium"}
    assert asked[labels.ZONE] == {"a"}


def test_what_saves_nothing_is_no_replacement() -> None:
    """Not even if it costs the same."""
    assert replacements(course(), [LARGE], (launch(),), 0) is None


def test_a_pool_that_insists_on_types_gets_them_or_nothing() -> None:
    """Too few of them are cheaper."""
    assert replacements(course(min_types=2), [LARGE], (launch(),), 3 * TENTH) is not None
    assert replacements(course(min_types=3), [LARGE], (launch(),), 3 * TENTH) is None


def test_a_delete_needs_nothing_instead() -> None:
    """It only has to save."""
    assert replacements(course(), [LARGE], (), TENTH) == ()
