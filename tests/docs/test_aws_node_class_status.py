"""The documentation names every reason that the status of an EC2NodeClass can have."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.providers.aws.calls import Failure
from dovetail.providers.aws.node_class import kubelet_rules
from dovetail.providers.aws.status import machine_images, placement_groups, security_groups, subnets
from dovetail.providers.aws.status.conditions import ClassCondition
from dovetail.providers.aws.status.profiles import step as profiles
from dovetail.providers.aws.status.validating import checks, dry_runs
from dovetail.providers.aws.status.validating import step as validation

PAGE = (Path(__file__).parents[2] / "docs/aws-node-class-status.md").read_text(encoding="utf-8")
REASONS = (
    machine_images.NOT_FOUND,
    machine_images.UNSUPPORTED_ALIAS,
    subnets.NOT_FOUND,
    security_groups.NOT_FOUND,
    placement_groups.NOT_FOUND,
    placement_groups.RESOLUTION_FAILED,
    profiles.NOT_FOUND,
    profiles.ROLE_NOT_FOUND,
    profiles.ROLE_NEEDS_IAM,
    checks.CIDR_RESOLUTION_FAILED,
    checks.DEPENDENCIES_NOT_READY,
    checks.TAG_VALIDATION_FAILED,
    dry_runs.CREATE_TEMPLATE_FAILED,
    dry_runs.CREATE_FLEET_FAILED,
    dry_runs.RUN_INSTANCES_FAILED,
    dry_runs.USER_DATA_TOO_LARGE,
    validation.INVALID_USER_DATA,
    validation.NO_INSTANCE_TYPE,
    kubelet_rules.INVALID_CONFIGURATION,
    "UnsupportedKubeletConfiguration",
    "KubeletExpressionsDisabled",
    "KubeletExpressionInvalid",
    "KubeletExpressionEvaluationFailed",
    *Failure,
)


@pytest.mark.parametrize("name", [*ClassCondition, *REASONS])
def test_every_condition_and_reason_is_documented(name: str) -> None:
    """Whoever sees one in a status finds it here."""
    assert f"`{name}`" in PAGE
