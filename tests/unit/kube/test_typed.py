"""Objects of the seam as wire types, small, and without surprises."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import Final

import msgspec
import pytest

from dovetail import api, labels
from dovetail.kube.seam import Json
from dovetail.kube.typed import Intake, Unreadable
from dovetail.state.pods import READ_ANNOTATIONS

PODS: Final = api.KINDS["", "Pod"]
NODES: Final = api.KINDS["", "Node"]
DAEMON_SETS: Final = api.KINDS["apps", "DaemonSet"]


def pod(at: int, **spec: Json) -> dict[str, Json]:
    """A pod of one template, with all that is each pod's own."""
    token = f"kube-api-access-{at}"
    return {
        "metadata": {
            "name": f"web-{at}",
            "namespace": "shop",
            "uid": f"uid-{at}",
            "resourceVersion": str(at + 1),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {
                "karpenter.sh/do-not-disrupt": "true",
                "cni.example.test/ip": f"10.0.0.{at}",
                "kubectl.kubernetes.io/last-applied-configuration": "x" * 1000,
            },
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}],
            "managedFields": [{"manager": "x" * 100}],
        },
        "spec": {
            "nodeName": f"node-{at % 3}",
            "containers": [
                {
                    "name": "main",
                    "resources": {"requests": {"cpu": "100m"}},
                    "volumeMounts": [{"name": token}],
                }
            ],
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "volumes": [
                {"name": token, "projected": {}},
                {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{at}"}},
            ],
            **spec,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"}
                for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "100m"}}],
        },
    }


def raw(content: Json) -> msgspec.Raw:
    """As it crosses the seam."""
    return msgspec.Raw(msgspec.json.encode(content))


def read(intake: Intake, content: Json) -> api.Pod:
    """A pod that can be read."""
    found = intake.read(PODS, raw(content))
    assert isinstance(found, api.Pod)
    return found


def test_pods_of_one_template_share_all_that_it_fixes() -> None:
    """And keep what is their own."""
    intake = Intake()
    one, two = read(intake, pod(1)), read(intake, pod(2))
    assert one.spec.containers is two.spec.containers
    assert one.metadata.labels is two.metadata.labels
    assert one.metadata.annotations is two.metadata.annotations
    assert one.metadata.owner_references is two.metadata.owner_references
    assert one.status.conditions is two.status.conditions
    assert one.status.container_statuses is two.status.container_statuses
    assert one.metadata.namespace is two.metadata.namespace
    assert (one.spec.node_name, two.spec.node_name) == ("node-1", "node-2")
    assert (one.metadata.name, two.metadata.name) == ("web-1", "web-2")


def test_sharing_changes_nothing_that_a_decision_reads() -> None:
    """Next to what a plain reading gives, only what no decision reads is missing."""
    plain = api.decode(api.Pod, raw(pod(1)))
    found = read(Intake(), pod(1))
    assert found.spec.content() == plain.spec.content()
    assert found.spec.parts() == plain.spec.parts()
    assert found.spec.volumes == plain.spec.volumes[1:]
    assert found.metadata.annotations == {"karpenter.sh/do-not-disrupt": "true"}
    assert [one.type for one in found.status.conditions] == ["Ready", "PodScheduled"]
    assert (found.api_version, found.kind) == ("v1", "Pod")
    same = {"labels", "name", "uid", "creation_timestamp", "owner_references", "resource_version"}
    for name in sorted(same):
        assert getattr(found.metadata, name) == getattr(plain.metadata, name)


@pytest.mark.parametrize("name", [*READ_ANNOTATIONS, labels.YIELDS])
def test_annotations_that_are_read_are_kept(name: str) -> None:
    """Whoever reads another one finds it here as well."""
    tree: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "annotations": {name: "said"}},
    }
    assert read(Intake(), tree).metadata.annotations[name] == "said"


def test_every_field_of_a_pod_is_kept() -> None:
    """Who adds a field to the wire types finds it here as well."""
    full = api.ObjectMeta(
        name="x",
        generate_name="x-",
        namespace="shop",
        uid="u",
        labels={"a": "b"},
        annotations={"karpenter.sh/do-not-disrupt": "true"},
        creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        deletion_timestamp=datetime(2026, 1, 2, tzinfo=UTC),
        owner_references=(api.OwnerReference(kind="ReplicaSet"),),
        resource_version="7",
        generation=2,
        finalizers=("a/b",),
    )
    assert {name for name in full.__struct_fields__ if not getattr(full, name)} == set()
    names = {field.name for field in msgspec.structs.fields(api.core.PodStatus)}
    assert names == {
        "phase", "conditions", "nominated_node_name", "start_time", "container_statuses",
        "init_container_statuses",
    }  # fmt: skip
    assert {field.name for field in msgspec.structs.fields(api.Pod)} == {
        "api_version", "kind", "metadata", "spec", "status",
    }  # fmt: skip
    assert {field.name for field in msgspec.structs.fields(api.Condition)} == {
        "type", "status", "reason", "message", "last_transition_time", "observed_generation",
    }  # fmt: skip
    assert read(Intake(), {"metadata": msgspec.to_builtins(full)}).metadata == full


def test_templates_that_differ_stay_apart() -> None:
    """By whatever part of the template."""
    intake = Intake()
    one, two = read(intake, pod(1)), read(intake, pod(1, priority=7))
    assert (one.spec.priority, two.spec.priority) == (None, 7)
    assert one.spec.content() != two.spec.content()


def test_a_deadline_is_each_pods_own() -> None:
    """It is no part of what tells templates apart, so it must not come with the template."""
    intake = Intake()
    deadlines = (60, None, 90)
    pods = [read(intake, pod(at, activeDeadlineSeconds=each)) for at, each in enumerate(deadlines)]
    assert tuple(one.spec.active_deadline_seconds for one in pods) == deadlines
    assert len({id(one.spec.containers) for one in pods}) == 1


def test_an_object_does_not_hold_on_to_the_page_it_came_in() -> None:
    """A pod of a page of megabytes costs what a pod costs."""
    intake = Intake()
    page = msgspec.json.encode([pod(at) for at in range(2000)])
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    held = [
        intake.read(PODS, one)
        for one in msgspec.json.decode(bytes(bytearray(page)), type=list[msgspec.Raw])
    ]
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held) == 2000
    assert (after - before) / 2000 < 2000 < len(page) / 2000 + 1000


def test_other_kinds_are_read_as_they_are() -> None:
    """With their kind filled in, which lists leave out, and without kubectl's own copy."""
    node: Json = {
        "metadata": {
            "name": "n1",
            "annotations": {
                "example.test/own": "kept",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        },
        "spec": {"providerID": "kwok://n1"},
    }
    found = Intake().read(NODES, raw(node))
    assert isinstance(found, api.Node)
    assert (found.kind, found.api_version, found.spec.provider_id) == ("Node", "v1", "kwok://n1")
    assert found.metadata.annotations == {"example.test/own": "kept"}


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(
            {"metadata": {"name": "bad", "namespace": "shop"}, "spec": {"priority": "high"}},
            "Pod shop/bad: spec.priority: expected `int | null`, got `str`",
            id="a wrong type",
        ),
        pytest.param([], "Pod without a name: expected `object`, got `array`", id="no object"),
        pytest.param(
            {"metadata": {"name": 3}}, "Pod without a name: metadata.name: ", id="a wrong name"
        ),
    ],
)
def test_a_bad_object_becomes_a_report(content: Json, want: str) -> None:
    """Never an exception."""
    found = Intake().read(PODS, raw(content))
    assert isinstance(found, Unreadable)
    assert str(found).startswith(want)


def test_bytes_that_are_no_json_become_a_report() -> None:
    """Not even those stop the rest."""
    found = Intake().read(PODS, msgspec.Raw(b'{"metadata": '))
    assert isinstance(found, Unreadable)
    assert "not JSON" in found.problem


def test_a_null_is_as_good_as_nothing() -> None:
    """As Kubernetes has it."""
    content = pod(1, nodeSelector=None, initContainers=None)
    assert read(Intake(), content).spec.init_containers == ()
