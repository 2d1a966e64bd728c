"""Keeps what else bears on where pods may go: storage, workloads, classes, namespaces.

Nothing here holds on to an object as it came: parts that are decoded later point into the whole
message that brought it. Workloads are kept as the few bytes that are needed of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dovetail import api
from dovetail.model.pod import DaemonSet, Pod, PodKey
from dovetail.model.topology import LabelSelector
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from dovetail.state.buffers import Buffer, buffers
from dovetail.state.changes import NOTHING, Touched
from dovetail.state.freeze import disruption_budget, service
from dovetail.state.shelf import Derived, Inventory, Keeper, Key, Shelf, namespace_labels
from dovetail.state.specs import Judged, Templates
from dovetail.state.storage import default_of, listed_claim, storage_class, volume, with_class
from dovetail.state.workloads import Selection, daemon_sets, selection, selectors_by_key

T = TypeVar("T", bound=api.Object)


class Surroundings:
    """Everything but pods, nodes and pools."""

    def __init__(self) -> None:
        self._budgets = Shelf(api.PodDisruptionBudget, disruption_budget)
        self._services = Shelf(api.Service, service)
        self.services, self.disruption_budgets = self._services.all, self._budgets.all
        self._namespaces = Shelf(api.Namespace, namespace_labels)
        self._volumes = Shelf(api.PersistentVolume, volume)
        self._claims = Shelf(api.PersistentVolumeClaim, listed_claim)
        self._storage_classes: Shelf[api.StorageClass, api.StorageClass]
        self._storage_classes = Shelf(api.StorageClass, _bare)
        self._classes = _Classes()
        self._owners = _Owners()
        self._material = _Material(self._classes)
        self.templates = Templates()
        self._templates_of = self._classes.revisions()
        self._keepers = _by_type(
            self._budgets,
            self._services,
            self._namespaces,
            self._volumes,
            self._claims,
            self._storage_classes,
            *self._classes.all,
            *self._owners.all,
            *self._material.all,
        )
        self._work_out()

    def _work_out(self) -> None:
        """What is worked out from more than one object."""
        classes = self._storage_classes
        self.volume_claims = Derived(self._volume_claims, self._claims, classes)
        self.volumes: Derived[Mapping[str, Volume]] = Derived(
            lambda: {item.name: item for item in self._volumes.all()}, self._volumes
        )
        self.storage_classes: Derived[Mapping[str, StorageClass]] = Derived(
            lambda: {item.metadata.name: storage_class(item) for item in classes.all()}, classes
        )
        self.namespaces: Derived[Mapping[str, Mapping[str, str]]] = Derived(
            lambda: {name: namespace for (_, name), namespace in self._namespaces.items()},
            self._namespaces,
        )
        self.owner_selectors = self._owners.selectors

    def _volume_claims(self) -> Mapping[str, VolumeClaim]:
        default = default_of(self._storage_classes.all())
        by_name = {
            f"{volume_claim.namespace}/{volume_claim.name}": with_class(volume_claim, default)
            for volume_claim in self._claims.all()
        }
        return dict(sorted(by_name.items()))

    def daemon_sets(self) -> tuple[DaemonSet, ...]:
        """Every DaemonSet that stays."""
        return self._material.daemon_sets(self.templates)

    def buffer_pods(self) -> tuple[Pod, ...]:
        """The virtual pods of every buffer."""
        return self._material.buffer_pods(self.templates)

    def buffer_pod(self, key: PodKey) -> Pod | None:
        """The virtual pod of that name."""
        return self._material.buffer_pod(key, self.templates)

    def buffers(self) -> tuple[Buffer, ...]:
        """Every capacity buffer that is ours to keep, and what it comes to."""
        return self._material.buffers(self.templates)

    def renew(self) -> dict[int, Judged]:
        """Judge templates by the classes of today. What has changed, by the id of the old spec."""
        revisions = self._classes.revisions()
        if revisions == self._templates_of:
            return {}
        earlier, self.templates = self.templates, self._classes.templates()
        self._templates_of = revisions
        return self.templates.adopt(earlier)

    def put(self, wire: api.Object) -> Touched:
        """Take in an object; what that could matter to."""
        touched = NOTHING
        for keeper in self._keepers.get(type(wire), ()):
            if keeper.put(wire):
                touched |= self._touches(keeper)
        return touched

    def drop(self, kind: type[api.Object], key: Key) -> Touched:
        """Forget an object; what that could matter to."""
        touched = NOTHING
        for keeper in self._keepers.get(kind, ()):
            if keeper.drop(key):
                touched |= self._touches(keeper)
        return touched

    def keys(self, kind: type[api.Object]) -> frozenset[Key]:
        """All objects of a kind that are remembered."""
        return frozenset().union(*(keeper.keys() for keeper in self._keepers.get(kind, ())))

    def keepers(self) -> tuple[Keeper, ...]:
        """All shelves."""
        return tuple(keeper for many in self._keepers.values() for keeper in many)

    def _touches(self, keeper: Keeper) -> Touched:
        if keeper is self._budgets:
            return Touched.NODES
        if self._material.is_idle(keeper):
            return NOTHING
        return Touched.PENDING


class _Classes:
    """What shapes pods: priorities, runtimes, and the defaults of namespaces."""

    def __init__(self) -> None:
        self._priorities: Shelf[api.PriorityClass, api.PriorityClass]
        self._priorities = Shelf(api.PriorityClass, _bare)
        self._runtimes: Shelf[api.RuntimeClass, api.RuntimeClass] = Shelf(api.RuntimeClass, _bare)
        self._limit_ranges: Shelf[api.LimitRange, api.LimitRange] = Shelf(api.LimitRange, _bare)
        self.all: tuple[Keeper, ...] = (self._priorities, self._runtimes, self._limit_ranges)

    def revisions(self) -> tuple[int, ...]:
        """Differs when anything has changed."""
        return tuple(keeper.revision for keeper in self.all)

    def templates(self) -> Templates:
        """Templates judged by these."""
        return Templates(
            priority_classes=self._priorities.all(),
            runtime_classes=self._runtimes.all(),
            limit_ranges=Inventory(self._limit_ranges.all()).by_namespace(api.LimitRange),
        )


class _Owners:
    """Whom controllers select."""

    def __init__(self) -> None:
        deployments: Shelf[api.Deployment, Selection] = Shelf(api.Deployment, selection)
        replica_sets: Shelf[api.ReplicaSet, Selection] = Shelf(api.ReplicaSet, selection)
        stateful_sets: Shelf[api.StatefulSet, Selection] = Shelf(api.StatefulSet, selection)
        controllers: Shelf[api.ReplicationController, Selection]
        controllers = Shelf(api.ReplicationController, selection)
        shelves = (deployments, replica_sets, stateful_sets, controllers)
        self.all: tuple[Keeper, ...] = shelves
        self.selectors: Derived[Mapping[str, LabelSelector]] = Derived(
            lambda: selectors_by_key(pair for shelf in shelves for pair in shelf.all()), *shelves
        )


class _Material:
    """What pods are made of that do not exist yet: those of DaemonSets, and of buffers."""

    def __init__(self, classes: _Classes) -> None:
        self._daemons: Shelf[api.DaemonSet, bytes] = Shelf(api.DaemonSet, _workload_bytes)
        self._buffers: Shelf[api.CapacityBuffer, api.CapacityBuffer]
        self._buffers = Shelf(api.CapacityBuffer, _without_status)
        self._deployments: Shelf[api.Deployment, bytes] = Shelf(api.Deployment, _workload_bytes)
        self._stateful_sets: Shelf[api.StatefulSet, bytes] = Shelf(api.StatefulSet, _workload_bytes)
        self._replica_sets: Shelf[api.ReplicaSet, bytes] = Shelf(api.ReplicaSet, _workload_bytes)
        self._templates: Shelf[api.PodTemplate, bytes] = Shelf(api.PodTemplate, _workload_bytes)
        self._referred: tuple[Keeper, ...] = (
            self._deployments,
            self._stateful_sets,
            self._replica_sets,
            self._templates,
        )
        self.all: tuple[Keeper, ...] = (self._daemons, self._buffers, *self._referred)
        self._judge = Templates()
        self._daemon_nouns = Derived(self._as_daemons, self._daemons, *classes.all)
        self._buffer_nouns = Derived(self._as_buffers, *self.all, *classes.all)
        self._pods_of: tuple[Buffer, ...] = ()
        self._pods: tuple[Pod, ...] = ()
        self._pods_by_key: dict[PodKey, Pod] = {}

    def is_idle(self, keeper: Keeper) -> bool:
        """Whether a change there matters to nobody: no buffer could refer to it."""
        return not self._buffers.all() and any(keeper is item for item in self._referred)

    def daemon_sets(self, templates: Templates) -> tuple[DaemonSet, ...]:
        """Every DaemonSet that stays."""
        self._judge = templates
        return self._daemon_nouns()

    def buffers(self, templates: Templates) -> tuple[Buffer, ...]:
        """Every buffer that is ours to keep."""
        self._judge = templates
        return self._buffer_nouns() if self._buffers.all() else ()

    def buffer_pods(self, templates: Templates) -> tuple[Pod, ...]:
        """The virtual pods of every buffer; the very same as long as no buffer has changed."""
        buffers = self.buffers(templates)
        if buffers is not self._pods_of:
            self._pods_of, self._pods = (
                buffers,
                tuple(pod for buffer in buffers for pod in buffer.pods),
            )
            self._pods_by_key = {pod.key: pod for pod in self._pods}
        return self._pods

    def buffer_pod(self, key: PodKey, templates: Templates) -> Pod | None:
        """The virtual pod of that name."""
        return self._pods_by_key.get(key) if self.buffer_pods(templates) else None

    def _as_daemons(self) -> tuple[DaemonSet, ...]:
        sets: list[api.DaemonSet] = _read(self._daemons)
        return daemon_sets(Inventory(sets), self._judge)

    def _as_buffers(self) -> tuple[Buffer, ...]:
        inventory = Inventory(
            (
                *self._buffers.all(),
                *_read(self._deployments),
                *_read(self._stateful_sets),
                *_read(self._replica_sets),
                *_read(self._templates),
            )
        )
        return tuple(buffers(inventory, self._judge))


def _by_type(*keepers: Keeper) -> dict[type[api.Object], list[Keeper]]:
    result: dict[type[api.Object], list[Keeper]] = {}
    for keeper in keepers:
        result.setdefault(keeper.wire_type, []).append(keeper)
    return result


def _bare(wire: T) -> T:
    """The object without what changes at every write."""
    meta = msgspec.structs.replace(wire.metadata, resource_version="", generation=0)
    return msgspec.structs.replace(wire, metadata=meta)


def _without_status(wire: api.CapacityBuffer) -> api.CapacityBuffer:
    """The buffer without what we say of it ourselves."""
    return msgspec.structs.replace(_bare(wire), status=api.autoscaling.CapacityBufferStatus())


def _workload_bytes(wire: api.Object) -> bytes:
    """All that is needed of a workload later, as JSON of its own."""
    meta = wire.metadata
    slim = api.ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        deletion_timestamp=meta.deletion_timestamp,
        generation=meta.generation if isinstance(wire, api.PodTemplate) else 0,
    )
    return api.encode(msgspec.structs.replace(wire, metadata=slim))


def _read(shelf: Shelf[T, bytes]) -> list[T]:
    return [api.decode(shelf.wire_type, item) for item in shelf.all()]
