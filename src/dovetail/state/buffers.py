"""For which pods that do not exist is room kept? CapacityBuffers (spec/core.md 7.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.api.autoscaling import ACTIVE_CAPACITY
from dovetail.model.pod import Pod
from dovetail.state.amounts import resources
from dovetail.state.inventory import Inventory, namespace_of
from dovetail.state.pods import mould
from dovetail.state.specs import Templates

LOWEST_PRIORITY: Final = -(2**31)
MOST_PODS: Final = 100_000  # a limit alone may leave room for any number of small pods

_Scalable = api.Deployment | api.StatefulSet | api.ReplicaSet


class _Resolved(msgspec.Struct, frozen=True):
    """What a buffer refers to, and how many of it there are."""

    template: api.PodTemplateSpec
    n_replicas: int = 0


def buffer_pods(inventory: Inventory, templates: Templates) -> Iterator[Pod]:
    """The virtual pods of every buffer whose reference is there."""
    for wire in inventory.all(api.CapacityBuffer):
        resolved = _resolved(wire, inventory)
        is_active = wire.spec.provisioning_strategy in ("", ACTIVE_CAPACITY)
        if resolved is not None and is_active and wire.metadata.deletion_timestamp is None:
            yield from _pods(wire, resolved, templates)


def _resolved(wire: api.CapacityBuffer, inventory: Inventory) -> _Resolved | None:
    namespace = namespace_of(wire)
    reference, scalable = wire.spec.pod_template_ref, wire.spec.scalable_ref
    if reference is not None:
        for one in inventory.all(api.PodTemplate):
            if namespace_of(one) == namespace and one.metadata.name == reference.name:
                return _Resolved(one.template)
        return None
    if scalable is None or scalable.api_group not in ("", "apps"):
        return None
    for found in _scalables(inventory, scalable.kind):
        if namespace_of(found) == namespace and found.metadata.name == scalable.name:
            n_replicas = 1 if found.spec.replicas is None else found.spec.replicas
            return _Resolved(found.spec.template, n_replicas)
    return None


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
    annotations = {
        **shape.annotations,
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
