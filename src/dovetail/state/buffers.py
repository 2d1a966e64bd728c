"""Makes the virtual pods for which CapacityBuffers keep room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.api.autoscaling import ACTIVE_CAPACITY
from dovetail.model.pod import Pod
from dovetail.state.conversions import resources
from dovetail.state.pods import mould
from dovetail.state.shelf import Inventory, namespace_of
from dovetail.state.specs import Templates

LOWEST_PRIORITY: Final = -(2**31)
MOST_PODS: Final = 100_000  # a limit alone may leave room for any number of small pods

_SCALABLE: Final = ("Deployment", "StatefulSet", "ReplicaSet")
_Scalable = api.Deployment | api.StatefulSet | api.ReplicaSet


class Unresolved(StrEnum):
    """Why nobody knows what room a buffer wants."""

    NO_TEMPLATE = "PodTemplateNotFound"
    NO_WORKLOAD = "ScalableRefNotFound"
    FAILED = "ResolutionFailed"


class Buffer(msgspec.Struct, frozen=True):
    """What a buffer comes to: the virtual pods that room is kept for, or why there are none.
    `template` is the PodTemplate that it names, if it names one, and its generation.
    """

    namespace: str
    name: str
    pods: tuple[Pod, ...] = ()
    template: str = ""
    template_generation: int = 0
    problem: Unresolved | None = None
    message: str = ""


class _Resolved(msgspec.Struct, frozen=True):
    """What a buffer refers to, and how many of it there are."""

    template: api.PodTemplateSpec
    n_replicas: int = 0
    name: str = ""
    generation: int = 0


class _Lost(msgspec.Struct, frozen=True):
    """What a buffer refers to cannot be used."""

    problem: Unresolved
    message: str


def buffers(inventory: Inventory, templates: Templates) -> Iterator[Buffer]:
    """Every buffer that is ours to keep."""
    for wire in inventory.all(api.CapacityBuffer):
        is_active = wire.spec.provisioning_strategy in ("", ACTIVE_CAPACITY)
        if is_active and wire.metadata.deletion_timestamp is None:
            yield _buffer(wire, _resolve(wire, inventory), templates)


def buffer_pods(inventory: Inventory, templates: Templates) -> Iterator[Pod]:
    """The virtual pods of every buffer whose reference is there."""
    for buffer in buffers(inventory, templates):
        yield from buffer.pods


def _buffer(wire: api.CapacityBuffer, resolved: _Resolved | _Lost, templates: Templates) -> Buffer:
    namespace, name = namespace_of(wire), wire.metadata.name
    if isinstance(resolved, _Lost):
        return Buffer(namespace, name, problem=resolved.problem, message=resolved.message)
    return Buffer(
        namespace, name, tuple(_pods(wire, resolved, templates)), resolved.name, resolved.generation
    )


def _resolve(wire: api.CapacityBuffer, inventory: Inventory) -> _Resolved | _Lost:
    namespace = namespace_of(wire)
    reference, scalable = wire.spec.pod_template_ref, wire.spec.scalable_ref
    if reference is not None:
        for pod_template in inventory.all(api.PodTemplate):
            meta = pod_template.metadata
            if namespace_of(pod_template) == namespace and meta.name == reference.name:
                return _Resolved(pod_template.template, name=meta.name, generation=meta.generation)
        where = f"{namespace}/{reference.name}"
        return _Lost(Unresolved.NO_TEMPLATE, f"there is no PodTemplate {where}")
    if scalable is None:
        return _Lost(Unresolved.FAILED, "neither podTemplateRef nor scalableRef is set")
    return _resolve_scalable(scalable, namespace, inventory)


def _resolve_scalable(
    scalable: api.autoscaling.ScalableRef, namespace: str, inventory: Inventory
) -> _Resolved | _Lost:
    kind = f"{scalable.api_group}/{scalable.kind}".lstrip("/")
    if scalable.api_group not in ("", "apps") or scalable.kind not in _SCALABLE:
        known = ", ".join(_SCALABLE)
        return _Lost(Unresolved.FAILED, f"scalableRef.kind {kind} is none of {known}")
    for workload in _scalables(inventory, scalable.kind):
        if namespace_of(workload) == namespace and workload.metadata.name == scalable.name:
            n_replicas = 1 if workload.spec.replicas is None else workload.spec.replicas
            return _Resolved(workload.spec.template, n_replicas)
    where = f"{namespace}/{scalable.name}"
    return _Lost(Unresolved.NO_WORKLOAD, f"there is no {scalable.kind} {where}")


def _scalables(inventory: Inventory, kind: str) -> tuple[_Scalable, ...]:
    match kind:
        case "Deployment":
            return inventory.all(api.Deployment)
        case "StatefulSet":
            return inventory.all(api.StatefulSet)
        case "ReplicaSet":
            return inventory.all(api.ReplicaSet)
        case _:
            return ()


def _pods(wire: api.CapacityBuffer, resolved: _Resolved, templates: Templates) -> Iterator[Pod]:
    meta = wire.metadata
    bare = msgspec.structs.replace(
        resolved.template.spec, volumes=(), priority=LOWEST_PRIORITY, priority_class_name=""
    )
    template = msgspec.structs.replace(resolved.template, spec=bare)
    shape = mould(template, wire, templates, kind="")
    annotations = {  # none of the template's: what those protect is pods
        labels.BUFFER_FAKE_POD: "true",
        labels.BUFFER_NAME: meta.name,
        labels.BUFFER_NAMESPACE: shape.namespace,
    }
    spec, _ = shape.judged
    uid = meta.uid or f"{shape.namespace}/{meta.name}"
    for at in range(n_pods(wire.spec, resolved.n_replicas, spec.requests)):
        pod = shape.cast(f"capacity-buffer-{meta.name}-{at}")
        yield msgspec.structs.replace(pod, uid=f"{uid}-{at}", annotations=annotations)


def n_pods(
    spec: api.autoscaling.CapacityBufferSpec, n_replicas: int, requests: Mapping[str, int]
) -> int:
    """How many: the larger of number and share, within the limits; with neither, the limits."""
    wanted = [] if spec.replicas is None else [spec.replicas]
    if spec.percentage is not None and n_replicas:
        wanted.append(-(-n_replicas * spec.percentage // 100))
    room = [
        limit // requests[name]
        for name, limit in resources(spec.limits).items()
        if requests.get(name)
    ]
    if wanted:
        room.append(max(wanted))
    return max(0, min([*room, MOST_PODS])) if room else 0
