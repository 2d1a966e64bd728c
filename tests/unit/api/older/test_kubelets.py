"""The kubelet's configuration moves from pools to node classes."""

from __future__ import annotations

from typing import Final

from tests.unit.api.older.conversions import CLASS, Converted, Tree, converted, pool, provisioner

REF: Final = "spec.template.spec.nodeClassRef.name"
V1_CLASS: Final = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {kubelet: {maxPods: 9}}
---
"""


def of_v1(text: str) -> str:
    """A pool that says that it is of v1."""
    reference = "apiVersion: karpenter.k8s.aws/v1beta1"
    return text.replace("karpenter.sh/v1beta1\n", "karpenter.sh/v1\n").replace(
        reference, "group: karpenter.k8s.aws"
    )


def kubelets(got: Converted) -> dict[str, Tree | None]:
    """The configuration of each class, by its name."""
    return {
        tree["metadata"]["name"]: tree["spec"].get("kubelet")
        for tree in got.trees
        if tree["kind"] == "EC2NodeClass"
    }


def test_a_class_gets_the_kubelet_of_its_only_pool() -> None:
    """And nobody is told, since nothing is lost."""
    got = converted(pool("kubelet: {maxPods: 3}") + CLASS)
    assert kubelets(got) == {"default": {"maxPods": 3}}
    assert not [one for one in got.notices if "kubelet" in one]


def test_every_key_of_a_provisioner_is_carried_over() -> None:
    """Amounts become text, as v1 has them."""
    keys = {
        "clusterDNS": ["10.0.0.1"],
        "maxPods": 3,
        "podsPerCore": 2,
        "systemReserved": {"cpu": 1},
        "kubeReserved": {"memory": "1Gi"},
        "evictionHard": {"memory.available": "5%"},
        "evictionSoft": {"memory.available": "10%"},
        "evictionSoftGracePeriod": {"memory.available": "1m"},
        "evictionMaxPodGracePeriod": 60,
        "imageGCHighThresholdPercent": 80,
        "imageGCLowThresholdPercent": 70,
        "cpuCFSQuota": False,
    }
    text = provisioner(f"providerRef: {{name: default}}, kubeletConfiguration: {keys}")
    got = converted(text + CLASS)
    assert kubelets(got) == {"default": keys | {"systemReserved": {"cpu": "1"}}}


def test_pools_with_one_kubelet_share_their_class() -> None:
    """Whatever the order of its keys."""
    text = pool("kubelet: {maxPods: 3, podsPerCore: 1}", name="a")
    other = pool("kubelet: {podsPerCore: 1, maxPods: 3}", name="b")
    assert kubelets(converted(text + other + CLASS)) == {
        "default": {"maxPods": 3, "podsPerCore": 1}
    }


def test_a_class_is_cloned_for_each_further_kubelet() -> None:
    """The first pool by name keeps the class; clones are named after class and pool."""
    pools = "".join(
        pool(f"kubelet: {{maxPods: {n_pods}}}", name=name)
        for name, n_pods in (("c", 5), ("b", 4), ("a", 3), ("d", 4))
    )
    got = converted(pools + CLASS)
    assert kubelets(got) == {
        "default": {"maxPods": 3},
        "default-b": {"maxPods": 4},
        "default-c": {"maxPods": 5},
    }
    names = {name: got.value("NodePool", REF, name) for name in "abcd"}
    assert names == {"a": "default", "b": "default-b", "c": "default-c", "d": "default-b"}
    clone = next(tree for tree in got.trees if tree["metadata"]["name"] == "default-b")
    assert clone["spec"]["role"] == "nodes"
    assert [one for one in got.notices if "NodePool c: spec.template.spec.kubelet: pools" in one]


def test_the_class_stays_with_pools_that_configure_nothing() -> None:
    """Also with pools that are of v1 already."""
    beta = pool(name="a")
    want = {"default": None, "default-z": {"maxPods": 3}}
    assert kubelets(converted(beta + pool("kubelet: {maxPods: 3}", name="z") + CLASS)) == want
    assert (
        kubelets(converted(of_v1(beta) + pool("kubelet: {maxPods: 3}", name="z") + CLASS)) == want
    )


def test_a_class_of_v1_keeps_its_own_kubelet() -> None:
    """A pool with another one gets a clone, one with the same or none does not."""
    other = pool("kubelet: {maxPods: 3}", name="a")
    assert kubelets(converted(other + V1_CLASS)) == {
        "default": {"maxPods": 9},
        "default-a": {"maxPods": 3},
    }
    same = pool("kubelet: {maxPods: 9}", name="a") + pool(name="b")
    assert kubelets(converted(same + V1_CLASS)) == {"default": {"maxPods": 9}}


def test_a_clone_takes_no_name_that_is_taken() -> None:
    """A number is added."""
    taken = CLASS.replace("name: default", "name: default-b")
    pools = pool("kubelet: {maxPods: 1}", name="a") + pool("kubelet: {maxPods: 2}", name="b")
    assert "default-b-2" in kubelets(converted(pools + CLASS + "---" + taken))


def test_the_kubelet_that_the_webhook_kept_moves_too() -> None:
    """In an annotation of a NodePool of v1, as release 1.0 stored it."""
    key = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
    text = pool(metadata=f"annotations: {{{key}: '{{\"maxPods\": 3}}'}}")
    current = of_v1(text)
    for given in (text, current):
        got = converted(given + CLASS)
        assert kubelets(got) == {"default": {"maxPods": 3}}
        assert got.value("NodePool", "metadata") == {"name": "p"}


def test_an_annotation_that_is_no_kubelet_is_told_of() -> None:
    """And left alone in an object of v1."""
    key = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
    text = pool(metadata=f"annotations: {{{key}: '[1'}}").replace("sh/v1beta1\n", "sh/v1\n")
    got = converted(text)
    assert got.value("NodePool", ("metadata", "annotations", key)) == "[1"  # type: ignore[arg-type]  # a path with dots in a key
    assert [one for one in got.notices if "is no JSON object" in one]
