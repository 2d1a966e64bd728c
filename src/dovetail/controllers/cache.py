"""Caches the objects of the cluster as the watches last showed them, indexed by what loops ask for.

Reading costs nothing and waits for nobody. What we write ourselves is put in at once, so that no
loop acts twice because it has not yet heard of its own write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

import msgspec

from dovetail import api
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.decide.lifecycle.timing import shorten
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Mirror, Notice, Present
from dovetail.kube.seam import Reader, Ref
from dovetail.model.backoff import Backoff, Chance
from dovetail.model.pool import NodeClassRef
from dovetail.state.changes import NOTHING, Observed, Touched, Vanished
from dovetail.state.cluster import Cluster

NODE_CLAIM: Final = api.KINDS["karpenter.sh", "NodeClaim"]
NODE_POOL: Final = api.KINDS["karpenter.sh", "NodePool"]
NODE: Final = api.KINDS["", "Node"]
POD: Final = api.KINDS["", "Pod"]
VOLUME_ATTACHMENT: Final = api.KINDS["storage.k8s.io", "VolumeAttachment"]

ObjectT = TypeVar("ObjectT", bound=api.Object)
UNREADABLE: Final = "UnreadableObject"
_SETTLED_SECONDS: Final = 1.0  # by then the watch has shown that something is gone
_CONFLICT_BACKOFF: Final = Backoff(0.1, 10.0)


class WatchCache:
    """What is known. `node_classes` are the kinds that our cloud launches with: claims and pools
    of others are not ours, and not seen. None: all are.
    """

    def __init__(self, cluster: Cluster, node_classes: Iterable[api.Kind] | None) -> None:
        self.cluster = cluster
        self._is_everything_ours = node_classes is None
        self._node_classes = {(kind.group, kind.name): kind for kind in node_classes or ()}
        self._mirrors: dict[str, Mirror] = {}
        self.claims: Indexed[api.NodeClaim] = Indexed()  # ours, and by their instance
        self.nodes: Indexed[api.Node] = Indexed()  # whoever made them, and by their instance
        self.attachments: Indexed[api.VolumeAttachment] = Indexed()  # and by their node
        self._pools: dict[str, api.NodePool] = {}
        self._classes: dict[tuple[str, str], api.Object] = {}

    def pool(self, name: str) -> api.NodePool | None:
        """The pool of that name, if it is ours."""
        return self._pools.get(name)

    def pools(self) -> tuple[api.NodePool, ...]:
        """Every pool of ours."""
        return tuple(self._pools.values())

    def node_class(self, ref: NodeClassRef) -> api.Object | None:
        """The node class that a pool or claim refers to."""
        kind = self._node_classes.get((ref.group, ref.kind))
        return None if kind is None else self._classes.get((kind.name, ref.name))

    def put(self, kind: api.Kind, raw: msgspec.Raw) -> None:
        """What the API answered to a write of ours; as if the watch had shown it just now."""
        mirror = self._mirrors.get(kind.name)
        if mirror is not None:
            mirror.put(raw)

    def add_mirror(self, kind: api.Kind, mirror: Mirror) -> None:
        """From this mirror comes what is known of a kind."""
        self._mirrors[kind.name] = mirror

    def take(self, notice: Notice) -> Touched:
        """Take in what a mirror tells; what that could matter to."""
        match notice:
            case Present(object=item):
                return self._present(item)
            case Absent(object=gone):
                return self._absent(gone)
            case _:
                return NOTHING

    def _present(self, item: api.Object) -> Touched:
        name = item.metadata.name
        match item:
            case api.NodeClaim():
                if not self._is_ours(item.spec.node_class_ref):
                    return self._absent(item)
                self.claims.put(name, item, item.status.provider_id)
            case api.Node():
                self.nodes.put(name, item, item.spec.provider_id)
            case api.NodePool():
                if not self._is_ours(item.spec.template.spec.node_class_ref):
                    return self._absent(item)
                self._pools[name] = item
            case api.VolumeAttachment():
                self.attachments.put(name, item, item.spec.node_name)
                return NOTHING
            case _ if self.is_node_class(item):
                self._classes[item.kind, name] = item
                return NOTHING
        return self.cluster.apply(Observed(item))

    def _absent(self, gone: api.Object) -> Touched:
        name = gone.metadata.name
        match gone:
            case api.NodeClaim():
                self.claims.drop(name)
            case api.Node():
                self.nodes.drop(name)
            case api.NodePool():
                self._pools.pop(name, None)
            case api.VolumeAttachment():
                self.attachments.drop(name)
                return NOTHING
            case _ if self.is_node_class(gone):
                self._classes.pop((gone.kind, name), None)
                return NOTHING
        kind = api.find(gone.api_version, gone.kind)
        if kind is None:
            return NOTHING
        return self.cluster.apply(Vanished(kind, name, gone.metadata.namespace))

    def is_node_class(self, item: api.Object) -> bool:
        """Whether this is a node class that our cloud launches with."""
        return (item.api_version.partition("/")[0], item.kind) in self._node_classes

    def _is_ours(self, ref: api.karpenter.NodeClassReference) -> bool:
        return self._is_everything_ours or (ref.group, ref.kind) in self._node_classes


class Indexed(Generic[ObjectT]):
    """Objects by name, and by one other thing that several may share."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[ObjectT, str]] = {}
        self._names: dict[str, dict[str, None]] = {}

    def get(self, name: str) -> ObjectT | None:
        """The one of that name."""
        entry = self._held.get(name)
        return None if entry is None else entry[0]

    def all(self) -> tuple[ObjectT, ...]:
        """Every one."""
        return tuple(item for item, _ in self._held.values())

    def under(self, shared: str) -> tuple[ObjectT, ...]:
        """Those that share this; none where it is empty."""
        return tuple(self._held[name][0] for name in self._names.get(shared, ()))

    def put(self, name: str, item: ObjectT, shared: str) -> None:
        """Hold it, in place of an earlier one of its name."""
        self.drop(name)
        self._held[name] = (item, shared)
        if shared:
            self._names.setdefault(shared, {})[name] = None

    def drop(self, name: str) -> None:
        """Forget it."""
        entry = self._held.pop(name, None)
        if entry is None or not entry[1]:
            return
        names = self._names[entry[1]]
        del names[name]
        if not names:
            del self._names[entry[1]]


class Conflicts:
    """How often a write was refused in a row, by the object's name: somebody else was faster, or
    what is known is not what is there.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._n_by_name: dict[str, int] = {}

    def seconds(self, name: str, error: ConflictError | NotFoundError) -> float:
        """One more; when to look again. At once the first time, since it was read again."""
        if isinstance(error, NotFoundError):
            return _SETTLED_SECONDS
        n_before = self._n_by_name.get(name, 0)
        self._n_by_name[name] = n_before + 1
        return _CONFLICT_BACKOFF.seconds(n_before, self._chance) if n_before else 0.0

    def forget(self, name: str) -> None:
        """It was written, or there is nothing left to write to."""
        self._n_by_name.pop(name, None)


async def read_again(kube: Reader, cache: WatchCache, kind: api.Kind, name: str) -> None:
    """Learn what somebody else has written, without waiting for the watch to show it."""
    try:
        cache.put(kind, await kube.get(Ref(kind, name)))
    except NotFoundError:
        return  # the watch will show that it is gone


def unreadable_event(kind: str, meta: api.ObjectMeta, problem: object) -> Event:
    """An object makes no sense and is left alone."""
    message = shorten(f"{problem}")
    return Event(kind, meta.name, UNREADABLE, message, type=EventType.WARNING, uid=meta.uid)
