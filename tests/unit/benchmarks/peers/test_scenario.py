from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from benchmarks.peers.scenario import written
from dovetail import labels
from dovetail.model.pod import DaemonSet
from dovetail.model.snapshot import Snapshot
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot


def _read(cluster: Snapshot) -> Any:
    return msgspec.json.decode(written(cluster))


def test_pools_that_share_a_catalogue_share_it_in_the_scenario_too() -> None:
    """A catalogue of a thousand types is written once, not once for each pool."""
    document = _read(snapshot([pod()], node_pools=[node_pool("a"), node_pool("b", weight=7)]))
    assert document["catalogue_by_pool"] == {"a": 0, "b": 0}
    assert [len(types) for types in document["catalogues"]] == [3]
    assert [one["spec"].get("weight") for one in document["node_pools"]] == [None, 7]


def test_a_type_says_what_it_is_what_the_system_keeps_and_where_it_costs_how_much() -> None:
    """Quantities as Kubernetes writes them, prices in dollars."""
    kind = instance_type("s", cpu=2, price=0.1, zones=("a",), overhead={"cpu": "100m"})
    (found,) = _read(snapshot(types=[kind]))["catalogues"][0]
    assert (found["name"], found["capacity"]["cpu"], found["overhead"]) == (
        *("s", "2"),
        {"cpu": "100m"},
    )
    assert {one["key"]: one["values"] for one in found["offerings"][0]["requirements"]} == {
        labels.ZONE: ["a"],
        labels.CAPACITY_TYPE: ["on-demand"],
    }
    assert (found["offerings"][0]["price"], found["offerings"][0]["available"]) == (0.1, True)


def test_a_node_is_told_as_a_node_and_a_claim_that_know_each_other() -> None:
    """Marked as far as it has come, since the reference asks the node's labels."""
    (held,) = snapshot(nodes=[node("n1", pool="default")]).nodes
    document = _read(snapshot(nodes=[held]))
    (told,), (claim,) = document["nodes"], document["node_claims"]
    assert told["spec"]["providerID"] == claim["status"]["providerID"] != ""
    assert (
        told["metadata"]["labels"].items()
        >= {
            labels.NODE_POOL: "default",
            labels.HOSTNAME: "n1",
            labels.REGISTERED: "true",
            labels.INITIALIZED: "true",
        }.items()
    )
    assert told["status"]["allocatable"]["cpu"] == "4"


def test_a_claim_in_flight_has_no_node_yet() -> None:
    """Its size is known from the claim alone."""
    held = msgspec.structs.replace(
        node("n1", pool="default"), is_registered=False, is_initialized=False
    )
    document = _read(snapshot(nodes=[held]))
    assert document["nodes"] == []
    assert document["node_claims"][0]["status"]["allocatable"]["cpu"] == "4"


def test_a_cordoned_node_bears_the_taint_that_says_so() -> None:
    """The reference looks at taints alone."""
    held = msgspec.structs.replace(node("n1", pool="default"), is_unschedulable=True)
    (told,) = _read(snapshot(nodes=[held]))["nodes"]
    assert [one["key"] for one in told["spec"]["taints"]] == ["node.kubernetes.io/unschedulable"]


def test_pods_that_no_autoscaler_sees_to_are_left_out() -> None:
    """Done, gated, going away, or a daemon's; all that run and all that wait are told of."""
    pods = [
        pod("waits"),
        pod("runs", node="n1"),
        pod("daemon", node="n1", owner="DaemonSet/agent"),
        pod("done", node="n1", phase="Succeeded"),
        pod("gated", is_gated=True),
        pod("going", deleting_at=datetime(2026, 1, 1, tzinfo=UTC)),
        pod("unbound-daemon", owner="DaemonSet/agent"),
    ]
    found = _read(snapshot(pods, nodes=[node("n1", pool="default")]))["pods"]
    assert [(one["metadata"]["name"], one["spec"].get("nodeName")) for one in found] == [
        ("waits", None),
        ("runs", "n1"),
        ("daemon", "n1"),
    ]
    assert len({one["metadata"]["uid"] for one in found}) == 3


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"is_ready": False}, id="not ready"),
        pytest.param({"is_deleting": True}, id="going away"),
        pytest.param({"replicas": 2}, id="static"),
    ],
)
def test_a_pool_that_does_not_grow_for_pods_is_left_out(words: dict[str, object]) -> None:
    """As the reference leaves it out before it asks its scheduler."""
    document = _read(snapshot(deployment(2), node_pools=[node_pool("b", **words), node_pool("a")]))
    assert [one["metadata"]["name"] for one in document["node_pools"]] == ["a"]
    assert list(document["catalogue_by_pool"]) == ["a"]


def test_labels_of_providers_are_well_known_wherever_they_occur() -> None:
    """In types, pools, selectors and affinities; labels of users are not."""
    key = f"{labels.AWS_GROUP}/instance-cpu"
    waiting = pod("p", node_selector={key: "2", "team": "a"})
    assert key in _read(snapshot([waiting]))["well_known_labels"]
    assert "team" not in _read(snapshot([waiting]))["well_known_labels"]


def test_daemon_sets_and_namespaces_are_told_of() -> None:
    """Both with their labels."""
    agent = DaemonSet("agent", "kube-system", pod("agent", cpu="1").spec, {"app": "agent"})
    cluster = msgspec.structs.replace(
        snapshot(), daemon_sets=(agent,), namespaces={"default": {"team": "a"}}
    )
    document = _read(cluster)
    assert document["daemon_sets"][0]["spec"]["template"]["metadata"]["labels"] == agent.labels
    assert document["namespaces"] == [{"metadata": {"name": "default", "labels": {"team": "a"}}}]


def test_a_pod_with_volumes_is_refused() -> None:
    """Half the truth about it would make the comparison worthless."""
    with pytest.raises(ValueError, match="default/p has volumes"):
        written(snapshot([pod("p", claims=["data"])]))


def test_reserved_capacity_is_refused() -> None:
    """The reference would be asked with that feature off, and Dovetail would use it."""
    held = {"zone": "a", "price": 0.01, "capacity_type": "reserved", "reservation_id": "r1"}
    with pytest.raises(ValueError, match="type s has reserved capacity"):
        written(snapshot(types=[instance_type("s", price=0.1, offerings=[held])]))
