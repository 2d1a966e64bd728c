"""Follows the objects that the status of node classes depends on: classes, claims and pools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.cloud.context import ProviderContext
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present, Stalled
from dovetail.kube.seam import Kube, Scope
from dovetail.kube.typed import Intake, Unreadable
from dovetail.model.backoff import Chance
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class import definition
from dovetail.providers.aws.node_class.types import EC2NodeClass

NODE_CLASS: Final = definition.KIND
NODE_CLAIM: Final = api.KINDS[labels.GROUP, "NodeClaim"]
NODE_POOL: Final = api.KINDS[labels.GROUP, "NodePool"]
_OWN_ANNOTATIONS: Final = frozenset({keys.NODE_CLASS_HASH, keys.NODE_CLASS_HASH_VERSION})


class ClassObjects:
    """Copies of all classes, claims and pools. `changed` is called with the name of a class that
    must be looked at: it was changed by somebody else, or a claim of it has ended. `troubled` is
    called with what could not be read.
    """

    def __init__(
        self,
        context: ProviderContext[Kube],
        chance: Chance,
        *,
        changed: Callable[[str], None],
        troubled: Callable[[str], None],
    ) -> None:
        self._changed = changed
        self._troubled = troubled
        self._seen: dict[str, bytes] = {}  # what a change must differ in, by class
        intake, pace = Intake(), Pace(context.timer, chance)

        def mirror(kind: api.Kind, tell: Callable[[Notice], None]) -> Mirror:
            return Mirror(context.kube, Scope(kind), tell=tell, intake=intake, pace=pace)

        self._classes = mirror(NODE_CLASS, self._hear_class)
        self._claims = mirror(NODE_CLAIM, self._hear_claim)
        self._pools = mirror(NODE_POOL, self._hear_pool)

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            for mirror in (self._classes, self._claims, self._pools):
                group.create_task(mirror.run())

    async def wait_in_sync(self) -> None:
        """Return once everything that is there is known."""
        for mirror in (self._classes, self._claims, self._pools):
            await mirror.wait_in_sync()

    def node_class(self, name: str) -> EC2NodeClass | None:
        """The class of this name."""
        known = self._classes.objects.get(("", name))
        return known if isinstance(known, EC2NodeClass) else None

    def classes(self) -> tuple[EC2NodeClass, ...]:
        """All classes, by name."""
        by_key = self._classes.objects
        return tuple(item for _, item in sorted(by_key.items()) if isinstance(item, EC2NodeClass))

    def claims(self, class_name: str = "") -> tuple[api.NodeClaim, ...]:
        """The claims of one class, or of all EC2NodeClasses, by name."""
        return tuple(
            item
            for _, item in sorted(self._claims.objects.items())
            if isinstance(item, api.NodeClaim) and is_of_class(item, class_name)
        )

    def pools(self, class_name: str) -> tuple[api.NodePool, ...]:
        """The pools of a class, by name."""
        return tuple(
            item
            for _, item in sorted(self._pools.objects.items())
            if isinstance(item, api.NodePool)
            and _is_ours(item.spec.template.spec.node_class_ref, class_name)
        )

    def take_written(self, raw: msgspec.Raw) -> EC2NodeClass:
        """Take the answer to a write of ours; the class as it is now."""
        self._classes.put(raw)
        return api.decode(EC2NodeClass, bytes(raw))

    def _hear_class(self, notice: Notice) -> None:
        if not isinstance(notice, Present | Absent):
            self._complain(notice)
            return
        meta = notice.object.metadata
        if isinstance(notice, Absent):
            self._seen.pop(meta.name, None)
            self._changed(meta.name)
            return
        mark = _mark(meta)
        if self._seen.get(meta.name) != mark:
            self._seen[meta.name] = mark
            self._changed(meta.name)

    def _hear_claim(self, notice: Notice) -> None:
        if isinstance(notice, Absent) and isinstance(notice.object, api.NodeClaim):
            reference = notice.object.spec.node_class_ref
            if _is_ours(reference, reference.name):
                self._changed(reference.name)
        self._complain(notice)

    def _hear_pool(self, notice: Notice) -> None:
        """Pools only tell which instance types are worth trying."""
        self._complain(notice)

    def _complain(self, notice: Notice) -> None:
        if isinstance(notice, Stalled):
            self._troubled(f"following {notice.scope.kind.plural}: {notice.error}")
        elif isinstance(notice, Unreadable):
            self._troubled(str(notice))


def _mark(meta: api.ObjectMeta) -> bytes:
    """What a change by somebody else shows in: our own writes show in none of it."""
    annotations = {
        key: value for key, value in meta.annotations.items() if key not in _OWN_ANNOTATIONS
    }
    parts = (meta.uid, meta.generation, meta.deletion_timestamp, annotations)
    return msgspec.json.encode(parts, order="sorted")


def is_of_class(claim: api.NodeClaim, class_name: str = "") -> bool:
    """Whether a claim refers to this class; without a name, to any EC2NodeClass."""
    reference = claim.spec.node_class_ref
    return _is_ours(reference, class_name or reference.name)


def _is_ours(reference: api.karpenter.NodeClassReference, name: str) -> bool:
    return (reference.group, reference.kind, reference.name) == (
        NODE_CLASS.group,
        NODE_CLASS.name,
        name,
    )
