"""Follows the API with one watch for each kind, and puts every change into the cache.

A kind that the cluster does not know (an optional CRD) counts as empty and is tried again by its
mirror. Pods are nearly all there is, so a mirror holds no more of them than tells them apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from dovetail import api
from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL, POD, WatchCache
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present, Stalled
from dovetail.kube.seam import Reader, Scope
from dovetail.kube.typed import Intake, Shared, Unreadable
from dovetail.state.changes import NOTHING, Touched

# Pools before claims before nodes before pods: each refers to those before it.
_ALWAYS: Final = (
    NODE_POOL,
    NODE_CLAIM,
    NODE,
    *(
        api.KINDS[key]
        for key in (
            ("", "Namespace"),
            ("scheduling.k8s.io", "PriorityClass"),
            ("node.k8s.io", "RuntimeClass"),
            ("", "LimitRange"),
            ("storage.k8s.io", "StorageClass"),
            ("storage.k8s.io", "CSINode"),
            ("storage.k8s.io", "VolumeAttachment"),
            ("", "PersistentVolume"),
            ("", "PersistentVolumeClaim"),
            ("policy", "PodDisruptionBudget"),
            ("", "Service"),
            ("", "ReplicationController"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("apps", "Deployment"),
            ("apps", "DaemonSet"),
        )
    ),
    POD,
)
_N_PLACES: Final = 1 << 13  # nodes whose pods share what says where they are
_BY_GATE: Final[Mapping[str, tuple[api.Kind, ...]]] = {
    "NodeOverlay": (api.KINDS["karpenter.sh", "NodeOverlay"],),
    "CapacityBuffer": (
        api.KINDS["autoscaling.x-k8s.io", "CapacityBuffer"],
        api.KINDS["", "PodTemplate"],
    ),
}

Listener = Callable[[Notice], None]
Failed = Callable[[str, Exception], None]  # which object was told of, and what came of that


def _raise(_about: str, error: Exception) -> None:
    raise error


def watched_kinds(
    node_classes: Iterable[api.Kind], gates: Mapping[str, bool]
) -> tuple[api.Kind, ...]:
    """Every kind that decisions read, given what is switched on."""
    optional = (kind for gate, kinds in _BY_GATE.items() if gates.get(gate) for kind in kinds)
    return (*node_classes, *optional, *_ALWAYS)


class Feed:
    """Follows every kind. `touched` hears what a change could matter to, after listeners did.

    `failed` may be set to hear of what a listener raised: then the others hear all the same, and
    one strange object does not keep us from following the rest.
    """

    def __init__(
        self,
        kube: Reader,
        cache: WatchCache,
        kinds: Iterable[api.Kind],
        *,
        pace: Pace,
        touched: Callable[[Touched], None],
    ) -> None:
        self.cache = cache
        self._touched = touched
        self.failed: Failed = _raise
        self._listeners: list[tuple[Listener, frozenset[str] | None]] = []
        self._problems: dict[str, str] = {}
        intake = Intake()
        self._mirrors: dict[str, Mirror] = {}
        for kind in kinds:
            mirror = Mirror(kube, Scope(kind), tell=self._hear, intake=intake, pace=pace)
            cache.add_mirror(kind, mirror)
            self._mirrors[kind.name] = mirror
        self._mirrors[POD.name].keep = _Places().slim

    def subscribe(self, listener: Listener, kinds: Iterable[api.Kind] | None = None) -> None:
        """Call this listener too with every change of these kinds, once it is in the cache; and at
        once with everything that is there but pods, since nothing has happened to those. Without
        kinds it is called for all, and when a kind cannot be followed.
        """
        names = None if kinds is None else frozenset(kind.name for kind in kinds)
        self._listeners.append((listener, names))
        for name, mirror in self._mirrors.items():
            if name != POD.name and (names is None or name in names):
                for item in tuple(mirror.objects.values()):
                    self._tell(listener, Present(item))

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            for mirror in self._mirrors.values():
                group.create_task(mirror.run())

    async def wait_in_sync(self, kind: str = "") -> None:
        """Return once everything that was there at some moment is known; of one kind if named."""
        for name, mirror in self._mirrors.items():
            if not kind or name == kind:
                await mirror.wait_in_sync()

    def unsynced_kinds(self) -> tuple[str, ...]:
        """Kinds that have not been listed yet, each with what is in the way if anything is."""
        return tuple(
            f"{name}: {self._problems.get(name, 'not listed yet')}"
            for name, mirror in self._mirrors.items()
            if not mirror.is_in_sync
        )

    def missing_kinds(self) -> tuple[str, ...]:
        """Kinds that the cluster does not know or does not show us, and what it said."""
        return tuple(f"{name}: {problem}" for name, problem in sorted(self._problems.items()))

    def _hear(self, notice: Notice) -> None:
        if isinstance(notice, Stalled):
            self._problems[notice.scope.kind.name] = str(notice.error)
        elif not isinstance(notice, Unreadable):
            self._problems.pop(notice.object.kind, None)
        touched = NOTHING
        try:
            touched = self.cache.take(notice)
        except Exception as error:  # noqa: BLE001  a bug over one object must not make us deaf
            self.failed(_about(notice), error)
        kind = notice.object.kind if isinstance(notice, Present | Absent) else ""
        for listener, names in self._listeners:
            if names is None or kind in names:
                self._tell(listener, notice)
        if touched:
            self._touched(touched)

    def _tell(self, listener: Listener, notice: Notice) -> None:
        try:
            listener(notice)
        except Exception as error:  # noqa: BLE001  nor must a bug of one listener make others deaf
            self.failed(_about(notice), error)


def _about(notice: Notice) -> str:
    match notice:
        case Present(object=item) | Absent(object=item):
            meta = item.metadata
            return f"{item.kind} {meta.namespace}/{meta.name} {meta.resource_version}"
        case _:
            return str(notice)


class _Places:
    """Pods as a mirror holds them: who they are and where, which pods of a node share."""

    def __init__(self) -> None:
        self._specs: Shared[api.PodSpec] = Shared(_N_PLACES)  # by node

    def slim(self, item: api.Object) -> api.Object:
        """The pod with no more than that."""
        meta = item.metadata
        slim_meta = api.ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            resource_version=meta.resource_version,
            owner_references=meta.owner_references,
        )
        if not isinstance(item, api.Pod):
            return msgspec.structs.replace(item, metadata=slim_meta)
        node = item.spec.node_name
        spec = self._specs.get(node)
        if spec is None:
            spec = api.PodSpec(node_name=node)
            self._specs.put(node, spec)
        return api.Pod(api_version=item.api_version, kind=item.kind, metadata=slim_meta, spec=spec)
