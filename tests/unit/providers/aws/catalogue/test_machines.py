"""Machine types as EC2 describes them, and as the packaged table has them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail.providers.aws.catalogue.described import DescribedType
from dovetail.providers.aws.catalogue.machines import (
    from_described,
    is_wanted,
    machine_type,
    packaged_prices,
    packaged_types,
    vpc_limits,
)

P4D: Any = {  # shortened; what is left out does not apply
    "InstanceType": "p4d.24xlarge",
    "BareMetal": False,
    "Hypervisor": "nitro",
    "NitroEnclavesSupport": "supported",
    "SupportedUsageClasses": ["spot", "on-demand", "capacity-block"],
    "SupportedVirtualizationTypes": ["hvm"],
    "VCpuInfo": {"DefaultVCpus": 96, "ValidCores": [2, 4]},
    "MemoryInfo": {"SizeInMiB": 1179648},
    "ProcessorInfo": {
        "Manufacturer": "Intel",
        "SupportedArchitectures": ["x86_64"],
        "SustainedClockSpeedInGhz": 3.0,
        "SupportedFeatures": ["nested-virtualization"],
    },
    "InstanceStorageInfo": {"TotalSizeInGB": 8000, "NvmeSupport": "required"},
    "EbsInfo": {
        "EbsOptimizedSupport": "default",
        "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 19000},
        "AttachmentLimitType": "dedicated",
        "MaximumEbsAttachments": 28,
    },
    "NetworkInfo": {
        "DefaultNetworkCardIndex": 0,
        "Ipv4AddressesPerInterface": 50,
        "EnaSupport": "required",
        "EfaInfo": {"MaximumEfaInterfaces": 4},
        "EncryptionInTransitSupported": True,
        "NetworkCards": [
            {
                "NetworkCardIndex": index,
                "MaximumNetworkInterfaces": 15,
                "BaselineBandwidthInGbps": 100.0,
            }
            for index in (3, 1, 0, 2)
        ],
    },
    "GpuInfo": {
        "Gpus": [
            {
                "Name": "A100",
                "Manufacturer": "NVIDIA",
                "Count": 8,
                "MemoryInfo": {"SizeInMiB": 40960},
            }
        ]
    },
    "PlacementGroupInfo": {"SupportedStrategies": ["spread", "cluster", "partition"]},
}
INFERENTIA: Any = {
    "NeuronInfo": {"NeuronDevices": [{"Name": "Inferentia2", "Count": 6, "CoreInfo": {"Count": 2}}]}
}
QUALCOMM: Any = {
    "InferenceAcceleratorInfo": {
        "Accelerators": [{"Name": "AI100", "Manufacturer": "Qualcomm", "Count": 8}]
    }
}
GPU: Any = P4D["GpuInfo"]["Gpus"][0]


def test_a_described_type_has_the_figures_of_the_packaged_table() -> None:
    """The table was made from the same answers."""
    (packed,) = [machine for machine in packaged_types() if machine.name == "p4d.24xlarge"]
    expected = msgspec.structs.replace(packed, nests_virtualization=True)
    assert machine_type(P4D) == expected
    assert packed.card_interfaces == (15, 15, 15, 15)
    assert packed.usage_classes == ("capacity-block", "on-demand", "spot")


@pytest.mark.parametrize(
    ("described", "want"),
    [
        pytest.param(INFERENTIA, (6, 2, 6, "Inferentia2", "aws"), id="Neuron is made by AWS"),
        pytest.param(QUALCOMM, (0, 0, 8, "AI100", "Qualcomm"), id="another accelerator"),
        pytest.param({}, (0, 0, 0, "", ""), id="none"),
    ],
)
def test_accelerators_are_neuron_devices_or_those_of_another_maker(
    described: Any, want: tuple[int, int, int, str, str]
) -> None:
    """Only Neuron devices have cores that can be requested."""
    got = machine_type(P4D | described)
    assert want == (
        got.neurons,
        got.neuron_cores,
        got.accelerators,
        got.accelerator_name,
        got.accelerator_maker,
    )


def test_several_kinds_of_gpu_have_a_count_but_no_name() -> None:
    """Labels could name only one of them."""
    got = machine_type(P4D | {"GpuInfo": {"Gpus": [GPU, GPU | {"Name": "H100"}]}})
    assert (got.gpus, got.gpu_maker, got.gpu_name, got.gpu_mib) == (16, "NVIDIA", "", 0)


def test_what_ec2_leaves_out_is_none() -> None:
    """A new kind of type with nothing but a name must not stop the others."""
    got = from_described(DescribedType("z1"))
    assert (got.name, got.vcpus, got.enis, got.has_spot) == ("z1", 0, 0, False)


@pytest.mark.parametrize(
    ("virtualization", "architectures", "want"),
    [
        pytest.param(["hvm"], ["x86_64"], True, id="x86_64"),
        pytest.param(["hvm"], ["arm64"], True, id="arm64"),
        pytest.param(["paravirtual"], ["x86_64"], False, id="no hardware virtualisation"),
        pytest.param(["hvm"], ["arm64_mac"], False, id="a Mac"),
        pytest.param(["hvm"], ["i386"], False, id="32 bit"),
    ],
)
def test_nodes_need_hardware_virtualisation_and_64_bits(
    virtualization: list[str], architectures: list[str], *, want: bool
) -> None:
    """Everything else is left out of the catalogue."""
    described = {
        "InstanceType": "x1",
        "SupportedVirtualizationTypes": virtualization,
        "ProcessorInfo": {"SupportedArchitectures": architectures},
    }
    assert is_wanted(msgspec.convert(described, DescribedType)) is want


def test_every_packaged_type_has_a_price_and_a_way_to_be_bought() -> None:
    """Nothing in the table is guessed."""
    assert packaged_prices().keys() == {machine.name for machine in packaged_types()}
    assert all(price > 0 for price in packaged_prices().values())
    assert all("on-demand" in machine.usage_classes for machine in packaged_types())
    assert all(sum(machine.card_interfaces) >= machine.enis > 0 for machine in packaged_types())


def test_branch_interfaces_are_known_of_types_with_a_trunk_interface() -> None:
    """By name; a burstable type has none."""
    limits = vpc_limits()
    assert (limits["m5.large"].branch_interfaces, limits["m5.large"].ipv4_per_eni) == (9, 10)
    assert limits["t3.large"].branch_interfaces == 0
