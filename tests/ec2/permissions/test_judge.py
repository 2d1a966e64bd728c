"""The judge sees the provider's calls, and a permission that is missing denies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dovetail import labels
from dovetail.model.requirements import requirement
from tests.ec2.control import Ec2Control, RecordedCall
from tests.ec2.permissions.accesses import accesses
from tests.ec2.permissions.iam import Policy, is_allowed
from tests.ec2.permissions.judge import denials, of_provider, policies
from tests.ec2.provider.cloud import CLUSTER, aws_cloud
from tests.ec2.setting import Aws
from tests.ec2.status.bench import CLUSTER as CLASS_CLUSTER
from tests.ec2.status.bench import node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")
LARGE = requirement(labels.INSTANCE_TYPE, "In", ["m5.large"])


def without(action: str, cluster: str) -> list[Policy]:
    """The policies of a cluster without one action."""
    return [
        {"Statement": [_without(action, statement) for statement in policy["Statement"]]}
        for policy in policies(cluster)
    ]


def _without(action: str, statement: dict[str, Any]) -> dict[str, Any]:
    return {**statement, "Action": [one for one in statement["Action"] if one != action]}


def needed(calls: Sequence[RecordedCall], cluster: str) -> set[str]:
    """The actions without which something would be denied."""
    asked = [access for call in of_provider(calls) for access in accesses(call)]
    return {
        action
        for action in {access.action for access in asked}
        if not all(is_allowed(access, without(action, cluster)) for access in asked)
    }


async def test_a_launch_needs_its_permissions(control: Ec2Control, aws: Aws) -> None:
    """And those that IAM checks beside the call; calls of the test itself are not judged."""
    async with aws_cloud(control, aws) as cloud:
        claim = await cloud.claim("a", LARGE, requests={"cpu": 500})
        made = await cloud.provider.create(claim)
        await cloud.provider.delete(made.provider_id)
    calls = control.calls()
    assert len(of_provider(calls)) < len(calls)
    assert denials(calls) == []
    assert {
        "ec2:CreateFleet",
        "ec2:CreateLaunchTemplate",
        "ec2:CreateTags",
        "ec2:RunInstances",
        "ec2:TerminateInstances",
    } <= needed(calls, CLUSTER)


async def test_a_node_class_needs_its_permissions(aws: Aws) -> None:
    """From its profile to its end, with the role that is passed."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        await bench.delete()
        await bench.look()
    calls = aws.control.calls()
    assert denials(calls) == []
    assert {
        "ec2:DescribeSubnets",
        "ec2:RunInstances",
        "iam:AddRoleToInstanceProfile",
        "iam:CreateInstanceProfile",
        "iam:DeleteInstanceProfile",
        "iam:PassRole",
        "iam:RemoveRoleFromInstanceProfile",
        "iam:TagInstanceProfile",
        "ssm:GetParameter",
    } <= needed(calls, CLASS_CLUSTER)


async def test_the_policies_of_another_cluster_deny_a_launch(control: Ec2Control, aws: Aws) -> None:
    """Its tags are not theirs."""
    async with aws_cloud(control, aws) as cloud:
        await cloud.provider.create(await cloud.claim("a", LARGE, requests={"cpu": 500}))
    fleets = [call for call in of_provider(control.calls()) if call.action == "CreateFleet"]
    assert fleets
    for call in fleets:
        assert not all(is_allowed(access, policies("prod")) for access in accesses(call))
