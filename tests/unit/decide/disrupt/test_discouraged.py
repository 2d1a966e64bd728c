"""Which nodes new pods should rather keep off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE
from dovetail.model.ledger import Ledger, Nomination
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.policy import Policy
from dovetail.model.pool import Disruption
from dovetail.model.snapshot import Snapshot
from dovetail.testing import node, node_pool, pod, snapshot
from dovetail.testing.given import STANDARD_TYPES

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TYPES = tuple(given.instance_type(name) for name, given in STANDARD_TYPES.items())
ALL = Policy(disrupts_for=tuple(DisruptionReason))


def cluster(cpus: dict[str, float], **marks: object) -> Snapshot:
    """Large nodes of 8 cpu by name, with so much of it taken."""
    nodes = [_node(name, **marks) for name in cpus]
    pods = [pod(f"p-{name}", node=name, cpu=cpu) for name, cpu in cpus.items() if cpu]
    return msgspec.structs.replace(snapshot(pods, nodes=nodes), policy=ALL)


def _node(name: str, **marks: object) -> Node:
    return msgspec.structs.replace(node(name, pool="default", type="large", types=TYPES), **marks)


def found(given: Snapshot, **policy: object) -> tuple[str, ...]:
    """Who is discouraged."""
    chosen = msgspec.structs.replace(given.policy, **policy)
    return decide(msgspec.structs.replace(given, policy=chosen), NOW).discouraged


def test_the_emptiest_are_discouraged_as_long_as_others_have_room() -> None:
    """What they run is at most three times what the others have left."""
    assert found(cluster({"a": 2, "b": 7.5, "c": 6.5})) == ("a",)
    assert found(cluster({"a": 2, "b": 7.5, "c": 7.5})) == ("a",)
    assert found(cluster({"a": 4, "b": 7.5, "c": 7.5})) == ()


def yielding(given: Snapshot, **policy: object) -> dict[str, int]:
    """What pods of which nodes cost to give up."""
    chosen = msgspec.structs.replace(given.policy, **policy)
    plan = decide(msgspec.structs.replace(given, policy=chosen), NOW)
    return {one.node: one.cost for one in plan.yielding}


def test_pods_of_the_same_nodes_go_first_and_those_of_the_emptiest_before() -> None:
    """By tenths of a node, from -10 to -1."""
    assert yielding(cluster({"a": 0.5, "b": 2, "c": 4.5, "d": 4.6})) == {"a": -10, "b": -8, "c": -5}
    assert yielding(cluster({"a": 7, "b": 7.5, "c": 1})) == {"c": -9}
    assert yielding(cluster({"a": 4, "b": 7.5, "c": 7.5})) == {}


def test_both_wishes_can_be_switched_off_by_themselves() -> None:
    """Whoever wants no marks on pods may still want them on nodes."""
    given = cluster({"a": 2, "b": 7.5, "c": 6.5})
    assert yielding(given, yields=False) == {}
    assert found(given, yields=False) == ("a",)
    assert yielding(given, discourages=False) == {"a": -8}
    assert found(given, discourages=False) == ()


def test_somebody_must_take_new_pods() -> None:
    """However empty all of them are."""
    assert found(cluster({"a": 1, "b": 1, "c": 1})) == ("a", "b")
    assert found(cluster({"a": 1})) == ()


def test_who_is_discouraged_stays_so_until_others_are_clearly_emptier() -> None:
    """A twentieth of a node does not matter."""
    given = cluster({"a": 5.0, "b": 5.2})
    marked = tuple(
        msgspec.structs.replace(one, is_discouraged=one.name == "b") for one in given.nodes
    )
    assert found(given) == ("a",)
    assert found(msgspec.structs.replace(given, nodes=marked)) == ("b",)
    emptier = cluster({"a": 4.0, "b": 5.2})
    assert found(msgspec.structs.replace(emptier, nodes=marked)) == ("a",)


@pytest.mark.parametrize(
    "marks",
    [{"is_initialized": False}, {"is_unschedulable": True}, {"deleting_at": NOW}],
    ids=["starting", "cordoned", "leaving"],
)
def test_nodes_that_take_no_pods_count_for_nothing(marks: dict[str, object]) -> None:
    """Neither as room nor as nodes to be emptied."""
    assert found(cluster({"a": 1, "b": 1}, **marks)) == ()


@pytest.mark.parametrize(
    "said",
    [Disruption(consolidate_after=None), Disruption(consolidation_policy="WhenEmpty")],
    ids=["never", "only when empty"],
)
def test_pools_that_do_not_shrink_discourage_nobody(said: Disruption) -> None:
    """Nobody waits for their nodes to empty."""
    pool = msgspec.structs.replace(node_pool(), disruption=said)
    given = msgspec.structs.replace(cluster({"a": 1, "b": 7}), node_pools=(pool,))
    assert found(given) == ()


def test_nobody_is_discouraged_where_nobody_wants_that() -> None:
    """By the switch, or because nothing is taken away to save money."""
    given = cluster({"a": 1, "b": 7})
    assert found(given) == ("a",)
    assert found(given, discourages=False) == ()
    assert found(given, disrupts_for=(DisruptionReason.EMPTY,)) == ()


def test_of_the_nodes_that_pods_are_moved_to_all_but_the_fullest_are_discouraged() -> None:
    """Small pods, which could go anywhere, do not take the room that was meant for large ones."""
    given = moving()
    plan = decide(given, NOW)
    [move] = plan.disruptions
    assert move.nodes == ("going",)
    assert {one.node for one in move.places} == {"full", "roomy"}
    assert plan.discouraged == ("roomy",)
    quiet = msgspec.structs.replace(given, policy=msgspec.structs.replace(ALL, disrupts_for=()))
    assert decide(quiet, NOW).discouraged == ()


def test_whoever_waits_for_pods_stays_discouraged() -> None:
    """The word must not change while they are on their way."""
    given = cluster({"a": 7.0, "b": 7.5, "c": 7.5})
    waiting = pod("waits", cpu=0.5)
    promised = Ledger(nominations=(Nomination(waiting.uid, "a", NOW + timedelta(minutes=5)),))
    given = msgspec.structs.replace(given, pods=(*given.pods, waiting), ledger=promised)
    marked = tuple(
        msgspec.structs.replace(one, is_discouraged=one.name == "a") for one in given.nodes
    )
    assert found(given) == ()
    assert found(msgspec.structs.replace(given, nodes=marked)) == ("a",)


def moving() -> Snapshot:
    """A node whose small and large pod have room elsewhere, the large one only on one of two."""
    cpus = {"full": 7.0, "roomy": 5.0}
    given = cluster(cpus, conditions=(Condition(CONSOLIDATABLE, "True", changed_at=NOW),))
    going = _node("going", conditions=(Condition(CONSOLIDATABLE, "True", changed_at=NOW),))
    held = [pod("small", node="going", cpu=0.5), pod("large", node="going", cpu=2.75)]
    policy = msgspec.structs.replace(ALL, eviction_cost=timedelta(0), confirm_after=timedelta(0))
    return msgspec.structs.replace(
        given, nodes=(*given.nodes, going), pods=(*given.pods, *held), policy=policy
    )
