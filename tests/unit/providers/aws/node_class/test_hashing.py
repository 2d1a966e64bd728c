"""Tests the static drift hash against hashes of the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from dovetail import api
from dovetail.providers.aws.node_class.hashing import HASH_VERSION, node_class_hash
from dovetail.providers.aws.node_class.types import EC2NodeClass

Tree = dict[str, Any]

CLASSES: Final[list[Tree]] = json.loads(
    Path(__file__).with_name("reference_hashes.json").read_text(encoding="utf-8")
)["classes"]
SPEC: Final[Tree] = {
    "subnetSelectorTerms": [{"id": "subnet-1"}],
    "securityGroupSelectorTerms": [{"id": "sg-1"}],
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "role": "nodes",
}


def hashed(spec: Tree, *, family: str = "AL2023", ca_bundle: str = "") -> str:
    """The hash of a class with this spec."""
    node_class = api.decode(EC2NodeClass, {"metadata": {"name": "default"}, "spec": spec})
    return node_class_hash(node_class, family=family, ca_bundle=ca_bundle)


def test_the_version_is_that_of_the_reference() -> None:
    """Another version would have every class and claim stamped anew."""
    assert HASH_VERSION == "v5"


@pytest.mark.parametrize(
    "wanted", CLASSES, ids=[f"class {number}" for number in range(len(CLASSES))]
)
def test_the_hash_equals_that_of_the_reference(wanted: Tree) -> None:
    """A fleet that the reference launched does not drift."""
    got = hashed(wanted["spec"], family=wanted["family"], ca_bundle=wanted["caBundle"])
    assert got == wanted["hash"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"subnetSelectorTerms": [{"id": "subnet-2"}]}, id="other subnets"),
        pytest.param({"securityGroupSelectorTerms": [{"id": "sg-2"}]}, id="other groups"),
        pytest.param({"amiSelectorTerms": [{"id": "ami-1"}]}, id="another image"),
        pytest.param({"amiFamily": "AL2023"}, id="the family spelled out"),
        pytest.param({"capacityReservationSelectorTerms": [{"id": "cr-1"}]}, id="reservations"),
        pytest.param({"ipPrefixCount": 1}, id="address prefixes"),
    ],
)
def test_what_is_compared_otherwise_does_not_change_the_hash(change: Tree) -> None:
    """What selectors find is compared with the instance itself."""
    assert hashed({**SPEC, **change}) == hashed(SPEC)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"role": "others"}, id="another role"),
        pytest.param({"tags": {}}, id="an empty map that is written down, as in the reference"),
        pytest.param({"blockDeviceMappings": []}, id="an empty list that is written down"),
        pytest.param({"associatePublicIPAddress": False}, id="a false that is written down"),
        pytest.param({"kubelet": {"maxPods": 10}}, id="a number of pods"),
        pytest.param({"kubelet": {"maxPods": "vcpus * 10"}}, id="an expression for pods"),
        pytest.param({"kubelet": {"shutdownGracePeriod": "30s"}}, id="a key of kubelet alone"),
    ],
)
def test_what_instances_are_made_of_changes_the_hash(change: Tree) -> None:
    """Instances of another description drift."""
    assert hashed({**SPEC, **change}) not in {hashed(SPEC), hashed({**SPEC, "kubelet": {}})}


def test_family_and_certificate_authority_change_the_hash() -> None:
    """A resolved family and the CA of the cluster are in user data."""
    assert hashed(SPEC, family="AL2") != hashed(SPEC)
    assert hashed(SPEC, ca_bundle="Y2E=") != hashed(SPEC)


def test_kubelet_keys_beyond_the_reference_hash_alike_in_any_order() -> None:
    """Maps have no order."""
    first = {**SPEC, "kubelet": {"a": 1, "b": {"x": 1, "y": 2}}}
    second = {**SPEC, "kubelet": {"b": {"y": 2, "x": 1}, "a": 1}}
    assert hashed(first) == hashed(second)
