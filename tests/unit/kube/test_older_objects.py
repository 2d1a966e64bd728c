"""Manifests of older versions are read as what they become in v1."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Final

import pytest

from dovetail import api, labels
from dovetail.cloud.registry import extensions
from dovetail.errors import InputError
from dovetail.kube.manifests import Manifests, from_trees, read, read_all_problems

EXAMPLE: Final = Path(__file__).parents[3] / "examples" / "09-older-manifests"
PROVISIONER: Final = (
    "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n"
    "spec: {providerRef: {name: default}, kubeletConfiguration: {maxPods: 3}}\n"
)
CLASS: Final = (
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\n"
    "spec: {role: r, amiSelectorTerms: [{alias: al2@latest}], "
    "subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
)


def run(text: str) -> Manifests:
    """What is read of a text."""
    return read(["-"], io.BytesIO(text.encode()), extensions())


def kinds(manifests: Manifests) -> list[str]:
    """The kinds that were read."""
    return [manifest.kind.name for manifest in manifests.manifests]


def test_a_provisioner_is_read_as_a_pool_and_told_of() -> None:
    """With the number of objects and of warnings."""
    manifests = run(PROVISIONER)
    assert kinds(manifests) == ["NodePool"]
    assert manifests.older == {"Provisioner": 1}
    [remark] = manifests.remarks
    assert remark.startswith(f"Read as v1: Provisioner (1), with {len(manifests.warnings)} warning")
    assert all(
        warning.startswith("standard input, document 1: Provisioner a: spec.")
        for warning in manifests.warnings
    )


def test_a_class_of_v1_gets_the_kubelet_of_an_older_pool() -> None:
    """Wherever it stands."""
    for text in (f"{PROVISIONER}---\n{CLASS}", f"{CLASS}---\n{PROVISIONER}"):
        [node_class] = [one for one in run(text).objects if isinstance(one, api.NodeClass)]
        assert json.loads(api.encode(node_class))["spec"]["kubelet"] == {"maxPods": 3}


def test_names_of_labels_in_workloads_and_nodes_are_those_of_v1() -> None:
    """In YAML, JSON and trees."""
    tree: dict[str, api.Tree] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"karpenter.sh/do-not-evict": "true"}},
        "spec": {
            "nodeSelector": {"karpenter.sh/provisioner-name": "a"},
            "containers": [{"name": "c", "image": "i"}],
        },
    }
    whole: dict[str, api.Tree] = {"apiVersion": "v1", "kind": "List", "items": [tree]}
    for manifests in (run(json.dumps(tree)), run(json.dumps(whole)), from_trees([tree], "x")):
        [pod] = manifests.objects
        assert isinstance(pod, api.Pod)
        assert pod.metadata.annotations == {labels.DO_NOT_DISRUPT: "true"}
        assert pod.spec.parts().node_selector == {labels.NODE_POOL: "a"}
        assert manifests.older == {"Pod": 1}


def test_what_is_of_v1_is_not_told_of() -> None:
    """Nothing was converted."""
    manifests = run(CLASS)
    assert kinds(manifests) == ["EC2NodeClass"]
    assert manifests.remarks == manifests.warnings == ()


def test_what_cannot_be_converted_is_an_error_with_its_field() -> None:
    """The rest is read."""
    text = PROVISIONER.replace("name: default", "name: 5") + f"---\n{CLASS}"
    with pytest.raises(InputError, match=r"document 1: Provisioner a: spec.providerRef.name"):
        run(text)
    manifests, problems = read_all_problems(["-"], io.BytesIO(text.encode()), extensions())
    assert kinds(manifests) == ["EC2NodeClass"]
    assert len(problems) == 1


def test_a_template_without_a_role_can_be_planned_with() -> None:
    """It is only read, so a role is no matter."""
    template = (
        "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\n"
    )
    fields = "spec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}}\n"
    manifests = run(template + fields)
    assert kinds(manifests) == ["EC2NodeClass"]
    assert [one for one in manifests.warnings if "names no identity of nodes" in one]


def test_a_machine_is_skipped_with_a_word() -> None:
    """No kind of v1 is made of it."""
    manifests = run("apiVersion: karpenter.sh/v1alpha5\nkind: Machine\nmetadata: {name: m}\n")
    assert manifests.skipped == {"Machine.karpenter.sh": 1}
    assert "is not converted" in manifests.warnings[0]


def test_an_object_twice_is_refused_across_versions() -> None:
    """A Provisioner and a NodePool of one name."""
    pool = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: "
        "{nodeClassRef: {group: g, kind: K, name: n}, requirements: []}}}\n"
    )
    with pytest.raises(InputError, match="NodePool a is there already"):
        run(f"{pool}---\n{PROVISIONER}")


def test_the_example_is_read_without_a_problem() -> None:
    """Three Provisioners, their template and three workloads."""
    manifests, problems = read_all_problems([str(EXAMPLE)], io.BytesIO(), extensions())
    assert problems == ()
    assert manifests.older == {"AWSNodeTemplate": 1, "Job": 1, "Provisioner": 3, "StatefulSet": 1}
    assert kinds(manifests).count("NodePool") == 3
    assert kinds(manifests).count("EC2NodeClass") == 2
