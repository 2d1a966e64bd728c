"""The cluster as it is drawn."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.present.board import (
    NodeState,
    PodState,
    node_boxes,
    node_state,
    pod_box,
    totals,
    types_in_use,
    waiting_pods,
)
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot
from tests.unit.present.moments import NOW

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.10, zones=("a",))


def test_a_box_holds_its_pods_the_largest_first() -> None:
    """With what they ask for, and the sums of it beside what the node has."""
    held = node("n1", pool="default", type="small", zone="a", types=(SMALL,))
    pods = [pod("s", cpu="250m", memory="1Gi", node="n1"), pod("l", cpu=1, node="n1")]
    (box,) = node_boxes(snapshot(pods=pods, nodes=[held], types=(SMALL,)))
    assert [one.key for one in box.pods] == ["default/l", "default/s"]
    assert box.cpu[0] == 1250
    assert box.memory[0] == 1024 + box.pods[0].memory
    assert box.cpu[1] == held.allocatable["cpu"]


@pytest.mark.parametrize(
    ("held", "is_leaving", "want"),
    [
        pytest.param(node("n"), False, NodeState.READY, id="ready"),
        pytest.param(node("n"), True, NodeState.LEAVING, id="leaving"),
        pytest.param(node("n", is_ready=False), False, NodeState.NOT_READY, id="not ready"),
        pytest.param(
            Node("n", node_claim="c", is_registered=False), False, NodeState.COMING, id="coming"
        ),
        pytest.param(
            Node("n", node_claim="c", is_initialized=False), False, NodeState.STARTING, id="starts"
        ),
        pytest.param(Node("n", is_unschedulable=True), False, NodeState.CORDONED, id="cordoned"),
    ],
)
def test_a_node_fares_in_one_way(held: Node, *, is_leaving: bool, want: NodeState) -> None:
    """The gravest word counts."""
    assert node_state(held, is_leaving=is_leaving) is want


def test_a_pod_that_is_bound_and_not_running_yet_starts() -> None:
    """And one that a DaemonSet owns is a daemon, however it fares."""
    assert pod_box(pod("a", node="n")).state in {PodState.RUNNING, PodState.STARTING}
    assert pod_box(pod("d", node="n", owner="DaemonSet/agent")).state is PodState.DAEMON


def test_who_waits_is_told_with_where_it_goes_or_what_would_help() -> None:
    """Those that nothing helps come first."""
    pods = [*deployment(2, "web", cpu=1), pod("huge", cpu=900)]
    cluster = snapshot(pods=pods, node_pools=[node_pool()], types=(SMALL,))
    plan = decide(cluster, NOW)
    found = waiting_pods(cluster, plan)
    assert [one.key for one in found] == ["default/huge", "default/web-0", "default/web-1"]
    assert found[0].summary
    assert not found[0].goes_to
    assert found[1].goes_to == plan.launches[0].name


def test_the_dearest_types_come_first_and_sums_agree() -> None:
    """Two nodes of one type are one row."""
    large = instance_type("large", cpu=8, memory="32Gi", price=0.40, zones=("a",))
    types = {"small": SMALL, "large": large}
    nodes = [
        node(name, pool="default", type=kind, zone="a", capacity_type="on-demand",
             types=tuple(types.values()))
        for name, kind in (("n1", "small"), ("n2", "large"), ("n3", "large"))
    ]  # fmt: skip
    boxes = node_boxes(snapshot(nodes=nodes, node_pools=[node_pool()], types=tuple(types.values())))
    rows = types_in_use(boxes)
    assert [(one.instance_type, one.count) for one in rows] == [("large", 2), ("small", 1)]
    sums = totals(boxes, 0, Plan().cost.cluster_target_nanousd)
    assert sums.nodes == 3
    assert sums.price_per_hour == pytest.approx(0.9)


def test_the_same_type_at_two_prices_is_two_rows() -> None:
    """Else the sum of the column is not what is paid."""
    held = node("n1", pool="default", type="small", zone="a", types=(SMALL,))
    (box,) = node_boxes(snapshot(nodes=[held], types=(SMALL,)))
    priced = [msgspec.structs.replace(box, price_per_hour=one) for one in (0.1, 0.2, 0.1)]
    rows = [(one.count, one.price_per_hour) for one in types_in_use(priced)]
    assert sorted(rows) == [(1, 0.2), (2, 0.1)]
    assert sum(n * paid for n, paid in rows) == pytest.approx(0.4)


def test_the_target_is_never_above_what_is_paid() -> None:
    """A node that has gone since the last decision would make it so."""
    held = node("n1", pool="default", type="small", zone="a", types=(SMALL,))
    (box,) = node_boxes(snapshot(nodes=[held], node_pools=[node_pool()], types=(SMALL,)))
    assert box.price_per_hour == pytest.approx(0.1)
    assert totals([box], 0, 50_000_000).target_per_hour == pytest.approx(0.05)
    assert totals([box], 0, 900_000_000).target_per_hour == pytest.approx(0.1)
