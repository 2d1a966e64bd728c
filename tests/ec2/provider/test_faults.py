"""Calls that fail: an error of the cloud, never a wrong answer, and afterwards all is as before."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta

import pytest

from dovetail import labels
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.model.requirements import requirement
from dovetail.providers.aws.calls import CallFailedError
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import AwsCloud, aws_cloud
from tests.ec2.setting import Aws

pytestmark = pytest.mark.xdist_group("ec2")
LARGE = requirement(labels.INSTANCE_TYPE, "In", ["m5.large"])
ON_DEMAND = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
ACTIONS = (
    "DescribeInstances",
    "DescribeSubnets",
    "DescribeLaunchTemplates",
    "DescribeCluster",
    "DescribeCapacityReservations",
    "DescribePlacementGroups",
    "CreateFleet",
    "CreateLaunchTemplate",
    "DeleteLaunchTemplate",
    "TerminateInstances",
    "CreateTags",
)


async def with_everything(cloud: AwsCloud) -> None:
    """Let the class have a reservation and a placement group, so that every call is made."""
    reservation = {
        "id": cloud.control.add_reservation("m5.large", "us-west-2b", 1),
        "instanceType": "m5.large",
        "availabilityZone": "us-west-2b",
        "ownerID": "123456789012",
        "instanceMatchCriteria": "targeted",
        "reservationType": "default",
        "state": "active",
    }
    await cloud.set_status(capacityReservations=[{**reservation}])
    cloud.aws.ec2.create_placement_group(GroupName="racks", Strategy="cluster")
    await cloud.set_spec(placementGroupSelector={"name": "racks"})


async def failure(work: Awaitable[object]) -> CloudError | CallFailedError | None:
    """How the work failed; any other error is a fault of our own."""
    try:
        await work
    except (CloudError, CallFailedError) as error:
        return error
    return None


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_answer_that_is_none_loses_and_doubles_nothing(
    control: Ec2Control, aws: Aws, action: str
) -> None:
    """A list is not taken for empty, an instance not for gone, and nothing is launched again."""
    async with aws_cloud(control, aws) as cloud:
        await with_everything(cloud)
        first = await cloud.provider.create(await cloud.claim("first", LARGE, ON_DEMAND))
        provider = cloud.restarted()
        control.garble(action, times=None)
        claim = await cloud.claim("second", LARGE, ON_DEMAND)
        cloud.advance(timedelta(minutes=2))
        failures = [
            await failure(work)
            for work in (
                provider.create(claim),
                provider.list(),
                provider.get(first.provider_id),
                provider.instance_types(cloud.pool),
                provider.launcher.templates.prefill(),
                cloud.provider.launcher.templates.sweep(),
            )
        ]
        assert not any(isinstance(error, NodeClaimNotFoundError) for error in failures)
        control.clear_faults()
        cloud.advance(timedelta(minutes=2))
        await provider.create(await cloud.read_claim("second"))
        assert cloud.n_instances() == 2
        assert len(await provider.list()) == 2
        control.garble(action, times=None)
        gone = await failure(provider.delete(first.provider_id))
        assert not isinstance(gone, NodeClaimNotFoundError)
