"""NodePools and NodeClaims of v1beta1 become what they meant."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.api.older.conversions import REFERENCE, converted, pool

SPEC: Final = "spec.template.spec"
# A rule, fields of the template, fields of the spec, a field of the result, and what it holds.
FIELDS: Final[tuple[tuple[str, str, str, str, Any], ...]] = (
    (
        "WhenUnderutilized, consolidateAfter absent",
        "",
        "disruption: {consolidationPolicy: WhenUnderutilized}",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"},
    ),
    (
        "WhenUnderutilized, consolidateAfter Never",
        "",
        "disruption: {consolidationPolicy: WhenUnderutilized, consolidateAfter: Never}",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "Never"},
    ),
    (
        "WhenEmpty",
        "",
        "disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
    ),
    (
        "budgets",
        "",
        "disruption: {budgets: [{nodes: 10%}, {nodes: '0', schedule: '@daily', duration: 1h}]}",
        "spec.disruption.budgets",
        [{"nodes": "10%"}, {"nodes": "0", "schedule": "@daily", "duration": "1h"}],
    ),
    ("disruption, absent", "", "", "spec.disruption", None),
    ("expireAfter", "", "disruption: {expireAfter: 1h}", f"{SPEC}.expireAfter", "1h"),
    ("expireAfter, in its place", "", "disruption: {expireAfter: 1h}",
     "spec.disruption.expireAfter", None),
    ("expireAfter, absent", "", "", f"{SPEC}.expireAfter", None),
    ("expireAfter Never", "", "disruption: {expireAfter: Never}", f"{SPEC}.expireAfter", "Never"),
    (
        "nodeClassRef",
        "",
        "",
        f"{SPEC}.nodeClassRef",
        {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    ),
    (
        "minValues",
        "requirements: [{key: a, operator: Exists, minValues: 2}]",
        "",
        f"{SPEC}.requirements",
        [{"key": "a", "operator": "Exists", "minValues": 2}],
    ),
    ("taints", "taints: [{key: a, effect: NoSchedule}]", "", f"{SPEC}.taints",
     [{"key": "a", "effect": "NoSchedule"}]),
    ("resources", "resources: {requests: {cpu: 1}}", "", f"{SPEC}.resources", None),
    ("kubelet leaves the pool", "kubelet: {maxPods: 3}", "", f"{SPEC}.kubelet", None),
    ("limits", "", "limits: {cpu: 10}", "spec.limits", {"cpu": 10}),
    ("weight", "", "weight: 3", "spec.weight", 3),
    ("terminationGracePeriod stays unset", "", "", f"{SPEC}.terminationGracePeriod", None),
)  # fmt: skip
REFERENCES: Final = {
    "apiVersion absent": "nodeClassRef: {kind: EC2NodeClass, name: default}",
    "kind and apiVersion absent": "nodeClassRef: {name: default}",
    "group of v1": "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
}
CLAIM: Final = f"""
apiVersion: karpenter.sh/v1beta1
kind: NodeClaim
metadata: {{name: c, labels: {{karpenter.sh/nodepool: p}}}}
spec: {{{REFERENCE}, requirements: [],
  resources: {{requests: {{cpu: 1}}}}, kubelet: {{maxPods: 1}}}}
status: {{conditions: [{{type: MachineLaunched}}, {{type: Drifted}}, {{type: Empty}}]}}
---
"""


@pytest.mark.parametrize(
    ("template", "spec", "path", "want"),
    [row[1:] for row in FIELDS],
    ids=[row[0] for row in FIELDS],
)
def test_a_field_of_a_pool_becomes_what_it_meant(
    template: str, spec: str, path: str, want: object
) -> None:
    """One for each rule."""
    text = pool(template, spec)
    if "requirements" in template:
        text = text.replace("requirements: [], ", "")
    got = converted(text)
    assert got.errors == []
    assert got.value("NodePool", "apiVersion") == "karpenter.sh/v1"
    assert got.value("NodePool", path) == want


@pytest.mark.parametrize("given", REFERENCES.values(), ids=list(REFERENCES))
def test_a_reference_has_defaults(given: str) -> None:
    """Those of the provider."""
    got = converted(pool().replace(REFERENCE, given))
    want = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    assert got.value("NodePool", f"{SPEC}.nodeClassRef") == want


@pytest.mark.parametrize(
    ("template", "spec", "want"),
    [
        pytest.param("", "disruption: {expireAfter: 1h}",
                     "spec.disruption.expireAfter: in v1 an expired node is drained at once",
                     id="expiry is forceful"),
        pytest.param("resources: {}", "", "spec.template.spec.resources: was internal",
                     id="resources"),
        pytest.param("kubelet: {containerRuntime: dockerd}", "",
                     "spec.template.spec.kubelet.containerRuntime: v1 has containerd",
                     id="containerRuntime"),
        pytest.param("kubelet: {maxPods: 7}", "",
                     'write its spec.kubelet: {"maxPods":7}', id="kubelet without its class"),
    ],
)  # fmt: skip
def test_what_has_no_equal_is_told(template: str, spec: str, want: str) -> None:
    """With the field, and what to do."""
    assert [one for one in converted(pool(template, spec)).notices if want in one]


def test_leftovers_of_the_webhook_are_dropped() -> None:
    """Its reference to the node class."""
    metadata = "annotations: {compatibility.karpenter.sh/v1beta1-nodeclass-reference: x}"
    got = converted(pool(metadata=metadata))
    assert got.value("NodePool", "metadata") == {"name": "p"}
    assert "describes the older object" in got.notices[0]


def test_the_status_and_the_identity_of_a_pool_are_kept() -> None:
    """It is the same object on the server."""
    text = pool(metadata="uid: u, resourceVersion: '3'").replace("---", "status: {a: {cpu: 1}}\n")
    got = converted(text)
    assert got.value("NodePool", "metadata") == {"name": "p", "uid": "u", "resourceVersion": "3"}
    assert got.value("NodePool", "status") == {"a": {"cpu": 1}}


def test_a_claim_has_the_expiry_of_its_pool() -> None:
    """v1beta1 looked it up in the pool, v1 has it in the claim."""
    got = converted(CLAIM + pool(spec="disruption: {expireAfter: Never}"))
    assert got.value("NodeClaim", "spec.expireAfter") == "Never"
    assert converted(CLAIM + pool()).value("NodeClaim", "spec.expireAfter") is None


def test_a_claim_without_its_pool_is_told_of() -> None:
    """v1 would assume its default."""
    got = converted(CLAIM)
    assert got.value("NodeClaim", "spec.expireAfter") is None
    assert [one for one in got.notices if "v1 assumes 720h" in one]


def test_a_claim_becomes_one_of_v1() -> None:
    """Without kubelet, which it keeps on its node, and with conditions of v1."""
    got = converted(CLAIM)
    assert got.errors == []
    assert got.value("NodeClaim", "spec") == {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [],
        "resources": {"requests": {"cpu": 1}},
    }
    assert got.value("NodeClaim", "status.conditions") == [
        {"type": "Launched"},
        {"type": "Drifted"},
        {"type": "Consolidatable"},
    ]
    assert [one for one in got.notices if "spec.kubelet: v1 has it in the node class" in one]
