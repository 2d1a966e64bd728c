from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.nodes import CORDON, effective_taints, usable
from dovetail.model.instance import InstanceType
from dovetail.model.node import Condition, Node
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint

NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoExecute")
UNREGISTERED = Taint(labels.UNREGISTERED_TAINT, "", "NoExecute")
DISRUPTED = Taint(labels.DISRUPTED_TAINT)
STARTUP = Taint("cni/starting", "x")
DEDICATED = Taint("dedicated", "gpu")
STARTING = Node(
    "n",
    taints=(NOT_READY, UNREGISTERED, STARTUP, DEDICATED, DISRUPTED),
    startup_taints=(Taint("cni/starting"),),
    node_pool="default",
    is_initialized=False,
)


@pytest.mark.parametrize(
    ("node", "want"),
    [
        pytest.param(STARTING, (DEDICATED, DISRUPTED), id="what will go is left out"),
        pytest.param(
            msgspec.structs.replace(STARTING, is_initialized=True),
            STARTING.taints,
            id="once started, every taint counts",
        ),
        pytest.param(
            msgspec.structs.replace(STARTING, node_pool=""),
            STARTING.taints,
            id="a node that nobody manages is as it is",
        ),
        pytest.param(Node("n", is_unschedulable=True), (CORDON,), id="a cordon is a taint"),
        pytest.param(
            Node("n", taints=(CORDON,), is_unschedulable=True), (CORDON,), id="and only one"
        ),
    ],
)
def test_a_starting_node_is_judged_by_the_taints_it_will_keep(
    node: Node, want: tuple[Taint, ...]
) -> None:
    """Startup and ephemeral taints do not count until a managed node is initialized."""
    assert effective_taints(node) == want


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(Node("n", deleting_at=datetime(2026, 1, 1, tzinfo=UTC)), id="deleted"),
        pytest.param(
            Node("n", conditions=(Condition("InstanceTerminating", "True"),)), id="terminating"
        ),
    ],
)
def test_a_leaving_node_takes_no_pods(node: Node) -> None:
    """Nothing is placed on what is going away."""
    assert usable(Snapshot(nodes=(node, Node("stays")))) == (
        Node("stays", labels={labels.HOSTNAME: "stays"}),
    )


def test_a_node_has_its_name_and_pool_as_labels() -> None:
    """Claims in flight do not carry them yet, and pods may select on them."""
    (node,) = usable(Snapshot(nodes=(Node("n", node_pool="default"),)))
    assert node.labels == {labels.HOSTNAME: "n", labels.NODE_POOL: "default"}


def test_a_host_name_of_its_own_is_kept() -> None:
    """The label need not be the node's name."""
    (node,) = usable(Snapshot(nodes=(Node("n", labels={labels.HOSTNAME: "host"}),)))
    assert node.labels == {labels.HOSTNAME: "host"}


KIND = InstanceType(
    "m.large",
    Requirements(),
    capacity={"cpu": 2000, "gpu": 1},
    allocatable={"cpu": 1900, "gpu": 1},
    offerings=(),
    attach_limits={"csi": 8},
)
OF_KIND = Node(
    "n", labels={labels.INSTANCE_TYPE: "m.large"}, node_pool="default", is_initialized=False
)


def of_kind(**fields: object) -> Node:
    """A node of the known type with some fields changed."""
    return msgspec.structs.replace(OF_KIND, **fields)


@pytest.mark.parametrize(
    ("node", "want"),
    [
        pytest.param(of_kind(), {"cpu": 1900, "gpu": 1}, id="nothing reported yet"),
        pytest.param(
            of_kind(allocatable={"cpu": 1800, "gpu": 0}),
            {"cpu": 1800, "gpu": 1},
            id="a device that is still to come",
        ),
        pytest.param(
            of_kind(allocatable={"cpu": 1800}, capacity={"cpu": 2000, "disk": 9}),
            {"cpu": 1800, "gpu": 1, "disk": 9},
            id="capacity where the type says nothing",
        ),
        pytest.param(
            of_kind(
                allocatable={"cpu": 1800, "gpu": 0},
                capacity={"cpu": 2000, "gpu": 1},
                is_initialized=True,
            ),
            {"cpu": 1800, "gpu": 0},
            id="once started, a broken device is broken",
        ),
        pytest.param(
            of_kind(
                labels={},
                allocatable={"cpu": 1800, "gpu": 0},
                capacity={"cpu": 8000, "gpu": 1, "disk": 9},
            ),
            {"cpu": 1800, "gpu": 0, "disk": 9},
            id="some of the types that may come have a device",
        ),
        pytest.param(
            Node("n", capacity={"cpu": 4000}), {"cpu": 4000}, id="only capacity is stated"
        ),
        pytest.param(Node("n"), {}, id="nothing is known"),
        pytest.param(of_kind(labels={}), {}, id="a type is not known"),
    ],
)
def test_what_a_node_will_have_is_filled_in_while_it_starts(
    node: Node, want: dict[str, int]
) -> None:
    """Zero or missing allocatable comes from the instance type, missing from capacity."""
    (got,) = usable(Snapshot(nodes=(node,), instance_types={"default": (KIND,)}))
    assert got.allocatable == want


def test_a_starting_node_has_the_slots_and_capacity_of_its_type() -> None:
    """Its CSI drivers report late, its limits count from the first moment."""
    (got,) = usable(Snapshot(nodes=(OF_KIND,), instance_types={"default": (KIND,)}))
    assert got.attach_limits == {"csi": 8}
    assert got.capacity == {"cpu": 2000, "gpu": 1}


def test_nodes_of_one_pool_are_filled_in_alike() -> None:
    """The pool's types are looked up for each of them."""
    second = of_kind(name="m")
    got = usable(Snapshot(nodes=(OF_KIND, second), instance_types={"default": (KIND,)}))
    assert got[0].allocatable == got[1].allocatable == {"cpu": 1900, "gpu": 1}
