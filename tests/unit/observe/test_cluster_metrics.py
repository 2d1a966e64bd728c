"""Gauges say of pods, nodes and pools what a snapshot says, under the reference's labels."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from dovetail import labels
from dovetail.model.pod import Owner
from dovetail.model.snapshot import Snapshot
from dovetail.observe.cluster_metrics import cluster_text, node_count_text
from dovetail.observe.pod_limits import PodLimits
from dovetail.testing.builders import instance_type, node, node_pool, pod, snapshot
from dovetail.testing.virtual_time import START
from tests.unit.observe.scraped import samples, values
from tests.unit.observe.wire_pods import wire_pod

GIB = 1 << 30
TYPE = instance_type("m", cpu=4, memory="8Gi", price=0.25, overhead={"cpu": "500m"})


def cluster() -> Snapshot:
    """A node of ours with two pods and a daemon, one on its way, a foreign one, a waiting pod."""
    ours = node("n1", types=[TYPE], pool="default", type="m", zone="b")
    ours = msgspec.structs.replace(ours, created_at=START)
    agent = pod("agent", cpu="100m", node="n1")
    web = pod("web", cpu=1, memory="1Gi", node="n1")
    return snapshot(
        (
            msgspec.structs.replace(web, owner=Owner("ReplicaSet", "web-1")),
            pod("done", cpu=2, node="n1", phase="Succeeded"),
            msgspec.structs.replace(agent, owner=Owner("DaemonSet", "agent")),
            pod("waits", cpu=1),
        ),
        nodes=(
            ours,
            node("c2", types=[TYPE], pool="default", type="m", stage="launching"),
            node("foreign", cpu=2, memory="4Gi"),
        ),
        node_pools=(node_pool("default", limits={"cpu": 100, "nodes": 10}),),
        types=(TYPE,),
    )


def scraped() -> str:
    """All of it."""
    limits = PodLimits()
    limits.see(wire_pod("web", node="n1", limits={"cpu": "2", "memory": "1Gi"}))
    return "".join(cluster_text(cluster(), limits, START + timedelta(minutes=5)))


def test_a_pod_is_shown_with_where_it_is_and_how() -> None:
    """The labels are the reference's, no more and no less."""
    found = [dict(one) for one in samples(scraped())["karpenter_pods_state"]]
    by_name = {one["name"]: one for one in found}
    assert by_name["web"] == {
        "name": "web",
        "namespace": "default",
        "owner": "/apis/apps/v1/namespaces/default/replicasets/web-1",
        "node": "n1",
        "scheduled": "true",
        "nodepool": "default",
        "zone": "b",
        "arch": "amd64",
        "capacity_type": "on-demand",
        "instance_type": "m",
        "phase": "Running",
        "ready": "true",
        "managed": "true",
    }
    assert by_name["waits"]["scheduled"] == by_name["waits"]["managed"] == "false"
    assert by_name["waits"]["phase"] == "Pending"
    assert len(by_name) == 4


def test_a_node_is_shown_with_what_it_has_and_what_is_asked_of_it() -> None:
    """cpu in cores, all else in its own unit; pods that have ended ask for nothing."""
    text = scraped()
    for name, resource, want in (
        ("allocatable", "cpu", 3.5),
        ("allocatable", "memory", 8 * GIB),
        ("total_pod_requests", "cpu", 1.1),
        ("total_pod_requests", "pods", 2),
        ("total_daemon_requests", "cpu", 0.1),
        ("total_pod_limits", "cpu", 2),
        ("total_pod_limits", "memory", GIB),
        ("system_overhead", "cpu", 0.5),
        ("system_overhead", "memory", 0),
    ):
        labelled = {"node_name": "n1", "resource_type": resource}
        assert values(text, f"karpenter_nodes_{name}", **labelled) == [want], (name, resource)
    assert values(text, "karpenter_nodes_total_daemon_limits") == []
    assert values(text, "karpenter_nodes_current_lifetime_seconds", node_name="n1") == [300]
    assert values(text, "karpenter_nodes_allocatable", node_name="c2") == []


def test_a_nodes_series_carry_its_well_known_labels() -> None:
    """In snake case, without their domain; nodes of others say so."""
    found = samples(scraped())["karpenter_nodes_allocatable"]
    ours = next(dict(one) for one in found if ("node_name", "n1") in one)
    del ours["resource_type"]
    assert ours == {
        "node_name": "n1",
        "phase": "",
        "managed": "true",
        "nodepool": "default",
        "zone": "b",
        "region": "",
        "instance_type": "m",
        "arch": "amd64",
        "os": "linux",
        "capacity_type": "on-demand",
        "windows_build": "",
    }
    foreign = next(dict(one) for one in found if ("node_name", "foreign") in one)
    assert foreign["managed"] == "false"


def test_labels_that_a_provider_fixes_are_shown_too() -> None:
    """Those of its own domain; what users put on a node is not."""
    own = {"karpenter.kwok.sh/instance-cpu": "4", "team": "red"}
    made = msgspec.structs.replace(node("n1"), labels={**node("n1").labels, **own})
    text = "".join(cluster_text(snapshot(nodes=[made]), PodLimits(), START))
    found = dict(next(iter(samples(text)["karpenter_nodes_allocatable"])))
    assert found["instance_cpu"] == "4"
    assert "team" not in found
    assert found["arch"] == made.labels[labels.ARCH]


def test_utilization_is_what_pods_ask_for_of_what_nodes_have() -> None:
    """Of all nodes that have joined, in percent."""
    text = scraped()
    (cpu,) = values(text, "karpenter_cluster_utilization_percent", resource_type="cpu")
    assert round(cpu, 6) == round(100 * 1.1 / 5.5, 6)


def test_a_pool_is_shown_with_its_limits_what_it_has_and_what_that_costs() -> None:
    """Nodes on their way count; cost is in dollars an hour."""
    text = scraped()
    for name, resource, want in (
        ("limit", "cpu", 100),
        ("limit", "nodes", 10),
        ("usage", "cpu", 8),
        ("usage", "nodes", 2),
    ):
        labelled = {"nodepool": "default", "resource_type": resource}
        assert values(text, f"karpenter_nodepools_{name}", **labelled) == [want]
    assert values(text, "karpenter_nodepools_cost_total", nodepool="default") == [0.5]


def test_nodes_are_counted_with_those_on_their_way() -> None:
    """As the memory of the cluster holds them."""
    assert values(node_count_text(cluster()), "karpenter_cluster_state_node_count") == [3]


def test_values_that_would_end_a_label_are_escaped() -> None:
    """A label's value may be anything."""
    odd = msgspec.structs.replace(
        node("n1"), labels={labels.ZONE: 'a"b\\c\nd', labels.NODE_POOL: "x"}
    )
    text = "".join(cluster_text(snapshot(nodes=[odd]), PodLimits(), START))
    assert values(text, "karpenter_nodes_allocatable", zone='a"b\\c\nd', resource_type="cpu") == [4]


def test_a_large_scrape_comes_in_small_parts() -> None:
    """So that others run in between."""
    pods = [pod(f"p{number}") for number in range(1_201)]
    parts = list(cluster_text(snapshot(pods), PodLimits(), START))
    assert max(part.count("\n") for part in parts) == 500
    assert sum(part.count("karpenter_pods_state{") for part in parts) == 1_201
