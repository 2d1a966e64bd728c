"""What is written into user data is what an instance reads out of it, and nothing else.

The reader is that of the stand-in kubelets, which shares no code with the writer.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.model.taints import Taint
from dovetail.providers.aws.bootstrap.families import Family
from dovetail.providers.aws.bootstrap.mime import parts_of
from dovetail.providers.aws.bootstrap.user_data import BootstrapInputs, UserDataError, user_data
from dovetail.providers.aws.node_class.kubelet import ResolvedKubelet
from tests.ec2.kubelet.join_request import ClusterFacts, JoinRequest
from tests.ec2.kubelet.readers import join_request

IMAGES = {
    Family.AL2: "amazon-eks-node-1.32-v20251201",
    Family.AL2023: "amazon-eks-node-al2023-x86_64-standard-1.35-v20251201",
    Family.BOTTLEROCKET: "bottlerocket-aws-k8s-1.35-x86_64-v1.50.0-8a2b1c3d",
    Family.WINDOWS2022: "Windows_Server-2022-English-Core-EKS_Optimized-1.35-2025.12.01",
}
EXAMPLES = settings(max_examples=50)
FAMILIES = pytest.mark.parametrize("family", IMAGES, ids=str)

NASTY = st.sampled_from(
    ["$(reboot)", "`reboot`", "a'b", 'a"b', "a\nb", "\u2019; reboot", "</powershell>", "--//",
     "a,b=c", "a: b", "#", "\\", "a\\", "]]\n[x]", "${HOME}", "$env:x", "%s", "a b", "é😀", "- "]
)  # fmt: skip
NAMES = st.from_regex(r"[a-zA-Z0-9]([a-zA-Z0-9._-]{0,8}[a-zA-Z0-9])?", fullmatch=True)
DOMAINS = st.sampled_from(["", "example.com/", "kubernetes.io/", "node.kubernetes.io/"])
KEYS = st.builds(lambda prefix, name: prefix + name, DOMAINS, NAMES)
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINTS = st.lists(st.builds(Taint, KEYS, NAMES | st.just(""), EFFECTS), max_size=4).map(tuple)
AMOUNTS = st.sampled_from(["100m", "1", "1Gi", "5%", "0.5", "1e3"])
SIGNALS = st.sampled_from(["memory.available", "nodefs.available", "imagefs.inodesFree"])
RESERVED = st.dictionaries(st.sampled_from(["cpu", "memory", "ephemeral-storage", "pid"]), AMOUNTS)
TAG = "</powershell>"  # no quotes keep it from ending the block: refused where there is one
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)

CLUSTERS = (LINES | NASTY).filter(lambda text: TAG not in text)


@st.composite
def kubelets(draw: st.DrawFn) -> ResolvedKubelet:
    """Settings of a kubelet, with the map that some families pass through."""
    system, kube = draw(RESERVED), draw(RESERVED)
    hard = draw(st.dictionaries(SIGNALS, AMOUNTS))
    n_pods = draw(st.none() | st.integers(0, 500))
    maps = {"systemReserved": system, "kubeReserved": kube, "evictionHard": hard}
    raw: dict[str, object] = {name: value for name, value in maps.items() if value}
    return ResolvedKubelet(
        max_pods=n_pods,
        system_reserved=system,
        kube_reserved=kube,
        eviction_hard=hard,
        raw=raw if n_pods is None else {**raw, "maxPods": n_pods},
    )


GIVEN = st.builds(
    BootstrapInputs,
    cluster_name=CLUSTERS,
    cluster_endpoint=CLUSTERS,
    ca_bundle=CLUSTERS,
    cluster_cidr=st.just("10.100.0.0/16"),
    dns_ips=st.sampled_from([("10.100.0.10",), ("fd00::a",)]),
    max_pods=st.none() | st.integers(0, 500),
    labels=st.dictionaries(KEYS, NAMES | st.just(""), max_size=4),
    taints=TAINTS,
    startup_taints=TAINTS,
    instance_store_policy=st.sampled_from([None, "RAID0"]),
    kubelet=kubelets(),
)


def read(family: Family, given_inputs: BootstrapInputs) -> JoinRequest:
    """What an instance makes of the user data."""
    cluster = ClusterFacts(
        given_inputs.cluster_name,
        given_inputs.cluster_endpoint,
        given_inputs.ca_bundle,
        given_inputs.cluster_cidr,
    )
    text = user_data(family, given_inputs)
    return join_request(text.encode(), IMAGES[family], cluster)


def wanted_labels(inputs: BootstrapInputs) -> dict[str, str]:
    """Those outside the domains of Kubernetes, and ours."""
    own = {key: value for key, value in inputs.labels.items() if "kubernetes.io/" not in key}
    return {**own, "karpenter.sh/do-not-sync-taints": "true"}


def wanted_taints(inputs: BootstrapInputs) -> set[tuple[str, str]]:
    """Keys and effects."""
    taints = (*inputs.taints, *inputs.startup_taints)
    return {("karpenter.sh/unregistered", "NoExecute")} | {(one.key, one.effect) for one in taints}


@FAMILIES
@EXAMPLES
@given(inputs=GIVEN)
def test_an_instance_reads_what_was_written(family: Family, inputs: BootstrapInputs) -> None:
    """Whatever is in the names of cluster, endpoint and authority."""
    got = read(family, inputs)
    kubelet = inputs.kubelet
    assert got.labels == wanted_labels(inputs)
    assert {(one["key"], one["effect"]) for one in got.taints} == wanted_taints(inputs)
    assert got.dns == inputs.dns_ips
    assert got.max_pods == (inputs.max_pods if kubelet.max_pods is None else kubelet.max_pods)
    assert got.system_reserved == kubelet.system_reserved
    assert got.kube_reserved == kubelet.kube_reserved
    assert got.eviction_hard == kubelet.eviction_hard
    is_raid = inputs.instance_store_policy is not None and family is not Family.WINDOWS2022
    assert got.uses_instance_store is is_raid


@FAMILIES
@EXAMPLES
@given(inputs=GIVEN, seed=st.integers())
def test_the_order_of_maps_and_taints_does_not_show(
    family: Family, inputs: BootstrapInputs, seed: int
) -> None:
    """Otherwise launch templates would be made anew again and again."""
    random = Random(seed)

    def shuffled(mapping: Any) -> dict[str, Any]:
        entries = list(mapping.items())
        random.shuffle(entries)
        return dict(entries)

    kubelet = inputs.kubelet
    other = msgspec.structs.replace(
        inputs,
        labels=shuffled(inputs.labels),
        kubelet=msgspec.structs.replace(
            kubelet,
            system_reserved=shuffled(kubelet.system_reserved),
            kube_reserved=shuffled(kubelet.kube_reserved),
            eviction_hard=shuffled(kubelet.eviction_hard),
            raw=shuffled(kubelet.raw),
        ),
    )
    assert user_data(family, other) == user_data(family, inputs)


@FAMILIES
@EXAMPLES
@given(inputs=GIVEN, text=NASTY, where=st.sampled_from(["label", "key", "taint", "reserved"]))
def test_nothing_gets_in_through_a_label_a_taint_or_a_setting(
    family: Family, inputs: BootstrapInputs, text: str, where: str
) -> None:
    """It is refused, or read as the very text that it was."""
    changes: dict[str, dict[str, Any]] = {
        "label": {"labels": {"a": text}},
        "key": {"labels": {text: "a"}},
        "taint": {"taints": (Taint("a", text, "NoExecute"),), "startup_taints": ()},
        "reserved": {
            "kubelet": ResolvedKubelet(
                system_reserved={"cpu": text}, raw={"systemReserved": {"cpu": text}}
            )
        },
    }
    try:
        got = read(family, msgspec.structs.replace(inputs, **changes[where]))
    except UserDataError:
        return
    assert where == "reserved"  # of the families, nodeadm gets it as data, not as a flag
    assert got.system_reserved == {"cpu": text}
    assert got.labels == wanted_labels(inputs)


@pytest.mark.parametrize("family", [Family.AL2, Family.AL2023], ids=str)
@EXAMPLES
@given(inputs=GIVEN, bodies=st.lists(LINES | NASTY, min_size=1, max_size=3))
def test_parts_of_the_users_archive_are_kept_byte_for_byte(
    family: Family, inputs: BootstrapInputs, bodies: list[str]
) -> None:
    """Before ours, in their order, and the instance joins as without them."""
    header = "Content-Type: text/x-shellscript"
    sections = "".join(f"--edge\n{header}\n\n{body}\n" for body in bodies)
    custom = f'Content-Type: multipart/mixed; boundary="edge"\n\n{sections}--edge--\n'
    combined = msgspec.structs.replace(inputs, custom=custom)
    *theirs, _ = parts_of(user_data(family, combined))
    assert [(part.header, part.body) for part in theirs] == [(header, body) for body in bodies]
    assert read(family, combined) == read(family, inputs)


@FAMILIES
@EXAMPLES
@given(inputs=GIVEN, custom=st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | NASTY)
def test_any_user_data_is_merged_or_refused(
    family: Family, inputs: BootstrapInputs, custom: str
) -> None:
    """With an error that names the field; where it is merged, the instance joins all the same."""
    combined = msgspec.structs.replace(inputs, custom=custom)
    try:
        got = read(family, combined)
    except UserDataError as error:
        refused = error.field
    else:
        refused = ""
        assert got.taints == read(family, inputs).taints
    assert refused in ("", "spec.userData")
