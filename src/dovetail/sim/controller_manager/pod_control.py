"""What all workload controllers share: read a workload, find its pods, create and delete pods.

Everything is read anew from the API when it is needed: what was just written is always seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Deletion, Json, Kube, Patch, Ref, Scope
from dovetail.model.pod import TERMINAL_PHASES
from dovetail.sim import wire

Obj = dict[str, Json]

_decoder: Final = msgspec.json.Decoder(dict)


def mapping(tree: Json) -> Obj:
    """The tree if it is a mapping, else an empty one."""
    return tree if isinstance(tree, dict) else {}


def listed(tree: Json) -> list[Json]:
    """The tree if it is a list, else an empty one."""
    return tree if isinstance(tree, list) else []


class WorkloadObject(msgspec.Struct, frozen=True):
    """A workload with every field of its JSON, and its metadata."""

    ref: Ref
    tree: Obj
    meta: api.ObjectMeta

    @property
    def spec(self) -> Obj:
        """What is wanted."""
        return mapping(self.tree.get("spec"))

    @property
    def template(self) -> Obj:
        """What pods are made from."""
        return mapping(self.spec.get("template"))

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted: then nothing more is done for it."""
        return self.meta.deletion_timestamp is not None

    def number(self, field: str, default: int) -> int:
        """A whole number of its spec."""
        found = self.spec.get(field)
        return found if isinstance(found, int) else default

    def owner(self) -> Obj:
        """A reference to it."""
        return wire.owner(api.Object(metadata=self.meta), self.ref.kind)


class PodControl:
    """The API, as workload controllers use it."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self.kube = kube
        self.clock = clock

    async def read(self, ref: Ref) -> WorkloadObject | None:
        """The object, if it is there."""
        try:
            raw = await self.kube.get(ref)
        except NotFoundError:
            return None
        tree: Obj = _decoder.decode(raw)
        return WorkloadObject(ref, tree, api.decode(api.Object, raw).metadata)

    async def wires(self, kind: api.Kind, namespace: str = "") -> list[api.Object]:
        """All objects of a kind."""
        page = await self.kube.list(Scope(kind, namespace))
        return [api.read(kind, bytes(raw)) for raw in page.items]

    async def pods(self, namespace: str) -> list[api.Pod]:
        """All pods of a namespace."""
        objects = await self.wires(wire.POD, namespace)
        return [item for item in objects if isinstance(item, api.Pod)]

    async def owned(self, workload: WorkloadObject) -> list[api.Pod]:
        """The pods that it controls."""
        pods = await self.pods(workload.ref.namespace)
        return [pod for pod in pods if controller_uid(pod) == workload.meta.uid]

    async def make_pod(self, workload: WorkloadObject, meta: Obj, spec: Obj) -> None:
        """Make a pod of a workload."""
        held = mapping(workload.template.get("metadata"))
        joined: Obj = {"labels": {}, "annotations": {}}
        for field in joined:
            joined[field] = {**mapping(held.get(field)), **mapping(meta.get(field))}
        names = {key: value for key, value in meta.items() if key not in joined}
        body: Obj = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**names, **joined, "ownerReferences": [workload.owner()]},
            "spec": {**mapping(workload.template.get("spec")), **spec},
        }
        await self.kube.create(wire.POD, body, workload.ref.namespace)

    async def delete_pod(self, pod: api.Pod, grace_seconds: int | None = None) -> None:
        """Delete this very pod, if it is still there."""
        ref = Ref(wire.POD, pod.metadata.name, pod.metadata.namespace)
        how = Deletion(uid=pod.metadata.uid, grace_seconds=grace_seconds)
        with suppress(NotFoundError, ConflictError):
            await self.kube.delete(ref, how)

    async def report(self, workload: WorkloadObject, status: Mapping[str, Json]) -> None:
        """Write a status, unless it says so already."""
        wanted: Obj = {**status, "observedGeneration": workload.meta.generation}
        before = mapping(workload.tree.get("status"))
        # A server does not write down every zero.
        if any((before.get(key) or 0) != (value or 0) for key, value in wanted.items()):
            await self.kube.patch(workload.ref, Patch({"status": wanted}, subresource="status"))


def controller_uid(found: api.Object) -> str:
    """The uid of whoever controls it, if anybody does."""
    owners = found.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller), "")


def is_active(pod: api.Pod) -> bool:
    """Whether it counts as a replica."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL_PHASES


def is_ready(pod: api.Pod) -> bool:
    """Whether its status says so."""
    return wire.is_true(pod.status.conditions, "Ready")
