"""Lists the permissions of the controller in AWS: every policy is rendered from this table.

`{partition}`, `{region}`, `{account}`, `{cluster}`, `{queue}` and `{node_role}` are names that each
template format writes in its own way.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import labels
from dovetail.providers.aws.launching import keys


class PolicyCondition(msgspec.Struct, frozen=True):
    """A condition of a permission: an operator of IAM, a key of the request, and its values."""

    operator: str
    key: str
    values: tuple[str, ...]


class Permission(msgspec.Struct, frozen=True):
    """A statement of a policy. `policy` names the policy that has it, `name` is its Sid."""

    policy: str
    name: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[PolicyCondition, ...] = ()


INSTANCES: Final = "Instances"
PROFILES: Final = "InstanceProfiles"
DISCOVERY: Final = "Discovery"
INTERRUPTIONS: Final = "Interruptions"
POLICIES: Final = (INSTANCES, PROFILES, DISCOVERY, INTERRUPTIONS)
_OWNED: Final = keys.cluster_owned("{cluster}")
_EC2: Final = "arn:{partition}:ec2:{region}:*:"
_IMAGES: Final = "arn:{partition}:ec2:{region}::"  # images and snapshots have no account
_PROFILE: Final = "arn:{partition}:iam::{account}:instance-profile/*"
_ROLE: Final = "arn:{partition}:iam::{account}:role/"
_CLUSTER: Final = "arn:{partition}:eks:{region}:{account}:cluster/{cluster}"
_LAUNCH: Final = ("ec2:RunInstances", "ec2:CreateFleet")
_CREATED: Final = tuple(
    f"{_EC2}{resource}/*"
    for resource in (
        "fleet",
        "instance",
        "volume",
        "network-interface",
        "launch-template",
        "spot-instances-request",
    )
)


def _equals(key: str, *values: str) -> PolicyCondition:
    return PolicyCondition("StringEquals", key, values)


def _is_set(key: str) -> PolicyCondition:
    return PolicyCondition("StringLike", key, ("*",))


_TO_EC2: Final = _equals("iam:PassedToService", "ec2.amazonaws.com", "ec2.amazonaws.com.cn")
# Of what exists: it belongs to the cluster and to a NodePool, or to a node class.
_OF_CLUSTER: Final = (
    _equals(f"aws:ResourceTag/{_OWNED}", "owned"),
    _is_set(f"aws:ResourceTag/{labels.NODE_POOL}"),
)
_PROFILE_OF_CLUSTER: Final = (
    _equals(f"aws:ResourceTag/{_OWNED}", "owned"),
    _equals(f"aws:ResourceTag/{labels.REGION}", "{region}"),
    _is_set(f"aws:ResourceTag/{keys.NODE_CLASS_TAG}"),
)
# Of what is created: the request tags it so.
_FOR_CLUSTER: Final = (
    _equals(f"aws:RequestTag/{_OWNED}", "owned"),
    _equals(f"aws:RequestTag/{keys.CLUSTER_TAG}", "{cluster}"),
    _is_set(f"aws:RequestTag/{labels.NODE_POOL}"),
)
_PROFILE_FOR_CLUSTER: Final = (
    _equals(f"aws:RequestTag/{_OWNED}", "owned"),
    _equals(f"aws:RequestTag/{keys.CLUSTER_TAG}", "{cluster}"),
    _equals(f"aws:RequestTag/{labels.REGION}", "{region}"),
    _is_set(f"aws:RequestTag/{keys.NODE_CLASS_TAG}"),
)

_ON_INSTANCES: Final = (
    Permission(
        INSTANCES,
        "LaunchWithResourcesOfTheAccount",
        _LAUNCH,
        (
            f"{_IMAGES}image/*",
            f"{_IMAGES}snapshot/*",
            *(
                f"{_EC2}{resource}/*"
                for resource in ("subnet", "security-group", "capacity-reservation")
            ),
            f"{_EC2}placement-group/*",
        ),
    ),
    Permission(
        INSTANCES,
        "LaunchFromTemplatesOfTheCluster",
        _LAUNCH,
        (f"{_EC2}launch-template/*",),
        _OF_CLUSTER,
    ),
    Permission(
        INSTANCES,
        "CreateForTheCluster",
        (*_LAUNCH, "ec2:CreateLaunchTemplate"),
        _CREATED,
        _FOR_CLUSTER,
    ),
    Permission(
        INSTANCES,
        "TagWhileCreating",
        ("ec2:CreateTags",),
        _CREATED,
        (
            *_FOR_CLUSTER,
            _equals("ec2:CreateAction", "RunInstances", "CreateFleet", "CreateLaunchTemplate"),
        ),
    ),
    Permission(
        INSTANCES,
        "TagInstancesOfTheCluster",
        ("ec2:CreateTags",),
        (f"{_EC2}instance/*",),
        (
            *_OF_CLUSTER,
            PolicyCondition(
                "StringEqualsIfExists", f"aws:RequestTag/{keys.CLUSTER_TAG}", ("{cluster}",)
            ),
            PolicyCondition(
                "ForAllValues:StringEquals",
                "aws:TagKeys",
                (keys.CLUSTER_TAG, keys.NODE_CLAIM_TAG, keys.NAME_TAG),
            ),
        ),
    ),
    Permission(
        INSTANCES,
        "DeleteOfTheCluster",
        ("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"),
        (f"{_EC2}instance/*", f"{_EC2}launch-template/*"),
        _OF_CLUSTER,
    ),
)
_ON_PROFILES: Final = (
    Permission(
        PROFILES,
        "PassTheNodeRole",
        ("iam:PassRole",),
        (f"{_ROLE}{{node_role}}",),
        (_TO_EC2,),
    ),
    Permission(
        PROFILES,
        "CreateProfilesForTheCluster",
        ("iam:CreateInstanceProfile",),
        (_PROFILE,),
        _PROFILE_FOR_CLUSTER,
    ),
    Permission(
        PROFILES,
        "TagProfilesOfTheCluster",
        ("iam:TagInstanceProfile",),
        (_PROFILE,),
        (*_PROFILE_OF_CLUSTER, *_PROFILE_FOR_CLUSTER),
    ),
    Permission(
        PROFILES,
        "ChangeProfilesOfTheCluster",
        (
            "iam:AddRoleToInstanceProfile",
            "iam:RemoveRoleFromInstanceProfile",
            "iam:DeleteInstanceProfile",
        ),
        (_PROFILE,),
        _PROFILE_OF_CLUSTER,
    ),
    Permission(PROFILES, "ReadProfiles", ("iam:GetInstanceProfile",), (_PROFILE,)),
    Permission(PROFILES, "ListProfiles", ("iam:ListInstanceProfiles",), ("*",)),
)
_ON_DISCOVERY: Final = (
    Permission(
        DISCOVERY,
        "ReadTheRegion",
        (
            "ec2:DescribeCapacityReservations",
            "ec2:DescribeImages",
            "ec2:DescribeInstances",
            "ec2:DescribeInstanceStatus",
            "ec2:DescribeInstanceTypeOfferings",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeLaunchTemplates",
            "ec2:DescribePlacementGroups",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSpotPriceHistory",
            "ec2:DescribeSubnets",
        ),
        ("*",),
        (_equals("aws:RequestedRegion", "{region}"),),
    ),
    Permission(
        DISCOVERY,
        "ReadImageParameters",
        ("ssm:GetParameter",),
        ("arn:{partition}:ssm:{region}::parameter/aws/service/*",),
    ),
    Permission(DISCOVERY, "ReadPrices", ("pricing:GetProducts",), ("*",)),
    Permission(DISCOVERY, "ReadTheCluster", ("eks:DescribeCluster",), (_CLUSTER,)),
)
_ON_INTERRUPTIONS: Final = (
    Permission(
        INTERRUPTIONS,
        "ReadTheQueue",
        ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"),
        ("arn:{partition}:sqs:{region}:{account}:{queue}",),
    ),
    Permission(
        INTERRUPTIONS,
        "ReadZonalShifts",
        ("arc-zonal-shift:GetManagedResource",),
        ("*",),
        (_equals("arc-zonal-shift:ResourceIdentifier", _CLUSTER),),
    ),
)
PERMISSIONS: Final = (*_ON_INSTANCES, *_ON_PROFILES, *_ON_DISCOVERY, *_ON_INTERRUPTIONS)

# Operations whose permission has another name.
PERMISSION_BY_OPERATION: Final = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
# Permissions that IAM also asks for when an operation is called.
OPERATION_BY_PERMISSION: Final = {
    "ec2:CreateTags": ("ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"),
    "ec2:RunInstances": ("ec2:CreateFleet",),
    "iam:PassRole": ("ec2:CreateFleet", "ec2:RunInstances", "iam:AddRoleToInstanceProfile"),
    "iam:TagInstanceProfile": ("iam:CreateInstanceProfile",),
}


def optional_permissions(
    *, image_parameters: tuple[str, ...], node_roles: tuple[str, ...]
) -> tuple[Permission, ...]:
    """Permissions for SSM parameters of the account and for further roles of nodes, if there are
    any that EC2NodeClasses name.
    """
    rows: list[Permission] = []
    if image_parameters:
        start = "arn:{partition}:ssm:{region}:{account}:parameter"
        arns = tuple(f"{start}{path}" for path in image_parameters)
        rows.append(Permission(DISCOVERY, "ReadOwnImageParameters", ("ssm:GetParameter",), arns))
    if node_roles:
        arns = tuple(f"{_ROLE}{name}" for name in node_roles)
        row = Permission(PROFILES, "PassFurtherNodeRoles", ("iam:PassRole",), arns, (_TO_EC2,))
        rows.append(row)
    return tuple(rows)
