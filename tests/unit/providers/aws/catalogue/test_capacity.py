"""What a node of an instance type has, and what is left of it for pods."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from dovetail.model.instance import InstanceType
from dovetail.providers.aws.catalogue.machines import MachineType, packaged_types
from dovetail.providers.aws.node_class.types import (
    BlockDevice,
    BlockDeviceMapping,
    NetworkInterface,
)
from dovetail.providers.aws.settings import AwsSettings
from tests.unit.providers.aws.catalogue.setting import GIB, MIB, machine, node_class, resolved

# Of an m5.large: ceil(8192 x 0.075) hidden, 11 x 29 + 255 reserved, 100 before eviction.
HIDDEN, RESERVED, EVICTION = 615, 574, 100


def volume(device_name: str, size: str | None, *, root: bool = False) -> BlockDeviceMapping:
    """A volume; without a size it is made from a snapshot."""
    disk = BlockDevice(volume_size=size, snapshot_id=None if size else "snap-1")
    return BlockDeviceMapping(device_name=device_name, ebs=disk, root_volume=root)


def large(
    settings: AwsSettings | None = None,
    /,
    kubelet: Mapping[str, Any] | None = None,
    **spec: Any,
) -> InstanceType:
    """An m5.large of a class with these settings."""
    return resolved(machine(), node_class(kubelet=kubelet, **spec), settings)


def test_cpu_is_the_number_of_vcpus() -> None:
    """In millicores."""
    assert large().capacity["cpu"] == 2000


def test_memory_is_the_published_size_less_the_share_of_the_hypervisor() -> None:
    """7.5 % by default, rounded up to MiB."""
    assert large().capacity["memory"] == (8192 - HIDDEN) * MIB


@pytest.mark.parametrize(
    ("share", "hidden"),
    [
        pytest.param("0", 0, id="nothing"),
        pytest.param("0.1", 820, id="a tenth, rounded up"),
        pytest.param("0.0001", 1, id="less than a MiB counts as one"),
    ],
)
def test_the_share_of_the_hypervisor_is_a_setting(share: str, hidden: int) -> None:
    """`--vm-memory-overhead-percent`."""
    got = large(AwsSettings(vm_memory_overhead_percent=Decimal(share)))
    assert got.capacity["memory"] == (8192 - hidden) * MIB


def test_arm64_hides_another_64_mib() -> None:
    """Before the share is taken."""
    got = resolved(machine("m6g.large", arch="arm64"), node_class())
    assert got.capacity["memory"] == (8128 - 610) * MIB


def test_memory_that_nodes_have_reported_replaces_the_estimate() -> None:
    """For the images of the class alone."""
    seen = 7700 * MIB
    known = {("m5.large", ""): seen}
    got = resolved(machine(), node_class(), memory_bytes=known)
    assert got.capacity["memory"] == seen
    assert got.allocatable["memory"] == seen - (RESERVED + EVICTION) * MIB
    other = resolved(machine(), node_class(), memory_bytes={("m5.large", "ami-2"): seen})
    assert other.capacity["memory"] == (8192 - HIDDEN) * MIB


@pytest.mark.parametrize(
    ("family", "devices", "want"),
    [
        pytest.param("AL2023", (), 20 * GIB, id="the default of the family"),
        pytest.param("Windows2022", (), 50 * GIB, id="Windows needs more"),
        pytest.param("Custom", (), 20 * GIB, id="20 GiB where nothing is known"),
        pytest.param("AL2023", (volume("/dev/xvda", "80Gi"),), 80 * GIB, id="the family's device"),
        pytest.param(
            "AL2023",
            (volume("/dev/xvda", "80Gi"), volume("/dev/sdf", "1Ti", root=True)),
            1024 * GIB,
            id="the volume that is said to be root",
        ),
        pytest.param(
            "Bottlerocket",
            (volume("/dev/xvda", "4Gi"), volume("/dev/xvdb", "64Gi")),
            64 * GIB,
            id="Bottlerocket keeps files on its second device",
        ),
        pytest.param(
            "Custom",
            (volume("/dev/sda1", "30Gi"), volume("/dev/sdb", "90Gi")),
            90 * GIB,
            id="the last volume of a custom image",
        ),
        pytest.param("AL2023", (volume("/dev/sdf", "80Gi"),), 20 * GIB, id="another device"),
        pytest.param("AL2023", (volume("/dev/xvda", None),), 20 * GIB, id="a snapshot's size"),
    ],
)
def test_ephemeral_storage_is_the_volume_that_pods_write_to(
    family: str, devices: tuple[BlockDeviceMapping, ...], want: int
) -> None:
    """Of the block devices of the class, else of the family."""
    got = large(family=family, block_device_mappings=devices)
    assert got.capacity["ephemeral-storage"] == want


@pytest.mark.parametrize(
    ("family", "store_gb", "want"),
    [
        pytest.param("AL2023", 150, 150 * 10**9, id="all disks as one"),
        pytest.param("Custom", 150, 150 * 10**9, id="custom images see to it themselves"),
        pytest.param("AL2023", 0, 20 * GIB, id="no disks"),
        pytest.param("Windows2022", 150, 50 * GIB, id="Windows cannot"),
    ],
)
def test_raid0_makes_the_instance_store_the_ephemeral_storage(
    family: str, store_gb: int, want: int
) -> None:
    """In decimal gigabytes, as EC2 counts them."""
    given = node_class(family=family, instance_store_policy="RAID0")
    got = resolved(machine("m5d.large", instance_store_gb=store_gb), given)
    assert got.capacity["ephemeral-storage"] == want


@pytest.mark.parametrize(
    ("family", "kubelet", "reserved_enis", "want"),
    [
        pytest.param("AL2023", {}, 0, 29, id="three interfaces of nine addresses, and two"),
        pytest.param("AL2023", {}, 1, 20, id="one interface is reserved"),
        pytest.param("AL2023", {}, 3, 0, id="no interface is left"),
        pytest.param("AL2023", {}, 9, 0, id="more are reserved than there are"),
        pytest.param("AL2023", {"maxPods": 58}, 1, 58, id="maxPods wins"),
        pytest.param("AL2023", {"podsPerCore": 4}, 0, 8, id="four on each of two cores"),
        pytest.param("AL2023", {"podsPerCore": 40}, 0, 29, id="podsPerCore only lowers"),
        pytest.param("AL2023", {"maxPods": 5, "podsPerCore": 4}, 0, 5, id="the lower of the two"),
        pytest.param("Bottlerocket", {"podsPerCore": 4}, 0, 29, id="Bottlerocket ignores it"),
        pytest.param("Windows2022", {}, 0, 110, id="Windows does not depend on interfaces"),
        pytest.param("Windows2022", {"podsPerCore": 4}, 0, 8, id="Windows knows podsPerCore"),
    ],
)
def test_pods_are_limited_by_interfaces_and_kubelet(
    family: str, kubelet: dict[str, Any], reserved_enis: int, want: int
) -> None:
    """maxPods, else what addresses allow, else 110; never more than podsPerCore allows."""
    got = large(AwsSettings(reserved_enis=reserved_enis), kubelet, family=family)
    assert got.capacity["pods"] == want


def test_an_efa_only_interface_on_the_first_card_has_no_addresses_for_pods() -> None:
    """It takes the place of an interface that had some."""
    cards = (NetworkInterface(0, 0), NetworkInterface(0, 1, "efa-only"))
    got = resolved(machine(efas=1), node_class(network_interfaces=cards))
    assert got.capacity["pods"] == 2 * 9 + 2


def test_max_pods_may_be_an_expression() -> None:
    """It is evaluated for each type, if the gate is on."""
    kubelet = {"maxPods": "vcpus * 7"}
    enabled = large(AwsSettings(node_class_cel=True), kubelet)
    assert enabled.capacity["pods"] == 14
    assert large(kubelet=kubelet).capacity["pods"] == 29  # as if it was not there


def test_an_expression_without_a_value_makes_the_type_unavailable() -> None:
    """A node with other settings than asked for would be wrong."""
    got = large(AwsSettings(node_class_cel=True), {"maxPods": "vcpus / 0"})
    assert got.offerings
    assert not any(offering.is_available for offering in got.offerings)


def test_kubelet_reserves_cpu_in_tiers() -> None:
    """6 % of the first core, 1 % of the second."""
    assert large().allocatable["cpu"] == 2000 - 70


def test_kubelet_reserves_memory_for_all_addresses_even_if_interfaces_are_reserved() -> None:
    """As the script of the images does, whatever maxPods says."""
    want = (8192 - HIDDEN - RESERVED - EVICTION) * MIB
    assert large().allocatable["memory"] == want
    assert large(AwsSettings(reserved_enis=2)).allocatable["memory"] == want
    assert large(kubelet={"maxPods": 200}).allocatable["memory"] == want


@pytest.mark.parametrize(
    ("family", "pods"),
    [pytest.param("Bottlerocket", 5, id="Bottlerocket"), pytest.param("Windows2022", 5, id="Win")],
)
def test_other_families_reserve_memory_for_the_pods_they_run(family: str, pods: int) -> None:
    """11 MiB each, and 255."""
    got = large(kubelet={"maxPods": pods}, family=family)
    assert got.allocatable["memory"] == (8192 - HIDDEN - (11 * pods + 255) - EVICTION) * MIB


@pytest.mark.parametrize(
    ("kubelet", "resource", "want"),
    [
        pytest.param({"kubeReserved": {"cpu": "200m"}}, "cpu", 1800, id="kubeReserved cpu"),
        pytest.param(
            {"kubeReserved": {"cpu": "200m"}},
            "memory",
            (8192 - HIDDEN - RESERVED - EVICTION) * MIB,
            id="what kubeReserved leaves out stays",
        ),
        pytest.param(
            {"kubeReserved": {"memory": "1Gi"}},
            "memory",
            (8192 - HIDDEN - 1024 - EVICTION) * MIB,
            id="kubeReserved memory",
        ),
        pytest.param(
            {"kubeReserved": {"ephemeral-storage": "3Gi"}},
            "ephemeral-storage",
            15 * GIB,
            id="kubeReserved ephemeral storage",
        ),
        pytest.param({"systemReserved": {"cpu": "100m"}}, "cpu", 1830, id="systemReserved adds"),
        pytest.param(
            {"evictionHard": {"memory.available": "5%"}},
            "memory",
            (8192 - HIDDEN) * MIB - RESERVED * MIB - -(-(8192 - HIDDEN) * MIB // 20),
            id="a share of memory, rounded up",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "500Mi"}},
            "memory",
            (8192 - HIDDEN - RESERVED - 500) * MIB,
            id="an amount of memory",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "100%"}},
            "memory",
            (8192 - HIDDEN - RESERVED) * MIB,
            id="a whole share means never",
        ),
        pytest.param(
            {"evictionHard": {"nodefs.available": "25%"}},
            "ephemeral-storage",
            14 * GIB,
            id="a share of storage",
        ),
        pytest.param(
            {
                "evictionSoft": {"memory.available": "2Gi"},
                "evictionSoftGracePeriod": {"memory.available": "1m"},
            },
            "memory",
            (8192 - HIDDEN - RESERVED - EVICTION) * MIB,
            id="soft thresholds reserve nothing",
        ),
    ],
)
def test_kubelet_settings_change_what_is_reserved(
    kubelet: dict[str, Any], resource: str, want: int
) -> None:
    """Key by key."""
    assert large(kubelet=kubelet).allocatable[resource] == want


def test_ephemeral_storage_keeps_a_gibibyte_and_a_tenth() -> None:
    """For kubelet, and before eviction."""
    assert large().allocatable["ephemeral-storage"] == 17 * GIB


@pytest.mark.parametrize(
    ("figures", "want"),
    [
        pytest.param({"gpus": 8, "gpu_maker": "NVIDIA"}, {"nvidia.com/gpu": 8}, id="NVIDIA GPUs"),
        pytest.param({"gpus": 4, "gpu_maker": "AMD"}, {"amd.com/gpu": 4}, id="AMD GPUs"),
        pytest.param({"gpus": 8, "gpu_maker": "Habana"}, {"habana.ai/gaudi": 8}, id="Gaudi"),
        pytest.param({"gpus": 8, "gpu_maker": "Acme"}, {}, id="of a maker nobody knows"),
        pytest.param(
            {"neurons": 16, "neuron_cores": 2},
            {"aws.amazon.com/neuron": 16, "aws.amazon.com/neuroncore": 32},
            id="Neuron devices and their cores",
        ),
        pytest.param({"efas": 4}, {"vpc.amazonaws.com/efa": 4}, id="EFA interfaces"),
    ],
)
def test_devices_are_extended_resources(figures: dict[str, Any], want: dict[str, int]) -> None:
    """Under the names of their device plugins."""
    got = resolved(machine("x1.large", **figures), node_class()).capacity
    plain = {"cpu", "memory", "ephemeral-storage", "pods"}
    assert {name: amount for name, amount in got.items() if name not in plain} == want


def test_network_interfaces_of_the_class_say_how_many_efas_there_are() -> None:
    """Only efa-only interfaces count then."""
    cards = (
        NetworkInterface(0, 0),
        NetworkInterface(1, 1, "efa-only"),
        NetworkInterface(2, 1, "efa-only"),
    )
    given = machine("p5.48xlarge", efas=32, card_interfaces=(2, 2, 2))
    assert resolved(given, node_class()).capacity["vpc.amazonaws.com/efa"] == 32
    got = resolved(given, node_class(network_interfaces=cards))
    assert got.capacity["vpc.amazonaws.com/efa"] == 2


def test_pod_eni_is_the_number_of_branch_interfaces() -> None:
    """Of types that have a trunk interface; EC2 does not tell, a packaged table does."""
    assert large().capacity["vpc.amazonaws.com/pod-eni"] == 9
    burstable = resolved(machine("t3.large"), node_class())
    assert "vpc.amazonaws.com/pod-eni" not in burstable.capacity


def test_windows_nodes_have_private_addresses() -> None:
    """Those of the first interface but one."""
    got = large(family="Windows2022").capacity
    assert got["vpc.amazonaws.com/PrivateIPv4Address"] == 9
    assert "vpc.amazonaws.com/PrivateIPv4Address" not in large().capacity


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, 25, id="root volume and second interface"),
        pytest.param({"family": "Bottlerocket"}, 24, id="Bottlerocket has two volumes"),
        pytest.param(
            {"network_interfaces": tuple(NetworkInterface(0, at) for at in range(3))},
            24,
            id="three interfaces of the class",
        ),
    ],
)
def test_volumes_of_the_node_itself_leave_fewer_slots_to_pods(
    spec: dict[str, Any], want: int
) -> None:
    """27 slots of an m5.large are shared with interfaces."""
    assert large(**spec).attach_limits == {"ebs.csi.aws.com": want}


@pytest.mark.parametrize("given", packaged_types()[::60], ids=lambda given: given.name)
@pytest.mark.parametrize("family", ["AL2", "AL2023", "Bottlerocket", "Custom", "Windows2022"])
def test_more_reserved_interfaces_never_mean_more_pods(given: MachineType, family: str) -> None:
    """And nothing else of the node grows with them."""
    ladder = [
        resolved(given, node_class(family=family), AwsSettings(reserved_enis=n)).capacity
        for n in range(5)
    ]
    pods = [capacity["pods"] for capacity in ladder]
    assert pods == sorted(pods, reverse=True)
    assert len({capacity["memory"] for capacity in ladder}) == 1


@pytest.mark.parametrize("given", packaged_types()[::60], ids=lambda given: given.name)
@pytest.mark.parametrize(
    "kubelet",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"systemReserved": {"cpu": "500", "memory": "50Ti"}}, id="far too much"),
        pytest.param({"evictionHard": {"memory.available": "99%"}}, id="nearly all"),
    ],
)
def test_allocatable_is_never_more_than_capacity_and_never_negative(
    given: MachineType, kubelet: dict[str, Any]
) -> None:
    """Of every resource; none is added or lost."""
    got = resolved(given, node_class(kubelet=kubelet))
    assert got.allocatable.keys() == got.capacity.keys()
    assert all(0 <= got.allocatable[name] <= amount for name, amount in got.capacity.items())
