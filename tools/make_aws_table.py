"""Where does `providers/aws/table.tsv` come from? This makes it, from two public sources.

    python tools/make_aws_table.py

Shapes (vCPUs, memory, network interfaces, GPUs, disks, volume slots) are those of the EC2 type
table in the installed `moto` package (`pip install moto`). On-demand prices are those of
`kwok/examples/aws_instance_types.json` in the Go module `sigs.k8s.io/karpenter`, which `go mod
download` fetches. A type that either source lacks is left out; no figure is guessed or mended.
Run it again to take newer figures over, and read the diff.
"""

from __future__ import annotations

import gzip
import importlib.util
import subprocess
from pathlib import Path
from typing import Final

import msgspec

MODULE: Final = "sigs.k8s.io/karpenter@v1.14.1"
PRICES: Final = Path("kwok", "examples", "aws_instance_types.json")
SHAPES: Final = Path("ec2", "resources", "instance_types.json.gz")
TABLE: Final = Path(__file__).parents[1] / "src" / "dovetail" / "providers" / "aws" / "table.tsv"

# The columns, in order; `providers/aws/table.py` reads them by the same names.
COLUMNS: Final = (
    "name",
    "arch",  # amd64 or arm64
    "vcpus",
    "memory_mib",
    "cpu_maker",
    "clock_mhz",  # 0: not published
    "hypervisor",  # nitro, xen; empty: bare metal
    "enis",  # network interfaces on the default network card
    "ipv4_per_eni",
    "network_mbps",  # baseline, all network cards together
    "ebs_mbps",  # 0: not optimised for EBS by default
    "efas",
    "nvme_gb",  # 0: no NVMe instance store
    "gpus",
    "gpu_name",
    "gpu_maker",
    "gpu_mib",  # of one GPU
    "neurons",
    "neuron_name",
    "neuron_cores",  # of one device
    "encrypts_transit",
    "has_enclaves",
    "volume_slots",  # root volume included
    "shares_slots",  # whether network interfaces take volume slots
    "has_spot",
    "price_nanousd",
)


class _Struct(msgspec.Struct, rename="pascal"):
    """EC2 spells its fields in PascalCase."""


class Memory(_Struct):
    """An amount of memory."""

    size_in_mib: int = msgspec.field(name="SizeInMiB")


class Gpu(_Struct):
    """One kind of GPU on a type."""

    name: str
    manufacturer: str
    count: int = 0
    memory_info: Memory | None = None


class GpuInfo(_Struct):
    """All kinds of GPU on a type."""

    gpus: list[Gpu]


class NeuronCores(_Struct):
    """The cores of one Neuron device."""

    count: int


class NeuronDevice(_Struct):
    """One kind of Neuron device on a type."""

    name: str
    count: int
    core_info: NeuronCores


class NeuronInfo(_Struct):
    """All kinds of Neuron device on a type."""

    neuron_devices: list[NeuronDevice]


class EbsOptimized(_Struct):
    """How fast volumes can be."""

    maximum_bandwidth_in_mbps: int


class EbsInfo(_Struct):
    """What a type can do with volumes."""

    ebs_optimized_support: str
    attachment_limit_type: str
    maximum_ebs_attachments: int
    ebs_optimized_info: EbsOptimized | None = None


class NetworkCard(_Struct):
    """One network card."""

    network_card_index: int
    maximum_network_interfaces: int
    baseline_bandwidth_in_gbps: float


class EfaInfo(_Struct):
    """How many EFA interfaces a type takes."""

    maximum_efa_interfaces: int


class NetworkInfo(_Struct):
    """What a type can do on the network."""

    default_network_card_index: int
    ipv4_addresses_per_interface: int
    network_cards: list[NetworkCard]
    encryption_in_transit_supported: bool
    efa_info: EfaInfo | None = None


class InstanceStorage(_Struct):
    """Local disks."""

    total_size_in_gb: int = msgspec.field(name="TotalSizeInGB")
    nvme_support: str = "unsupported"


class Processor(_Struct):
    """The processor."""

    manufacturer: str
    supported_architectures: list[str]
    sustained_clock_speed_in_ghz: float = 0.0


class Vcpus(_Struct):
    """How many vCPUs."""

    default_vcpus: int = msgspec.field(name="DefaultVCpus")


class Shape(_Struct):
    """What EC2 tells about a type, as far as the table needs it."""

    instance_type: str
    vcpu_info: Vcpus = msgspec.field(name="VCpuInfo")
    memory_info: Memory
    processor_info: Processor
    network_info: NetworkInfo
    ebs_info: EbsInfo
    supported_usage_classes: list[str]
    supported_virtualization_types: list[str]
    nitro_enclaves_support: str
    hypervisor: str = ""
    gpu_info: GpuInfo | None = None
    neuron_info: NeuronInfo | None = None
    instance_storage_info: InstanceStorage | None = None


class PricedRequirement(msgspec.Struct):
    """One label of a priced offering."""

    key: str
    values: list[str]


class PricedOffering(msgspec.Struct, rename="pascal"):
    """One price."""

    price: msgspec.Raw
    requirements: list[PricedRequirement]


class PricedType(msgspec.Struct):
    """A type with its prices."""

    name: str
    offerings: list[PricedOffering]


class Download(msgspec.Struct):
    """What `go mod download -json` answers."""

    directory: str = msgspec.field(name="Dir")


def main() -> None:
    """Write the table and say how large it is."""
    prices = on_demand_prices(module_directory() / PRICES)
    shapes = [shape for shape in read_shapes() if is_wanted(shape)]
    priced = sorted((s for s in shapes if s.instance_type in prices), key=_by_family_and_size)
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(row(shape, prices[shape.instance_type])) for shape in priced]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{TABLE.name}: {len(priced)} types; {len(shapes) - len(priced)} have no price")


def module_directory() -> Path:
    """Where the Go module is, downloaded if need be."""
    found = subprocess.run(
        ["go", "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True
    )
    return Path(msgspec.json.decode(found.stdout, type=Download).directory)


def on_demand_prices(path: Path) -> dict[str, int]:
    """On-demand price by type, in nanodollars. Every zone and system has the same."""
    prices: dict[str, int] = {}
    for one in msgspec.json.decode(path.read_bytes(), type=list[PricedType]):
        for offering in one.offerings:
            if any(r.values == ["on-demand"] for r in offering.requirements):
                price = round(float(bytes(offering.price)) * 10**9)
                if prices.setdefault(one.name, price) != price:
                    msg = f"{one.name} has several on-demand prices"
                    raise ValueError(msg)
    return prices


def read_shapes() -> list[Shape]:
    """Every type that moto knows."""
    spec = importlib.util.find_spec("moto")
    if spec is None or spec.origin is None:
        msg = "moto is not installed: pip install moto"
        raise SystemExit(msg)
    packed = (Path(spec.origin).parent / SHAPES).read_bytes()
    return list(msgspec.json.decode(gzip.decompress(packed), type=dict[str, Shape]).values())


def is_wanted(shape: Shape) -> bool:
    """Whether a node can run on it: hardware virtualisation, 64 bit, and no Mac."""
    return (
        "hvm" in shape.supported_virtualization_types
        and not shape.instance_type.startswith("mac")
        and bool({"x86_64", "arm64"} & set(shape.processor_info.supported_architectures))
    )


def row(shape: Shape, price_nanousd: int) -> list[str]:
    """The columns of one type."""
    cells = [*_machine(shape), *_network(shape), *_devices(shape), *_slots(shape)]
    usage = shape.supported_usage_classes
    return [
        str(int(c) if isinstance(c, bool) else c) for c in (*cells, "spot" in usage, price_nanousd)
    ]


def _machine(shape: Shape) -> list[str | int]:
    processor = shape.processor_info
    return [
        shape.instance_type,
        "arm64" if "arm64" in processor.supported_architectures else "amd64",
        shape.vcpu_info.default_vcpus,
        shape.memory_info.size_in_mib,
        processor.manufacturer,
        round(processor.sustained_clock_speed_in_ghz * 1000),
        shape.hypervisor,
    ]


def _network(shape: Shape) -> list[int]:
    network, ebs = shape.network_info, shape.ebs_info
    default_card = next(
        card
        for card in network.network_cards
        if card.network_card_index == network.default_network_card_index
    )
    optimized = ebs.ebs_optimized_info if ebs.ebs_optimized_support == "default" else None
    return [
        default_card.maximum_network_interfaces,
        network.ipv4_addresses_per_interface,
        round(sum(card.baseline_bandwidth_in_gbps for card in network.network_cards) * 1000),
        optimized.maximum_bandwidth_in_mbps if optimized else 0,
        network.efa_info.maximum_efa_interfaces if network.efa_info else 0,
    ]


def _devices(shape: Shape) -> list[str | int]:
    storage = shape.instance_storage_info
    nvme_gb = storage.total_size_in_gb if storage and storage.nvme_support != "unsupported" else 0
    return [nvme_gb, *_gpu(shape), *_neuron(shape)]


def _gpu(shape: Shape) -> list[str | int]:
    gpus = shape.gpu_info.gpus if shape.gpu_info else []
    if len(gpus) != 1:
        return [0, "", "", 0]
    (gpu,) = gpus
    return [
        gpu.count,
        gpu.name,
        gpu.manufacturer,
        gpu.memory_info.size_in_mib if gpu.memory_info else 0,
    ]


def _neuron(shape: Shape) -> list[str | int]:
    devices = shape.neuron_info.neuron_devices if shape.neuron_info else []
    if not devices:
        return [0, "", 0]
    return [sum(d.count for d in devices), devices[0].name, devices[0].core_info.count]


def _slots(shape: Shape) -> list[int | bool]:
    return [
        shape.network_info.encryption_in_transit_supported,
        shape.nitro_enclaves_support == "supported",
        shape.ebs_info.maximum_ebs_attachments,
        shape.ebs_info.attachment_limit_type == "shared",
    ]


def _by_family_and_size(shape: Shape) -> tuple[str, int, int, str]:
    family, _, _ = shape.instance_type.partition(".")
    return (
        family,
        shape.vcpu_info.default_vcpus,
        shape.memory_info.size_in_mib,
        shape.instance_type,
    )


if __name__ == "__main__":
    main()
