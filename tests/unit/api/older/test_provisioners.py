"""Every field of a Provisioner becomes what it meant, or is told of."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.api.older.conversions import Converted, converted, pool, provisioner, template

REF: Final = "providerRef: {name: default}"
LINUX: Final = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
AMD64: Final = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
ON_DEMAND: Final = {
    "key": "karpenter.sh/capacity-type",
    "operator": "In",
    "values": ["on-demand"],
}
CATEGORIES: Final = {
    "key": "karpenter.k8s.aws/instance-category",
    "operator": "In",
    "values": ["c", "m", "r"],
}
GENERATION: Final = {
    "key": "karpenter.k8s.aws/instance-generation",
    "operator": "Gt",
    "values": ["2"],
}
DEFAULTS: Final = [LINUX, AMD64, ON_DEMAND, CATEGORIES, GENERATION]
SPEC: Final = "spec.template.spec"
TYPE: Final = {
    "key": "node.kubernetes.io/instance-type",
    "operator": "In",
    "values": ["m5.large"],
}
# A rule, the spec of a Provisioner, a field of the NodePool, and what it holds.
FIELDS: Final[tuple[tuple[str, str, str, Any], ...]] = (
    ("annotations", "annotations: {a: b}", "spec.template.metadata.annotations", {"a": "b"}),
    ("labels", "labels: {a: b}", "spec.template.metadata.labels", {"a": "b"}),
    (
        "taints",
        "taints: [{key: a, effect: NoSchedule}]",
        f"{SPEC}.taints",
        [{"key": "a", "effect": "NoSchedule"}],
    ),
    (
        "startupTaints",
        "startupTaints: [{key: a, effect: NoSchedule}]",
        f"{SPEC}.startupTaints",
        [{"key": "a", "effect": "NoSchedule"}],
    ),
    (
        "requirements",
        "requirements: [{key: a, operator: Exists}]",
        f"{SPEC}.requirements",
        [{"key": "a", "operator": "Exists"}, *DEFAULTS],
    ),
    ("requirements, absent", "", f"{SPEC}.requirements", DEFAULTS),
    (
        "webhook defaults, os, arch and capacity type given",
        (
            "requirements: [{key: kubernetes.io/os, operator: In, values: [windows]}, "
            "{key: kubernetes.io/arch, operator: In, values: [arm64]}, "
            "{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]"
        ),
        f"{SPEC}.requirements",
        [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]},
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
            CATEGORIES,
            GENERATION,
        ],
    ),
    (
        "webhook defaults, arch given as a label",
        "labels: {kubernetes.io/arch: arm64}",
        f"{SPEC}.requirements",
        [LINUX, ON_DEMAND, CATEGORIES, GENERATION],
    ),
    *(
        (
            f"webhook defaults, {key} given",
            f"requirements: [{{key: {key}, operator: Exists}}]",
            f"{SPEC}.requirements",
            [{"key": key, "operator": "Exists"}, LINUX, AMD64, ON_DEMAND],
        )
        for key in (
            "node.kubernetes.io/instance-type",
            "karpenter.k8s.aws/instance-family",
            "karpenter.k8s.aws/instance-category",
            "karpenter.k8s.aws/instance-generation",
        )
    ),
    (
        "v1alpha4 lists",
        "architectures: [arm64], operatingSystems: [linux], instanceTypes: [m5.large], zones: [a]",
        f"{SPEC}.requirements",
        [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
            LINUX,
            TYPE,
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
            ON_DEMAND,
        ],
    ),
    (
        "providerRef",
        "providerRef: {name: x, kind: AWSNodeTemplate, apiVersion: karpenter.k8s.aws/v1alpha1}",
        f"{SPEC}.nodeClassRef",
        {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"},
    ),
    (
        "providerRef, kind and apiVersion absent",
        "providerRef: {name: x}",
        f"{SPEC}.nodeClassRef",
        {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"},
    ),
    (
        "providerRef of another provider",
        "providerRef: {name: x, kind: Other, apiVersion: karpenter.other.sh/v1alpha1}",
        f"{SPEC}.nodeClassRef",
        {"group": "karpenter.other.sh", "kind": "Other", "name": "x"},
    ),
    (
        "provider",
        "provider: {instanceProfile: x}",
        f"{SPEC}.nodeClassRef",
        {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "p"},
    ),
    (
        "ttlSecondsAfterEmpty",
        "ttlSecondsAfterEmpty: 30",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
    ),
    (
        "ttlSecondsAfterEmpty 0",
        "ttlSecondsAfterEmpty: 0",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s"},
    ),
    ("ttlSecondsUntilExpired", "ttlSecondsUntilExpired: 60", f"{SPEC}.expireAfter", "60s"),
    ("ttlSecondsUntilExpired, absent", "", f"{SPEC}.expireAfter", "Never"),
    (
        "consolidation.enabled",
        "consolidation: {enabled: true}",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"},
    ),
    (
        "consolidation.enabled beside ttlSecondsAfterEmpty",
        "consolidation: {enabled: true}, ttlSecondsAfterEmpty: 30",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s"},
    ),
    (
        "consolidation.enabled false",
        "consolidation: {enabled: false}, ttlSecondsAfterEmpty: 30",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
    ),
    (
        "neither TTL nor consolidation",
        "",
        "spec.disruption",
        {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "Never"},
    ),
    ("limits.resources", "limits: {resources: {cpu: 10}}", "spec.limits", {"cpu": 10}),
    ("weight", "weight: 5", "spec.weight", 5),
)
# A rule, the spec of a Provisioner, and how the notice begins.
NOTICES: Final = (
    ("defaults are written out", REF, "spec.requirements: defaults of v1alpha5 are written out"),
    ("no expiry", REF, "spec.ttlSecondsUntilExpired: absent, nodes did not expire"),
    (
        "expiry is forceful",
        f"{REF}, ttlSecondsUntilExpired: 60",
        "spec.ttlSecondsUntilExpired: in v1 an expired node is drained at once",
    ),
    ("no consolidation", REF, "spec.consolidation: neither it nor ttlSecondsAfterEmpty is set"),
    (
        "both TTL and consolidation",
        f"{REF}, consolidation: {{enabled: true}}, ttlSecondsAfterEmpty: 30",
        "spec.ttlSecondsAfterEmpty: stands beside consolidation.enabled",
    ),
    (
        "containerRuntime",
        f"{REF}, kubeletConfiguration: {{containerRuntime: dockerd}}",
        "spec.kubeletConfiguration.containerRuntime: v1 has containerd",
    ),
    (
        "limits.unready",
        f"{REF}, limits: {{unready: 3}}",
        "spec.limits.unready: v1 does not limit nodes that are not ready",
    ),
    ("no reference", "weight: 3", "spec.providerRef: names no node template"),
    (
        "provider beside providerRef",
        f"{REF}, provider: {{instanceProfile: x}}",
        "spec.provider: providerRef is there as well",
    ),
    (
        "another provider",
        "providerRef: {name: x, kind: Other}",
        "spec.providerRef: no provider that is installed converts this kind",
    ),
    (
        "instance-pods",
        f"{REF}, requirements: [{{key: karpenter.k8s.aws/instance-pods, operator: Exists}}]",
        "spec.requirements[0]: no node of v1 has the label karpenter.k8s.aws/instance-pods",
    ),
)


@pytest.mark.parametrize(
    ("spec", "path", "want"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS]
)
def test_a_field_becomes_what_it_meant(spec: str, path: str, want: object) -> None:
    """One for each rule."""
    got = converted(provisioner(spec))
    assert got.errors == []
    assert got.value("NodePool", path) == want


@pytest.mark.parametrize(
    ("spec", "want"), [row[1:] for row in NOTICES], ids=[row[0] for row in NOTICES]
)
def test_what_has_no_equal_is_told(spec: str, want: str) -> None:
    """With the field, and what to do."""
    got = converted(provisioner(spec))
    assert [one for one in got.notices if one.startswith(f"Provisioner p: {want}")]


def test_nothing_is_told_where_everything_has_an_equal() -> None:
    """A Provisioner that says all that v1 says."""
    spec = (
        f"{REF}, requirements: [{{key: kubernetes.io/os, operator: Exists}}, "
        "{key: kubernetes.io/arch, operator: Exists}, "
        "{key: karpenter.sh/capacity-type, operator: Exists}, "
        "{key: node.kubernetes.io/instance-type, operator: Exists}], ttlSecondsAfterEmpty: 5"
    )
    got = converted(provisioner(spec))
    assert [one.partition(": ")[2].partition(":")[0] for one in got.notices] == [
        "spec.ttlSecondsUntilExpired"
    ]


def test_defaults_are_left_out_on_request() -> None:
    """As with the flag of the original tool."""
    got = converted(provisioner(REF), writes_defaults=False)
    assert got.value("NodePool", f"{SPEC}.requirements") == []
    assert not [one for one in got.notices if "defaults" in one]


def test_an_inline_provider_becomes_a_class_named_after_its_provisioner() -> None:
    """Beside the NodePool, which refers to it."""
    got = converted(provisioner("provider: {instanceProfile: x, subnetSelector: {a: b}}"))
    assert [tree["kind"] for tree in got.trees] == ["NodePool", "EC2NodeClass"]
    assert got.value("EC2NodeClass", "metadata") == {"name": "p"}
    assert got.value("EC2NodeClass", "spec.subnetSelectorTerms") == [{"tags": {"a": "b"}}]


def test_an_inline_provider_takes_no_name_that_is_taken() -> None:
    """The NodePool follows."""
    spec = "provider: {instanceProfile: x}"
    got = converted(provisioner(spec, name="default") + template())
    assert sorted(tree["metadata"]["name"] for tree in got.trees[1:]) == ["default", "default-2"]
    assert got.value("NodePool", f"{SPEC}.nodeClassRef.name") == "default-2"
    assert got.trees[1]["metadata"]["name"] == "default-2"


def test_metadata_is_kept_but_for_what_the_server_set() -> None:
    """Name, labels, annotations and finalizers; the rest is of the older object."""
    metadata = (
        "labels: {a: b}, annotations: {karpenter.sh/provisioner-hash: '1', "
        "kubectl.kubernetes.io/last-applied-configuration: x}, finalizers: [f], uid: u, "
        "resourceVersion: '1', generation: 2, creationTimestamp: null, ownerReferences: []"
    )
    got = converted(provisioner(REF, metadata=metadata))
    assert got.value("NodePool", "metadata") == {
        "name": "p",
        "labels": {"a": "b"},
        "annotations": {"karpenter.sh/nodepool-hash": "1"},
        "finalizers": ["f"],
    }
    want = "metadata: generation, ownerReferences, resourceVersion, uid: of the older object"
    assert [one for one in got.notices if want in one]


def test_the_status_is_dropped() -> None:
    """The controller computes it anew."""
    got = converted(provisioner(REF).replace("---", "status: {resources: {cpu: 1}}\n---"))
    assert got.value("NodePool", "status") is None
    assert [one for one in got.notices if "status: the controller computes it anew" in one]


def test_a_machine_is_left_alone() -> None:
    """Its node is adopted by a NodeClaim, or replaced."""
    text = "apiVersion: karpenter.sh/v1alpha5\nkind: Machine\nmetadata: {name: m}\nspec: {a: 1}\n"
    got = converted(text)
    assert got.trees[0]["kind"] == "Machine"
    [notice] = got.notices
    assert notice.startswith("Machine m: : is not converted: adopt its node with a NodeClaim")


@pytest.mark.parametrize("version", ["v1alpha4", "v1alpha5"])
def test_both_versions_that_were_in_use_are_converted(version: str) -> None:
    """Others never were."""
    assert converted(provisioner(REF).replace("v1alpha5", version)).trees[0]["kind"] == "NodePool"


MIXED: Final = {
    "Provisioner with fields of v1beta1 and v1": (
        provisioner(
            f"{REF}, ttlSecondsAfterEmpty: 30, template: {{spec: {{}}}}, "
            "disruption: {consolidationPolicy: WhenEmptyOrUnderutilized}"
        ),
        [
            ("spec.disruption: is a field of NodePool (karpenter.sh/v1beta1) and "
            "NodePool (karpenter.sh/v1), not of this version"),
            ("spec.template: is a field of NodePool (karpenter.sh/v1beta1) and "
            "NodePool (karpenter.sh/v1), not of this version"),
        ],
    ),
    "NodePool v1beta1 with fields of v1alpha5 and v1": (
        pool(
            "expireAfter: 1h, terminationGracePeriod: 1m",
            "ttlSecondsAfterEmpty: 30, replicas: 3, nonsense: 1, disruption: {expireAfter: 2h}",
        ),
        [
            "spec.nonsense: is no field of this version",
            "spec.replicas: is a field of v1 already; it is kept as it is",
            "spec.template.spec.expireAfter: is a field of v1 already; it is kept as it is",
            "spec.template.spec.terminationGracePeriod: is a field of v1 already",
            "spec.ttlSecondsAfterEmpty: is a field of Provisioner (karpenter.sh/v1alpha5)",
            "spec.disruption.expireAfter: spec.template.spec.expireAfter is there as well",
        ],
    ),
    "NodePool v1 with fields of v1beta1": (
        pool("kubelet: {maxPods: 3}", "disruption: {expireAfter: 2h, "
             "consolidationPolicy: WhenUnderutilized}").replace("sh/v1beta1", "sh/v1"),
        [
            "spec.template.spec.kubelet: is a field of v1beta1, and the object says it is of v1",
            "spec.disruption.expireAfter: is a field of v1beta1",
            "spec.disruption.consolidationPolicy: is a value of v1beta1",
        ],
    ),
    "AWSNodeTemplate with fields of v1beta1 and v1": (
        template("amiSelectorTerms: [{alias: al2@latest}], role: x, kubelet: {maxPods: 1}"),
        [
            "spec.amiSelectorTerms: is a field of EC2NodeClass (karpenter.k8s.aws/v1beta1) and",
            "spec.kubelet: is a field of EC2NodeClass (karpenter.k8s.aws/v1), not of this version",
            "spec.role: is a field of EC2NodeClass (karpenter.k8s.aws/v1beta1) and",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "want"), MIXED.values(), ids=list(MIXED))
def test_fields_of_other_versions_are_named(text: str, want: list[str]) -> None:
    """With the versions that know them; everything else is converted."""
    got = converted(text)
    assert got.errors == []
    for line in want:
        assert [one for one in got.notices if line in one], (line, got.notices)
    assert got.trees[0]["apiVersion"].endswith("/v1")


WRONG: Final = {
    "a TTL that is text": (provisioner("ttlSecondsAfterEmpty: '30'"), "spec.ttlSecondsAfterEmpty"),
    "requirements that are a map": (provisioner("requirements: {a: b}"), "spec.requirements"),
    "a spec that is a list": (provisioner("").replace("spec: {}", "spec: []"), "spec"),
    "a label that is a number": (provisioner("labels: {a: 1}"), "spec.labels[...]"),
    "a kind of another version": (
        provisioner("").replace("v1alpha5", "v1beta1"),
        ("apiVersion: there is no Provisioner of version 'v1beta1'; "
        "expected v1alpha5 or v1alpha4"),
    ),
    "a NodePool of v1alpha5": (
        pool().replace("v1beta1\nkind: NodePool", "v1alpha5\nkind: NodePool"),
        "apiVersion: there is no NodePool of version 'v1alpha5'; expected v1beta1",
    ),
    "a pool without a node class": (
        pool().replace("name: default}, req", "name: ''}, req"),
        "spec.template.spec.nodeClassRef: names no node class",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "want"), WRONG.values(), ids=list(WRONG))
def test_what_cannot_be_converted_stays_and_the_rest_goes_on(text: str, want: str) -> None:
    """The error names the field, and the other objects are converted."""
    got = converted(text + provisioner(REF, name="other"))
    assert len(got.errors) == 1, got.errors
    assert want in got.errors[0]
    assert got.trees[0]["apiVersion"] != "karpenter.sh/v1"
    assert got.trees[1]["kind"] == "NodePool"


def test_two_objects_do_not_become_one() -> None:
    """The one that is of v1 already stays, and the other one too."""
    beta = pool()
    got = converted(provisioner(REF) + beta)
    assert len(got.errors) == 1
    assert "NodePool p is there already" in got.errors[0]
    assert [tree["kind"] for tree in got.trees] == ["NodePool", "NodePool"]
    assert [tree["apiVersion"] for tree in got.trees] == ["karpenter.sh/v1", "karpenter.sh/v1beta1"]


def kinds(got: Converted) -> list[str]:
    """The kinds of all objects."""
    return [tree["kind"] for tree in got.trees]


def test_what_is_nested_without_end_is_refused() -> None:
    """As the reader of manifests does."""
    spec = "provider: " + "{a: " * 150 + "1" + "}" * 150
    got = converted(provisioner(spec))
    assert got.errors == ["Provisioner p: : nested deeper than 100 levels; expected a manifest"]
    assert kinds(got) == ["Provisioner"]
