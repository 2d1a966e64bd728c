"""Every reason that a condition of a node class can have, and what its message tells the user."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.kube.seam import Json
from tests.ec2.setting import Aws
from tests.ec2.status.bench import ROLE, SETTINGS, node_class_bench

pytestmark = pytest.mark.xdist_group("ec2")
NONE: Json = [{"tags": {"team": "nobody"}}]
CUSTOM: Json = [{"id": "ami-1"}, {"name": "nowhere"}]
VALIDATION = "ValidationSucceeded"

BY_SPEC: list[tuple[str, str, dict[str, Json], tuple[str, ...]]] = [
    (
        "AMINotFound",
        "AMIsReady",
        {"amiSelectorTerms": CUSTOM, "amiFamily": "AL2023"},
        (
            "spec.amiSelectorTerms[0] (id ami-1), spec.amiSelectorTerms[1] (name nowhere)",
            "change the selector",
        ),
    ),
    (
        "UnsupportedAlias",
        "AMIsReady",
        {"amiSelectorTerms": [{"alias": "al2@latest"}]},
        ("spec.amiSelectorTerms", "al2@latest", "1.35", "use al2023"),
    ),
    (
        "SubnetsNotFound",
        "SubnetsReady",
        {"subnetSelectorTerms": [{"id": "subnet-1"}, {"tags": {"team": "nobody"}}]},
        (
            "spec.subnetSelectorTerms[0] (id subnet-1)",
            "spec.subnetSelectorTerms[1] (tags team=nobody)",
            "tag the subnets",
        ),
    ),
    (
        "SecurityGroupsNotFound",
        "SecurityGroupsReady",
        {"securityGroupSelectorTerms": [{"name": "nobody"}]},
        ("spec.securityGroupSelectorTerms[0] (name nobody)", "tag the security groups"),
    ),
    (
        "PlacementGroupNotFound",
        "PlacementGroupReady",
        {"placementGroupSelector": {"name": "racks"}},
        ("spec.placementGroupSelector (name racks)", "create it"),
    ),
    (
        "InstanceProfileNotFound",
        "InstanceProfileReady",
        {"role": None, "instanceProfile": "mine"},
        ("spec.instanceProfile", "iam:GetInstanceProfile", "mine", "create it"),
    ),
    (
        "RoleNotFound",
        "InstanceProfileReady",
        {"role": "nobody"},
        ("spec.role", "iam:AddRoleToInstanceProfile", "nobody", "create the role"),
    ),
    (
        "InvalidKubeletConfiguration",
        VALIDATION,
        {"kubelet": {"unheardOf": 1}},
        ("spec.kubelet.unheardOf", "KubeletConfiguration"),
    ),
    (
        "UnsupportedKubeletConfiguration",
        VALIDATION,
        {"kubelet": {"podsPerCore": 4}, "amiSelectorTerms": [{"alias": "bottlerocket@latest"}]},
        ("spec.kubelet.podsPerCore", "Bottlerocket"),
    ),
    (
        "KubeletExpressionsDisabled",
        VALIDATION,
        {"kubelet": {"maxPods": "vcpus * 10"}},
        ("spec.kubelet.maxPods", "NodeClassCEL"),
    ),
]


@pytest.mark.parametrize(
    ("reason", "condition", "changes", "texts"), BY_SPEC, ids=[row[0] for row in BY_SPEC]
)
async def test_a_spec_that_cannot_be_used_gives_its_reason(
    aws: Aws, reason: str, condition: str, changes: dict[str, Json], texts: tuple[str, ...]
) -> None:
    """The condition is False and Ready with it; condition and event name field and remedy."""
    async with node_class_bench(aws) as bench:
        await bench.create(**changes)
        await bench.look()
        got = await bench.condition(condition)
        assert (got.status, got.reason) == ("False", reason)
        assert [text for text in texts if text not in got.message] == []
        assert await bench.reason("Ready") == ("False", "UnhealthyDependents")
        assert f"{condition}=False" in (await bench.condition("Ready")).message
        assert ("Warning", reason, got.message) in bench.events()


async def test_tag_validation_failed_where_the_definition_lets_tags_pass(aws: Aws) -> None:
    """The definition in the cluster may be of another release."""
    async with node_class_bench(aws, is_checked=False) as bench:
        await bench.create(tags={"kubernetes.io/cluster/other": "owned", "team": "a"})
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", "TagValidationFailed")
        assert "spec.tags may not have kubernetes.io/cluster/other" in got.message


EXPRESSIONS = [
    ("KubeletExpressionInvalid", "vcpus +"),
    ("KubeletExpressionEvaluationFailed", "vcpus / (vcpus - 2)"),
]


@pytest.mark.parametrize(("reason", "source"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS])
async def test_an_expression_that_cannot_be_used_gives_its_reason(
    aws: Aws, reason: str, source: str
) -> None:
    """It is compiled first, then evaluated for every instance type."""
    settings = msgspec.structs.replace(SETTINGS, node_class_cel=True)
    async with node_class_bench(aws, settings) as bench:
        await bench.create(kubelet={"maxPods": source})
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", reason)
        assert "spec.kubelet.maxPods" in got.message


async def test_dependencies_not_ready_while_there_are_no_subnets(aws: Aws) -> None:
    """Nothing is tried before everything is there that a launch needs."""
    async with node_class_bench(aws) as bench:
        await bench.create(subnetSelectorTerms=NONE)
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", "DependenciesNotReady")
        assert got.message == "waiting for SubnetsReady"
        assert bench.actions("CreateLaunchTemplate", "CreateFleet", "RunInstances") == []


async def test_cluster_cidr_resolution_failed_for_al2023_alone(aws: Aws) -> None:
    """AL2023 must be told the addresses of Services; other families need none."""
    async with node_class_bench(aws) as bench:
        bench.control.change_cluster("prod", {"kubernetesNetworkConfig": {"ipFamily": "ipv4"}})
        await bench.create()
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", "ClusterCIDRResolutionFailed")
        assert "eks:DescribeCluster" in got.message
        await bench.create("other", amiSelectorTerms=[{"alias": "bottlerocket@latest"}])
        await bench.look("other")
        assert (await bench.condition(VALIDATION, "other")).status == "True"


async def test_unsupported_alias_for_windows_2025_before_1_35(aws: Aws) -> None:
    """Its images begin with Kubernetes 1.35."""
    async with node_class_bench(aws) as bench:
        bench.control.change_cluster("prod", {"version": "1.34"})
        await bench.create(amiSelectorTerms=[{"alias": "windows2025@latest"}])
        await bench.look()
        assert await bench.reason("AMIsReady") == ("False", "UnsupportedAlias")


DENIED = [
    ("CreateLaunchTemplateAuthCheckFailed", "CreateLaunchTemplate"),
    ("CreateFleetAuthCheckFailed", "CreateFleet"),
    ("RunInstancesAuthCheckFailed", "RunInstances"),
]


@pytest.mark.parametrize(("reason", "action"), DENIED, ids=[row[0] for row in DENIED])
async def test_a_launch_that_is_not_permitted_gives_its_reason(
    aws: Aws, reason: str, action: str
) -> None:
    """The message names the call and the permission; no template stays behind."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls(action, "UnauthorizedOperation", "not you", times=None)
        await bench.create()
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", reason)
        assert f"allow ec2:{action} in the IAM policy" in got.message
        assert ("Warning", reason, got.message) in bench.events()
        assert bench.aws.ec2.describe_launch_templates()["LaunchTemplates"] == []
        assert bench.aws.ec2.describe_instances()["Reservations"] == []


async def test_run_instances_auth_check_failed_names_the_role_that_may_not_be_passed(
    aws: Aws,
) -> None:
    """EC2 tells in its message which permission is missing; the remedy says on which role."""
    async with node_class_bench(aws) as bench:
        message = "User is not authorized to perform: iam:PassRole on resource: role"
        bench.control.fail_calls("RunInstances", "UnauthorizedOperation", message, times=None)
        await bench.create()
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert "allow iam:PassRole on the node role (spec.role)" in got.message


async def test_run_instances_is_tried_in_every_subnet_until_one_works(aws: Aws) -> None:
    """The error of the first subnet is reported only if all fail."""
    async with node_class_bench(aws) as bench:
        bench.control.fail_calls("RunInstances", "UnauthorizedOperation", "not there", times=2)
        await bench.create()
        await bench.look()
        assert await bench.reason(VALIDATION) == ("True", VALIDATION)
        assert bench.actions("RunInstances") == ["RunInstances"] * 3


async def test_user_data_size_limit_exceeded_before_anything_is_asked(aws: Aws) -> None:
    """EC2 accepts 16384 bytes, with what makes nodes join the cluster."""
    async with node_class_bench(aws) as bench:
        await bench.create(userData="#!/bin/sh\n" + "true\n" * 3200)
        await bench.look()
        got = await bench.condition(VALIDATION)
        assert (got.status, got.reason) == ("False", "UserDataSizeLimitExceeded")
        assert "spec.userData" in got.message
        assert "16384" in got.message
        assert bench.actions("CreateLaunchTemplate") == []


async def test_user_data_size_limit_exceeded_by_the_word_of_ec2(aws: Aws) -> None:
    """What EC2 refuses counts, whatever we count ourselves."""
    async with node_class_bench(aws) as bench:
        message = "User data is limited to 16384 bytes"
        bench.control.fail_calls("CreateLaunchTemplate", "InvalidUserData.Malformed", message)
        await bench.create()
        await bench.look()
        assert await bench.reason(VALIDATION) == ("False", "UserDataSizeLimitExceeded")


async def test_placement_group_resolution_failed_while_ec2_cannot_be_asked(aws: Aws) -> None:
    """With nothing known of the group, nothing can be told; afterwards it can."""
    async with node_class_bench(aws) as bench:
        bench.aws.ec2.create_placement_group(GroupName="racks", Strategy="spread")
        bench.control.fail_calls("DescribePlacementGroups", "InternalError", status=500)
        await bench.create(placementGroupSelector={"name": "racks"})
        await bench.look()
        got = await bench.condition("PlacementGroupReady")
        assert (got.status, got.reason) == ("Unknown", "PlacementGroupResolutionFailed")
        assert "ec2:DescribePlacementGroups" in got.message
        await bench.look()
        assert (await bench.condition("PlacementGroupReady")).status == "True"


async def test_a_resolved_placement_group_outlasts_an_outage_of_a_day(aws: Aws) -> None:
    """The last answer counts for 24 hours, and no longer."""
    async with node_class_bench(aws) as bench:
        bench.aws.ec2.create_placement_group(GroupName="racks", Strategy="spread")
        await bench.create(placementGroupSelector={"name": "racks"})
        await bench.look()
        bench.control.fail_calls("DescribePlacementGroups", "InternalError", status=500, times=None)
        await bench.advance(timedelta(hours=23))
        await bench.look()
        assert (await bench.condition("PlacementGroupReady")).status == "True"
        await bench.advance(timedelta(hours=2))
        await bench.look()
        assert (await bench.condition("PlacementGroupReady")).status == "Unknown"


CALLS = [
    ("SubnetsReady", "ec2:DescribeSubnets"),
    ("SecurityGroupsReady", "ec2:DescribeSecurityGroups"),
    ("AMIsReady", "ssm:GetParameter"),
    ("AMIsReady", "ec2:DescribeImages"),
    ("AMIsReady", "eks:DescribeCluster"),
    ("InstanceProfileReady", "iam:CreateInstanceProfile"),
    ("InstanceProfileReady", "iam:AddRoleToInstanceProfile"),
]


@pytest.mark.parametrize(
    ("condition", "action"), CALLS, ids=[f"{action} for {name}" for name, action in CALLS]
)
async def test_a_missing_permission_is_named_and_holds_up_no_other_condition(
    aws: Aws, condition: str, action: str
) -> None:
    """The condition is Unknown, and says which permission to give; the pass is repeated soon."""
    async with node_class_bench(aws) as bench:
        code = "UnauthorizedOperation" if action.startswith("ec2") else "AccessDeniedException"
        bench.control.fail_calls(action.partition(":")[2], code, "not you", times=None)
        await bench.create()
        again_after = await bench.look()
        got = await bench.condition(condition)
        assert (got.status, got.reason) == ("Unknown", "AccessDenied")
        assert f"allow {action} in the IAM policy of the controller's role" in got.message
        assert ("Warning", "AccessDenied", got.message) in bench.events()
        assert again_after == timedelta(seconds=1)
        assert (await bench.condition("PlacementGroupReady")).status == "True"
        assert bench.profiles() == {} or condition != "InstanceProfileReady"


async def test_a_condition_that_holds_survives_a_failed_call_of_its_generation(aws: Aws) -> None:
    """Launches still work while EC2 cannot be asked; after an edit nothing is known any more."""
    async with node_class_bench(aws) as bench:
        await bench.create()
        await bench.look()
        bench.control.throttle("DescribeSecurityGroups", times=None)
        await bench.advance(timedelta(minutes=2))
        await bench.look()
        assert (await bench.condition("SecurityGroupsReady")).status == "True"
        assert (await bench.condition("Ready")).status == "True"
        await bench.change(securityGroupSelectorTerms=[{"name": "default"}])
        await bench.look()
        got = await bench.condition("SecurityGroupsReady")
        assert (got.status, got.reason) == ("Unknown", "Throttled")
        assert (await bench.condition("Ready")).status != "True"


async def test_a_term_that_matches_nothing_is_named_though_others_match(aws: Aws) -> None:
    """The condition holds, and its message says what was looked for in vain."""
    async with node_class_bench(aws) as bench:
        terms: Json = [{"tags": {"karpenter.sh/discovery": "*"}}, {"id": "subnet-1"}]
        await bench.create(subnetSelectorTerms=terms)
        await bench.look()
        got = await bench.condition("SubnetsReady")
        assert (got.status, got.message) == (
            "True",
            "no subnet matches spec.subnetSelectorTerms[1] (id subnet-1)",
        )


async def test_a_role_cannot_be_used_in_an_isolated_vpc(aws: Aws) -> None:
    """IAM cannot be reached from there, so the profile must be the user's, and is not checked."""
    settings = msgspec.structs.replace(SETTINGS, isolated_vpc=True)
    async with node_class_bench(aws, settings) as bench:
        await bench.create()
        await bench.look()
        got = await bench.condition("InstanceProfileReady")
        assert (got.status, got.reason) == ("False", "RoleNotSupported")
        assert "spec.instanceProfile" in got.message
        await bench.change(role=None, instanceProfile="mine")
        await bench.look()
        assert (await bench.condition("InstanceProfileReady")).status == "True"
        assert (await bench.node_class()).status.instance_profile == "mine"
        iam = [call for call in bench.control.calls() if call.service == "iam"]
        assert [call for call in iam if "InstanceProfile" in call.action] == []


async def test_without_dry_runs_nothing_is_tried(aws: Aws) -> None:
    """`--disable-dry-run` takes the permissions for granted."""
    settings = msgspec.structs.replace(SETTINGS, disable_dry_run=True)
    async with node_class_bench(aws, settings) as bench:
        await bench.create()
        await bench.look()
        assert await bench.reason(VALIDATION) == ("True", VALIDATION)
        assert bench.actions("CreateLaunchTemplate", "CreateFleet", "RunInstances") == []


async def test_without_the_gate_reserved_capacity_its_condition_is_left_out(aws: Aws) -> None:
    """Ready does not depend on what is not looked at."""
    async with node_class_bench(aws, knows_reservations=False) as bench:
        await bench.create(role=ROLE)
        await bench.look()
        types = [one.type for one in (await bench.node_class()).status.conditions]
        assert "CapacityReservationsReady" not in types
        assert (await bench.condition("Ready")).status == "True"


ROWS = {
    "AMINotFound",
    "UnsupportedAlias",
    "SubnetsNotFound",
    "SecurityGroupsNotFound",
    "PlacementGroupNotFound",
    "PlacementGroupResolutionFailed",
    "InstanceProfileNotFound",
    "ClusterCIDRResolutionFailed",
    "InvalidKubeletConfiguration",
    "UnsupportedKubeletConfiguration",
    "KubeletExpressionsDisabled",
    "KubeletExpressionInvalid",
    "KubeletExpressionEvaluationFailed",
    "DependenciesNotReady",
    "TagValidationFailed",
    "CreateLaunchTemplateAuthCheckFailed",
    "CreateFleetAuthCheckFailed",
    "RunInstancesAuthCheckFailed",
    "UserDataSizeLimitExceeded",
}


def test_every_reason_has_a_test_that_is_named_after_it() -> None:
    """By an id of a table above, or by the name of a test."""
    ids = {str(row[0]).lower() for row in (*BY_SPEC, *EXPRESSIONS, *DENIED)}
    tests = " ".join(name.replace("_", "") for name in globals() if name.startswith("test_"))
    assert {row for row in ROWS if row.lower() not in ids and row.lower() not in tests} == set()
