"""Checks of a node class that need no call, and what a verdict depends on."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import api
from dovetail.providers.aws.node_class.types import (
    EC2NodeClass,
    EC2NodeClassSpec,
    EC2NodeClassStatus,
    Subnet,
)
from dovetail.providers.aws.status.validating.checks import tag_problem, verdict_key

META = api.ObjectMeta(name="default", uid="1")
SPEC = EC2NodeClassSpec(role="a", tags={"team": "a"})
STATUS = EC2NodeClassStatus(subnets=(Subnet(id="subnet-1"), Subnet(id="subnet-2")))
USUAL = EC2NodeClass(metadata=META, spec=SPEC, status=STATUS)


@pytest.mark.parametrize(
    "key",
    [
        "eks:eks-cluster-name",
        "kubernetes.io/cluster/other",
        "karpenter.sh/nodepool",
        "karpenter.sh/nodeclaim",
        "karpenter.k8s.aws/ec2nodeclass",
    ],
)
def test_tags_that_tell_the_owner_are_not_for_users(key: str) -> None:
    """The message names each."""
    spec = EC2NodeClassSpec(tags={"team": "a", key: "x"})
    problem = tag_problem(EC2NodeClass(spec=spec))
    assert problem is not None
    assert key in problem.message
    assert tag_problem(USUAL) is None


CHANGED = {
    "another spec": msgspec.structs.replace(USUAL, spec=EC2NodeClassSpec(role="b")),
    "another annotation": msgspec.structs.replace(
        USUAL, metadata=msgspec.structs.replace(META, annotations={"a": "b"})
    ),
    "another subnet": msgspec.structs.replace(
        USUAL, status=EC2NodeClassStatus(subnets=(Subnet(id="subnet-3"),))
    ),
    "another profile": msgspec.structs.replace(
        USUAL, status=msgspec.structs.replace(STATUS, instance_profile="p")
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_verdict_does_not_outlast_a_change_of_what_it_depends_on(change: str) -> None:
    """It is worked out anew."""
    assert verdict_key(CHANGED[change]) != verdict_key(USUAL)


def test_a_verdict_outlasts_another_order_of_the_subnets() -> None:
    """Which follows from their free addresses and changes all the time."""
    status = EC2NodeClassStatus(subnets=tuple(reversed(STATUS.subnets)))
    other = msgspec.structs.replace(USUAL, status=status)
    assert verdict_key(other) == verdict_key(USUAL)
