"""What capacity buffers say of their room."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail import labels
from dovetail.decide.buffers import BufferRoom, buffer_conditions, buffer_rooms
from dovetail.decide.candidates import with_kept_rooms
from dovetail.model.ledger import Ledger, Nomination
from dovetail.model.node import Node
from dovetail.model.plan import Launch, Nominate, Plan
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=10)
ROOM = {"cpu": 4000, "pods": 10}


def virtual(at: int, buffer: str = "b") -> Pod:
    """One of the pods of a buffer."""
    said = {
        labels.BUFFER_FAKE_POD: "true",
        labels.BUFFER_NAME: buffer,
        labels.BUFFER_NAMESPACE: "default",
    }
    name = f"capacity-buffer-{buffer}-{at}"
    spec = PodSpec(requests={"cpu": 1000, "pods": 1})
    return Pod(name, "default", spec, uid=f"{buffer}-{at}", annotations=said)


def node(name: str, *, is_initialized: bool = True) -> Node:
    """A node of ours."""
    return Node(
        name=name,
        node_claim=f"claim-{name}",
        node_pool="default",
        allocatable=ROOM,
        is_initialized=is_initialized,
    )


def launch(*pods: Pod) -> Launch:
    """A node to come."""
    return Launch("new", "default", "t", "z", "spot", 1, (), {}, tuple(pod.key for pod in pods))


def test_room_is_there_on_nodes_that_run_and_on_its_way_on_others() -> None:
    """As promised before, or as this plan says."""
    pods = tuple(virtual(at) for at in range(5))
    ledger = Ledger(
        nominations=(Nomination("b-0", "old", LATER), Nomination("b-1", "young", LATER))
    )
    nodes = (node("old"), node("young", is_initialized=False))
    snapshot = Snapshot(pods=pods, nodes=nodes, ledger=ledger)
    plan = Plan(launches=(launch(pods[3]),), nominations=(Nominate("old", (pods[2].key,)),))
    assert buffer_rooms(snapshot, plan, NOW) == {("default", "b"): BufferRoom(5, 2, 2)}


def test_where_there_are_no_buffers_there_is_nothing_to_say() -> None:
    """Whoever else waits."""
    real = Pod("p", "default", PodSpec(requests={}))
    assert buffer_rooms(Snapshot(pods=(real,)), Plan(), NOW) == {}


@pytest.mark.parametrize(
    ("room", "want"),
    [
        (BufferRoom(2, 2, 0), ("True", "FitsExistingCapacity", "for 2 of 2 pods")),
        (BufferRoom(2, 1, 1), ("False", "RequiresNewCapacity", "for 1 are being launched")),
        (BufferRoom(2, 1, 0), ("False", "RequiresNewCapacity", "no node can be launched for 1")),
    ],
)
def test_a_buffer_says_whether_its_room_is_there(
    room: BufferRoom, want: tuple[str, str, str]
) -> None:
    """All of it, or how much is missing."""
    ready, got = buffer_conditions(2, room)
    assert (ready.type, ready.status, ready.reason) == ("ReadyForProvisioning", "True", "Resolved")
    assert (got.type, got.status, got.reason) == ("Provisioning", *want[:2])
    assert got.message.endswith(want[2])


@pytest.mark.parametrize("room", [None, BufferRoom(1, 1, 0)])
def test_of_room_that_no_plan_has_looked_at_nothing_is_said(room: BufferRoom | None) -> None:
    """The buffer has changed since."""
    assert [one.type for one in buffer_conditions(2, room)] == ["ReadyForProvisioning"]


def test_a_buffer_that_refers_to_nothing_is_not_ready() -> None:
    """Nor is its room."""
    got = [(one.type, one.status, one.reason) for one in buffer_conditions(0, None, "Gone", "why")]
    assert got == [
        ("ReadyForProvisioning", "False", "Gone"),
        ("Provisioning", "False", "NotReadyForProvisioning"),
    ]


def test_the_room_of_a_buffer_counts_where_it_was_promised() -> None:
    """For as long as the promise holds; other pods wait where they are."""
    held, late, real = virtual(0), virtual(1), Pod("p", "default", PodSpec(requests={}), uid="p")
    ledger = Ledger(
        nominations=(
            Nomination("b-0", "old", LATER),
            Nomination("b-1", "old", NOW),
            Nomination("p", "old", LATER),
        )
    )
    snapshot = Snapshot(pods=(held, late, real), nodes=(node("old"),), ledger=ledger)
    got = with_kept_rooms(snapshot, NOW)
    assert [pod.node_name for pod in got.pods] == ["old", "", ""]
    only_real = Snapshot(pods=(real,), nodes=(node("old"),), ledger=ledger)
    assert with_kept_rooms(only_real, NOW) is only_real
