"""Every label of the AWS provider: its value, and its absence where it does not apply."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import labels
from dovetail.model.requirements import Operator
from dovetail.providers.aws.catalogue.inputs import PlacementGroupFacts
from dovetail.providers.aws.catalogue.machines import MachineType, packaged_types
from dovetail.providers.aws.label_keys import LABEL_KEYS
from dovetail.providers.aws.node_class.types import CapacityReservation
from tests.unit.providers.aws.catalogue.setting import A, B, C, machine, node_class, resolved

GROUP = "karpenter.k8s.aws"
OWN = (
    "instance-category",
    "instance-generation",
    "instance-family",
    "instance-size",
    "instance-cpu",
    "instance-cpu-manufacturer",
    "instance-cpu-sustained-clock-speed-mhz",
    "instance-memory",
    "instance-ebs-bandwidth",
    "instance-network-bandwidth",
    "instance-local-nvme",
    "instance-gpu-name",
    "instance-gpu-manufacturer",
    "instance-gpu-count",
    "instance-gpu-memory",
    "instance-accelerator-name",
    "instance-accelerator-manufacturer",
    "instance-accelerator-count",
    "instance-hypervisor",
    "instance-encryption-in-transit-supported",
    "instance-capability-flex",
    "nitro-sandbox",
    "instance-tenancy",
    "capacity-reservation-id",
    "capacity-reservation-type",
    "capacity-reservation-interruptible",
    "placement-group-id",
    "placement-group-partition",
)
SINGLE: dict[
    str, tuple[dict[str, Any], str]
] = {  # label, figures of the machine, value (empty: absent)
    "instance-category": ({"name": "m5.large"}, "m"),
    "instance-category before terabytes": ({"name": "u-6tb1.metal"}, "u"),
    "instance-generation": ({"name": "m5.large"}, "5"),
    "instance-generation after terabytes": ({"name": "u-6tb1.metal"}, "1"),
    "instance-generation of two digits": ({"name": "x12zz.large"}, "12"),
    "instance-family": ({"name": "m7i-flex.large"}, "m7i-flex"),
    "instance-size": ({"name": "m8g.metal-24xl"}, "metal-24xl"),
    "instance-cpu": ({"vcpus": 96}, "96"),
    "instance-cpu-manufacturer": ({"cpu_maker": "AMD"}, "amd"),
    "instance-cpu-sustained-clock-speed-mhz": ({"clock_mhz": 3600}, "3600"),
    "instance-cpu-sustained-clock-speed-mhz unpublished": ({"clock_mhz": 0}, ""),
    "instance-memory": ({"memory_mib": 16384}, "16384"),
    "instance-ebs-bandwidth": ({"ebs_mbps": 4750}, "4750"),
    "instance-ebs-bandwidth not by default": ({"ebs_mbps": 0}, ""),
    "instance-network-bandwidth": ({"network_mbps": 12500}, "12500"),
    "instance-network-bandwidth unpublished": ({"network_mbps": 0}, ""),
    "instance-local-nvme": ({"nvme_gb": 900}, "900"),
    "instance-local-nvme of magnetic disks": ({"nvme_gb": 0, "instance_store_gb": 900}, ""),
    "instance-gpu-name": ({"gpus": 1, "gpu_name": "T4 G", "gpu_maker": "NVIDIA"}, "t4-g"),
    "instance-gpu-name of two kinds": ({"gpus": 2, "gpu_maker": "NVIDIA"}, ""),
    "instance-gpu-manufacturer": ({"gpus": 1, "gpu_name": "T4", "gpu_maker": "NVIDIA"}, "nvidia"),
    "instance-gpu-manufacturer of two kinds": ({"gpus": 2, "gpu_maker": "NVIDIA"}, ""),
    "instance-gpu-count": ({"gpus": 8, "gpu_name": "A100", "gpu_maker": "NVIDIA"}, "8"),
    "instance-gpu-count of a fraction": ({"gpu_name": "L4", "gpu_maker": "NVIDIA"}, "0"),
    "instance-gpu-count of two kinds": ({"gpus": 2, "gpu_maker": "NVIDIA"}, ""),
    "instance-gpu-memory": ({"gpus": 1, "gpu_name": "T4", "gpu_mib": 16384}, "16384"),
    "instance-accelerator-name": ({"accelerator_name": "Inferentia2"}, "inferentia2"),
    "instance-accelerator-manufacturer": ({"accelerator_maker": "Qualcomm"}, "qualcomm"),
    "instance-accelerator-count": ({"accelerators": 12}, "12"),
    "instance-accelerator-count of none": ({"accelerators": 0}, ""),
    "instance-hypervisor": ({"hypervisor": "xen"}, "xen"),
    "instance-hypervisor of bare metal": ({"hypervisor": ""}, ""),
    "instance-encryption-in-transit-supported": ({"encrypts_transit": True}, "true"),
    "instance-encryption-in-transit-supported not": ({"encrypts_transit": False}, "false"),
    "instance-capability-flex": ({"name": "c7i-flex.large"}, "true"),
    "instance-capability-flex not": ({"name": "c7i.large"}, "false"),
    "nitro-sandbox": ({"has_enclaves": True}, "true"),
    "nitro-sandbox not": ({"has_enclaves": False}, "false"),
}


@pytest.mark.parametrize("case", SINGLE)
def test_a_label_has_the_value_that_the_machine_type_gives_it(case: str) -> None:
    """Lower case, dashes for spaces; absent where it does not apply."""
    key, _, _ = case.partition(" ")
    figures, want = SINGLE[case]
    held = resolved(machine(**figures), node_class()).requirements[f"{GROUP}/{key}"]
    assert held.values == ({want} if want else set())
    assert held.operator is (Operator.IN if want else Operator.DOES_NOT_EXIST)


def test_instance_tenancy_may_be_default_or_dedicated() -> None:
    """Both are always allowed."""
    held = resolved(machine(), node_class()).requirements[f"{GROUP}/instance-tenancy"]
    assert held.values == {"default", "dedicated"}


@pytest.mark.parametrize(
    ("family", "arch", "os", "build"),
    [
        pytest.param("AL2023", "amd64", {"linux"}, set(), id="Linux"),
        pytest.param("AL2023", "arm64", {"linux"}, set(), id="Linux on arm64"),
        pytest.param("Custom", "amd64", {"linux"}, set(), id="a custom image"),
        pytest.param("Windows2019", "amd64", {"windows"}, {"10.0.17763"}, id="Windows 2019"),
        pytest.param("Windows2022", "amd64", {"windows"}, {"10.0.20348"}, id="Windows 2022"),
        pytest.param("Windows2025", "amd64", {"windows"}, {"10.0.26100"}, id="Windows 2025"),
        pytest.param("Windows2022", "arm64", set(), {"10.0.20348"}, id="no Windows on arm64"),
    ],
)
def test_the_family_says_which_system_runs(
    family: str, arch: str, os: set[str], build: set[str]
) -> None:
    """`kubernetes.io/os`, `kubernetes.io/arch` and the build of Windows."""
    got = resolved(machine(arch=arch), node_class(family=family)).requirements
    assert got[labels.OS].values == os
    assert got[labels.ARCH].values == {arch}
    assert got[labels.WINDOWS_BUILD].values == build


def test_zones_and_their_ids_are_those_in_which_the_type_is_offered() -> None:
    """Also those without a subnet, whose nodes may still be there."""
    got = resolved(
        machine(),
        node_class(zones=(A, B)),
        zones={"m5.large": (B, C)},
        zone_ids={C: "usw2-az3"},
    ).requirements
    assert got[labels.ZONE].values == {B, C}
    assert got["topology.k8s.aws/zone-id"].values == {"usw2-az1", "usw2-az3"}
    assert got[labels.REGION].values == {"us-west-2"}
    assert got[labels.INSTANCE_TYPE].values == {"m5.large"}


@pytest.mark.parametrize(
    ("key", "want"),
    [
        ("node.kubernetes.io/instance-type", {"m5.large"}),
        ("kubernetes.io/arch", {"amd64"}),
        ("kubernetes.io/os", {"linux"}),
        ("topology.kubernetes.io/zone", {A, B, C}),
        ("topology.kubernetes.io/region", {"us-west-2"}),
        ("node.kubernetes.io/windows-build", set()),
        ("karpenter.sh/capacity-type", {"on-demand", "spot"}),
        ("topology.k8s.aws/zone-id", {"usw2-az1", "usw2-az2", "usw2-az3"}),
    ],
)
def test_a_label_of_kubernetes_has_the_values_of_the_type(key: str, want: set[str]) -> None:
    """On a plain Linux machine that is offered in all zones."""
    assert resolved(machine(), node_class()).requirements[key].values == want


def test_topology_ebs_csi_aws_com_zone_is_another_name_of_the_zone() -> None:
    """The EBS driver puts it on volumes."""
    assert labels.normalize("topology.ebs.csi.aws.com/zone") == labels.ZONE


def test_capacity_types_are_those_that_are_offered() -> None:
    """Not every type is sold as spot."""
    key = labels.CAPACITY_TYPE
    assert resolved(machine(), node_class()).requirements[key].values == {"on-demand", "spot"}
    reserved_only = machine(usage_classes=("on-demand",))
    assert resolved(reserved_only, node_class()).requirements[key].values == {"on-demand"}


RESERVED = {
    "capacity-reservation-id": "cr-1",
    "capacity-reservation-type": "default",
    "capacity-reservation-interruptible": "true",
}


@pytest.mark.parametrize("label", RESERVED)
def test_a_label_of_a_reservation_is_absent_without_one(label: str) -> None:
    """Stated by the type; where some offerings are reserved, each offering states its own."""
    key = f"{GROUP}/{label}"
    plain = resolved(machine(), node_class())
    assert plain.requirements[key].operator is Operator.DOES_NOT_EXIST
    reservation = CapacityReservation(
        id="cr-1", instance_type="m5.large", availability_zone=A, interruptible=True
    )
    got = resolved(
        machine(), node_class(reservations=(reservation,)), reservation_counts={"cr-1": 2}
    )
    assert key not in got.requirements
    stated = {
        offering.capacity_type: set(offering.requirements[key].values) for offering in got.offerings
    }
    assert stated == {"on-demand": set(), "spot": set(), "reserved": {RESERVED[label]}}


GROUPED = {"placement-group-id": {"pg-1"}, "placement-group-partition": {"1", "2", "3"}}


@pytest.mark.parametrize("label", GROUPED)
def test_a_label_of_a_placement_group_is_absent_without_one(label: str) -> None:
    """Partitions are numbered from one."""
    key = f"{GROUP}/{label}"
    groups = {"default": PlacementGroupFacts("pg-1", "partition", 3)}
    got = resolved(machine(), node_class(), placement_groups=groups).requirements
    assert got[key].values == GROUPED[label]
    plain = resolved(machine(), node_class(name="other"), placement_groups=groups).requirements
    assert plain[key].operator is Operator.DOES_NOT_EXIST


def test_every_label_has_a_test_that_is_named_after_it() -> None:
    """A row that disappears is missed here."""
    named = {case.partition(" ")[0] for case in SINGLE} | {*RESERVED, *GROUPED, "instance-tenancy"}
    assert named == set(OWN)
    assert {f"{GROUP}/{key}" for key in OWN} == set(LABEL_KEYS)
    assert len(OWN) == 28


@pytest.mark.parametrize("given", packaged_types()[::40], ids=lambda given: given.name)
def test_every_label_is_stated_or_said_to_be_absent(given: MachineType) -> None:
    """What is left out would be open to any value, which no node has."""
    got = resolved(given, node_class()).requirements
    want = {f"{GROUP}/{key}" for key in OWN} | labels.WELL_KNOWN - {labels.NODE_POOL}
    assert set(got) >= want
    assert all(not held.complement for held in got.values())
