"""Labels and taints with which nodes register."""

from __future__ import annotations

import pytest

from dovetail.model.taints import Taint
from dovetail.providers.aws.bootstrap.inputs import UserDataError
from dovetail.providers.aws.bootstrap.registration import (
    is_for_kubelet,
    node_labels,
    node_taints,
)
from tests.unit.providers.aws.bootstrap.cases import inputs

UNREGISTERED = Taint("karpenter.sh/unregistered", "", "NoExecute")


@pytest.mark.parametrize(
    ("key", "want"),
    [
        pytest.param("team", True, id="no domain"),
        pytest.param("example.com/team", True, id="a domain of the user"),
        pytest.param("karpenter.k8s.aws/instance-cpu", True, id="a domain that only looks alike"),
        pytest.param("notkubernetes.io/x", True, id="a domain that ends alike"),
        pytest.param("topology.kubernetes.io/zone", False, id="a label that kubelet sets itself"),
        pytest.param("kubernetes.io/hostname", False, id="the host name"),
        pytest.param("node.kubernetes.io/anything", False, id="a domain that is open to kubelet"),
        pytest.param("node-restriction.kubernetes.io/x", False, id="node restriction"),
        pytest.param("node-role.kubernetes.io/x", False, id="roles"),
        pytest.param("kubernetes.io/x", False, id="the domain of Kubernetes"),
        pytest.param("x.k8s.io/y", False, id="its short name"),
    ],
)
def test_kubelet_is_given_labels_outside_the_domains_of_kubernetes(key: str, want: bool) -> None:  # noqa: FBT001  a column of the table
    """With most labels inside them it would not start; registration adds them."""
    assert is_for_kubelet(key) is want


def test_a_node_has_the_labels_of_its_claim_that_are_for_kubelet() -> None:
    """With the capacity type that was chosen, and the word that taints are not to be synced."""
    given = inputs(
        labels={"b": "2", "a": "1", "karpenter.sh/capacity-type": "on-demand", "x.k8s.io/c": "3"},
        capacity_type="spot",
    )
    assert list(node_labels(given).items()) == [
        ("a", "1"),
        ("b", "2"),
        ("karpenter.sh/capacity-type", "spot"),
        ("karpenter.sh/do-not-sync-taints", "true"),
    ]


def test_a_node_has_the_taints_of_its_claim_and_the_unregistered_one() -> None:
    """In one order, whatever the order of the inputs."""
    dedicated, starting = Taint("d", "x", "NoSchedule"), Taint("c", "", "NoExecute")
    given = inputs(taints=(dedicated,), startup_taints=(starting,))
    assert node_taints(given) == (starting, dedicated, UNREGISTERED)


def test_a_taint_is_registered_once() -> None:
    """The API server refuses a key with the same effect twice; the claim's own comes first."""
    own = Taint("karpenter.sh/unregistered", "mine", "NoExecute")
    soft = Taint("karpenter.sh/unregistered", "", "PreferNoSchedule")
    given = inputs(taints=(own, soft), startup_taints=(own,))
    assert node_taints(given) == (own, soft)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"labels": {"a": "b,c=d"}}, id="a comma in a label"),
        pytest.param({"labels": {"a": "$(reboot)"}}, id="a command in a label"),
        pytest.param({"labels": {"a b": "c"}}, id="a blank in a key"),
        pytest.param({"labels": {"a": "b\n"}}, id="a line end"),
        pytest.param({"taints": (Taint("a", "b:NoExecute,c", "NoExecute"),)}, id="a taint in it"),
        pytest.param({"taints": (Taint("a'b", "", "NoExecute"),)}, id="a quote in a taint"),
        pytest.param({"startup_taints": (Taint("a", "", "NoExecute;"),)}, id="no such effect"),
    ],
)
def test_what_is_no_label_or_taint_is_refused(changes: dict[str, object]) -> None:
    """It would be read as something else. The message names it."""
    given = inputs(**changes)
    with pytest.raises(UserDataError, match=r"^(label|taint) .*expected"):
        node_labels(given), node_taints(given)
