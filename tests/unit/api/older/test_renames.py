"""Labels, annotations and taints have their names of v1 wherever an object names them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.api.older.conversions import converted, provisioner


def workload(pod_spec: str, annotations: str = "{}", *, kind: str = "Deployment") -> str:
    """A workload with this pod template."""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: w}}
spec: {{template: {{metadata: {{annotations: {annotations}}}, spec: {{{pod_spec}}}}}}}
"""


POD: Final = "spec.template.spec"
OLD: Final = "karpenter.sh/provisioner-name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
TERM: Final = f"{{nodeSelectorTerms: [{{matchExpressions: [{{key: {OLD}, operator: Exists}}]}}]}}"
# A rule, a workload, a field of it, and what that holds after conversion.
NAMES: Final[tuple[tuple[str, str, str, Any], ...]] = (
    ("node selector", workload(f"nodeSelector: {{{OLD}: a, b: c}}"), f"{POD}.nodeSelector",
     {"karpenter.sh/nodepool": "a", "b": "c"}),
    ("node affinity",
     workload(f"affinity: {{nodeAffinity: {{{REQUIRED}: {TERM}}}}}"),
     f"{POD}.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms",
     [{"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "Exists"}]}]),
    ("topology key", workload(f"topologySpreadConstraints: [{{topologyKey: {OLD}, maxSkew: 1}}]"),
     f"{POD}.topologySpreadConstraints",
     [{"topologyKey": "karpenter.sh/nodepool", "maxSkew": 1}]),
    ("do-not-evict", workload("", "{karpenter.sh/do-not-evict: 'true'}"),
     "spec.template.metadata.annotations", {"karpenter.sh/do-not-disrupt": "true"}),
    ("toleration of the disruption taint",
     workload("tolerations: [{key: karpenter.sh/disruption, value: disrupting, "
              "operator: Equal, effect: NoSchedule}]"),
     f"{POD}.tolerations",
     [{"key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule"}]),
    ("toleration that names no value",
     workload("tolerations: [{key: karpenter.sh/disruption, operator: Exists}]"),
     f"{POD}.tolerations", [{"key": "karpenter.sh/disrupted", "operator": "Exists"}]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path", "want"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES]
)
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_workload_names_labels_of_v1(text: str, path: str, want: object, kind: str) -> None:
    """One for each place."""
    got = converted(text.replace("kind: Deployment", f"kind: {kind}"))
    assert got.value(kind, path) == want
    assert got.notices == got.errors == []


def test_a_pod_and_a_cron_job_are_workloads() -> None:
    """Whatever stands around the pod."""
    pod = f"""
apiVersion: v1
kind: Pod
metadata: {{name: p, annotations: {{karpenter.sh/do-not-evict: "true"}}}}
spec: {{nodeSelector: {{{OLD}: a}}}}
"""
    got = converted(pod)
    assert got.value("Pod", "metadata.annotations") == {"karpenter.sh/do-not-disrupt": "true"}
    job = f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: j}}
spec: {{jobTemplate: {{spec: {{template: {{spec: {{nodeSelector: {{{OLD}: a}}}}}}}}}}}}
"""
    path = "spec.jobTemplate.spec.template.spec.nodeSelector"
    assert converted(job).value("CronJob", path) == {"karpenter.sh/nodepool": "a"}


def test_a_node_of_a_provisioner_is_one_of_the_pool_of_its_name() -> None:
    """With its label, its annotations and its taint."""
    node = f"""
apiVersion: v1
kind: Node
metadata:
  name: n
  labels: {{{OLD}: a, karpenter.k8s.aws/instance-pods: "3"}}
  annotations: {{karpenter.sh/do-not-consolidate: "true",
    karpenter.k8s.aws/nodetemplate-hash: "1", karpenter.sh/provisioner-hash: "2"}}
spec: {{taints: [{{key: karpenter.sh/disruption, value: disrupting, effect: NoSchedule}}]}}
"""
    got = converted(node)
    assert got.value("Node", "metadata.labels") == {
        "karpenter.sh/nodepool": "a",
        "karpenter.k8s.aws/instance-pods": "3",
    }
    assert got.value("Node", "metadata.annotations") == {
        "karpenter.sh/do-not-disrupt": "true",
        "karpenter.k8s.aws/ec2nodeclass-hash": "1",
        "karpenter.sh/nodepool-hash": "2",
    }
    assert got.value("Node", "spec.taints") == [
        {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    ]


def test_a_label_that_v1_does_not_have_is_told_of() -> None:
    """No node has it, so the selector must be rewritten."""
    got = converted(workload("nodeSelector: {karpenter.k8s.aws/instance-pods: '3'}"))
    assert [one for one in got.notices if "no node of v1 has this label" in one]
    assert got.value("Deployment", f"{POD}.nodeSelector") == {
        "karpenter.k8s.aws/instance-pods": "3"
    }


def test_the_newer_name_counts_where_both_are_given() -> None:
    """And the older one is told of."""
    got = converted(workload("", "{karpenter.sh/do-not-evict: a, karpenter.sh/do-not-disrupt: b}"))
    path = "spec.template.metadata.annotations"
    assert got.value("Deployment", path) == {"karpenter.sh/do-not-disrupt": "b"}
    assert [one for one in got.notices if "has another value" in one]


def test_labels_of_nodes_in_a_provisioner_have_their_new_names() -> None:
    """Annotations that its nodes get, and keys of its requirements."""
    spec = (
        "annotations: {karpenter.sh/do-not-consolidate: 'true'}, "
        f"requirements: [{{key: {OLD}, operator: Exists}}]"
    )
    got = converted(provisioner(spec), writes_defaults=False)
    path = "spec.template.metadata.annotations"
    assert got.value("NodePool", path) == {"karpenter.sh/do-not-disrupt": "true"}
    assert got.value("NodePool", "spec.template.spec.requirements")[0] == {
        "key": "karpenter.sh/nodepool",
        "operator": "Exists",
    }


def test_other_objects_are_left_alone() -> None:
    """Whatever they contain."""
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s, labels: {{{OLD}: a}}}}\n"
    assert converted(text).trees[0]["metadata"]["labels"] == {OLD: "a"}
