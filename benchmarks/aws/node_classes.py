"""How long does it take to compute the instance types of EC2NodeClasses?

Ten node classes, each with settings of its own, are resolved over 1,300 types in three zones with
three capacity types.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Final

import msgspec

from benchmarks.machine import peak_mb
from benchmarks.results import Result
from benchmarks.rows import PEAK_MB, SECONDS
from dovetail import labels
from dovetail.api.meta import ObjectMeta
from dovetail.providers.aws.catalogue.inputs import CatalogueInputs, UnavailableOffering
from dovetail.providers.aws.catalogue.instance_types import instance_types
from dovetail.providers.aws.catalogue.offline import ZONES, offline_inputs
from dovetail.providers.aws.node_class.types import (
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassSpec,
    EC2NodeClassStatus,
    Subnet,
)
from dovetail.providers.aws.settings import AwsSettings

N_TYPES: Final = 1300
N_CLASSES: Final = 10
_LIMIT_SECONDS: Final = 1.0
_SETTINGS: Final = AwsSettings()
_FAMILIES: Final = ("AL2023", "Bottlerocket", "AL2", "Custom")


def measure_node_classes(n_classes: int = N_CLASSES, n_types: int = N_TYPES) -> Result:
    """Resolve all classes: from nothing, again, and after a type ran out of capacity. CPU seconds
    of this process.
    """
    inputs = _inputs(n_types)
    classes = [_node_class(ordinal, inputs) for ordinal in range(n_classes)]
    first, n_offerings = _timed(classes, inputs)
    rest, _ = _timed(classes, inputs)
    mark = UnavailableOffering(inputs.machines[0].name, ZONES[0], labels.SPOT)
    marked = msgspec.structs.replace(inputs, unavailable=frozenset({mark}))
    changed, _ = _timed(classes, marked)
    figures = {
        "node classes": n_classes,
        "types": n_types,
        "offerings": n_offerings,
        SECONDS: first,
        "seconds at rest": rest,
        "seconds after a mark": changed,
        PEAK_MB: peak_mb(),
    }
    return Result(f"node-classes-{n_classes}", figures, limits={SECONDS: _LIMIT_SECONDS})


def _timed(classes: Sequence[EC2NodeClass], inputs: CatalogueInputs) -> tuple[float, int]:
    started = time.process_time()
    resolved = [instance_types(one, inputs, _SETTINGS) for one in classes]
    seconds = time.process_time() - started
    return seconds, sum(len(kind.offerings) for types in resolved for kind in types)


def _inputs(n_types: int) -> CatalogueInputs:
    """The packaged types, and copies under other names until there are enough."""
    packaged = offline_inputs()
    machines = tuple(
        one
        if number < len(packaged.machines)
        else msgspec.structs.replace(one, name=f"x{one.name}")
        for number, one in enumerate(islice(cycle(packaged.machines), n_types))
    )
    known = packaged.on_demand_nanousd
    prices = {
        one.name: known.get(one.name) or known[one.name.removeprefix("x")] for one in machines
    }
    return msgspec.structs.replace(
        packaged,
        machines=machines,
        zones={one.name: ZONES for one in machines},
        on_demand_nanousd=prices,
        spot_nanousd={(name, zone): price // 3 for name, price in prices.items() for zone in ZONES},
        reservation_counts={f"cr-{number}": 3 for number in range(n_types)},
    )


def _node_class(ordinal: int, inputs: CatalogueInputs) -> EC2NodeClass:
    """A class with kubelet settings and subnets of its own, and a reservation of every type."""
    reservations = tuple(
        CapacityReservation(
            id=f"cr-{number}", instance_type=one.name, availability_zone=ZONES[number % 3]
        )
        for number, one in enumerate(inputs.machines)
    )
    return EC2NodeClass(
        metadata=ObjectMeta(name=f"class-{ordinal}"),
        spec=EC2NodeClassSpec(
            ami_family=_FAMILIES[ordinal % len(_FAMILIES)],
            kubelet={"maxPods": 50 + ordinal, "systemReserved": {"cpu": "100m"}},
        ),
        status=EC2NodeClassStatus(
            subnets=tuple(Subnet(f"subnet-{ordinal}-{zone}", zone, zone) for zone in ZONES),
            capacity_reservations=reservations,
        ),
    )
