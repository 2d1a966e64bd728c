"""Which objects an installation consists of. That they equal the chart's is tested with Helm."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail.api.crds as definitions
from dovetail.present.installation import manifests
from dovetail.present.installation.choices import Choices
from tests.installing import AWS, KWOK

CHOICES = Choices(version="1.2.3", image="dovetail:1.2.3", **KWOK)


def made(**changes: Any) -> dict[tuple[str, str], Any]:
    """The objects by kind and name."""
    choices = Choices(**KWOK | {"version": "1.2.3", "image": "dovetail:1.2.3"} | changes)
    trees: list[Any] = list(manifests(choices))
    return {(tree["kind"], tree["metadata"]["name"]): tree for tree in trees}


def container(**changes: Any) -> Any:
    """The controller's container."""
    return made(**changes)["Deployment", "dovetail"]["spec"]["template"]["spec"]["containers"][0]


def test_namespace_and_definitions_come_first() -> None:
    """What is applied later needs them."""
    trees: list[Any] = list(manifests(CHOICES))
    kinds = [tree["kind"] for tree in trees]
    assert kinds[0] == "Namespace"
    assert kinds[1:6] == ["CustomResourceDefinition"] * 5
    assert trees[1:6] == list(definitions.crds(KWOK["extensions"]))
    assert kinds[-1] == "Deployment"


@pytest.mark.parametrize("namespace", ["kube-system", "default"])
def test_a_namespace_that_every_cluster_has_is_left_alone(namespace: str) -> None:
    """It has labels of its own."""
    assert "Namespace" not in {kind for kind, _ in made(namespace=namespace)}


def test_everything_namespaced_is_in_the_chosen_namespace_or_with_the_node_leases() -> None:
    """And bindings name the account there."""
    objects = made(namespace="scaling")
    namespaces = {tree["metadata"].get("namespace") for tree in objects.values()}
    assert namespaces == {None, "scaling", "kube-node-lease"}
    bindings = [tree for (kind, _), tree in objects.items() if kind.endswith("Binding")]
    assert {tree["subjects"][0]["namespace"] for tree in bindings} == {"scaling"}


def test_choices_reach_the_controller() -> None:
    """Image, provider and stand-ins."""
    assert container(image="elsewhere/dovetail:7")["image"] == "elsewhere/dovetail:7"
    assert container(provider="aws")["args"] == ["--provider=aws"]
    assert container(kubelets=True)["args"] == ["--provider=kwok", "--kubelets"]
    assert made(replicas=0)["Deployment", "dovetail"]["spec"]["replicas"] == 0


def test_only_kwok_may_make_nodes() -> None:
    """A real cloud's nodes make themselves."""
    assert ("ClusterRole", "dovetail-kwok") in made()
    assert ("ClusterRole", "dovetail-kwok") not in made(**AWS, kubelets=True)
    leases = made(**AWS, kubelets=True)["Role", "dovetail-node-leases"]
    assert "create" not in leases["rules"][0]["verbs"]


def test_the_container_is_as_small_as_it_can_be() -> None:
    """No root, no writes, no capabilities."""
    context = container()["securityContext"]
    assert context["readOnlyRootFilesystem"]
    assert context["runAsNonRoot"]
    assert context["runAsUser"] == 65532
    assert not context["allowPrivilegeEscalation"]
    assert context["capabilities"] == {"drop": ["ALL"]}


def test_a_shadow_is_one_replica_that_may_only_read() -> None:
    """No definitions, which are its neighbour's; no lease; no role but one to read with."""
    objects = made(is_shadow=True)
    kinds = sorted(kind for kind, _ in objects)
    assert kinds == [
        "ClusterRole",
        "ClusterRoleBinding",
        "Deployment",
        "Namespace",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    ]
    rules = objects["ClusterRole", "dovetail"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert "kwoknodeclasses" in {name for rule in rules for name in rule["resources"]}
    other = made(**AWS, is_shadow=True)["ClusterRole", "dovetail"]["rules"]
    assert "kwoknodeclasses" not in {name for rule in other for name in rule["resources"]}
    assert container(is_shadow=True)["args"] == ["--provider=kwok", "--dry-run"]
