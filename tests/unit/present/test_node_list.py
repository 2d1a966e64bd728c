"""Which nodes are listed, in which order, and what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.model.snapshot import Snapshot
from dovetail.present.node_list import (
    NodeListView,
    SortKey,
    age,
    arrange,
    node_list,
    nodes_json,
    unpriced_remark,
)
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TYPES = (
    instance_type("small", cpu=2, memory="8Gi", price=0.1, spot=0.04),
    instance_type("large", cpu=8, memory="32Gi", price=0.4),
)


def cluster() -> Snapshot:
    """Three nodes of two pools: one full and young, one large and idle, one in between."""
    named = [
        ("busy", "web", "small", "spot", NOW - timedelta(minutes=5)),
        ("idle", "batch", "large", "on-demand", NOW - timedelta(days=3)),
        ("middling", "web", "small", "on-demand", None),
    ]
    nodes = [
        node(
            name,
            pool=pool,
            type=kind,
            capacity_type=capacity,
            zone="a",
            created_at=None if born is None else born.isoformat(),
            types=TYPES,
        )
        for name, pool, kind, capacity, born in named
    ]
    pods = [
        pod("p1", cpu=2, memory="1Gi", node="busy"),
        pod("p2", cpu=1, memory="6Gi", node="middling"),
        pod("done", cpu=1, memory="1Gi", node="idle", phase="Succeeded"),
        pod("waits", cpu=1),
    ]
    pools = [node_pool("web"), node_pool("batch")]
    return snapshot(pods, nodes=nodes, node_pools=pools, types=TYPES)


LISTED = node_list(cluster(), NOW)


@pytest.mark.parametrize(
    ("sort", "want"),
    [
        (SortKey.NAME, ["busy", "idle", "middling"]),
        (SortKey.PRICE, ["idle", "middling", "busy"]),
        (SortKey.CPU, ["busy", "middling", "idle"]),
        (SortKey.MEMORY, ["middling", "busy", "idle"]),
        (SortKey.AGE, ["idle", "busy", "middling"]),
        (SortKey.POOL, ["idle", "busy", "middling"]),
    ],
)
def test_nodes_are_sorted_as_one_would_ask(sort: SortKey, want: list[str]) -> None:
    """The dearest, fullest and oldest first; by name where they are equal."""
    assert [one.name for one in arrange(LISTED.nodes, NodeListView(sort))] == want


def test_the_other_way_round_equals_stay_by_name() -> None:
    """Two nodes of one pool keep their order."""
    wish = NodeListView(SortKey.POOL, is_reversed=True)
    assert [one.name for one in arrange(LISTED.nodes, wish)] == ["busy", "middling", "idle"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("WEB", ["busy", "middling"], id="a pool, in any case"),
        pytest.param("web spot", ["busy"], id="every word must occur"),
        pytest.param("large", ["idle"], id="an instance type"),
        pytest.param("nothing", [], id="none"),
        pytest.param("  ", ["busy", "idle", "middling"], id="no word at all"),
    ],
)
def test_a_filter_looks_at_everything_that_is_shown(text: str, want: list[str]) -> None:
    """Name, pool, zone, type, capacity type, state and claim."""
    assert [one.name for one in arrange(LISTED.nodes, NodeListView(text=text))] == want


def test_the_sums_count_what_takes_room() -> None:
    """A pod that has run to its end takes none, and one that waits is counted as waiting."""
    sums = LISTED.totals
    assert (sums.nodes, sums.pods, sums.waiting) == (3, 2, 1)
    assert sums.price_per_hour == pytest.approx(0.54)
    assert sums.cpu_utilisation == pytest.approx(3 / 12)
    shown = nodes_json(LISTED, LISTED.nodes[:1], ["a note"])
    assert shown["totals"] == {
        "nodes": 3,
        "pods": 2,
        "waiting": 1,
        "pricePerHour": 0.54,
        "cpuUtilisation": 0.25,
        "memoryUtilisation": round(7 / 48, 4),
    }
    assert shown["notes"] == ["a note"]


def test_a_node_as_data_has_its_units_in_the_names() -> None:
    """And everything that the table shows."""
    shown = nodes_json(LISTED, LISTED.nodes[:1])["nodes"]
    want = {
        "name": "busy",
        "state": "ready",
        "nodePool": "web",
        "nodeClaim": "busy",
        "instanceType": "small",
        "capacityType": "spot",
        "zone": "a",
        "pricePerHour": 0.04,
        "cpuMillis": {"requested": 2000, "allocatable": 2000},
        "memoryMebibytes": {"requested": 1024, "allocatable": 8192},
        "pods": ["default/p1"],
        "createdAt": "2026-01-01T23:55:00Z",
    }
    assert shown == [want]


@pytest.mark.parametrize(
    ("span", "want"),
    [
        (timedelta(seconds=-5), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=119), "119m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=400), "400d"),
    ],
)
def test_an_age_has_one_unit(span: timedelta, want: str) -> None:
    """The largest of which there are two; nothing is younger than new."""
    assert age(NOW - span, NOW) == want


def test_a_node_without_a_price_is_mentioned_if_a_pool_owns_it() -> None:
    """With its type, and what to do about it; others are somebody else's."""
    odd = node("odd", pool="web", type="strange", zone="a", capacity_type="spot")
    lone = node("lone", type="strange")
    listed = node_list(snapshot(nodes=[odd, lone], node_pools=[node_pool("web")]), NOW)
    assert "1 node (strange)" in unpriced_remark(listed.nodes)
    assert "--catalog" in unpriced_remark(listed.nodes)
    assert unpriced_remark(LISTED.nodes) == ""
