"""Draws manifests of older versions: sound ones, odd ones, and such of several versions at once."""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import strategies as st

Tree = dict[str, Any]
Manifests = st.SearchStrategy[Tree]

NAMES: Final = st.sampled_from(["a", "b", "default", "gpu"])
SECONDS: Final = st.integers(0, 100_000)
WORDS: Final = st.sampled_from(
    ["x", "spot", "true", "1e3", "2020-01-01", "12:30", "- a", "a: b", "a #b", "", " ", "é😀", "*",
     "&a", "!b", "%c", "@d", "'", '"', "\\", "null", "~", "0x1f", "a\tb", "{", "[a]", "|", "<<"]
)  # fmt: skip
TEXTS: Final = WORDS | st.sampled_from(
    [
        "#!/bin/sh\n# no comment\necho\n",
        "a\n",
        "a\n\n",
        "\na",
        " a\nb",
        "a\n  \nb",
        "a\r\nb",
        "\x07",
    ]
)
KEYS: Final = st.sampled_from(
    ["karpenter.sh/provisioner-name", "karpenter.sh/nodepool", "karpenter.sh/do-not-evict",
     "karpenter.sh/do-not-disrupt", "kubernetes.io/arch", "kubernetes.io/os", "team",
     "karpenter.k8s.aws/instance-pods", "karpenter.k8s.aws/instance-family",
     "karpenter.sh/capacity-type", "compatibility.karpenter.sh/v1beta1-nodeclass-reference"]
)  # fmt: skip
MAPS: Final = st.dictionaries(KEYS, WORDS, max_size=3)
SELECTORS: Final = st.dictionaries(
    st.sampled_from(["aws-ids", "aws::ids", "aws::name", "aws::owners", "team", "Name"]),
    st.sampled_from(["a", "a,b", "*", "", ",", "a, b ,c", "subnet-1"]),
    max_size=3,
)
REQUIREMENTS: Final = st.lists(
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(["In", "Exists", "Gt"])},
        optional={"values": st.lists(WORDS, max_size=2)},
    ),
    max_size=3,
)
TAINTS: Final = st.lists(
    st.fixed_dictionaries(
        {"key": KEYS | st.just("karpenter.sh/disruption"), "effect": st.just("NoSchedule")},
        optional={"value": st.sampled_from(["disrupting", "x"])},
    ),
    max_size=2,
)
KUBELETS: Final = st.fixed_dictionaries(
    {},
    optional={
        "maxPods": st.integers(1, 3),
        "containerRuntime": st.just("dockerd"),
        "kubeReserved": st.just({"cpu": 1}),
    },
)
# Fields of other versions, and such of none.
STRAYS: Final = {
    "template": st.just({"spec": {"expireAfter": "1h"}}),
    "disruption": st.fixed_dictionaries(
        {},
        optional={
            "consolidationPolicy": st.sampled_from(["WhenEmpty", "WhenUnderutilized"]),
            "consolidateAfter": st.sampled_from(["30s", "Never"]),
            "expireAfter": st.sampled_from(["1h", "Never"]),
        },
    ),
    "ttlSecondsAfterEmpty": SECONDS,
    "nonsense": st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=2), max_leaves=3),
}
METADATA: Final = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "labels": MAPS,
        "annotations": MAPS,
        "uid": st.just("u"),
        "creationTimestamp": st.none(),
        "finalizers": st.just(["f"]),
    },
)


def _object(version: str, kind: str, spec: Manifests) -> Manifests:
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just(version),
            "kind": st.just(kind),
            "metadata": METADATA,
            "spec": spec,
        },
        optional={"status": st.just({"resources": {"cpu": 1}})},
    )


TEMPLATE_FIELDS: Final = {
    "amiFamily": st.sampled_from(["AL2", "Bottlerocket", "Ubuntu", "Custom", "Windows2019"]),
    "amiSelector": SELECTORS,
    "subnetSelector": SELECTORS,
    "securityGroupSelector": SELECTORS,
    "instanceProfile": NAMES,
    "userData": TEXTS,
    "tags": st.dictionaries(st.sampled_from(["a", "karpenter.sh/managed-by"]), WORDS),
    "metadataOptions": st.sampled_from([{}, {"httpTokens": "optional"}]),
    "launchTemplate": st.just("lt"),
}
PROVISIONERS: Final = _object(
    "karpenter.sh/v1alpha5",
    "Provisioner",
    st.fixed_dictionaries(
        {},
        optional={
            "annotations": MAPS,
            "labels": MAPS,
            "taints": TAINTS,
            "requirements": REQUIREMENTS,
            "kubeletConfiguration": KUBELETS,
            "provider": st.fixed_dictionaries({}, optional=TEMPLATE_FIELDS),
            "providerRef": st.fixed_dictionaries({"name": NAMES}),
            "ttlSecondsUntilExpired": SECONDS,
            "consolidation": st.sampled_from([{"enabled": True}, {"enabled": False}, {}]),
            "limits": st.sampled_from([{"resources": {"cpu": 1}}, {"unready": 2}, {}]),
            "zones": st.just(["a", "b"]),
            **STRAYS,
        },
    ),
)
TEMPLATES: Final = _object(
    "karpenter.k8s.aws/v1alpha1",
    "AWSNodeTemplate",
    st.fixed_dictionaries({}, optional=TEMPLATE_FIELDS | STRAYS),
)
_IN_TEMPLATE: Final = st.fixed_dictionaries(
    {
        "nodeClassRef": st.fixed_dictionaries(
            {"name": NAMES}, optional={"apiVersion": st.just("karpenter.k8s.aws/v1beta1")}
        )
    },
    optional={
        "requirements": REQUIREMENTS,
        "taints": TAINTS,
        "kubelet": KUBELETS,
        "expireAfter": st.just("5h"),
        "resources": st.just({}),
    },
)
POOLS: Final = _object(
    "karpenter.sh/v1beta1",
    "NodePool",
    st.fixed_dictionaries(
        {
            "template": st.fixed_dictionaries(
                {"spec": _IN_TEMPLATE},
                optional={"metadata": st.fixed_dictionaries({"labels": MAPS})},
            )
        },
        optional={key: value for key, value in STRAYS.items() if key != "template"},
    ),
)
CLAIMS: Final = _object("karpenter.sh/v1beta1", "NodeClaim", _IN_TEMPLATE)
CLASSES: Final = _object(
    "karpenter.k8s.aws/v1beta1",
    "EC2NodeClass",
    st.fixed_dictionaries(
        {},
        optional={
            "amiFamily": st.sampled_from(["AL2", "AL2023", "Ubuntu"]),
            "role": NAMES,
            "subnetSelectorTerms": st.just([{"id": "subnet-1"}]),
            "amiSelectorTerms": st.sampled_from([[{"id": "ami-1"}], [{"alias": "al2@latest"}]]),
            "userData": TEXTS,
            **STRAYS,
        },
    ),
)
WORKLOADS: Final = _object(
    "apps/v1",
    "Deployment",
    st.fixed_dictionaries(
        {
            "template": st.fixed_dictionaries(
                {
                    "metadata": st.fixed_dictionaries({"annotations": MAPS}),
                    "spec": st.fixed_dictionaries({"nodeSelector": MAPS, "tolerations": TAINTS}),
                }
            )
        }
    ),
)
SOUND: Final = st.one_of(PROVISIONERS, TEMPLATES, POOLS, CLAIMS, CLASSES, WORKLOADS)
JUNK: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn) -> Tree:
    """A manifest of which one part, however deep, is something else."""
    tree: Tree = copy.deepcopy(draw(SOUND))
    holder: Any = tree
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return tree
        key = draw(st.sampled_from(keys))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            holder[key] = draw(JUNK)
            return tree
        holder = inner
