"""The judge of the tests on EC2 denies what IAM denies."""

from __future__ import annotations

import pytest

from tests.ec2.permissions.iam import Access, is_allowed
from tests.ec2.permissions.judge import policies

EC2 = "arn:aws:ec2:us-west-2:123456789012"
OWNED = {
    "aws:ResourceTag/kubernetes.io/cluster/prod": ["owned"],
    "aws:ResourceTag/karpenter.sh/nodepool": ["default"],
}
OTHER = {**OWNED, "aws:ResourceTag/kubernetes.io/cluster/prod": ["shared"]}
PROFILE = "arn:aws:iam::123456789012:instance-profile/p"
PASSED = {"iam:PassedToService": ["ec2.amazonaws.com"]}
ROLE = "arn:aws:iam::123456789012:role"
HERE = {"aws:RequestedRegion": ["us-west-2"]}
REQUESTED = {
    "aws:RequestTag/kubernetes.io/cluster/prod": ["owned"],
    "aws:RequestTag/eks:eks-cluster-name": ["prod"],
    "aws:RequestTag/karpenter.sh/nodepool": ["default"],
}


@pytest.mark.parametrize(
    ("access", "want"),
    [
        (Access("ec2:TerminateInstances", f"{EC2}:instance/i-1", OWNED), True),
        (Access("ec2:TerminateInstances", f"{EC2}:instance/i-1", OTHER), False),
        (Access("ec2:TerminateInstances", f"{EC2}:instance/i-1"), False),
        (Access("ec2:TerminateInstances", f"{EC2}:volume/v-1", OWNED), False),
        (Access("ec2:StopInstances", f"{EC2}:instance/i-1", OWNED), False),
        (Access("ec2:DescribeSubnets", "*", HERE), True),
        (Access("ec2:DescribeSubnets", "*", {"aws:RequestedRegion": ["eu-west-1"]}), False),
        (Access("ec2:CreateFleet", f"{EC2}:fleet/new", REQUESTED), True),
        (Access("ec2:CreateFleet", f"{EC2}:fleet/new", {**REQUESTED, **OTHER}), True),
        (Access("ec2:CreateFleet", f"{EC2}:fleet/new"), False),
        (Access("ec2:CreateTags", f"{EC2}:instance/new", REQUESTED), False),
        (
            Access(
                "ec2:CreateTags",
                f"{EC2}:instance/new",
                {**REQUESTED, "ec2:CreateAction": ["CreateFleet"]},
            ),
            True,
        ),
        (
            Access("ec2:CreateTags", f"{EC2}:instance/i", {**OWNED, "aws:TagKeys": ["Name"]}),
            True,
        ),
        (
            Access("ec2:CreateTags", f"{EC2}:instance/i", {**OWNED, "aws:TagKeys": ["team"]}),
            False,
        ),
        (Access("iam:PassRole", f"{ROLE}/KarpenterNodeRole-prod", PASSED), True),
        (Access("iam:PassRole", f"{ROLE}/admin", PASSED), False),
        (Access("iam:PassRole", f"{ROLE}/KarpenterNodeRole-prod"), False),
        (Access("iam:DeleteInstanceProfile", PROFILE, OWNED), False),
        (Access("sqs:DeleteMessage", "arn:aws:sqs:us-west-2:123456789012:interruptions"), True),
        (Access("sqs:DeleteMessage", "arn:aws:sqs:us-west-2:123456789012:others"), False),
    ],
    ids=[
        "an instance of the cluster",
        "an instance that another owns",
        "an instance without tags",
        "a volume",
        "stopping instances",
        "reading the region",
        "reading another region",
        "a fleet for the cluster",
        "a fleet for the cluster beside others",
        "a fleet without tags",
        "tags of any instance",
        "tags of an instance that is made",
        "the name of an instance",
        "another tag of an instance",
        "the node role",
        "another role",
        "the node role for another service",
        "a profile without the tags of one",
        "the queue",
        "another queue",
    ],
)
def test_the_policies_allow_what_belongs_to_the_cluster(access: Access, want: object) -> None:
    """And nothing else."""
    assert is_allowed(access, policies("prod")) is want


def test_a_denial_wins() -> None:
    """Over a statement that allows the same."""
    allowing = {"Effect": "Allow", "Action": ["a:B"], "Resource": ["*"]}
    denying = {**allowing, "Effect": "Deny"}
    assert is_allowed(Access("a:B"), [{"Statement": [allowing]}])
    assert not is_allowed(Access("a:B"), [{"Statement": [allowing, denying]}])


def test_an_operator_that_the_judge_does_not_know_is_no_permission() -> None:
    """The test ends instead."""
    statement = {
        "Effect": "Allow",
        "Action": ["a:B"],
        "Resource": ["*"],
        "Condition": {"NumericLessThan": {"x": ["1"]}},
    }
    with pytest.raises(AssertionError, match="NumericLessThan"):
        is_allowed(Access("a:B"), [{"Statement": [statement]}])
