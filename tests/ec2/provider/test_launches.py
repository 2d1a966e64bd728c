"""What is asked of EC2 for a claim, and what its errors lead to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dovetail import labels
from dovetail.cloud.errors import (
    CreateError,
    InsufficientCapacityError,
    NodeClassNotReadyError,
    SoldOut,
)
from dovetail.cloud.overlays import Overlay, PooledTypes, apply_to_pools, price_change
from dovetail.model.requirements import requirement
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.failures import UNFULFILLABLE
from tests.ec2.control import Ec2Control
from tests.ec2.provider.cloud import AwsCloud, aws_cloud, ready
from tests.ec2.setting import ZONES, Aws

pytestmark = pytest.mark.xdist_group("ec2")
A, B, C = ZONES
M5 = requirement(labels.INSTANCE_TYPE, "In", ["m5.large", "m5.xlarge"])
LARGE = requirement(labels.INSTANCE_TYPE, "In", ["m5.large"])
IN_A = requirement(labels.ZONE, "In", [A])
ON_DEMAND = requirement(labels.CAPACITY_TYPE, "In", [labels.ON_DEMAND])
SPOT = requirement(labels.CAPACITY_TYPE, "In", [labels.SPOT])


def requests(control: Ec2Control) -> list[dict[str, Any]]:
    """The fleet requests that were sent."""
    return [dict(call.parameters) for call in control.calls("CreateFleet")]


def overrides(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Type and zone of each override."""
    return [
        (one["InstanceType"], one["AvailabilityZone"])
        for config in request["LaunchTemplateConfigs"]
        for one in config["Overrides"]
    ]


async def test_a_fleet_request_asks_for_all_listed_types_in_all_zones(
    control: Ec2Control, aws: Aws
) -> None:
    """By price, each in the subnet of its zone, with tags on all that is made."""
    async with aws_cloud(control, aws) as cloud:
        claim = await cloud.claim("c", M5, ON_DEMAND, requests={"cpu": 1500})
        await cloud.provider.create(claim)
        (request,) = requests(control)
        assert sorted(overrides(request)) == sorted(
            (name, zone) for name in ("m5.large", "m5.xlarge") for zone in ZONES
        )
        assert request["Type"] == "instant"
        assert request["OnDemandOptions"] == {"AllocationStrategy": "lowest-price"}
        assert request["TargetCapacitySpecification"] == {
            "TotalTargetCapacity": 1,
            "DefaultTargetCapacityType": "on-demand",
        }
        by_resource = {
            one["ResourceType"]: {tag["Key"]: tag["Value"] for tag in one["Tags"]}
            for one in request["TagSpecifications"]
        }
        assert by_resource.keys() == {"fleet", "instance", "volume"}
        assert by_resource["instance"][keys.TOKEN_TAG] == request["ClientToken"]
        assert by_resource["instance"][labels.NODE_POOL] == "default"
        subnets = aws.subnets()
        for config in request["LaunchTemplateConfigs"]:
            for one in config["Overrides"]:
                assert one["SubnetId"] == subnets[one["AvailabilityZone"]]
                assert one["Priority"] > 0


async def test_types_that_do_not_hold_the_requests_are_not_asked_for(
    control: Ec2Control, aws: Aws
) -> None:
    """Although the claim lists them."""
    async with aws_cloud(control, aws) as cloud:
        await cloud.provider.create(await cloud.claim("c", M5, IN_A, requests={"cpu": 3000}))
        (request,) = requests(control)
        assert overrides(request) == [("m5.xlarge", A)]
        assert request["SpotOptions"] == {"AllocationStrategy": "price-capacity-optimized"}


async def test_prices_of_an_overlay_let_ec2_go_by_priority(control: Ec2Control, aws: Aws) -> None:
    """EC2 does not know them."""
    async with aws_cloud(control, aws) as cloud:
        marks = {labels.PRICE_OVERLAY_APPLIED: "true"}
        await cloud.provider.create(await cloud.claim("a", LARGE, SPOT, annotations=marks))
        await cloud.provider.create(await cloud.claim("b", LARGE, ON_DEMAND, annotations=marks))
        spot, on_demand = requests(control)
        assert spot["SpotOptions"] == {"AllocationStrategy": "capacity-optimized-prioritized"}
        assert on_demand["OnDemandOptions"] == {"AllocationStrategy": "prioritized"}


async def test_the_price_of_an_overlay_is_the_priority_of_an_override(
    control: Ec2Control, aws: Aws
) -> None:
    """An overlay makes the dearer type the cheaper one; others keep their price."""
    async with aws_cloud(control, aws) as cloud:
        listed = await cloud.provider.instance_types(cloud.pool)
        xlarge = requirement(labels.INSTANCE_TYPE, "In", ["m5.xlarge"])
        overlay = Overlay("cheap", requirements=(xlarge,), price=price_change("0.001", ""))
        planned, _ = apply_to_pools([PooledTypes(cloud.pool, tuple(listed))], [overlay])
        provider = cloud.restarted(planned_types=planned.__getitem__)
        marks = {labels.PRICE_OVERLAY_APPLIED: "true"}
        await provider.create(await cloud.claim("a", M5, ON_DEMAND, annotations=marks))
        await provider.create(await cloud.claim("b", M5, ON_DEMAND))
        overlaid, plain = (
            {
                one["InstanceType"]: one["Priority"]
                for config in request["LaunchTemplateConfigs"]
                for one in config["Overrides"]
            }
            for request in requests(control)
        )
        assert overlaid == {"m5.xlarge": 0.001, "m5.large": plain["m5.large"]}
        assert plain["m5.xlarge"] > plain["m5.large"] > 0.001


async def test_one_subnet_of_a_zone_is_used_and_it_is_the_one_with_most_addresses(
    control: Ec2Control, aws: Aws
) -> None:
    """What was launched before counts."""
    async with aws_cloud(control, aws) as cloud:
        (vpc,) = aws.ec2.describe_vpcs()["Vpcs"]
        made = aws.ec2.create_subnet(
            VpcId=vpc["VpcId"], CidrBlock="172.31.64.0/20", AvailabilityZone=A
        )
        first, second = aws.subnets()[A], str(made["Subnet"]["SubnetId"])
        (first,) = {
            one["SubnetId"]
            for one in aws.ec2.describe_subnets()["Subnets"]
            if one["AvailabilityZone"] == A
        } - {second}
        control.set_free_addresses(first, 100)
        control.set_free_addresses(second, 90)
        await cloud.set_status()
        for number in range(2):
            await cloud.provider.create(await cloud.claim(f"c-{number}", LARGE, IN_A))
        used = [
            one["LaunchTemplateConfigs"][0]["Overrides"][0]["SubnetId"] for one in requests(control)
        ]
        assert used == [first, second]


@pytest.mark.parametrize("code", sorted(UNFULFILLABLE - {"InsufficientFreeAddressesInSubnet"}))
async def test_an_unfulfillable_error_is_insufficient_capacity_and_remembered(
    control: Ec2Control, aws: Aws, code: str
) -> None:
    """For three minutes nobody asks for the same."""
    async with aws_cloud(control, aws) as cloud:
        control.fail_overrides(code, "no", instance_type="m5.large")
        with pytest.raises(InsufficientCapacityError) as failed:
            await cloud.provider.create(await cloud.claim("a", LARGE, IN_A, ON_DEMAND))
        assert failed.value.sold_out == (SoldOut("m5.large", A, labels.ON_DEMAND),)
        assert await available(cloud) == {B, C}
        control.clear_faults()
        cloud.advance(timedelta(minutes=3))
        assert await available(cloud) == {A, B, C}


async def available(cloud: AwsCloud) -> set[str]:
    """The zones in which m5.large is available on demand."""
    types = await cloud.provider.instance_types(cloud.pool)
    (held,) = [one for one in types if one.name == "m5.large"]
    return {
        at.zone for at in held.offerings if at.is_available and at.capacity_type == labels.ON_DEMAND
    }


async def test_insufficient_free_addresses_in_subnet_close_the_zone_for_the_class(
    control: Ec2Control, aws: Aws
) -> None:
    """Its only subnet there is left out."""
    async with aws_cloud(control, aws) as cloud:
        control.set_free_addresses(aws.subnets()[A], 0)
        with pytest.raises(InsufficientCapacityError):
            await cloud.provider.create(await cloud.claim("a", LARGE, IN_A, ON_DEMAND))
        assert await available(cloud) == {B, C}


async def test_spot_without_its_service_linked_role_is_left_out_as_a_whole(
    control: Ec2Control, aws: Aws
) -> None:
    """The claim says why."""
    async with aws_cloud(control, aws) as cloud:
        control.fail_overrides("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "no role")
        with pytest.raises(CreateError) as failed:
            await cloud.provider.create(await cloud.claim("a", LARGE, SPOT))
        assert failed.value.condition_reason == "SpotSLRCreationFailed"
        types = await cloud.provider.instance_types(cloud.pool)
        left = {at.capacity_type for one in types for at in one.offerings if at.is_available}
        assert left == {labels.ON_DEMAND}


@pytest.mark.parametrize(
    ("code", "message", "want"),
    [
        ("InvalidAMIID.NotFound", "The image id does not exist", "AMINotFound"),
        ("InvalidAMIID.Malformed", "Invalid id", "InvalidAMIID"),
        ("UnauthorizedOperation", "You are not authorized", "Unauthorized"),
        ("PendingVerification", "Your account is being verified", "AccountPendingVerification"),
        ("SomethingElse", "of another sort", "LaunchFailed"),
    ],
)
async def test_another_error_of_an_override_is_an_error_of_the_launch(
    control: Ec2Control, aws: Aws, code: str, message: str, want: str
) -> None:
    """The claim stays, and states the reason."""
    async with aws_cloud(control, aws) as cloud:
        control.fail_overrides(code, message)
        with pytest.raises(CreateError) as failed:
            await cloud.provider.create(await cloud.claim("a", LARGE, ON_DEMAND))
        assert failed.value.condition_reason == want


async def test_a_refused_call_is_an_error_of_the_launch_and_the_next_one_is_new(
    control: Ec2Control, aws: Aws
) -> None:
    """Once permission is there, the claim is launched, with another token."""
    async with aws_cloud(control, aws) as cloud:
        control.fail_calls("CreateFleet", "UnauthorizedOperation", "no", status=403)
        claim = await cloud.claim("a", LARGE, ON_DEMAND)
        with pytest.raises(CreateError) as failed:
            await cloud.provider.create(claim)
        assert failed.value.condition_reason == "Unauthorized"
        await cloud.provider.create(await cloud.read_claim("a"))
        assert len({one["ClientToken"] for one in requests(control)}) == 2
        assert cloud.n_instances() == 1


async def test_a_throttled_call_is_repeated_with_the_same_token(
    control: Ec2Control, aws: Aws
) -> None:
    """RequestLimitExceeded tells nothing of the request."""
    async with aws_cloud(control, aws) as cloud:
        control.throttle("CreateFleet", times=3)
        with pytest.raises(CreateError) as failed:
            await cloud.provider.create(await cloud.claim("a", LARGE, ON_DEMAND))
        assert failed.value.condition_reason == "RequestLimitExceeded"
        await cloud.provider.create(await cloud.read_claim("a"))
        assert len({one["ClientToken"] for one in requests(control)}) == 1
        assert cloud.n_instances() == 1


async def test_a_launch_template_that_is_not_found_is_made_again_once(
    control: Ec2Control, aws: Aws
) -> None:
    """Somebody deleted it between two launches."""
    async with aws_cloud(control, aws) as cloud:
        await cloud.provider.create(await cloud.claim("a", LARGE, ON_DEMAND))
        (template,) = aws.ec2.describe_launch_templates()["LaunchTemplates"]
        aws.ec2.delete_launch_template(LaunchTemplateName=template["LaunchTemplateName"])
        await cloud.provider.create(await cloud.claim("b", LARGE, ON_DEMAND))
        assert len(control.calls("CreateFleet")) == 3
        assert cloud.n_instances() == 2
        control.fail_overrides("InvalidLaunchTemplateName.NotFoundException", "gone")
        with pytest.raises(CreateError) as failed:
            await cloud.provider.create(await cloud.claim("c", LARGE, ON_DEMAND))
        assert failed.value.condition_reason == "LaunchTemplateNotFound"
        assert len(control.calls("CreateFleet")) == 5


async def test_a_template_is_deleted_a_minute_after_its_last_use(
    control: Ec2Control, aws: Aws
) -> None:
    """Also one that an earlier process left behind."""
    async with aws_cloud(control, aws) as cloud:
        await cloud.provider.create(await cloud.claim("a", LARGE, ON_DEMAND))
        later = cloud.restarted().launcher.templates
        await later.prefill()
        cloud.advance(timedelta(seconds=59))
        await later.sweep()
        assert len(aws.ec2.describe_launch_templates()["LaunchTemplates"]) == 1
        cloud.advance(timedelta(seconds=1))
        await later.sweep()
        assert aws.ec2.describe_launch_templates()["LaunchTemplates"] == []
        await cloud.provider.launcher.templates.sweep()  # it is gone, which is no error


async def test_a_node_class_that_is_not_ready_launches_nothing(
    control: Ec2Control, aws: Aws
) -> None:
    """Each state has its error."""
    async with aws_cloud(control, aws) as cloud:
        claim = await cloud.claim("a", LARGE)
        for condition, error in (
            (ready("False"), NodeClassNotReadyError),
            (ready("Unknown"), CreateError),
            (ready("True", generation=7), NodeClassNotReadyError),
        ):
            await cloud.set_status(conditions=[condition])
            with pytest.raises(error):
                await cloud.restarted().create(claim)
        await cloud.set_status(conditions=[])
        with pytest.raises(CreateError) as failed:
            await cloud.restarted().create(claim)
        assert failed.value.condition_reason == "NodeClassReadinessUnknown"
        assert cloud.n_instances() == 0


async def test_a_reservation_is_used_first_and_counted(control: Ec2Control, aws: Aws) -> None:
    """When it is used up, on-demand is launched, which uses no reservation."""
    async with aws_cloud(control, aws) as cloud:
        reservation = control.add_reservation("m5.large", B, 1)
        await cloud.set_status(
            capacityReservations=[
                {
                    "id": reservation,
                    "instanceType": "m5.large",
                    "availabilityZone": B,
                    "ownerID": "123456789012",
                    "instanceMatchCriteria": "targeted",
                    "reservationType": "default",
                    "state": "active",
                }
            ]
        )
        provider = cloud.restarted()
        anything = requirement(labels.CAPACITY_TYPE, "In", [labels.RESERVED, labels.ON_DEMAND])
        first = await provider.create(await cloud.claim("a", LARGE, anything))
        second = await provider.create(await cloud.claim("b", LARGE, anything))
        assert first.labels[labels.CAPACITY_TYPE] == labels.RESERVED
        assert first.labels[labels.RESERVATION_ID] == reservation
        assert first.labels[labels.ZONE] == B
        assert second.labels[labels.CAPACITY_TYPE] == labels.ON_DEMAND
        listed = {one.provider_id: one.labels for one in await cloud.restarted().list()}
        assert listed[first.provider_id][labels.RESERVATION_ID] == reservation


async def test_pools_ask_for_types_again_once_an_offering_may_be_tried_again(
    control: Ec2Control, aws: Aws
) -> None:
    """After three minutes, and only if they were given types without it."""
    changes: list[None] = []
    async with aws_cloud(control, aws) as cloud:
        provider = cloud.restarted(types_changed=lambda: changes.append(None))
        await cloud.sell_out(SoldOut("m5.large", A, labels.ON_DEMAND))
        with pytest.raises(InsufficientCapacityError):
            await provider.create(await cloud.claim("c", LARGE, ON_DEMAND, IN_A))
        await provider.catalogue.offer_again()
        assert changes == []
        for n_seconds, n_changes in ((0, 0), (170, 0), (10, 1), (10, 1)):
            if not n_seconds:
                types = {one.name: one for one in await provider.instance_types(cloud.pool)}
                left_out = [one for one in types["m5.large"].offerings if not one.is_available]
                assert [(one.zone, one.capacity_type) for one in left_out] == [(A, "on-demand")]
            cloud.clock.advance(timedelta(seconds=n_seconds))
            await provider.catalogue.offer_again()
            assert len(changes) == n_changes, n_seconds
