"""A node class and what is known around it, in a few words."""

from __future__ import annotations

from typing import Any

from dovetail.api.meta import ObjectMeta
from dovetail.model.instance import InstanceType
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.machines import MachineType
from dovetail.providers.aws.node_class.types import (
    AMISelectorTerm,
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassSpec,
    EC2NodeClassStatus,
    Subnet,
)
from dovetail.providers.aws.settings import AwsSettings

MIB = 2**20
GIB = 2**30
A, B, C = "us-west-2a", "us-west-2b", "us-west-2c"
ZONE_IDS = {A: "usw2-az2", B: "usw2-az1", C: "usw2-az3"}
PRICE = 96_000_000


def machine(name: str = "m5.large", **figures: Any) -> MachineType:
    """An m5.large, but for the figures given."""
    usual: dict[str, Any] = {
        "arch": "amd64",
        "vcpus": 2,
        "memory_mib": 8192,
        "cpu_maker": "Intel",
        "clock_mhz": 3100,
        "hypervisor": "nitro",
        "enis": 3,
        "ipv4_per_eni": 10,
        "network_mbps": 750,
        "ebs_mbps": 4750,
        "encrypts_transit": False,
        "volume_slots": 27,
        "shares_slots": True,
        "has_ena": True,
        "card_interfaces": (3,),
        "usage_classes": ("on-demand", "spot"),
        "placement_strategies": ("cluster", "partition", "spread"),
    }
    return MachineType(name=name, **(usual | figures))


def node_class(
    *,
    family: str = "AL2023",
    zones: tuple[str, ...] = (A, B, C),
    reservations: tuple[CapacityReservation, ...] = (),
    name: str = "default",
    **spec: Any,
) -> EC2NodeClass:
    """A node class with a subnet in each of these zones."""
    return EC2NodeClass(
        metadata=ObjectMeta(name=name),
        spec=EC2NodeClassSpec(
            ami_family=family,
            ami_selector_terms=(AMISelectorTerm(id="ami-1"),),
            **spec,
        ),
        status=EC2NodeClassStatus(
            subnets=tuple(Subnet(f"subnet-{zone[-1]}", zone, ZONE_IDS[zone]) for zone in zones),
            capacity_reservations=reservations,
        ),
    )


def inputs(*machines: MachineType, **known: Any) -> CatalogueInputs:
    """These machines in three zones, each for 0.096 $ on demand and 0.03 $ as spot."""
    names = [one.name for one in machines]
    usual: dict[str, Any] = {
        "region": "us-west-2",
        "zones": dict.fromkeys(names, (A, B, C)),
        "on_demand_nanousd": dict.fromkeys(names, PRICE),
        "spot_nanousd": {(name, zone): 30_000_000 for name in names for zone in (A, B, C)},
        "knows_spot": True,
    }
    return CatalogueInputs(machines=machines, **(usual | known))


def resolved(
    given: MachineType,
    node_class: EC2NodeClass,
    settings: AwsSettings | None = None,
    **known: Any,
) -> InstanceType:
    """The one machine as an instance type of the class."""
    (kind,) = instance_types(node_class, inputs(given, **known), settings or AwsSettings())
    return kind
