"""What does autoscaling.x-k8s.io store? Capacity that is kept free."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dovetail.api.facts import BUFFER_IS_COUNTED, ONE_BUFFER_SOURCE, Rule, about
from dovetail.api.meta import (
    NO_RESOURCES,
    Condition,
    Object,
    ResourceList,
    Wire,
)

ACTIVE_CAPACITY = "buffer.x-k8s.io/active-capacity"
_STRATEGY = about("How the capacity is kept.", max_length=253)


class LocalObjectRef(Wire, frozen=True):
    """An object of the same namespace."""

    name: Annotated[str, about("Name of the object.", min_length=1)]


class ScalableRef(Wire, frozen=True):
    """A workload of the same namespace."""

    kind: Annotated[str, about("Kind of the workload.", min_length=1)]
    name: Annotated[str, about("Name of the workload.", min_length=1)]
    api_group: Annotated[str, about("API group of the workload; absent means core.")] = ""


class CapacityBufferSpec(Wire, frozen=True):
    """Room for how many pods of what kind is kept."""

    rules: ClassVar[tuple[Rule, ...]] = (BUFFER_IS_COUNTED, ONE_BUFFER_SOURCE)
    provisioning_strategy: Annotated[
        str,
        about("How the capacity is kept.", max_length=253, default=ACTIVE_CAPACITY),
    ] = ACTIVE_CAPACITY
    pod_template_ref: Annotated[
        LocalObjectRef | None, about("The PodTemplate whose pods room is kept for.")
    ] = None
    scalable_ref: Annotated[
        ScalableRef | None, about("The workload whose pods room is kept for.")
    ] = None
    replicas: Annotated[
        int | None,
        about("Room for how many pods is kept.", minimum=0, format="int32"),
    ] = None
    percentage: Annotated[
        int | None,
        about(
            "Room for which share of the workload's replicas is kept, in percent.",
            minimum=0,
            format="int32",
        ),
    ] = None
    limits: Annotated[ResourceList, about("The most that the kept capacity may come to.")] = (
        NO_RESOURCES
    )


class CapacityBufferStatus(Wire, frozen=True):
    """What the buffer came to."""

    pod_template_ref: Annotated[LocalObjectRef | None, about("The PodTemplate in use.")] = None
    pod_template_generation: Annotated[
        int | None, about("The generation of the PodTemplate in use.")
    ] = None
    replicas: Annotated[
        int | None, about("Room for how many pods is kept now.", format="int32")
    ] = None
    provisioning_strategy: Annotated[str | None, _STRATEGY] = None
    conditions: Annotated[
        tuple[Condition, ...],
        about("Whether the room is there.", list_map_keys=("type",)),
    ] = ()


class CapacityBuffer(Object, frozen=True):
    """Room that is kept free for pods to come."""

    spec: Annotated[CapacityBufferSpec, about("What room is kept.")] = CapacityBufferSpec()
    status: Annotated[CapacityBufferStatus, about("What it came to.")] = CapacityBufferStatus()
