"""What a controller looks up: types, prices, images, subnets, reservations, groups, the cluster."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from dovetail.providers.aws.catalogue import offline as catalogue
from dovetail.providers.aws.catalogue.machines import packaged_prices
from dovetail.providers.aws.catalogue.machines import packaged_types as rows
from tests.ec2.setting import ZONES, Aws, errors, launched

pytestmark = pytest.mark.xdist_group("ec2")
A, B, C = ZONES
LIST_PRICE = [
    ("regionCode", "us-west-2"),
    ("preInstalledSw", "NA"),
    ("operatingSystem", "Linux"),
    ("capacitystatus", "Used"),
    ("marketoption", "OnDemand"),
    ("tenancy", "Shared"),
    ("productFamily", "Compute Instance"),
]


def all_pages(client: Any, operation: str, key: str, **asked: Any) -> list[Any]:
    """Every item of every page."""
    pages = client.get_paginator(operation).paginate(**asked)
    return [item for page in pages for item in page[key]]


def test_instance_types_are_those_of_the_packaged_catalogue(aws: Aws) -> None:
    """All of them, with the same figures."""
    types = all_pages(aws.ec2, "describe_instance_types", "InstanceTypes")
    got = {
        one["InstanceType"]: (
            one["VCpuInfo"]["DefaultVCpus"],
            one["MemoryInfo"]["SizeInMiB"],
            "spot" in one["SupportedUsageClasses"],
        )
        for one in types
    }
    assert got == {row.name: (row.vcpus, row.memory_mib, row.has_spot) for row in rows()}


def test_instance_types_are_filtered_by_architecture(aws: Aws) -> None:
    """As a controller asks."""
    wanted = [{"Name": "processor-info.supported-architecture", "Values": ["arm64"]}]
    types = all_pages(aws.ec2, "describe_instance_types", "InstanceTypes", Filters=wanted)
    assert {one["InstanceType"] for one in types} == {
        row.name for row in rows() if row.arch == "arm64"
    }


def test_a_type_can_be_withdrawn_from_a_zone(aws: Aws) -> None:
    """It is not listed there, has no spot price there, and cannot be launched there."""
    aws.template()
    aws.control.withdraw("m5.large", A)
    wanted = [{"Name": "instance-type", "Values": ["m5.large"]}]
    asked = {"LocationType": "availability-zone", "Filters": wanted}
    offered = aws.ec2.describe_instance_type_offerings(**asked)["InstanceTypeOfferings"]
    assert [one["Location"] for one in offered] == [B, C]
    prices = aws.ec2.describe_spot_price_history(InstanceTypes=["m5.large"])["SpotPriceHistory"]
    assert {one["AvailabilityZone"] for one in prices} == {B, C}
    assert errors(aws.fleet(("m5.large", A))) == [("m5.large", A, "Unsupported")]


def test_prices_are_those_of_the_packaged_catalogue(aws: Aws) -> None:
    """So that a plan on paper and a launch agree."""
    asked = {
        "ServiceCode": "AmazonEC2",
        "Filters": [
            {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in LIST_PRICE
        ],
    }
    on_demand = {}
    for text in all_pages(aws.clients["pricing"], "get_products", "PriceList", **asked):
        product = json.loads(text)
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        name = product["product"]["attributes"]["instanceType"]
        on_demand[name] = round(float(dimension["pricePerUnit"]["USD"]) * 10**9)
    is_metal = {row.name for row in rows() if not row.hypervisor}
    want = {row.name: packaged_prices()[row.name] for row in rows() if row.name not in is_metal}
    assert on_demand == want


def test_spot_prices_are_those_of_the_packaged_catalogue(aws: Aws) -> None:
    """By type and zone; a test can set others."""
    aws.control.set_price(1_500_000, instance_type="m5.large", zone=C, capacity_type="spot")
    history = all_pages(
        aws.ec2,
        "describe_spot_price_history",
        "SpotPriceHistory",
        ProductDescriptions=["Linux/UNIX"],
    )
    got = {
        (one["InstanceType"], one["AvailabilityZone"]): round(float(one["SpotPrice"]) * 10**9)
        for one in history
    }
    want = {
        (row.name, zone): catalogue.synthetic_spot_nanousd(
            row.name, zone, packaged_prices()[row.name]
        )
        for row in rows()
        if row.has_spot
        for zone in ZONES
    }
    assert got == {**want, ("m5.large", C): 1_500_000}


@pytest.mark.parametrize(
    "name",
    [
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id",
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id",
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/recommended/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/latest/image_id",
        "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.35/image_id",
    ],
)
def test_an_alias_for_eks_names_an_image_of_amazon(aws: Aws, name: str) -> None:
    """The image is there, and of the architecture in the name."""
    image_id = aws.clients["ssm"].get_parameter(Name=name)["Parameter"]["Value"]
    (image,) = aws.ec2.describe_images(ImageIds=[image_id])["Images"]
    assert image["ImageOwnerAlias"] == "amazon"
    assert image["Architecture"] == ("arm64" if "arm64" in name else "x86_64")


def test_an_alias_that_is_not_there_is_an_error(aws: Aws) -> None:
    """AL2 ended with 1.32; a test can remove others."""
    ssm = aws.clients["ssm"]
    gone = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id"
    with pytest.raises(ClientError, match="ParameterNotFound"):
        ssm.get_parameter(Name=gone)
    aws.control.set_image_parameter(gone, "ami-0123")
    assert ssm.get_parameter(Name=gone)["Parameter"]["Value"] == "ami-0123"
    aws.control.set_image_parameter(gone, None)
    with pytest.raises(ClientError, match="ParameterNotFound"):
        ssm.get_parameter(Name=gone)


def test_a_parameter_of_ones_own_is_motos(aws: Aws) -> None:
    """`ssmParameter` of an EC2NodeClass may be any."""
    ssm = aws.clients["ssm"]
    ssm.put_parameter(Name="/team/image", Value="ami-0123", Type="String")
    assert ssm.get_parameter(Name="/team/image")["Parameter"]["Value"] == "ami-0123"


def test_images_are_found_by_owner_name_and_tag(aws: Aws) -> None:
    """Deprecated ones of others only if they are asked for."""
    mine = aws.control.add_image("mine-1", tags={"team": "a"})
    amazons = aws.control.add_image("amazons-1", owner="amazon")
    foreign = aws.control.add_image("foreign-1", owner="210987654321", architecture="arm64")

    def listed(**asked: Any) -> set[str]:
        return {one["ImageId"] for one in aws.ec2.describe_images(**asked)["Images"]}

    by_name = [{"Name": "name", "Values": ["*-1"]}]
    assert listed(Owners=["self"]) == {mine}
    assert listed(Owners=["self", "amazon"], Filters=by_name) == {mine, amazons}
    assert listed(Owners=["210987654321"]) == {foreign}
    assert listed(Filters=[{"Name": "tag:team", "Values": ["a"]}]) == {mine}
    aws.control.deprecate_image(foreign)
    assert listed(Owners=["210987654321"]) == set()
    assert listed(Owners=["210987654321"], IncludeDeprecated=True) == {foreign}
    aws.control.remove_image(mine)
    with pytest.raises(ClientError, match=r"InvalidAMIID\.NotFound"):
        listed(ImageIds=[mine])


def test_the_cluster_tells_its_network(aws: Aws) -> None:
    """moto leaves the VPC and the service addresses out; a test can set members."""
    eks = aws.clients["eks"]
    subnets = list(aws.subnets().values())
    role = "arn:aws:iam::123456789012:role/cluster"
    network = {"subnetIds": subnets}
    eks.create_cluster(name="c", roleArn=role, resourcesVpcConfig=network, version="1.35")
    aws.control.change_cluster("c", {"endpoint": "https://127.0.0.1:6443"})
    cluster = eks.describe_cluster(name="c")["cluster"]
    (vpc,) = aws.ec2.describe_vpcs()["Vpcs"]
    assert cluster["resourcesVpcConfig"]["vpcId"] == vpc["VpcId"]
    assert cluster["resourcesVpcConfig"]["clusterSecurityGroupId"].startswith("sg-")
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"]
    assert (cluster["version"], cluster["endpoint"]) == ("1.35", "https://127.0.0.1:6443")


def reserved(reservation_id: str) -> dict[str, Any]:
    """The part of a template that uses a reservation, and nothing else."""
    target = {"CapacityReservationId": reservation_id}
    return {"CapacityReservationSpecification": {"CapacityReservationTarget": target}}


def test_a_reservation_is_used_up_and_given_back(aws: Aws) -> None:
    """It has capacity when the pool has none."""
    aws.control.set_capacity(0)
    reservation = aws.control.add_reservation("m5.large", A, 1, tags={"team": "a"})
    wanted = {"Filters": [{"Name": "tag:team", "Values": ["a"]}]}

    def n_free() -> int:
        (one,) = aws.ec2.describe_capacity_reservations(**wanted)["CapacityReservations"]
        return int(one["AvailableInstanceCount"])

    aws.template(**reserved(reservation))
    (instance,) = launched(aws.fleet(("m5.large", A)))
    assert aws.instance(instance)["CapacityReservationId"] == reservation
    assert n_free() == 0
    again = aws.fleet(("m5.large", A))
    assert errors(again) == [("m5.large", A, "ReservationCapacityExceeded")]
    aws.ec2.terminate_instances(InstanceIds=[instance])
    aws.control.advance(timedelta(minutes=1))
    assert n_free() == 1


def test_an_open_reservation_is_used_unless_the_template_forbids_it(aws: Aws) -> None:
    """Preference `none`."""
    reservation = aws.control.add_reservation("m5.large", A, 2, criteria="open")
    never = {"CapacityReservationPreference": "none"}
    aws.template("never", CapacityReservationSpecification=never)
    (without,) = launched(aws.fleet(("m5.large", A), template="never"))
    assert "CapacityReservationId" not in aws.instance(without)
    aws.template()
    (within,) = launched(aws.fleet(("m5.large", A)))
    assert aws.instance(within)["CapacityReservationId"] == reservation


def test_a_reservation_ends(aws: Aws) -> None:
    """By its date, or because it is cancelled; its instances then run on demand."""
    ends_at = aws.control.now() + timedelta(hours=1)
    block = aws.control.add_reservation("p5.48xlarge", A, 1, kind="capacity-block", ends_at=ends_at)
    default = aws.control.add_reservation("m5.large", A, 1)
    aws.template(**reserved(default))
    instance = aws.launch()
    aws.control.advance(timedelta(hours=1))
    aws.control.change_reservation(default, state="cancelled", n_instances=0)
    answer = aws.ec2.describe_capacity_reservations(CapacityReservationIds=[block, default])
    states = {one["CapacityReservationId"]: one["State"] for one in answer["CapacityReservations"]}
    assert states == {block: "expired", default: "cancelled"}
    assert "CapacityReservationId" not in aws.instance(instance)


def test_a_partition_group_deals_instances_to_its_partitions(aws: Aws) -> None:
    """To the emptiest, or to the one that is asked for."""
    aws.ec2.create_placement_group(GroupName="g", Strategy="partition", PartitionCount=2)
    (group,) = aws.ec2.describe_placement_groups(GroupNames=["g"])["PlacementGroups"]
    assert (group["State"], group["PartitionCount"]) == ("available", 2)
    aws.template("any", Placement={"GroupName": "g"})
    aws.template("second", Placement={"GroupId": group["GroupId"], "PartitionNumber": 2})
    placed = [
        aws.instance(one)["Placement"]
        for template, n_instances in (("any", 3), ("second", 1))
        for one in launched(aws.fleet(("m5.large", A), template=template, n_instances=n_instances))
    ]
    assert [one["PartitionNumber"] for one in placed] == [1, 2, 1, 2]
    assert {one["GroupId"] for one in placed} == {group["GroupId"]}


def test_a_placement_group_that_is_not_there_is_an_error(aws: Aws) -> None:
    """In the call, and beside the override."""
    with pytest.raises(ClientError, match=r"InvalidPlacementGroup\.Unknown"):
        aws.ec2.describe_placement_groups(GroupNames=["nobody"])
    aws.template(Placement={"GroupName": "nobody"})
    assert errors(aws.fleet(("m5.large", A))) == [("m5.large", A, "InvalidPlacementGroup.Unknown")]
