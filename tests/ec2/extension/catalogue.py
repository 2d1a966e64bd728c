"""Instance types, where they are offered, and what they cost.

The types are those of Dovetail's own table, in the shape in which DescribeInstanceTypes sends them
(moto ships a copy of EC2's answer). On-demand prices are those of the table. Spot prices are the
same synthetic ones as in `dovetail plan --catalog aws`; a test compares the two.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

import moto

from tests.ec2.extension.wire import Tree

ZONE_IDS = {"us-west-2a": "usw2-az2", "us-west-2b": "usw2-az1", "us-west-2c": "usw2-az3"}
ON_DEMAND, SPOT = "on-demand", "spot"
CAPACITY_TYPES = (ON_DEMAND, SPOT)

_TABLE = (
    Path(__file__).parents[3] / "src" / "dovetail" / "providers" / "aws" / "catalogue" / "table.tsv"
)
_SHAPES = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"

Pool = tuple[str, str, str]  # instance type, zone, capacity type


@cache
def shapes() -> dict[str, Tree]:
    """DescribeInstanceTypes' answer for each type of the table, by name."""
    known = json.loads(gzip.decompress(_SHAPES.read_bytes()))
    return {name: known[name] for name in _list_prices()}


@cache
def _list_prices() -> dict[str, int]:
    """On-demand price by type, in nanodollars an hour."""
    with _TABLE.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["name"]: int(row["price_nanousd"]) for row in rows}


def architecture(instance_type: str) -> str:
    """`x86_64` or `arm64`."""
    supported = shapes()[instance_type]["ProcessorInfo"]["SupportedArchitectures"]
    return "arm64" if "arm64" in supported else "x86_64"


def list_price(pool: Pool) -> int:
    """The price of a pool, unless a test set another one."""
    instance_type, zone, capacity_type = pool
    price = _list_prices()[instance_type]
    if capacity_type != SPOT:
        return price
    digest = int(sha256(f"{instance_type}/{zone}".encode()).hexdigest()[:8], 16)
    hundredths, denominator = (25 << 32) + 45 * digest, 100 << 32
    return (2 * price * hundredths + denominator) // (2 * denominator)


def is_sold(pool: Pool) -> bool:
    """Whether EC2 sells the type in this way at all."""
    instance_type, zone, capacity_type = pool
    shape = shapes().get(instance_type)
    return (
        shape is not None and zone in ZONE_IDS and capacity_type in shape["SupportedUsageClasses"]
    )


def pools(instance_type: str, zone: str, capacity_type: str) -> list[Pool]:
    """Every pool that fits the three patterns."""
    types = [name for name in shapes() if fnmatchcase(name, instance_type)]
    zones = [name for name in ZONE_IDS if fnmatchcase(name, zone)]
    ways = [name for name in CAPACITY_TYPES if fnmatchcase(name, capacity_type)]
    return list(product(types, zones, ways))


@dataclass
class Market:
    """What tests set about pools: capacity, prices, and where a type is offered."""

    capacity: dict[Pool, int] = field(default_factory=dict)  # absent: without limit
    prices: dict[Pool, int] = field(default_factory=dict)
    withdrawn: set[tuple[str, str]] = field(default_factory=set)  # type and zone

    def price(self, pool: Pool) -> int:
        """Nanodollars an hour."""
        return self.prices.get(pool) or list_price(pool)

    def is_offered(self, pool: Pool) -> bool:
        """Whether the type is offered in the zone."""
        return is_sold(pool) and pool[:2] not in self.withdrawn

    def zones_of(self, instance_type: str) -> list[str]:
        """Where the type is offered."""
        return [zone for zone in ZONE_IDS if (instance_type, zone) not in self.withdrawn]

    def free(self, pool: Pool) -> int | None:
        """How many more instances the pool has; None means without limit."""
        return self.capacity.get(pool)

    def take(self, pool: Pool, n_instances: int = 1) -> None:
        """Use capacity of a pool, or give it back."""
        if pool in self.capacity:
            self.capacity[pool] -= n_instances
