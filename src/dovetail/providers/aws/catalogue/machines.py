"""Describes EC2 instance types, from DescribeInstanceTypes or from the packaged table."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.providers.aws.catalogue.described import DescribedType

if TYPE_CHECKING:
    from types_aiobotocore_ec2.type_defs import InstanceTypeInfoTypeDef

_FOLDER: Final = Path(__file__).parent
_LISTS: Final = ("card_interfaces", "usage_classes", "placement_strategies")
SPOT: Final = "spot"  # a usage class, spelled like the capacity type


class MachineType(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The figures of one instance type. Zero and empty mean that it has none of the thing."""

    name: str
    arch: str  # amd64 or arm64
    vcpus: int
    memory_mib: int
    cpu_maker: str = ""
    clock_mhz: int = 0  # 0: not published
    hypervisor: str = ""  # empty: bare metal
    enis: int = 0  # on the default network card
    ipv4_per_eni: int = 0
    network_mbps: int = 0  # baseline, all network cards together
    ebs_mbps: int = 0  # 0: not optimised for EBS by default
    efas: int = 0
    nvme_gb: int = 0
    gpus: int = 0
    gpu_name: str = ""  # empty: no GPU, or several kinds
    gpu_maker: str = ""
    gpu_mib: int = 0  # of one GPU
    neurons: int = 0
    neuron_cores: int = 0  # of one device
    accelerators: int = 0  # Neuron devices, or inference accelerators of another maker
    accelerator_name: str = ""
    accelerator_maker: str = ""
    encrypts_transit: bool = False
    has_enclaves: bool = False
    volume_slots: int = 0  # root volume included
    shares_slots: bool = False  # network interfaces take volume slots
    is_metal: bool = False
    has_ena: bool = False
    instance_store_gb: int = 0  # NVMe or not
    nests_virtualization: bool = False
    card_interfaces: tuple[int, ...] = ()  # network interfaces by network card
    usage_classes: tuple[str, ...] = ()
    placement_strategies: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """What stands before the dot: `m5` of `m5.large`."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """What stands after the dot: `large` of `m5.large`."""
        return self.name.partition(".")[2]

    @property
    def has_spot(self) -> bool:
        """Whether EC2 sells the type as spot at all."""
        return SPOT in self.usage_classes

    @property
    def is_nitro(self) -> bool:
        """Whether it runs on the Nitro system: under its hypervisor, or as bare metal with ENA."""
        return self.hypervisor == "nitro" or (self.is_metal and self.has_ena)


class VpcLimits(msgspec.Struct, frozen=True, gc=False):
    """What only the VPC resource controller knows of an instance type."""

    branch_interfaces: int  # 0: no trunk interface
    ipv4_per_eni: int


def machine_type(described: InstanceTypeInfoTypeDef) -> MachineType:
    """The figures of one type of an answer of DescribeInstanceTypes."""
    return from_described(msgspec.convert(described, DescribedType))


def is_wanted(described: DescribedType) -> bool:
    """Whether a node can run on it: hardware virtualisation, 64 bit, and no Mac."""
    return "hvm" in described.supported_virtualization_types and not {"x86_64", "arm64"}.isdisjoint(
        described.processor_info.supported_architectures
    )


def from_described(described: DescribedType) -> MachineType:
    """The figures of one described type."""
    processor = described.processor_info
    storage = described.instance_storage_info
    figures = {
        "name": described.instance_type,
        "arch": "arm64" if "arm64" in processor.supported_architectures[:1] else "amd64",
        "vcpus": described.vcpu_info.default_vcpus,
        "memory_mib": described.memory_info.size_in_mib,
        "cpu_maker": processor.manufacturer,
        "clock_mhz": round(processor.sustained_clock_speed_in_ghz * 1000),
        "hypervisor": described.hypervisor,
        "has_enclaves": described.nitro_enclaves_support == "supported",
        "is_metal": described.bare_metal,
        "nests_virtualization": "nested-virtualization" in processor.supported_features,
        "nvme_gb": storage.total_size_in_gb if storage.nvme_support != "unsupported" else 0,
        "instance_store_gb": storage.total_size_in_gb,
        "usage_classes": tuple(sorted(described.supported_usage_classes)),
        "placement_strategies": tuple(sorted(described.placement_group_info.supported_strategies)),
    }
    return msgspec.convert(
        figures | _network(described) | _gpus(described) | _accelerators(described), MachineType
    )


def _network(described: DescribedType) -> dict[str, object]:
    network, ebs = described.network_info, described.ebs_info
    cards = sorted(network.network_cards, key=lambda card: card.network_card_index)
    interfaces = {card.network_card_index: card.maximum_network_interfaces for card in cards}
    return {
        "enis": interfaces.get(network.default_network_card_index, 0),
        "ipv4_per_eni": network.ipv4_addresses_per_interface,
        "network_mbps": round(sum(card.baseline_bandwidth_in_gbps for card in cards) * 1000),
        "ebs_mbps": ebs.ebs_optimized_info.maximum_bandwidth_in_mbps
        if ebs.ebs_optimized_support == "default"
        else 0,
        "efas": network.efa_info.maximum_efa_interfaces,
        "encrypts_transit": network.encryption_in_transit_supported,
        "has_ena": network.ena_support != "unsupported",
        "card_interfaces": tuple(interfaces.values()),
        "volume_slots": ebs.maximum_ebs_attachments,
        "shares_slots": ebs.attachment_limit_type == "shared",
    }


def _gpus(described: DescribedType) -> dict[str, object]:
    gpus = described.gpu_info.gpus
    if not gpus:
        return {}
    count = {"gpus": sum(gpu.count for gpu in gpus), "gpu_maker": gpus[0].manufacturer}
    if len(gpus) > 1:
        return count
    return count | {"gpu_name": gpus[0].name, "gpu_mib": gpus[0].memory_info.size_in_mib}


def _accelerators(described: DescribedType) -> dict[str, object]:
    devices = described.neuron_info.neuron_devices
    if devices:
        neurons = sum(device.count for device in devices)
        return {
            "neurons": neurons,
            "neuron_cores": devices[0].core_info.count,
            "accelerators": neurons,
            "accelerator_name": devices[0].name,
            "accelerator_maker": "aws",
        }
    inference = described.inference_accelerator_info.accelerators
    if len(inference) != 1:
        return {}
    return {
        "accelerators": inference[0].count,
        "accelerator_name": inference[0].name,
        "accelerator_maker": inference[0].manufacturer,
    }


@lru_cache(maxsize=1)
def packaged_types() -> tuple[MachineType, ...]:
    """Every type of the packaged table, by family and size."""
    rows = [row | {key: _split(row[key]) for key in _LISTS} for row in _rows("table.tsv")]
    return tuple(msgspec.convert(rows, list[MachineType], strict=False))


@lru_cache(maxsize=1)
def packaged_prices() -> dict[str, int]:
    """On-demand prices of the packaged table in nanodollars an hour, by type."""
    return {row["name"]: int(row["price_nanousd"]) for row in _rows("table.tsv")}


@lru_cache(maxsize=1)
def vpc_limits() -> dict[str, VpcLimits]:
    """What is known of trunk interfaces and addresses, by type; EC2 does not tell."""
    return {
        row["name"]: VpcLimits(int(row["branch_interfaces"]), int(row["ipv4_per_eni"]))
        for row in _rows("vpc_limits.tsv")
    }


def _rows(file: str) -> list[dict[str, str]]:
    header, *lines = (_FOLDER / file).read_text(encoding="utf-8").splitlines()
    columns = header.split("\t")
    return [dict(zip(columns, line.split("\t"), strict=True)) for line in lines]


def _split(text: str) -> list[str]:
    return text.split(",") if text else []
