from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.api.manifests import POD, Tree, problems, spoiled

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
SPREAD = "spec.topologySpreadConstraints"


def test_a_sound_pod_has_no_problems() -> None:
    """With every wish that it may have."""
    assert problems(POD) == []


def _expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


BAD = [
    (
        "metadata.annotations",
        {"dovetail.sh/most-evictions-per-day": "-1"},
        "metadata.annotations.dovetail.sh/most-evictions-per-day",
        "expected a whole number",
    ),
    ("spec.containers", [], "spec.containers", "at least one container"),
    (
        "spec.containers.0.resources.requests.cpu",
        "100x",
        "spec.containers[0].resources.requests.cpu",
        "is not a quantity",
    ),
    (
        "spec.containers.0.resources.limits.memory",
        "-1",
        "spec.containers[0].resources.limits.memory",
        "expected 0 or more",
    ),
    (
        "spec.initContainers",
        [{"resources": {"requests": {"cpu": "?"}}}],
        "spec.initContainers[0].resources.requests.cpu",
        "is not a quantity",
    ),
    ("spec.overhead", {"cpu": "x"}, "spec.overhead.cpu", "is not a quantity"),
    ("spec.resources", {"requests": {"cpu": "x"}}, "spec.resources.requests.cpu", "not a quantity"),
    (
        "spec.containers.0.ports.0.hostPort",
        70000,
        "spec.containers[0].ports[0].hostPort",
        "expected 1 to 65535",
    ),
    (
        "spec.containers.0.ports.0.protocol",
        "ICMP",
        "spec.containers[0].ports[0].protocol",
        "expected one of TCP",
    ),
    ("spec.nodeSelector", {"a b": "c"}, "spec.nodeSelector.a b", "is no label key"),
    ("spec.nodeSelector", {"a": "b c"}, "spec.nodeSelector.a", "is no label value"),
    ("spec.terminationGracePeriodSeconds", -1, "spec.terminationGracePeriodSeconds", "0 or more"),
    (TERM, [], TERM, "at least one term"),
    (
        f"{TERM}.0.matchExpressions.0.operator",
        "Gte",
        f"{TERM}[0].matchExpressions[0].operator",
        "expected one of In, NotIn",
    ),
    (
        f"{TERM}.0.matchExpressions.0",
        _expression("Gt", "x"),
        f"{TERM}[0].matchExpressions[0].values",
        "exactly one whole number",
    ),
    (
        f"{TERM}.0.matchExpressions.0",
        _expression("In"),
        f"{TERM}[0].matchExpressions[0].values",
        "at least one value",
    ),
    (
        f"{TERM}.0.matchExpressions.0",
        _expression("Exists", "x"),
        f"{TERM}[0].matchExpressions[0].values",
        "no values",
    ),
    (
        f"{TERM}.0.matchExpressions.0",
        _expression("Exists", key=""),
        f"{TERM}[0].matchExpressions[0].key",
        "is empty",
    ),
    (
        f"{TERM}.0.matchFields.0.key",
        "metadata.uid",
        f"{TERM}[0].matchFields[0].key",
        "expected metadata.name",
    ),
    (
        f"{TERM}.0.matchFields.0",
        _expression("Exists", key="metadata.name"),
        f"{TERM}[0].matchFields[0].operator",
        "expected one of In, NotIn",
    ),
    (
        f"spec.affinity.nodeAffinity.{PREFERRED}.0.weight",
        101,
        f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
        "expected 1 to 100",
    ),
    (
        f"spec.affinity.podAntiAffinity.{REQUIRED}.0.topologyKey",
        "",
        f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey",
        "is empty",
    ),
    (
        f"spec.affinity.podAntiAffinity.{REQUIRED}.0.labelSelector",
        {"matchExpressions": [_expression("Gt", "1")]},
        f"spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator",
        "expected one of In, NotIn, Exists, DoesNotExist",
    ),
    (
        f"spec.affinity.podAntiAffinity.{PREFERRED}.0.weight",
        0,
        f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight",
        "expected 1 to 100",
    ),
    ("spec.tolerations.1.operator", "Is", "spec.tolerations[1].operator", "one of Equal, Exists"),
    ("spec.tolerations.1.value", "x", "spec.tolerations[1].value", "expected one for operator Gt"),
    ("spec.tolerations.1.effect", "No", "spec.tolerations[1].effect", "expected one of NoSchedule"),
    ("spec.tolerations.0.operator", "Equal", "spec.tolerations[0].operator", "expected Exists"),
    ("spec.tolerations.0.value", "x", "spec.tolerations[0].value", "expected no value"),
    (f"{SPREAD}.0.maxSkew", 0, f"{SPREAD}[0].maxSkew", "at least 1"),
    (f"{SPREAD}.0.topologyKey", "", f"{SPREAD}[0].topologyKey", "is empty"),
    (f"{SPREAD}.0.whenUnsatisfiable", "Pray", f"{SPREAD}[0].whenUnsatisfiable", "DoNotSchedule"),
    (f"{SPREAD}.0.minDomains", 0, f"{SPREAD}[0].minDomains", "at least 1"),
    (f"{SPREAD}.0.whenUnsatisfiable", "ScheduleAnyway", f"{SPREAD}[0].minDomains", "only beside"),
    (f"{SPREAD}.0.nodeTaintsPolicy", "Obey", f"{SPREAD}[0].nodeTaintsPolicy", "Honor, Ignore"),
    (
        SPREAD,
        [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}] * 2,
        f"{SPREAD}[1]",
        "is there twice",
    ),
    ("spec.affinity", [], "spec.affinity", "expected `object`"),
]


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    BAD,
    ids=[f"{number}: {field}" for number, (_, _, field, _) in enumerate(BAD)],
)
def test_a_pod_that_cannot_be_planned_for_is_told_why(
    path: str, value: object, field: str, message: str
) -> None:
    """The field, and what was expected there."""
    found = problems(spoiled(POD, path, value))
    assert any(one.field == field and message in one.message for one in found), found


BROKEN_POD = spoiled(POD, "spec.containers.0.resources.requests.cpu", "x")["spec"]
INNER = "containers[0].resources.requests.cpu"


def _tree(kind: str, body: Tree) -> Tree:
    group = {"Job": "batch/v1", "CronJob": "batch/v1", "PodTemplate": "v1"}
    version = "v1" if kind == "ReplicationController" else group.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **body}


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Deployment", "spec.template.spec"),
        ("ReplicaSet", "spec.template.spec"),
        ("StatefulSet", "spec.template.spec"),
        ("DaemonSet", "spec.template.spec"),
        ("ReplicationController", "spec.template.spec"),
        ("Job", "spec.template.spec"),
        ("CronJob", "spec.jobTemplate.spec.template.spec"),
        ("PodTemplate", "template.spec"),
    ],
)
def test_a_workloads_template_is_checked_as_a_pod_is(kind: str, path: str) -> None:
    """With the path that leads to it."""
    tree = spoiled(_tree(kind, {}), path, BROKEN_POD)
    assert [one.field for one in problems(tree)] == [f"{path}.{INNER}"]


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "value", "field"),
    [
        ("apps/v1", "Deployment", "spec.replicas", -1, "spec.replicas"),
        ("batch/v1", "Job", "spec.parallelism", -1, "spec.parallelism"),
        ("batch/v1", "Job", "spec.completions", -1, "spec.completions"),
        (
            "apps/v1",
            "Deployment",
            "spec.selector.matchExpressions",
            [{"key": "a", "operator": "Is"}],
            "spec.selector.matchExpressions[0].operator",
        ),
        (
            "apps/v1",
            "StatefulSet",
            "spec.volumeClaimTemplates",
            [{"spec": {"resources": {"requests": {"storage": "x"}}}}],
            "spec.volumeClaimTemplates[0].spec.resources.requests.storage",
        ),
        ("v1", "Node", "status.allocatable", {"cpu": "x"}, "status.allocatable.cpu"),
        ("v1", "Node", "status.capacity", {"cpu": "x"}, "status.capacity.cpu"),
        (
            "v1",
            "Node",
            "spec.taints",
            [{"key": "a", "effect": "No"}],
            "spec.taints[0].effect",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            "spec.resources.requests",
            {"storage": "x"},
            "spec.resources.requests.storage",
        ),
        (
            "v1",
            "PersistentVolume",
            "spec.nodeAffinity.required.nodeSelectorTerms",
            [{"matchExpressions": [{"key": "a", "operator": "Is"}]}],
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator",
        ),
        ("storage.k8s.io/v1", "StorageClass", "volumeBindingMode", "Late", "volumeBindingMode"),
        ("policy/v1", "PodDisruptionBudget", "spec.minAvailable", "half", "spec.minAvailable"),
        (
            "policy/v1",
            "PodDisruptionBudget",
            "spec",
            {"minAvailable": 1, "maxUnavailable": "10%"},
            "spec",
        ),
        (
            "v1",
            "LimitRange",
            "spec.limits",
            [{"type": "Container", "defaultRequest": {"cpu": "x"}}],
            "spec.limits[0].defaultRequest.cpu",
        ),
        (
            "node.k8s.io/v1",
            "RuntimeClass",
            "overhead.podFixed",
            {"cpu": "x"},
            "overhead.podFixed.cpu",
        ),
        (
            "node.k8s.io/v1",
            "RuntimeClass",
            "scheduling.tolerations",
            [{"operator": "Is"}],
            "scheduling.tolerations[0].operator",
        ),
    ],
)
def test_what_pods_depend_on_is_checked_too(
    api_version: str, kind: str, path: str, value: object, field: str
) -> None:
    """As far as planning depends on it."""
    tree: Tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    assert field in [one.field for one in problems(spoiled(tree, path, value))]


def test_a_template_that_was_sound_before_does_not_excuse_another() -> None:
    """What is remembered of one template says nothing of the next."""
    assert problems(POD) == []
    assert problems(spoiled(POD, "spec.tolerations.1.operator", "Is")) != []
    assert problems(POD) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "body"),
    [
        ("v1", "Node", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}),
        ("v1", "PersistentVolume", {"spec": {"csi": {"driver": "ebs.csi.aws.com"}}}),
        ("storage.k8s.io/v1", "StorageClass", {"volumeBindingMode": "WaitForFirstConsumer"}),
        ("policy/v1", "PodDisruptionBudget", {"spec": {"maxUnavailable": "50%"}}),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": -5}),
        ("v1", "Namespace", {}),
        ("node.k8s.io/v1", "RuntimeClass", {"overhead": {"podFixed": {"cpu": "250m"}}}),
        ("v1", "LimitRange", {"spec": {"limits": [{"default": {"cpu": 1}}]}}),
    ],
)
def test_what_pods_depend_on_may_be_sound(api_version: str, kind: str, body: Tree) -> None:
    """No rule refuses what the API server takes."""
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"generateName": "x-"}, **body}
    assert problems(tree) == []


@pytest.mark.parametrize(
    ("kind", "spec", "at"),
    [
        pytest.param("apps/v1 Deployment", {"template": None}, "spec.template", id="Deployment"),
        pytest.param("batch/v1 Job", {"template": None}, "spec.template", id="Job"),
        pytest.param(
            "batch/v1 CronJob",
            {"schedule": "@daily", "jobTemplate": {"spec": {"template": None}}},
            "spec.jobTemplate.spec.template",
            id="CronJob",
        ),
    ],
)
def test_a_template_may_not_misspell_how_often_its_pods_go(
    kind: str, spec: dict[str, Any], at: str
) -> None:
    """Wherever it stands."""
    said = {"dovetail.sh/most-evictions-per-day": "never"}
    template = {"metadata": {"annotations": said}, "spec": POD["spec"]}
    whole = json.loads(json.dumps(spec).replace("null", json.dumps(template)))
    api_version, name = kind.split()
    tree = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x"}, "spec": whole}
    found = problems(tree)
    wanted = f"{at}.metadata.annotations.dovetail.sh/most-evictions-per-day"
    assert [one for one in found if one.field == wanted and "'never' is no count" in one.message]
