"""Listed pods: what is kept of them, and when a live one waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dovetail import api
from dovetail.model.requirements import Requirement
from dovetail.model.topology import NodeTerm
from dovetail.model.verdict import Reason
from dovetail.state.freeze import snapshot
from dovetail.state.pods import listed_pod, live_pod
from dovetail.state.specs import Templates

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NEAR: api.Tree = {"topologyKey": "zone", "labelSelector": {}}


def pod(name: str = "p", **fields: api.Tree) -> api.Pod:
    """A pod with these parts; `meta` adds to its metadata."""
    more = fields.pop("meta", {})
    assert isinstance(more, dict)
    return api.decode(api.Pod, {"metadata": {"name": name, "uid": f"u-{name}", **more}, **fields})


def daemon(node: str, *, is_bound: bool = True, owner: str = "DaemonSet") -> api.Pod:
    """A pod that names its own node, as the DaemonSet controller writes it."""
    own: api.Tree = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms: api.Tree = {"nodeSelectorTerms": [{"matchFields": [own]}]}
    return pod(
        f"d-{node}",
        meta={"ownerReferences": [{"kind": owner, "name": "d"}]},
        spec={
            "nodeName": node if is_bound else "",
            "affinity": {
                "nodeAffinity": {REQUIRED: terms},
                "podAntiAffinity": {REQUIRED: [NEAR]},
            },
        },
    )


def test_bound_pods_of_a_daemon_set_share_one_spec() -> None:
    """Each was made for its own node; once there, only what others must respect still counts."""
    templates = Templates()
    one, two = (listed_pod(daemon(name), templates) for name in ("n1", "n2"))
    assert one.spec is two.spec
    assert one.spec.required_terms == ()
    assert len(one.spec.anti_affinity) == 1
    assert one.owner is two.owner


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(daemon("n", is_bound=False), id="it has yet to get there"),
        pytest.param(daemon("n", owner="ReplicaSet"), id="it is no daemon"),
    ],
)
def test_a_pod_that_still_asks_for_its_node_keeps_asking(wire: api.Pod) -> None:
    """What it asks for binds plans."""
    want = Requirement("metadata.name", False, frozenset({"n"}))
    assert listed_pod(wire, Templates()).spec.required_terms == (NodeTerm((), (want,)),)


def test_a_daemon_whose_affinity_makes_no_sense_has_a_problem() -> None:
    """It does not stop the rest."""
    wire = pod(
        meta={"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]},
        spec={"nodeName": "n", "affinity": {"nodeAffinity": "metadata.name"}},
    )
    [problem] = listed_pod(wire, Templates()).problems
    assert problem.reason == Reason.INVALID_POD


def test_pods_of_one_workload_share_labels_and_annotations() -> None:
    """So that many pods take little memory."""
    templates = Templates()
    meta: api.Tree = {"labels": {"a": "b"}, "annotations": {"karpenter.sh/do-not-disrupt": "1h"}}
    one, two = (listed_pod(pod(name, meta=meta), templates) for name in ("x", "y"))
    assert one.labels is two.labels
    assert one.annotations is two.annotations


@pytest.mark.parametrize(
    ("reason", "node", "want"),
    [
        pytest.param("Unschedulable", "", True, id="kube-scheduler found no place"),
        pytest.param("SchedulingGated", "", True, id="it is held back, which can be explained"),
        pytest.param("", "", False, id="kube-scheduler has not looked yet"),
        pytest.param("", "n", True, id="it has its node"),
    ],
)
def test_a_live_pod_waits_once_kube_scheduler_says_so(reason: str, node: str, want: bool) -> None:  # noqa: FBT001  a parameter of the table
    """Before that it may be bound at any moment."""
    conditions: api.Tree = [{"type": "PodScheduled", "status": "False", "reason": reason}]
    wire = pod(spec={"nodeName": node}, status={"conditions": conditions})
    assert (live_pod(wire, Templates()) is not None) == want


def test_live_workloads_do_not_stand_for_pods_nor_pods_for_claims() -> None:
    """The API has them, or they are not there."""
    template: api.Tree = {"spec": {"containers": []}}
    made = api.decode(
        api.Deployment,
        {"metadata": {"name": "d", "namespace": "shop"}, "spec": {"template": template}},
    )
    volumes: api.Tree = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]
    listed = pod(spec={"nodeName": "n", "volumes": volumes})
    offline = snapshot([made, listed], instance_types=lambda _: ())
    live = snapshot([made, listed], instance_types=lambda _: (), is_live=True)
    assert [one.name for one in offline.pods] == ["p", "d-0"]
    assert [one.name for one in live.pods] == ["p"]
    assert list(offline.volume_claims) == ["default/p-v"]
    assert live.volume_claims == {}
    assert (list(offline.namespaces), list(live.namespaces)) == (["default", "shop"], [])


START = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("spec", "status", "want"),
    [
        pytest.param({}, {"startTime": START}, None, id="nobody says"),
        pytest.param(
            {"activeDeadlineSeconds": 600},
            {"startTime": START},
            datetime(2026, 1, 1, 0, 10, tzinfo=UTC),
            id="by its deadline",
        ),
        pytest.param({"activeDeadlineSeconds": 600}, {}, None, id="it has not started"),
        pytest.param(
            {"activeDeadlineSeconds": 2**62}, {"startTime": START}, None, id="after all time"
        ),
        pytest.param(
            {"activeDeadlineSeconds": 600},
            {
                "phase": "Succeeded",
                "startTime": START,
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "False",
                        "lastTransitionTime": "2026-01-01T00:07:00Z",
                    }
                ],
            },
            datetime(2026, 1, 1, 0, 7, tzinfo=UTC),
            id="when it did",
        ),
        pytest.param({}, {"phase": "Failed"}, None, id="who knows when"),
    ],
)
def test_it_is_known_when_a_pod_ends(
    spec: api.Tree, status: api.Tree, want: datetime | None
) -> None:
    """By its deadline, or because it has."""
    assert listed_pod(pod(spec=spec, status=status), Templates()).ends_at == want


def test_a_deadline_makes_no_template_of_its_own() -> None:
    """Pods that differ in nothing else share what they ask for."""
    templates = Templates()
    one, two = (
        listed_pod(pod(spec={"activeDeadlineSeconds": seconds}), templates) for seconds in (5, 6)
    )
    assert one.spec is two.spec


@pytest.mark.parametrize(
    ("owner", "labels", "want"),
    [
        pytest.param(None, {}, "", id="nobody's"),
        pytest.param(
            {"kind": "ReplicaSet", "name": "web-5d8"},
            {"pod-template-hash": "5d8"},
            "Deployment/default/web",
            id="a Deployment's",
        ),
        pytest.param(
            {"kind": "ReplicaSet", "name": "web"},
            {"pod-template-hash": "5d8"},
            "ReplicaSet/default/web",
            id="a ReplicaSet's own",
        ),
        pytest.param(
            {"kind": "StatefulSet", "name": "db"}, {}, "StatefulSet/default/db", id="a StatefulSet"
        ),
    ],
)
def test_a_pod_knows_whose_it_is(owner: api.Tree, labels: api.Tree, want: str) -> None:
    """By its controller and the mark that a Deployment leaves."""
    meta: api.Tree = {"labels": labels, "ownerReferences": [owner] if owner else []}
    assert listed_pod(pod(meta=meta), Templates()).workload == want
