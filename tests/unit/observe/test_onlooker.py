"""One listener sees pods, claims, Nodes and pools, and shows them at every scrape."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail import api
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.errors import UnavailableError
from dovetail.kube.mirror import Absent, Present, Stalled
from dovetail.kube.seam import Scope
from dovetail.model.plan import Nominate, Plan
from dovetail.model.verdict import Unschedulable
from dovetail.observe.meters import Meters
from dovetail.observe.onlooker import Onlooker
from dovetail.testing.builders import node, pod, snapshot
from dovetail.testing.virtual_time import START, VirtualTime
from tests.unit.observe.scraped import values
from tests.unit.observe.wire_pods import POD, wire_pod

CLUSTER = snapshot((pod("p1", node_selector={"zone": "b"}),), nodes=(node("n1"),))


class Scene:
    """An onlooker, the events it told, and its time."""

    def __init__(self, *, is_enabled: bool = True) -> None:
        self.time = VirtualTime()
        self.events: list[Event] = []
        self.onlooker = Onlooker(Meters(), self.events.append, self.time, is_enabled=is_enabled)

    def scrape(self) -> str:
        """Everything."""
        return b"".join(self.onlooker.scrape(CLUSTER)).decode()


_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
_SPECS: dict[str, dict[str, object]] = {
    "NodeClaim": {"nodeClassRef": _CLASS, "requirements": []},
    "NodePool": {"template": {"spec": {"nodeClassRef": _CLASS, "requirements": []}}},
}


def with_condition(
    group: str, kind: str, status: str, said: str = "Ready", **spec: object
) -> api.Object:
    """An object of which one thing is said; without a status, nothing."""
    found = api.KINDS[group, kind]
    held = {"type": said, "status": status, "reason": "Why", "lastTransitionTime": START}
    tree = {
        "apiVersion": found.api_version,
        "kind": kind,
        "metadata": {"name": "x", "uid": "u1", "deletionTimestamp": START},
        "spec": {**_SPECS.get(kind, {}), **spec},
        "status": {"conditions": [held] if status else []},
    }
    return msgspec.structs.replace(
        api.read(found, msgspec.json.encode(tree)), kind=kind, api_version=found.api_version
    )


async def test_a_scrape_has_what_is_counted_and_what_is_there() -> None:
    """Meters, pods that wait, nodes, and where waiting pods must run."""
    scene = Scene()
    scene.onlooker.hear(Present(wire_pod()))
    await scene.time.advance(timedelta(seconds=4))
    text = scene.scrape()
    assert values(text, "karpenter_pods_unbound_time_seconds", name="p1") == [4]
    assert values(text, "karpenter_pods_provisioning_scheduling_undecided_time_seconds") == [4]
    assert values(text, "karpenter_pods_state", name="p1") == [1]
    zones = "karpenter_scheduler_pending_pods_by_effective_zone_count"
    assert values(text, zones, controller="provisioner", zone="b") == [1]
    assert values(text, "karpenter_cluster_state_node_count") == [1]
    assert values(text, "karpenter_pods_bound_duration_seconds_count") == [0]
    assert values(text, "karpenter_nodepools_allowed_disruptions", reason="Empty") == [0]


@pytest.mark.parametrize(
    ("kind", "first"), [("NodeClaim", "Launched"), ("NodePool", "ValidationSucceeded")]
)
async def test_what_nobody_had_said_turns_when_it_is_said(kind: str, first: str) -> None:
    """A claim or pool is made without conditions; the first words about it are told and counted."""
    scene = Scene()
    scene.onlooker.hear(Present(with_condition("karpenter.sh", kind, "")))
    assert scene.events == []
    counted = f"operator_{kind.lower()}_status_condition_transitions_total"
    assert values(scene.scrape(), counted) == []
    scene.onlooker.hear(Present(with_condition("karpenter.sh", kind, "True", first)))
    assert [one.reason for one in scene.events] == [first]
    assert values(scene.scrape(), counted, type=first, status="True") == [1]


async def test_a_decision_is_taken_in_from_its_plan() -> None:
    """Pods with a place, and pods without."""
    scene = Scene()
    for name in ("p1", "p2", "p3"):
        scene.onlooker.hear(Present(wire_pod(name)))
    plan = Plan(
        nominations=(Nominate("n1", ("default/p1",)),),
        unschedulable=(Unschedulable("default/p2", "why"),),
    )
    await scene.time.advance(timedelta(seconds=2))
    scene.onlooker.note_plan(plan)
    text = scene.scrape()
    undecided = "karpenter_pods_provisioning_scheduling_undecided_time_seconds"
    assert values(text, undecided, name="p3") == values(text, undecided) == [2]
    placed = "karpenter_pods_provisioning_unbound_time_seconds"
    assert values(text, placed, name="p1") == values(text, placed) == [0]
    assert values(text, "karpenter_pods_scheduling_decision_duration_seconds_count") == [2]


def test_objects_with_conditions_are_followed_until_they_are_gone() -> None:
    """Claims, Nodes and pools alike."""
    kinds = (("karpenter.sh", "NodeClaim"), ("", "Node"), ("karpenter.sh", "NodePool"))
    for group, kind in kinds:
        scene = Scene()
        scene.onlooker.hear(Present(with_condition(group, kind, "False")))
        last = with_condition(group, kind, "True")
        scene.onlooker.hear(Present(last))
        name = f"operator_{kind.lower()}_status_condition_count"
        said = values(scene.scrape(), name, type="Ready")
        assert values(scene.scrape(), name, status="True") == said == [1]
        scene.onlooker.hear(Absent(last))
        assert values(scene.scrape(), name) == []
        assert [one.reason for one in scene.events] == ["Ready", "Finalized"], kind


def test_a_pod_that_is_gone_leaves_nothing_behind() -> None:
    """Neither times nor limits."""
    scene = Scene()
    scene.onlooker.hear_pods(Present(wire_pod(node="n1", limits={"cpu": "1"})))
    assert values(scene.scrape(), "karpenter_nodes_total_pod_limits", node_name="n1") == [1]
    scene.onlooker.hear(Present(wire_pod(node="n1")))
    for hear in (scene.onlooker.hear, scene.onlooker.hear_pods):
        hear(Absent(wire_pod()))
    text = scene.scrape()
    assert values(text, "karpenter_nodes_total_pod_limits") == []
    assert values(text, "karpenter_pods_unstarted_time_seconds") == []


async def test_pods_that_waited_before_anybody_looked_are_timed_too() -> None:
    """From the moment at which somebody does."""
    scene = Scene()
    scene.onlooker.meet([pod("p1"), pod("p2", node="n1")])
    await scene.time.advance(timedelta(seconds=3))
    undecided = "karpenter_pods_provisioning_scheduling_undecided_time_seconds"
    assert values(scene.scrape(), undecided, name="p1") == values(scene.scrape(), undecided) == [3]


def test_what_makes_no_sense_harms_nobody() -> None:
    """Nor does a mirror that has lost its server."""
    scene = Scene()
    odd = with_condition("karpenter.sh", "NodeClaim", "True", expireAfter="soon")
    scene.onlooker.hear(Present(odd))
    error = UnavailableError(0, "", "gone")
    scene.onlooker.hear(Stalled(Scope(POD), error, 1.0))
    assert values(scene.scrape(), "operator_nodeclaim_status_condition_count") == []


def test_switched_off_it_shows_nothing_that_grows_with_the_cluster() -> None:
    """What is counted is still counted, and the number of nodes still known."""
    scene = Scene(is_enabled=False)
    scene.onlooker.hear(Present(wire_pod()))
    scene.onlooker.hear(Present(with_condition("karpenter.sh", "NodeClaim", "False")))
    scene.onlooker.hear(Present(with_condition("karpenter.sh", "NodeClaim", "True")))
    text = scene.scrape()
    for name in (
        "karpenter_pods_state",
        "karpenter_pods_unbound_time_seconds",
        "karpenter_nodes_allocatable",
        "karpenter_nodepools_usage",
        "operator_nodeclaim_status_condition_count",
    ):
        assert name not in text
    assert scene.events == []
    assert values(text, "karpenter_cluster_state_node_count") == [1]
