"""Checks an EC2NodeClass before anything is asked of EC2: kubelet settings, dependencies, tags."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final

import msgspec

from dovetail import labels
from dovetail.providers.aws.bootstrap.families import Family, family_of
from dovetail.providers.aws.catalogue.capacity import kubelet_for
from dovetail.providers.aws.catalogue.class_facts import NO_GROUP, class_facts
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.kubelet import KubeletError, check_family, parse_kubelet
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.conditions import (
    TRUE,
    ClassCondition,
    ConditionUpdate,
    condition_of,
    fails,
)

DEPENDENCIES_NOT_READY: Final = "DependenciesNotReady"
TAG_VALIDATION_FAILED: Final = "TagValidationFailed"
CIDR_RESOLUTION_FAILED: Final = "ClusterCIDRResolutionFailed"
_DEPENDENCIES: Final = (
    ClassCondition.AMIS,
    ClassCondition.INSTANCE_PROFILE,
    ClassCondition.SECURITY_GROUPS,
    ClassCondition.SUBNETS,
)
_RESTRICTED_TAGS: Final = (
    keys.CLUSTER_TAG,
    "kubernetes.io/cluster*",
    labels.NODE_POOL,
    keys.NODE_CLAIM_TAG,
    keys.NODE_CLASS_TAG,
)


def kubelet_problem(node_class: EC2NodeClass, settings: AwsSettings) -> ConditionUpdate | None:
    """What is wrong with `spec.kubelet`: its structure, values, expressions, or its family."""
    try:
        kubelet = parse_kubelet(node_class.spec.kubelet, has_gate=settings.node_class_cel)
        check_family(kubelet, family_of(node_class.spec))
    except KubeletError as error:
        return _kubelet_failure(error)
    return None


def expression_problem(
    node_class: EC2NodeClass, machines: Sequence[MachineType], settings: AwsSettings
) -> ConditionUpdate | None:
    """The first instance type for which an expression of `spec.kubelet` has no value."""
    if not parse_kubelet(node_class.spec.kubelet, has_gate=settings.node_class_cel).expressions:
        return None
    facts = class_facts(node_class, settings, NO_GROUP).capacity
    for machine in machines:
        try:
            kubelet_for(machine, facts)
        except KubeletError as error:
            return _kubelet_failure(error)
    return None


def _kubelet_failure(error: KubeletError) -> ConditionUpdate:
    return fails(ClassCondition.VALIDATION, error.reason, str(error))


def cidr_problem(node_class: EC2NodeClass, service_cidr: str) -> ConditionUpdate | None:
    """AL2023 cannot join a cluster whose Service addresses are not known."""
    if not needs_service_cidr(node_class) or service_cidr:
        return None
    message = (
        "eks:DescribeCluster does not tell the addresses of Services, which AL2023 nodes need: "
        "check --cluster-name, or use another AMI family"
    )
    return fails(ClassCondition.VALIDATION, CIDR_RESOLUTION_FAILED, message)


def needs_service_cidr(node_class: EC2NodeClass) -> bool:
    """Whether user data of the class states the addresses of Services."""
    return family_of(node_class.spec) is Family.AL2023


def dependency_problem(node_class: EC2NodeClass) -> ConditionUpdate | None:
    """Which conditions must hold before a launch can be tried."""
    conditions = [
        (name, condition_of(node_class.status.conditions, name)) for name in _DEPENDENCIES
    ]
    unmet = [
        name for name, condition in conditions if condition is None or condition.status != TRUE
    ]
    if not unmet:
        return None
    message = f"waiting for {', '.join(unmet)}"
    return fails(ClassCondition.VALIDATION, DEPENDENCIES_NOT_READY, message)


def tag_problem(node_class: EC2NodeClass) -> ConditionUpdate | None:
    """Tags of the user that would change whom an instance belongs to."""
    restricted = [
        key
        for key in sorted(node_class.spec.tags)
        if any(fnmatchcase(key, pattern) for pattern in _RESTRICTED_TAGS)
    ]
    if not restricted:
        return None
    message = (
        f"spec.tags may not have {', '.join(restricted)}, by which instances are told apart: "
        "remove it, or use another key"
    )
    return fails(ClassCondition.VALIDATION, TAG_VALIDATION_FAILED, message)


def verdict_key(node_class: EC2NodeClass) -> str:
    """What a verdict about launches depends on. Any annotation counts, so that adding one forces
    another check; the order of the subnets, which follows their free addresses, does not.
    """
    status = node_class.status
    parts = (
        node_class.metadata.uid,
        sorted(node_class.metadata.annotations.items()),
        node_class.spec,
        status.amis,
        sorted(subnet.id for subnet in status.subnets),
        status.security_groups,
        status.instance_profile,
    )
    return sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
