"""What would happen without a node is found out without deciding anything."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dovetail.decide import decide
from dovetail.decide.disrupt.removal import Fate, Removal, fate, removal
from dovetail.model.snapshot import Snapshot
from dovetail.testing import parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRECIOUS = {"karpenter.sh/do-not-disrupt": "true"}


def cluster(**given: object) -> Snapshot:
    """A cluster in the words of scenarios."""
    tree = {"because": "a test", "given": given, "want": {"nodes": 0}}
    return parse(tree, "test").snapshot


def without(snapshot: Snapshot, name: str = "n1") -> Removal | None:
    """The cluster without one node."""
    [node] = [one for one in snapshot.nodes if one.name == name]
    return removal(node, snapshot, decide(snapshot, NOW), NOW)


def test_room_that_is_there_comes_before_new_nodes() -> None:
    """And what is not paid any more is saved."""
    snapshot = cluster(
        nodes=[
            {"name": "n1", "pool": "default", "type": "small", "pods": [{"name": "a", "cpu": 1}]},
            {"name": "n2", "pool": "default", "type": "small", "is_consolidatable": True},
        ]
    )
    found = without(snapshot)
    assert found is not None
    assert found.destination_by_pod == {"default/a": "n2"}
    assert (found.launches, found.saving_nanousd) == ((), 100_000_000)


def test_what_must_be_launched_is_paid_for() -> None:
    """A name that the plan has given already is not given twice."""
    snapshot = cluster(
        nodes=[
            {"name": "n1", "pool": "default", "type": "small", "pods": [{"name": "a", "cpu": 2}]},
        ],
        pods=[{"name": "w", "cpu": 8}],
    )
    found = without(snapshot)
    assert found is not None
    [launch] = found.launches
    assert (launch.name, launch.pods) == ("default-1-2", ("default/a",))
    assert found.saving_nanousd == 0


def test_pods_that_wait_come_first() -> None:
    """The room that the plan gives them is not there any more."""
    snapshot = cluster(
        nodes=[
            {"name": "n1", "pool": "default", "type": "small", "pods": [{"name": "a", "cpu": 1}]},
            {"name": "n2", "pool": "default", "type": "small", "is_consolidatable": True},
        ],
        pods=[{"name": "w", "cpu": 2}],
    )
    found = without(snapshot)
    assert found is not None
    assert found.places == ()
    assert found.saving_nanousd == 0


def test_a_pod_without_a_place_says_why_and_what_would_help() -> None:
    """As a pod that waits does."""
    snapshot = cluster(
        pools={"default": {"types": ["small"]}},
        nodes=[
            {"name": "n1", "pool": "default", "type": "large", "pods": [{"name": "a", "cpu": 7}]},
        ],
    )
    found = without(snapshot)
    assert found is not None
    [one] = found.unplaced
    assert one.pod == "default/a"
    assert "cpu" in one.summary
    assert one.fix == "request at most cpu 2"
    assert found.destination_by_pod == {}


def test_a_node_that_is_not_quiet_is_no_place_for_a_move_that_saves_money() -> None:
    """Though kube-scheduler would use it."""
    snapshot = cluster(
        pools={"default": {"types": ["small"], "consolidate_after": "5m", "limits": {"cpu": 2}}},
        nodes=[
            {"name": "n1", "pool": "default", "type": "small", "pods": [{"name": "a", "cpu": 1}]},
            {"name": "n2", "pool": "default", "type": "small", "pods": [{"name": "b", "cpu": 1}]},
        ],
    )
    found = without(snapshot)
    assert found is not None
    [one] = found.unplaced
    assert one.summary.startswith("It cannot run on any other node")


def test_a_node_on_its_way_out_is_not_removed_twice() -> None:
    """The plan has seen to its pods."""
    node = {"name": "n1", "pool": "default", "type": "small"}
    assert without(cluster(nodes=[{**node, "deleting_at": "2026-01-01T00:00:00Z"}])) is None


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param({}, Fate.MOVES, id="an ordinary pod"),
        pytest.param({"owner": "DaemonSet/d"}, Fate.PART_OF_NODE, id="a daemon pod"),
        pytest.param({"owner": "Node/n1"}, Fate.PART_OF_NODE, id="a static pod"),
        pytest.param({"phase": "Succeeded"}, Fate.ENDING, id="one that has ended"),
        pytest.param({"deleting_at": "2026-01-01T00:00:00Z"}, Fate.ENDING, id="one that ends"),
        pytest.param({"annotations": PRECIOUS}, Fate.HELD, id="a protected one"),
        pytest.param({"cpu": 50}, Fate.STUCK, id="one that fits nowhere"),
    ],
)
def test_each_pod_has_its_fate(pod: dict[str, object], want: Fate) -> None:
    """By what it is, and whether there is room."""
    snapshot = cluster(
        nodes=[{"name": "n1", "pool": "default", "cpu": 64, "pods": [{"name": "a", **pod}]}]
    )
    found = without(snapshot)
    assert found is not None
    [one] = snapshot.pods
    assert fate(one, found, snapshot, NOW) is want
