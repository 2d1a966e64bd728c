"""Makes the packaged tables of `providers/aws/catalogue` from three public sources.

    python tools/make_aws_table.py

`table.tsv`: shapes (vCPUs, memory, network interfaces, GPUs, disks, volume slots) are those of the
EC2 type table in the installed `moto` package (`pip install moto`). On-demand prices are those of
`kwok/examples/aws_instance_types.json` in the Go module `sigs.k8s.io/karpenter`, which `go mod
download` fetches. A type that either source lacks is left out; no figure is guessed or mended.

`vpc_limits.tsv`: branch interfaces and addresses, which EC2 does not describe, are those of
`pkg/aws/vpc/limits.go` in the Go module `github.com/aws/amazon-vpc-resource-controller-k8s`.

Run it again to take newer figures over, and read the diff.
"""

from __future__ import annotations

import gzip
import importlib.util
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from dovetail.providers.aws.catalogue.described import DescribedType
from dovetail.providers.aws.catalogue.machines import MachineType, from_described, is_wanted

PRICE_MODULE: Final = "sigs.k8s.io/karpenter@v1.14.1"
PRICES: Final = Path("kwok", "examples", "aws_instance_types.json")
LIMITS_MODULE: Final = "github.com/aws/amazon-vpc-resource-controller-k8s@v1.8.2"
LIMITS: Final = Path("pkg", "aws", "vpc", "limits.go")
SHAPES: Final = Path("ec2", "resources", "instance_types.json.gz")
FOLDER: Final = Path(__file__).parents[1] / "src" / "dovetail" / "providers" / "aws" / "catalogue"

_LIMIT: Final = re.compile(
    r'^\t"(?P<name>[^"]+)": \{\n.*?IPv4PerInterface: +(?P<ipv4_per_eni>\d+),.*?'
    r"IsTrunkingCompatible: +(?P<trunks>true|false),.*?BranchInterface: +(?P<branches>\d+),",
    re.MULTILINE | re.DOTALL,
)


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
    """Write the tables and print how large they are."""
    prices = on_demand_prices(module_directory(PRICE_MODULE) / PRICES)
    machines = [from_described(shape) for shape in read_shapes() if is_wanted(shape)]
    priced = sorted((m for m in machines if m.name in prices), key=_by_family_and_size)
    columns = (*MachineType.__struct_fields__, "price_nanousd")
    rows = [[*_cells(machine), str(prices[machine.name])] for machine in priced]
    _write("table.tsv", columns, rows)
    print(f"table.tsv: {len(priced)} types; {len(machines) - len(priced)} have no price")
    limits = vpc_limits(module_directory(LIMITS_MODULE) / LIMITS)
    _write("vpc_limits.tsv", ("name", "branch_interfaces", "ipv4_per_eni"), limits)
    print(f"vpc_limits.tsv: {len(limits)} types")


def module_directory(module: str) -> Path:
    """Where the Go module is, downloaded if need be."""
    answer = subprocess.run(
        ["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True
    )
    return Path(msgspec.json.decode(answer.stdout, type=Download).directory)


def on_demand_prices(path: Path) -> dict[str, int]:
    """On-demand price by type, in nanodollars. Every zone and system has the same."""
    prices: dict[str, int] = {}
    for priced in msgspec.json.decode(path.read_bytes(), type=list[PricedType]):
        for offering in priced.offerings:
            if any(r.values == ["on-demand"] for r in offering.requirements):
                price = round(float(bytes(offering.price)) * 10**9)
                if prices.setdefault(priced.name, price) != price:
                    msg = f"{priced.name} has several on-demand prices"
                    raise ValueError(msg)
    return prices


def read_shapes() -> list[DescribedType]:
    """Every type that moto knows."""
    spec = importlib.util.find_spec("moto")
    if spec is None or spec.origin is None:
        msg = "moto is not installed: pip install moto"
        raise SystemExit(msg)
    packed = (Path(spec.origin).parent / SHAPES).read_bytes()
    shapes = msgspec.json.decode(gzip.decompress(packed), type=dict[str, DescribedType])
    return list(shapes.values())


def vpc_limits(path: Path) -> list[list[str]]:
    """Name, branch interfaces (0 without a trunk interface) and addresses, by name."""
    matches = _LIMIT.finditer(path.read_text(encoding="utf-8"))
    return sorted(
        [m["name"], m["branches"] if m["trunks"] == "true" else "0", m["ipv4_per_eni"]]
        for m in matches
    )


def _write(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = ["\t".join(columns), *("\t".join(row) for row in rows)]
    (FOLDER / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cells(machine: MachineType) -> list[str]:
    return [_cell(value) for value in msgspec.structs.astuple(machine)]


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def _by_family_and_size(machine: MachineType) -> tuple[str, int, int, str]:
    return (machine.family, machine.vcpus, machine.memory_mib, machine.name)


if __name__ == "__main__":
    main()
