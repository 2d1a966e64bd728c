"""Tests of the content and the names of launch templates."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.providers.aws.launching.template_parts import (
    block_devices,
    metadata_options,
    network_interfaces,
)
from dovetail.providers.aws.launching.templates import (
    TemplateInputs,
    launch_template,
    static_tags,
)
from dovetail.providers.aws.node_class.types import (
    BlockDevice,
    BlockDeviceMapping,
    ConnectionTracking,
    CpuOptions,
    EC2NodeClassSpec,
    MetadataOptions,
    NetworkInterface,
)

SPEC = EC2NodeClassSpec(ami_family="AL2023")
TAGS = static_tags(cluster_name="c", node_pool="p", node_class="n", own={"team": "a"})
INPUTS = TemplateInputs(
    spec=SPEC,
    image_id="ami-1",
    user_data="#!/bin/sh\n",
    instance_profile="nodes",
    security_groups=("sg-1", "sg-2"),
    region="us-west-2",
    capacity_type=labels.ON_DEMAND,
    tags=TAGS,
)


def data(**changes: Any) -> dict[str, Any]:
    """The content of a template."""
    return launch_template(msgspec.structs.replace(INPUTS, **changes)).data


def test_a_template_says_everything_that_an_instance_needs() -> None:
    """Security groups are those of the interface."""
    got = data()
    tags = [{"Key": key, "Value": TAGS[key]} for key in sorted(TAGS)]
    assert b64decode(got.pop("UserData")) == b"#!/bin/sh\n"
    assert got == {
        "ImageId": "ami-1",
        "IamInstanceProfile": {"Name": "nodes"},
        "Monitoring": {"Enabled": False},
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            "HttpProtocolIpv6": "disabled",
            "HttpPutResponseHopLimit": 1,
            "HttpTokens": "required",
            "InstanceMetadataTags": "disabled",
        },
        "NetworkInterfaces": [
            {"NetworkCardIndex": 0, "DeviceIndex": 0, "Groups": ["sg-1", "sg-2"]}
        ],
        "TagSpecifications": [{"ResourceType": "network-interface", "Tags": tags}],
        "BlockDeviceMappings": [
            {
                "DeviceName": "/dev/xvda",
                "Ebs": {"Encrypted": True, "VolumeSize": 20, "VolumeType": "gp3"},
            }
        ],
        "CapacityReservationSpecification": {"CapacityReservationPreference": "none"},
    }


def test_static_tags_name_cluster_pool_and_class_and_cannot_be_overwritten() -> None:
    """Whatever the class says."""
    own = {"team": "a", "karpenter.sh/nodepool": "other", "Name": "mine"}
    tags = static_tags(cluster_name="c", node_pool="p", node_class="n", own=own)
    assert tags == {
        "team": "a",
        "Name": "mine",
        "kubernetes.io/cluster/c": "owned",
        "karpenter.sh/nodepool": "p",
        "eks:eks-cluster-name": "c",
        "karpenter.k8s.aws/ec2nodeclass": "n",
    }


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"user_data": "other"}, id="user data"),
        pytest.param({"image_id": "ami-2"}, id="image"),
        pytest.param({"instance_profile": "other"}, id="instance profile"),
        pytest.param({"security_groups": ("sg-1",)}, id="security groups"),
        pytest.param({"tags": {"a": "b"}}, id="tags"),
        pytest.param({"n_efas": 2}, id="EFA interfaces"),
        pytest.param({"is_ipv6": True}, id="IPv6"),
        pytest.param({"has_enclave": True}, id="enclave"),
        pytest.param({"tenancy": "dedicated"}, id="tenancy"),
        pytest.param({"placement_group": "pg-1"}, id="placement group"),
        pytest.param({"placement_group": "pg-1", "partition": "3"}, id="partition"),
        pytest.param({"reservation_id": "cr-1"}, id="reservation"),
        pytest.param({"market_type": "capacity-block"}, id="market"),
        pytest.param({"capacity_type": labels.SPOT}, id="capacity type"),
        pytest.param({"knows_reservations": False}, id="gate of reservations"),
        pytest.param(
            {"spec": msgspec.structs.replace(SPEC, detailed_monitoring=True)}, id="monitoring"
        ),
        pytest.param(
            {
                "spec": msgspec.structs.replace(
                    SPEC, cpu_options=CpuOptions(nested_virtualization="enabled")
                )
            },
            id="nested virtualisation",
        ),
    ],
)
def test_a_template_with_other_content_has_another_name(changes: dict[str, Any]) -> None:
    """And the same content always the same."""
    name = launch_template(INPUTS).name
    assert name == launch_template(INPUTS).name
    assert name.startswith("karpenter.k8s.aws/")
    assert int(name.partition("/")[2]) < 2**64
    assert launch_template(msgspec.structs.replace(INPUTS, **changes)).name != name


def test_a_reserved_launch_targets_its_reservation() -> None:
    """And uses nothing else."""
    got = data(reservation_id="cr-1", market_type="capacity-block")
    assert got["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
    }
    assert got["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert "CapacityReservationSpecification" not in data(knows_reservations=False)


def test_placement_names_tenancy_group_and_partition() -> None:
    """Only what is asked for."""
    assert "Placement" not in data()
    got = data(tenancy="dedicated", placement_group="pg-1", partition="3")
    assert got["Placement"] == {"Tenancy": "dedicated", "GroupId": "pg-1", "PartitionNumber": 3}


def test_a_spot_launch_tags_its_spot_request() -> None:
    """On-demand launches have none."""
    resources = [
        one["ResourceType"] for one in data(capacity_type=labels.SPOT)["TagSpecifications"]
    ]
    assert resources == ["network-interface", "spot-instances-request"]


def test_an_enclave_is_enabled_on_request() -> None:
    """Otherwise it is not mentioned."""
    assert data(has_enclave=True)["EnclaveOptions"] == {"Enabled": True}
    assert "EnclaveOptions" not in data()


def test_each_efa_has_a_card_of_its_own() -> None:
    """The first is device 0, all others device 1."""
    got = network_interfaces(SPEC, ("sg-1",), n_efas=3, is_ipv6=False)
    assert got == [
        {
            "NetworkCardIndex": card,
            "DeviceIndex": 1 if card else 0,
            "Groups": ["sg-1"],
            "InterfaceType": "efa",
        }
        for card in range(3)
    ]


def test_interfaces_of_the_class_go_before_efas() -> None:
    """An EFA-only interface has no addresses, no public address and no connection tracking."""
    spec = msgspec.structs.replace(
        SPEC,
        network_interfaces=(NetworkInterface(0, 0), NetworkInterface(0, 1, "efa-only")),
        connection_tracking=ConnectionTracking(udp_timeout=30),
        ip_prefix_count=2,
        associate_public_ip_address=False,
    )
    got = network_interfaces(spec, ("sg-1",), n_efas=5, is_ipv6=False)
    assert got == [
        {
            "NetworkCardIndex": 0,
            "DeviceIndex": 0,
            "Groups": ["sg-1"],
            "ConnectionTrackingSpecification": {"UdpTimeout": 30},
            "Ipv4PrefixCount": 2,
            "AssociatePublicIpAddress": False,
        },
        {
            "NetworkCardIndex": 0,
            "DeviceIndex": 1,
            "Groups": ["sg-1"],
            "InterfaceType": "efa-only",
        },
    ]


def test_an_ipv6_cluster_gives_a_primary_ipv6_address() -> None:
    """And prefixes of IPv6."""
    spec = msgspec.structs.replace(SPEC, ip_prefix_count=1)
    (got,) = network_interfaces(spec, (), n_efas=0, is_ipv6=True)
    assert got == {
        "NetworkCardIndex": 0,
        "DeviceIndex": 0,
        "Groups": [],
        "Ipv6PrefixCount": 1,
        "PrimaryIpv6": True,
        "Ipv6AddressCount": 1,
    }


@pytest.mark.parametrize(
    ("size", "want"), [("20Gi", 20), ("20G", 19), ("1Mi", 1), ("1Ti", 1024), (None, None)]
)
def test_volume_sizes_are_rounded_up_to_gib(size: str | None, want: int | None) -> None:
    """EBS counts in GiB."""
    volume = BlockDevice(volume_size=size, snapshot_id="snap-1", volume_initialization_rate=100)
    mapping = BlockDeviceMapping(device_name="/dev/xvdb", ebs=volume)
    spec = msgspec.structs.replace(SPEC, block_device_mappings=(mapping,))
    (got,) = block_devices(spec)
    assert isinstance(got, dict)
    ebs: Any = got["Ebs"]
    assert ebs.get("VolumeSize") == want
    assert (ebs["SnapshotId"], ebs["VolumeInitializationRate"]) == ("snap-1", 100)


def test_isolated_regions_do_not_know_ipv6_metadata() -> None:
    """The member is left out there."""
    spec = msgspec.structs.replace(
        SPEC, metadata_options=MetadataOptions(http_protocol_ipv6="enabled", http_tokens="optional")
    )
    want = {"HttpTokens": "optional", "InstanceMetadataTags": "disabled"}
    assert metadata_options(spec, "us-iso-east-1") == want
    assert metadata_options(spec, "us-west-2") == {**want, "HttpProtocolIpv6": "enabled"}
