"""CreateFleet of type `instant` chooses, refuses and repeats itself as EC2 does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.ec2.setting import ZONES, Aws, errors, launched, pools

pytestmark = pytest.mark.xdist_group("ec2")
A, B, C = ZONES
HOUR = timedelta(hours=1)


def code(failed: pytest.ExceptionInfo[ClientError]) -> str:
    """The code of an error."""
    return str(failed.value.response["Error"]["Code"])


def test_lowest_price_launches_the_cheapest_override(aws: Aws) -> None:
    """Stock moto would launch the first one."""
    aws.template()
    fleet = aws.fleet(("m5.2xlarge", A), ("m5.large", B), ("m5.xlarge", C), n_instances=2)
    assert pools(fleet) == [("m5.large", B, 2)]
    assert fleet["Instances"][0]["Lifecycle"] == "on-demand"
    assert fleet["Errors"] == []


def test_a_price_that_a_test_sets_changes_the_choice(aws: Aws) -> None:
    """Prices are by type, zone and capacity type."""
    aws.template()
    aws.control.set_price(1, instance_type="m5.2xlarge", zone=A, capacity_type="on-demand")
    fleet = aws.fleet(("m5.large", B), ("m5.2xlarge", A), ("m5.2xlarge", C))
    assert pools(fleet) == [("m5.2xlarge", A, 1)]


def test_prioritized_launches_the_lowest_priority_number(aws: Aws) -> None:
    """Whatever it costs."""
    aws.template()
    subnets = aws.subnets()
    overrides = [
        {
            "InstanceType": name,
            "SubnetId": subnets[A],
            "AvailabilityZone": A,
            "Priority": priority,
        }
        for name, priority in (("m5.large", 2.0), ("m5.2xlarge", 1.0))
    ]
    fleet = aws.fleet(*overrides, strategy="prioritized")
    assert pools(fleet) == [("m5.2xlarge", A, 1)]


def test_a_pool_without_capacity_is_an_error_and_the_next_best_is_launched(aws: Aws) -> None:
    """Only the pools that were tried are in the errors."""
    aws.template()
    aws.control.set_capacity(0, instance_type="m5.large", capacity_type="on-demand")
    fleet = aws.fleet(("m5.2xlarge", A), ("m5.xlarge", A), ("m5.large", A))
    assert pools(fleet) == [("m5.xlarge", A, 1)]
    assert errors(fleet) == [("m5.large", A, "InsufficientInstanceCapacity")]


def test_a_fleet_is_filled_from_several_pools(aws: Aws) -> None:
    """What one pool lacks comes from the next."""
    aws.template()
    aws.control.set_capacity(2, instance_type="m5.large", zone=A)
    fleet = aws.fleet(("m5.xlarge", B), ("m5.large", A), n_instances=5)
    assert pools(fleet) == [("m5.large", A, 2), ("m5.xlarge", B, 3)]
    assert errors(fleet) == [("m5.large", A, "InsufficientInstanceCapacity")]


def test_a_fleet_without_any_capacity_is_an_answer_of_errors_alone(aws: Aws) -> None:
    """The call itself goes well."""
    aws.template()
    aws.control.set_capacity(0)
    fleet = aws.fleet(("m5.large", A), ("m5.large", B), n_instances=3)
    assert launched(fleet) == []
    assert {code for _, _, code in errors(fleet)} == {"InsufficientInstanceCapacity"}
    assert len(errors(fleet)) == 2


def test_capacity_comes_back_when_an_instance_is_terminated(aws: Aws) -> None:
    """Not when it is only shutting down."""
    aws.control.set_capacity(1, instance_type="m5.large", zone=A, capacity_type="on-demand")
    instance_id = aws.launch()
    assert launched(aws.fleet(("m5.large", A))) == []
    aws.ec2.terminate_instances(InstanceIds=[instance_id])
    assert launched(aws.fleet(("m5.large", A))) == []
    aws.control.advance(HOUR)
    assert len(launched(aws.fleet(("m5.large", A)))) == 1


def test_price_capacity_optimized_prefers_a_deep_pool_to_a_cheap_shallow_one(aws: Aws) -> None:
    """Among deep pools the cheapest."""
    aws.template()
    for zone, price in ((A, 10), (B, 30), (C, 20)):
        aws.control.set_price(price, instance_type="m5.large", zone=zone, capacity_type="spot")
    aws.control.set_capacity(1, instance_type="m5.large", zone=A, capacity_type="spot")
    asked = [("m5.large", zone) for zone in ZONES]
    fleet = aws.fleet(*asked, n_instances=2, capacity_type="spot")
    assert pools(fleet) == [("m5.large", C, 2)]
    lowest = aws.fleet(*asked, n_instances=2, capacity_type="spot", strategy="lowest-price")
    assert pools(lowest) == [("m5.large", A, 1), ("m5.large", C, 1)]


@pytest.mark.parametrize(
    "refusal",
    [
        "InsufficientInstanceCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "UnfulfillableCapacity",
        "Unsupported",
        "InsufficientFreeAddressesInSubnet",
        "MaxFleetCountExceeded",
        "ReservationCapacityExceeded",
    ],
)
def test_an_override_fails_with_the_code_that_a_test_sets(aws: Aws, refusal: str) -> None:
    """The others are launched from; after so many times as were ordered it works again."""
    aws.template()
    aws.control.fail_overrides(refusal, "no luck", instance_type="m5.*", zone=A, times=1)
    fleet = aws.fleet(("m5.large", A), ("m5.large", B))
    assert errors(fleet) == [("m5.large", A, refusal)]
    assert fleet["Errors"][0]["ErrorMessage"] == "no luck"
    assert pools(fleet) == [("m5.large", B, 1)]
    assert pools(aws.fleet(("m5.large", A), ("m5.large", B))) == [("m5.large", A, 1)]


def test_the_same_client_token_gets_the_same_answer_and_no_second_fleet(aws: Aws) -> None:
    """Even when capacity has gone meanwhile."""
    aws.template()
    first = aws.fleet(("m5.large", A), n_instances=3, ClientToken="once")
    aws.control.set_capacity(0)
    again = aws.fleet(("m5.large", A), n_instances=3, ClientToken="once")
    assert again["FleetId"] == first["FleetId"]
    assert launched(again) == launched(first)
    assert len(aws.ec2.describe_instances()["Reservations"][0]["Instances"]) == 3


def test_a_client_token_with_other_parameters_is_refused(aws: Aws) -> None:
    """As EC2 does."""
    aws.template()
    aws.fleet(("m5.large", A), ClientToken="once")
    with pytest.raises(ClientError) as failed:
        aws.fleet(("m5.large", B), ClientToken="once")
    assert code(failed) == "IdempotentParameterMismatch"


def test_an_answer_that_is_lost_is_found_again_by_its_client_token(aws: Aws) -> None:
    """The call was carried out; the same call brings the same instances."""
    aws.template()
    aws.control.lose_answer("CreateFleet")
    with pytest.raises(ConnectionClosedError):
        aws.fleet(("m5.large", A), n_instances=2, ClientToken="lost")
    reservations = aws.ec2.describe_instances()["Reservations"]
    want = [one["InstanceId"] for each in reservations for one in each["Instances"]]
    assert launched(aws.fleet(("m5.large", A), n_instances=2, ClientToken="lost")) == want


def test_a_fleet_below_its_least_capacity_launches_nothing(aws: Aws) -> None:
    """MinTargetCapacity."""
    aws.template()
    aws.control.set_capacity(2, instance_type="m5.large")
    options = {"AllocationStrategy": "lowest-price", "MinTargetCapacity": 3}
    fleet = aws.fleet(("m5.large", A), n_instances=3, OnDemandOptions=options)
    assert launched(fleet) == []
    assert aws.ec2.describe_instances()["Reservations"] == []
    assert len(launched(aws.fleet(("m5.large", A), n_instances=2))) == 2


def test_a_dry_run_launches_nothing(aws: Aws) -> None:
    """It says that the request would have succeeded."""
    aws.template()
    with pytest.raises(ClientError) as failed:
        aws.fleet(("m5.large", A), DryRun=True)
    assert code(failed) == "DryRunOperation"
    assert aws.ec2.describe_instances()["Reservations"] == []


def wrong(aws: Aws, what: str) -> dict[str, Any]:
    """A launch template with one mistake."""
    mistakes: dict[str, dict[str, Any]] = {
        "an image that is not there": {"ImageId": "ami-0123456789abcdef0"},
        "an image of another architecture": {"ImageId": aws.image("arm64")},
        "a group that is not there": {"SecurityGroupIds": ["sg-0123456789abcdef0"]},
        "a profile that is not there": {"IamInstanceProfile": {"Name": "nobody"}},
        "too much user data": {"UserData": "QUFB" * 5462},
    }
    return mistakes[what]


@pytest.mark.parametrize(
    ("mistake", "want"),
    [
        ("an image that is not there", "InvalidAMIID.NotFound"),
        ("an image of another architecture", "InvalidParameterValue"),
        ("a group that is not there", "InvalidGroup.NotFound"),
        ("a profile that is not there", "InvalidParameterValue"),
        ("too much user data", "InvalidParameterValue"),
    ],
)
def test_a_mistake_in_the_template_is_an_error_of_each_override(
    aws: Aws, mistake: str, want: str
) -> None:
    """An instant fleet answers, with the error beside the override."""
    aws.template(**wrong(aws, mistake))
    fleet = aws.fleet(("m5.large", A))
    assert errors(fleet) == [("m5.large", A, want)]
    assert launched(fleet) == []


def test_a_group_of_another_vpc_is_an_error(aws: Aws) -> None:
    """Groups and subnet must be of one VPC."""
    vpc = aws.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    group = aws.ec2.create_security_group(GroupName="far", Description="far", VpcId=vpc)
    aws.template(SecurityGroupIds=[group["GroupId"]])
    assert errors(aws.fleet(("m5.large", A))) == [("m5.large", A, "InvalidParameter")]


def test_a_template_that_is_gone_is_an_error_of_each_override(aws: Aws) -> None:
    """A controller forgets the template then, and makes it again."""
    aws.template()
    aws.ec2.delete_launch_template(LaunchTemplateName="template")
    fleet = aws.fleet(("m5.large", A))
    want = "InvalidLaunchTemplateName.NotFoundException"
    assert errors(fleet) == [("m5.large", A, want)]


def test_a_subnet_without_free_addresses_is_an_error(aws: Aws) -> None:
    """Each instance takes one; the subnet says how many are left."""
    aws.template()
    subnet = aws.subnets()[A]
    aws.control.set_free_addresses(subnet, 2)
    fleet = aws.fleet(("m5.large", A), n_instances=3)
    assert pools(fleet) == [("m5.large", A, 2)]
    assert errors(fleet) == [("m5.large", A, "InsufficientFreeAddressesInSubnet")]
    (described,) = aws.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    assert described["AvailableIpAddressCount"] == 0


def test_what_is_not_built_is_refused(aws: Aws) -> None:
    """Better an error than a wrong choice."""
    aws.template()
    options = {"SingleInstanceType": True}
    with pytest.raises(ClientError) as failed:
        aws.fleet(("m5.large", A), OnDemandOptions=options)
    assert code(failed) == "UnsupportedOperation"


def test_run_instances_launches_once_for_a_client_token(aws: Aws) -> None:
    """The same instances come again."""
    asked = {
        "ImageId": aws.image(),
        "InstanceType": "m5.large",
        "MinCount": 2,
        "MaxCount": 2,
        "ClientToken": "once",
    }
    first, again = aws.ec2.run_instances(**asked), aws.ec2.run_instances(**asked)
    assert [one["InstanceId"] for one in again["Instances"]] == [
        one["InstanceId"] for one in first["Instances"]
    ]
    (reservation,) = aws.ec2.describe_instances()["Reservations"]
    assert len(reservation["Instances"]) == 2


def test_run_instances_in_a_dry_run_finds_mistakes(aws: Aws) -> None:
    """A subnet that is not there, and nothing wrong."""
    asked = {"ImageId": aws.image(), "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    with pytest.raises(ClientError) as failed:
        aws.ec2.run_instances(**asked, SubnetId="subnet-0123", DryRun=True)
    assert code(failed) == "InvalidSubnetID.NotFound"
    with pytest.raises(ClientError) as failed:
        aws.ec2.run_instances(**asked, DryRun=True)
    assert code(failed) == "DryRunOperation"
