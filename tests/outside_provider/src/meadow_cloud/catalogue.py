"""Lists the machines that the meadow has: four sizes, in two zones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail import labels
from dovetail.cloud.declare import allocatable, among, complete, placement, single
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.resources import CPU, MEMORY, PODS
from meadow_cloud.node_class import GROUP

CPUS: Final = f"{GROUP}/cpus"
SIZES: Final = (2, 4, 8, 16)
_ZONES: Final = ("meadow-north", "meadow-south")
_NANOUSD_PER_CPU: Final = 20_000_000


def instance_types(sizes: Sequence[int] = SIZES) -> tuple[InstanceType, ...]:
    """The types of these sizes."""
    return tuple(_instance_type(cpus) for cpus in sizes)


def _instance_type(cpus: int) -> InstanceType:
    capacity = {CPU: 1000 * cpus, MEMORY: cpus * 4 * 2**30, PODS: 110}
    return InstanceType(
        name=f"meadow-{cpus}",
        requirements=complete(
            (
                single(labels.INSTANCE_TYPE, f"meadow-{cpus}"),
                single(labels.ARCH, "amd64"),
                single(labels.OS, "linux"),
                among(labels.ZONE, _ZONES),
                single(labels.CAPACITY_TYPE, labels.ON_DEMAND),
                single(CPUS, str(cpus)),
            )
        ),
        capacity=capacity,
        allocatable=allocatable(capacity, {CPU: 100, MEMORY: 2**28}),
        offerings=tuple(
            Offering(
                zone,
                labels.ON_DEMAND,
                _NANOUSD_PER_CPU * cpus + number,
                placement(zone, labels.ON_DEMAND),
            )
            for number, zone in enumerate(_ZONES)
        ),
    )
