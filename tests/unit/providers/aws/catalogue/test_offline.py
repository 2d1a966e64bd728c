"""The packaged catalogue, plain and for a node class. Figures are worked out by hand."""

from __future__ import annotations

from hashlib import sha256

import pytest

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Operator
from dovetail.providers.aws.catalogue.machines import packaged_types as rows
from dovetail.providers.aws.catalogue.offline import (
    ZONES,
    instance_types,
    offline_types,
    synthetic_spot_nanousd,
)
from dovetail.providers.aws.node_class.types import EC2NodeClass
from tests.unit.providers.aws.catalogue.setting import node_class

MIB = 2**20
GIB = 2**30


def named(name: str) -> InstanceType:
    """The type of this name."""
    return next(one for one in instance_types() if one.name == name)


def stated(name: str) -> dict[str, str]:
    """The labels of the AWS provider that have exactly one value, without their prefix."""
    prefix = f"{labels.AWS_GROUP}/"
    return {
        key.removeprefix(prefix): min(held.values)
        for key, held in named(name).requirements.items()
        if key.startswith(prefix) and len(held.values) == 1
    }


def test_there_are_at_least_800_types_of_distinct_names() -> None:
    """Every row of the table is a type."""
    names = [one.name for one in instance_types()]
    assert len(set(names)) == len(names) == len(rows()) >= 800


def test_the_table_covers_every_kind_of_machine() -> None:
    """General, compute, memory, burstable, storage, GPU, Neuron, Graviton."""
    families = {row.family for row in rows()}
    assert families >= {"m5", "c7i", "r8g", "t3", "t4g", "i4i", "d3", "g5", "p5", "inf2", "trn1"}


@pytest.mark.parametrize(
    ("name", "cpu", "memory_mib", "pods"),
    [
        # 8192 - ceil(614.4) = 7577; pods 3 x 9 + 2; kubelet 11 x 29 + 255; eviction 100
        pytest.param("m5.large", 2000 - 70, 7577 - 574 - 100, 29, id="m5.large"),
        # 131072 - 64 = 131008, - ceil(9825.6) = 121182; pods 15 x 49 + 2; 11 x 737 + 255 = 8362
        pytest.param("c7g.16xlarge", 64000 - 230, 121182 - 8362 - 100, 737, id="c7g.16xlarge"),
        # 1179648 - ceil(88473.6) = 1091174; only the default card's 15 of 60 interfaces count
        pytest.param("p4d.24xlarge", 96000 - 310, 1091174 - 8362 - 100, 737, id="p4d.24xlarge"),
        # 512 - ceil(38.4) = 473; pods 2 x 1 + 2; 11 x 4 + 255 = 299
        pytest.param("t3.nano", 2000 - 70, 473 - 299 - 100, 4, id="t3.nano"),
    ],
)
def test_allocatable_is_what_kubelet_and_the_hypervisor_leave(
    name: str, cpu: int, memory_mib: int, pods: int
) -> None:
    """Storage: 20 GiB less 1 GiB for kubelet less a tenth before eviction."""
    held = named(name).allocatable
    assert (held["cpu"], held["memory"], held["pods"], held["ephemeral-storage"]) == (
        cpu,
        memory_mib * MIB,
        pods,
        17 * GIB,
    )


def test_a_gpu_machine_offers_its_gpus_and_says_what_they_are() -> None:
    """Count as a resource; name, maker, count and memory of one GPU as labels."""
    assert named("p4d.24xlarge").capacity["nvidia.com/gpu"] == 8
    assert named("p4d.24xlarge").capacity["vpc.amazonaws.com/efa"] == 4
    assert (
        stated("p4d.24xlarge").items()
        >= {
            "instance-gpu-name": "a100",
            "instance-gpu-manufacturer": "nvidia",
            "instance-gpu-count": "8",
            "instance-gpu-memory": "40960",
            "instance-local-nvme": "8000",
            "instance-network-bandwidth": "400000",
        }.items()
    )


def test_a_neuron_machine_offers_devices_and_cores() -> None:
    """16 Trainium devices with 2 cores each."""
    held = named("trn1.32xlarge").capacity
    assert (held["aws.amazon.com/neuron"], held["aws.amazon.com/neuroncore"]) == (16, 32)
    assert (
        stated("trn1.32xlarge").items()
        >= {
            "instance-accelerator-name": "trainium",
            "instance-accelerator-manufacturer": "aws",
            "instance-accelerator-count": "16",
        }.items()
    )


def test_labels_are_spelled_as_the_aws_provider_spells_them() -> None:
    """Flex, generation and category come from the name."""
    assert (
        stated("m7i-flex.large").items()
        >= {
            "instance-category": "m",
            "instance-generation": "7",
            "instance-family": "m7i-flex",
            "instance-size": "large",
            "instance-capability-flex": "true",
            "instance-cpu-manufacturer": "intel",
            "instance-hypervisor": "nitro",
        }.items()
    )
    assert stated("u-6tb1.56xlarge")["instance-generation"] == "1"
    assert stated("c6g.metal").get("instance-hypervisor") is None
    gpu_name = named("m5.large").requirements["karpenter.k8s.aws/instance-gpu-name"]
    assert gpu_name.operator is Operator.DOES_NOT_EXIST


@pytest.mark.parametrize(
    ("name", "volumes"),
    [
        pytest.param("m5.large", 25, id="27 shared slots less root volume and second interface"),
        pytest.param("p4d.24xlarge", 27, id="28 slots of its own less the root volume"),
        pytest.param("t2.micro", 39, id="Xen: 40 less the root volume"),
        pytest.param("g5.xlarge", 23, id="25 left by GPU and disk, less two"),
    ],
)
def test_volumes_share_slots_with_interfaces_only_where_the_machine_does(
    name: str, volumes: int
) -> None:
    """EC2's own count has disks and accelerators taken off already."""
    assert named(name).attach_limits == {"ebs.csi.aws.com": volumes}


def test_every_type_is_priced_on_demand_and_as_spot_in_every_zone() -> None:
    """On-demand costs the same in all zones; spot is dearer here, cheaper there, never free."""
    for one in instance_types():
        listed = [(held.zone, held.capacity_type) for held in one.offerings]
        assert sorted(listed) == sorted(
            (zone, kind) for zone in ZONES for kind in (labels.ON_DEMAND, labels.SPOT)
        )
        on_demand = {o.price_nanousd for o in one.offerings if o.capacity_type == labels.ON_DEMAND}
        (price,) = on_demand
        spot = [o.price_nanousd for o in one.offerings if o.capacity_type == labels.SPOT]
        assert all(0.25 * price - 1 <= held <= 0.7 * price + 1 for held in spot)


def test_the_spot_price_is_made_from_type_and_zone_alone() -> None:
    """On-demand x (0.25 + 0.45 u), u from sha256 of TYPE/ZONE."""
    u = int(sha256(b"m5.large/us-west-2b").hexdigest()[:8], 16) / 2**32
    got = synthetic_spot_nanousd("m5.large", "us-west-2b", 102_000_000)
    assert got == round(102_000_000 * (0.25 + 0.45 * u))
    offering = next(
        one
        for one in named("m5.large").offerings
        if (one.zone, one.capacity_type) == ("us-west-2b", labels.SPOT)
    )
    on_demand = next(
        one for one in named("m5.large").offerings if one.capacity_type == labels.ON_DEMAND
    )
    assert offering.price_nanousd == synthetic_spot_nanousd(
        "m5.large", "us-west-2b", on_demand.price_nanousd
    )


def test_what_cannot_be_launched_is_listed_but_not_available() -> None:
    """Spot where EC2 sells none, and the first Graviton, which AL2023 does not run on."""
    high_memory = named("u7i-12tb.224xlarge").offerings
    assert {(o.capacity_type, o.is_available) for o in high_memory} == {
        (labels.ON_DEMAND, True),
        (labels.SPOT, False),
    }
    assert not any(one.is_available for one in named("a1.large").offerings)


def test_other_zones_can_be_asked_for() -> None:
    """The region follows from the zones; zones without a known id have none."""
    (one,) = [t for t in instance_types(("eu-west-1a",)) if t.name == "m5.large"]
    assert {held.zone for held in one.offerings} == {"eu-west-1a"}
    assert one.requirements[labels.REGION].values == {"eu-west-1"}
    assert one.requirements["topology.k8s.aws/zone-id"].operator is Operator.DOES_NOT_EXIST


def of_class(given: EC2NodeClass, name: str = "m5.large") -> InstanceType:
    """The type of this name, as a node of the class."""
    return next(one for one in offline_types(given) if one.name == name)


def test_without_a_class_offline_types_are_the_plain_catalogue() -> None:
    """The same object."""
    assert offline_types(None) is instance_types()


def test_a_plain_class_differs_from_no_class_in_pod_interfaces_alone() -> None:
    """Labels, prices and everything else are equal, but for spot that is never sold."""
    plain, got = named("m5.large"), of_class(node_class())
    assert got.capacity == {**plain.capacity, "vpc.amazonaws.com/pod-eni": 9}
    assert got.requirements == plain.requirements
    assert got.offerings == plain.offerings


def test_offline_types_honour_kubelet_family_and_disks_of_the_class() -> None:
    """A plan on paper and a launch agree."""
    given = node_class(
        family="Bottlerocket", kubelet={"maxPods": 50}, instance_store_policy="RAID0"
    )
    assert of_class(given).capacity["pods"] == 50
    assert of_class(given, "m5d.large").capacity["ephemeral-storage"] == 75 * 10**9
    assert of_class(given).allocatable["memory"] == (7577 - (11 * 50 + 255) - 100) * MIB


def test_offline_zones_are_those_of_the_status_else_of_the_packaged_region() -> None:
    """A manifest without a status has no subnets to tell."""
    assert {one.zone for one in of_class(node_class(zones=())).offerings} == set(ZONES)
    one_zone = of_class(node_class(zones=("us-west-2b",)))
    assert {one.zone for one in one_zone.offerings} == {"us-west-2b"}
    assert all(one.is_available for one in one_zone.offerings)
