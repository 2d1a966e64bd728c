"""Nodes and claims: one noun, the node's word first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint

Freeze = Callable[..., Snapshot]

POOL_LABEL = "karpenter.sh/nodepool"
NODE_CLASS = "nodeClassRef: {group: g, kind: K, name: n}"
POOL = (
    "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\n"
    f"spec: {{template: {{spec: {{requirements: [], {NODE_CLASS}}}}}}}\n"
)


def node(meta: str = "", spec: str = "", status: str = "") -> str:
    """A Node named n."""
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n, {meta}}}\n"
        f"spec: {{{spec}}}\nstatus: {{{status}}}\n"
    )


def claim(meta: str = "", spec: str = "", status: str = "") -> str:
    """A NodeClaim named c."""
    requirements = "" if "requirements" in spec else "requirements: [], "
    return (
        f"---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: c, {meta}}}\n"
        f"spec: {{{requirements}{NODE_CLASS}, {spec}}}\nstatus: {{{status}}}\n"
    )


def only(snapshot: Snapshot) -> Node:
    """The one node there is."""
    [found] = snapshot.nodes
    return found


def test_a_node_of_nobody_is_taken_at_its_word(freeze: Freeze) -> None:
    """Registered, initialised and ready unless it says otherwise."""
    got = only(
        freeze(
            node(
                "creationTimestamp: '2026-01-01T00:00:00Z', "
                "labels: {failure-domain.beta.kubernetes.io/zone: a}, annotations: {x: y}",
                "unschedulable: true, providerID: id, taints: [{key: t, effect: NoSchedule}]",
                "capacity: {cpu: 2, memory: 1Gi, pods: 9}, allocatable: {cpu: 1900m, pods: 8}",
            )
        )
    )
    assert (got.name, got.node_pool, got.node_claim, got.provider_id) == ("n", "", "", "id")
    assert got.zone == "a"
    assert (got.is_registered, got.is_initialized, got.is_ready) == (True, True, True)
    assert got.is_unschedulable
    assert got.taints == (Taint("t", "", "NoSchedule"),)
    assert got.capacity == {"cpu": 2000, "memory": 1 << 30, "pods": 9}
    assert got.allocatable == {"cpu": 1900, "pods": 8}
    assert got.created_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param("allocatable: {cpu: 1}", {"cpu": 1000, "pods": 110}, id="left out"),
        pytest.param(
            "capacity: {pods: 20}, allocatable: {cpu: 1}", {"cpu": 1000, "pods": 20}, id="capacity"
        ),
        pytest.param("allocatable: {cpu: 1, pods: 0}", {"cpu": 1000, "pods": 0}, id="none"),
        pytest.param("", {}, id="nothing is known yet"),
    ],
)
def test_a_node_written_by_hand_takes_as_many_pods_as_a_kubelet(
    freeze: Freeze, status: str, want: dict[str, int]
) -> None:
    """Only one that says so takes none."""
    assert only(freeze(node(status=status))).allocatable == want


def test_readiness_is_the_nodes_own_condition(freeze: Freeze) -> None:
    """A node that says it is not ready is not."""
    assert not only(freeze(node(status="conditions: [{type: Ready, status: 'False'}]"))).is_ready


def test_attach_limits_come_from_the_csi_node(freeze: Freeze) -> None:
    """Drivers without a count have no limit."""
    drivers = (
        "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n}\n"
        "spec: {drivers: [{name: a, nodeID: n, allocatable: {count: 25}}, {name: b, nodeID: n}]}\n"
    )
    assert only(freeze(node() + drivers)).attach_limits == {"a": 25}


def test_a_node_and_its_claim_are_one(freeze: Freeze) -> None:
    """Found by the provider's id; once registered the node's labels and taints count."""
    got = only(
        freeze(
            node(
                "labels: {karpenter.sh/nodepool: p, karpenter.sh/registered: 'true', "
                "karpenter.sh/initialized: 'true', own: node}",
                "providerID: id, taints: [{key: n, effect: NoSchedule}]",
                "allocatable: {cpu: 1, pods: 8}, conditions: [{type: Ready, status: 'True'}, "
                "{type: DiskPressure, status: 'False'}]",
            )
            + claim(
                "labels: {own: claim, more: claim}",
                "taints: [{key: c, effect: NoSchedule}]",
                "providerID: id, allocatable: {cpu: 2, memory: 1Gi}, "
                "lastPodEventTime: '2026-01-02T00:00:00Z', "
                "conditions: [{type: Ready, status: 'False'}, {type: Drifted, status: 'True'}]",
            )
        )
    )
    assert (got.name, got.node_claim, got.node_pool) == ("n", "c", "p")
    assert (got.is_registered, got.is_initialized, got.is_ready) == (True, True, True)
    assert got.labels["own"] == "node"
    assert "more" not in got.labels
    assert got.taints == (Taint("n", "", "NoSchedule"),)
    assert got.allocatable == {"cpu": 1000, "pods": 8}
    assert [one.type for one in got.conditions] == ["Ready", "Drifted", "DiskPressure"]
    assert got.last_pod_event_at == datetime(2026, 1, 2, tzinfo=UTC)


def test_a_claims_conditions_are_taken_as_given(freeze: Freeze) -> None:
    """Offline, what the input states counts, though the node lacks the label."""
    conditions = "[{type: Registered, status: 'True'}, {type: Initialized, status: 'True'}]"
    got = only(freeze(node() + claim(status=f"nodeName: n, conditions: {conditions}")))
    assert (got.is_registered, got.is_initialized) == (True, True)


def test_until_it_registers_the_claim_speaks_for_the_node(freeze: Freeze) -> None:
    """Labels, taints and resources that the node does not have yet come from the claim."""
    got = only(
        freeze(
            node("labels: {own: node}", "", "allocatable: {cpu: 1, gpu: 0}")
            + claim(
                "labels: {own: claim, more: claim}",
                "taints: [{key: c, effect: NoSchedule}], "
                "startupTaints: [{key: s, effect: NoExecute}]",
                "nodeName: n, allocatable: {cpu: 2, gpu: 8, memory: 1Gi, pods: 58}",
            )
        )
    )
    assert (got.name, got.is_registered, got.is_initialized) == ("n", False, False)
    assert got.labels == {"own": "node", "more": "claim"}
    assert Taint("c", "", "NoSchedule") in got.taints
    assert got.startup_taints == (Taint("s", "", "NoExecute"),)
    assert got.allocatable == {"cpu": 1000, "gpu": 8, "memory": 1 << 30, "pods": 58}


def test_a_claim_in_flight_is_a_node_of_its_name(freeze: Freeze) -> None:
    """With the labels that are certain: its own, and requirements that leave one value."""
    got = only(
        freeze(
            claim(
                "labels: {karpenter.sh/nodepool: p}",
                "requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}, "
                "{key: x, operator: In, values: [a, b]}, {key: y, operator: Exists}]",
                "allocatable: {cpu: 2, pods: 58}",
            )
        )
    )
    assert (got.name, got.node_claim, got.node_pool) == ("c", "c", "p")
    assert (got.is_registered, got.is_initialized, got.is_ready) == (False, False, False)
    assert got.labels == {POOL_LABEL: "p", "topology.kubernetes.io/zone": "a"}
    assert got.allocatable == {"cpu": 2000, "pods": 58}


def test_a_claims_pool_may_be_its_owner(freeze: Freeze) -> None:
    """A claim without the label is still its pool's."""
    got = only(freeze(claim("ownerReferences: [{kind: NodePool, name: p}]")))
    assert (got.node_pool, got.labels) == ("p", {POOL_LABEL: "p"})


def instance_type(name: str, cpu: int) -> InstanceType:
    """A type whose system keeps 100m."""
    return InstanceType(name, Requirements(), {"cpu": cpu}, {"cpu": cpu - 100}, ())


def test_an_unlaunched_claim_has_the_least_that_its_types_promise(freeze: Freeze) -> None:
    """Any of them may come: pods count on the least, limits on the most."""
    types = (instance_type("s", 1000), instance_type("m", 2000), instance_type("l", 4000))
    key = "node.kubernetes.io/instance-type"
    several = claim(
        "labels: {karpenter.sh/nodepool: p}",
        f"requirements: [{{key: {key}, operator: In, values: [s, m]}}]",
    )
    got = only(freeze(POOL + several, types))
    assert (got.allocatable, got.capacity) == ({"cpu": 900}, {"cpu": 2000})
    one = claim(f"labels: {{karpenter.sh/nodepool: p, {key}: l}}")
    assert only(freeze(POOL + one, types)).allocatable == {"cpu": 3900}
    unknown = claim(f"labels: {{karpenter.sh/nodepool: p, {key}: xxl}}")
    assert only(freeze(POOL + unknown, types)).allocatable == {}


def test_deletion_of_either_is_the_deletion_of_both(freeze: Freeze) -> None:
    """Whichever goes takes the other along."""
    at = "deletionTimestamp: '2026-01-01T00:00:00Z'"
    linked = "nodeName: n"
    for text in (node(at), node() + claim(at, status=linked), node(at) + claim(status=linked)):
        assert only(freeze(text)).deleting_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_our_own_mark_is_nobodys_preference(freeze: Freeze) -> None:
    """It is told apart by key and effect, whatever its value; all other taints are."""
    harder = "{key: dovetail.sh/discouraged, effect: NoSchedule}"
    soft = "{key: t, effect: PreferNoSchedule}"
    mark = "{key: dovetail.sh/discouraged, value: x, effect: PreferNoSchedule}"
    plain = only(freeze(node(spec=f"taints: [{soft}, {harder}]")))
    marked = only(freeze(node(spec=f"taints: [{soft}, {mark}, {harder}]")))
    assert not plain.is_discouraged
    assert marked.is_discouraged
    assert (
        marked.taints
        == plain.taints
        == (
            Taint("t", "", "PreferNoSchedule"),
            Taint("dovetail.sh/discouraged", "", "NoSchedule"),
        )
    )


def test_a_node_with_a_claim_keeps_its_mark(freeze: Freeze) -> None:
    """And is otherwise what it would be without."""
    mark = "taints: [{key: dovetail.sh/discouraged, effect: PreferNoSchedule}]"
    both = [
        only(freeze(node(spec=f"providerID: id, {spec}") + claim(status="providerID: id")))
        for spec in ("", mark)
    ]
    assert [one.is_discouraged for one in both] == [False, True]
    assert both[0] == msgspec.structs.replace(both[1], is_discouraged=False)
