"""What all workload controllers share: read a workload, find its pods, create and delete pods, and
the progress of a rollout: revisions of a template, pods of earlier ones, conditions.

Everything is read anew from the API when it is needed: what was just written is always seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
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


def as_list(tree: Json) -> list[Json]:
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
        value = self.spec.get(field)
        return value if isinstance(value, int) else default

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

    async def owned_pods(self, workload: WorkloadObject) -> list[api.Pod]:
        """The pods that it controls."""
        pods = await self.pods(workload.ref.namespace)
        return [pod for pod in pods if controller_uid(pod) == workload.meta.uid]

    async def make_pod(self, workload: WorkloadObject, meta: Obj, spec: Obj) -> None:
        """Make a pod of a workload."""
        template = mapping(workload.template.get("metadata"))
        joined: Obj = {"labels": {}, "annotations": {}}
        for field in joined:
            joined[field] = {**mapping(template.get(field)), **mapping(meta.get(field))}
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


def controller_uid(item: api.Object) -> str:
    """The uid of whoever controls it, if anybody does."""
    owners = item.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller), "")


def is_active(pod: api.Pod) -> bool:
    """Whether it counts as a replica."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL_PHASES


def is_ready(pod: api.Pod) -> bool:
    """Whether its status says so."""
    return wire.is_true(pod.status.conditions, "Ready")


REVISION: Final = "deployment.kubernetes.io/revision"
TEMPLATE: Final = "controller-revision-hash"  # on pods of daemon sets and stateful sets


def template_hash(template: Obj) -> str:
    """The same for the same template, and hardly for another."""
    text = msgspec.json.encode(template, order="sorted")
    return blake2b(text, digest_size=5).hexdigest()


def is_outdated(pod: api.Pod, digest: str) -> bool:
    """Whether a pod was made from an earlier template; one that does not say so was not."""
    return pod.metadata.labels.get(TEMPLATE, digest) != digest


def replaces_pods(workload: WorkloadObject) -> bool:
    """Whether pods of an earlier template are to be replaced, and not left to their owner."""
    return mapping(workload.spec.get("updateStrategy")).get("type") != "OnDelete"


def revision_of(workload: WorkloadObject | None) -> int:
    """Which revision of its Deployment a ReplicaSet is; 0 if it does not say."""
    stated = workload.meta.annotations.get(REVISION, "") if workload is not None else ""
    return int(stated) if stated.isdigit() else 0


def next_revision(sets: Iterable[WorkloadObject], current: WorkloadObject | None) -> int:
    """The revision of the present template: its own if it is the newest, else a new one."""
    newest = max((revision_of(workload_object) for workload_object in sets), default=0)
    own = revision_of(current)
    return own if own and own == newest else newest + 1


async def mark(control: PodControl, workload: WorkloadObject, revision: int) -> None:
    """Note the revision on a ReplicaSet or a Deployment, unless it is there."""
    if revision_of(workload) != revision:
        annotated: Json = {"annotations": {REVISION: str(revision)}}
        await control.kube.patch(workload.ref, Patch({"metadata": annotated}))


def conditions(
    workload: WorkloadObject, *, n_ready: int, is_through: bool, now: datetime
) -> list[Json]:
    """Whether enough pods are ready, and whether all are of the present template."""
    n_least = workload.number("replicas", 1) - _n_unavailable(workload)
    is_available = n_ready >= n_least
    reason = "MinimumReplicasAvailable" if is_available else "MinimumReplicasUnavailable"
    progress = "NewReplicaSetAvailable" if is_through else "ReplicaSetUpdated"
    before = [
        mapping(item) for item in as_list(mapping(workload.tree.get("status")).get("conditions"))
    ]
    return [
        _since(before, wire.condition("Available", holds=is_available, now=now, reason=reason)),
        _since(before, wire.condition("Progressing", holds=True, now=now, reason=progress)),
    ]


def _since(before: list[Obj], wanted: Obj) -> Json:
    """A condition with the time of its last change, which is not now if nothing has changed."""
    last = next((item for item in before if item.get("type") == wanted["type"]), {})
    stamp = wanted["lastTransitionTime"]
    if last.get("status") == wanted["status"]:
        stamp = last.get("lastTransitionTime")
    is_same = last.get("reason") == wanted["reason"] and last.get("status") == wanted["status"]
    updated = last.get("lastUpdateTime") if is_same else wanted["lastTransitionTime"]
    return {**wanted, "lastTransitionTime": stamp, "lastUpdateTime": updated}


def _n_unavailable(workload: WorkloadObject) -> int:
    """How many pods may be missing while a rollout goes on."""
    strategy = mapping(workload.spec.get("strategy"))
    max_unavailable = mapping(strategy.get("rollingUpdate")).get("maxUnavailable", "25%")
    if isinstance(max_unavailable, int):
        return max_unavailable
    share = str(max_unavailable).removesuffix("%")
    return int(share) * workload.number("replicas", 1) // 100 if share.isdigit() else 0
