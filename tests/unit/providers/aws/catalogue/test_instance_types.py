"""The instance types of a node class, as a whole."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.model.instance import InstanceType
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs, UnavailableOffering
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.machines import packaged_types
from dovetail.providers.aws.catalogue.offline import offline_inputs
from dovetail.providers.aws.node_class.types import EC2NodeClass, SecurityGroup
from dovetail.providers.aws.settings import AwsSettings
from tests.unit.providers.aws.catalogue.setting import A, B, C, inputs, machine, node_class

SETTINGS = AwsSettings()
KNOWN = inputs(machine(), machine("c5.large"), machine("r5.large"))


def resolved(given: EC2NodeClass, known: CatalogueInputs = KNOWN) -> tuple[InstanceType, ...]:
    """The types of the class with default settings."""
    return instance_types(given, known, SETTINGS)


def test_nothing_is_computed_again_while_nothing_changes() -> None:
    """The same object, also for an equal class."""
    assert resolved(node_class()) is resolved(node_class())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(node_class(name="other"), id="another name"),
        pytest.param(node_class(tags={"team": "a"}), id="other tags"),
        pytest.param(node_class(user_data="#!/bin/sh"), id="other user data"),
        pytest.param(
            msgspec.structs.replace(
                node_class(),
                status=msgspec.structs.replace(
                    node_class().status, security_groups=(SecurityGroup("sg-1"),)
                ),
            ),
            id="other security groups",
        ),
    ],
)
def test_classes_that_differ_in_what_does_not_matter_share_their_types(other: EC2NodeClass) -> None:
    """One object for both."""
    assert resolved(other) is resolved(node_class())


def test_classes_that_differ_in_kubelet_share_labels_and_offerings() -> None:
    """Only resources are computed for each."""
    plain = resolved(node_class())
    dense = resolved(node_class(kubelet={"maxPods": 250}))
    for one, other in zip(plain, dense, strict=True):
        assert one.requirements is other.requirements
        assert one.offerings is other.offerings
        assert (one.capacity["pods"], other.capacity["pods"]) == (29, 250)


def test_insufficient_capacity_changes_only_the_type_that_has_it() -> None:
    """All other parts stay the same objects."""
    mark = UnavailableOffering("c5.large", A, "spot")
    before = resolved(node_class())
    known = msgspec.structs.replace(KNOWN, unavailable=frozenset({mark}))
    after = resolved(node_class(), known)
    unchanged = [a.offerings is b.offerings for a, b in zip(before, after, strict=True)]
    assert unchanged == [True, False, True]
    assert all(a.requirements is b.requirements for a, b in zip(before, after, strict=True))


def test_types_come_in_the_order_of_the_machines() -> None:
    """So that equal inputs give equal catalogues."""
    assert [one.name for one in resolved(node_class())] == ["m5.large", "c5.large", "r5.large"]


@pytest.mark.parametrize("family", ["AL2", "AL2023", "Bottlerocket", "Custom", "Windows2022"])
def test_every_packaged_type_can_be_resolved_for_every_family(family: str) -> None:
    """With the labels of all offerings compatible with those of the type."""
    types = resolved(node_class(family=family), offline_inputs((A, B, C)))
    assert len(types) == len(packaged_types())
    for one in types:
        assert all(one.requirements.conflict(at.requirements) is None for at in one.offerings)
        assert one.allocatable.keys() == one.capacity.keys()
