"""Keeps the instance types that each NodePool could launch, with overlays applied.

The cloud is asked at the start, when a pool or its node class changes, when the provider says that
its types have changed, and every five minutes. What cannot be asked at the moment stays as it was
and is tried again; a pool of which nothing is known is not planned with. Overlays and reservations
count where their gate is on, and the status of each overlay says whether it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.writing import STATUS, condition_list
from dovetail.cloud.overlays import Overlay, PooledTypes, apply_to_pools, overlay
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.pools.loop import pools_of
from dovetail.controllers.workqueue import WorkQueue, failure_log
from dovetail.decide.lifecycle.conditions import VALIDATION_SUCCEEDED, complete, fail, hold
from dovetail.errors import InputError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.kube.seam import Body, Patch, Ref, Writer
from dovetail.model.backoff import Backoff
from dovetail.model.instance import InstanceType
from dovetail.observe.cloud import on_behalf_of
from dovetail.state.changes import NOTHING, Catalogued, Touched
from dovetail.state.objects import conditions_about, node_pool

REFRESH_SECONDS: Final = 300.0
_N_WORKERS: Final = 10
_SOON_SECONDS: Final = 1.0
_CONFLICT: Final = "Conflict"
_INVALID: Final = "RuntimeValidation"
NODE_OVERLAY: Final = api.KINDS["karpenter.sh", "NodeOverlay"]


class OverlayVerdict(msgspec.Struct, frozen=True):
    """What was found of an overlay; without a reason it counts."""

    reason: str = ""
    message: str = ""


async def write_verdict(
    kube: Writer, wire: api.NodeOverlay, finding: OverlayVerdict, now: datetime
) -> None:
    """Write it down, unless the status says so already. Raises ConflictError, NotFoundError."""
    meta = wire.metadata
    before = conditions_about(meta, wire.status.conditions, (VALIDATION_SUCCEEDED,))
    change = (
        fail(VALIDATION_SUCCEEDED, finding.reason, finding.message)
        if finding.reason
        else hold(VALIDATION_SUCCEEDED)
    )
    after = complete(before, now).after((change,), now)
    if after.held == before.held:
        return
    body: Body = {
        "metadata": {"resourceVersion": meta.resource_version},
        STATUS: {"conditions": condition_list(after.held)},
    }
    await kube.patch(Ref(NODE_OVERLAY, meta.name), Patch(body, subresource=STATUS))


_VALID: Final = OverlayVerdict()


class CatalogueGates(msgspec.Struct, frozen=True):
    """What counts: overlays, and reservations. `tells` says whether overlays are told in their
    status what they come to.
    """

    overlays: bool = False
    reservations: bool = True
    tells: bool = True


class CatalogueLoop:
    """Keeps what pools could launch. `touched` hears when that has changed. It must listen from the
    start, since nobody else knows which overlays there are.
    """

    def __init__(
        self,
        dependencies: Dependencies,
        cache: WatchCache,
        *,
        touched: Callable[[Touched], None],
        gates: CatalogueGates,
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._touched = touched
        self._gates = gates
        self._log = dependencies.log.named("catalogue")
        self._types: dict[str, PooledTypes] = {}  # by pool, as the cloud says
        self._overlays: dict[str, api.NodeOverlay] = {}
        self._findings: dict[str, OverlayVerdict] = {}
        self._seen: dict[tuple[str, str], tuple[str, int, str]] = {}
        self._pools: WorkQueue[str] = WorkQueue(
            self._ask,
            failed=failure_log(self._log, "could not list instance types", "node_pool"),
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), _N_WORKERS),
        )
        self._statuses: WorkQueue[str] = WorkQueue(
            self._tell,
            failed=failure_log(self._log, "could not write overlay status", "node_overlay"),
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), _N_WORKERS),
        )

    def handle(self, notice: Notice) -> None:
        """Something has happened that may change what a pool could launch."""
        match notice:
            case Present(object=api.NodeOverlay() as overlay) if self._gates.overlays:
                self._overlays[overlay.metadata.name] = overlay
                if self._is_new(overlay):
                    self._lay()
            case Present(object=api.NodePool() as pool) if self._is_new(pool):
                self._pools.add(pool.metadata.name)
            case Present(object=item) if self._cache.is_node_class(item) and self._is_new(item):
                for name in pools_of(item, self._cache):
                    self._pools.add(name)
            case Absent(object=gone):
                self._forget(gone)
            case _:
                return

    def _forget(self, gone: api.Object) -> None:
        name = gone.metadata.name
        self._seen.pop((gone.kind, name), None)
        match gone:
            case api.NodePool():
                self._types.pop(name, None)
                self._pools.forget(name)
            case api.NodeOverlay() if self._gates.overlays:
                self._overlays.pop(name, None)
                self._findings.pop(name, None)
                self._statuses.forget(name)
                self._lay()
            case _:
                return

    def refresh(self) -> None:
        """Ask again for every pool."""
        for pool in self._cache.pools():
            self._pools.add(pool.metadata.name)

    async def run(self) -> None:
        """Ask until cancelled."""
        self.refresh()
        async with asyncio.TaskGroup() as group:
            with on_behalf_of("nodepool.catalogue"):
                group.create_task(self._pools.run())
                group.create_task(self._statuses.run())

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun is done."""
        await self._pools.finish()
        await self._statuses.finish()

    def _is_new(self, item: api.Object) -> bool:
        """Whether more than a status has changed. The status of a node class counts: it names the
        zones and images that its instance types are computed from.
        """
        meta = item.metadata
        changed = meta.resource_version if self._cache.is_node_class(item) else ""
        key, mark = (item.kind, meta.name), (meta.uid, meta.generation, changed)
        is_new = self._seen.get(key) != mark
        self._seen[key] = mark
        return is_new

    async def _ask(self, name: str) -> float | None:
        wire = self._cache.pool(name)
        pool = node_pool(wire) if wire is not None else None
        if pool is None or pool.problems:
            return None  # until it is mended
        types = await self._dependencies.cloud.instance_types(pool)
        if not self._gates.reservations:
            types = tuple(map(_without_reservations, types))
        current = self._cache.pool(name)
        if current is None or current.metadata.uid != pool.uid:
            return None  # it is gone meanwhile; one that took its name was heard of
        self._types[name] = PooledTypes(pool, types)
        if self._overlays:
            self._lay()
        else:
            self._publish({name: types})
        return REFRESH_SECONDS

    def _publish(self, types_by_pool: Mapping[str, tuple[InstanceType, ...]]) -> None:
        touched = NOTHING
        for name, types in types_by_pool.items():
            touched |= self._cache.cluster.apply(Catalogued(name, types))
        if touched:
            self._touched(touched)

    def _lay(self) -> None:
        """Lay all overlays on everything that is known, and see what each comes to."""
        result = [self._types[name] for name in sorted(self._types)]
        readable = [item for item in map(self._read, self._overlays.values()) if item is not None]
        types_by_pool, conflicts = apply_to_pools(result, readable)
        self._publish(types_by_pool)
        for item in readable:
            self._find(item.name, _VALID)
        for conflict in conflicts:
            self._find(conflict.overlay, OverlayVerdict(_CONFLICT, conflict.message))

    def _read(self, wire: api.NodeOverlay) -> Overlay | None:
        """The overlay; one that makes no sense is found out, and does not count."""
        problems = [str(problem) for problem in api.problems(wire)]
        if not problems:
            try:
                return overlay(wire)
            except InputError as error:
                problems = [str(error)]
        self._find(wire.metadata.name, OverlayVerdict(_INVALID, "; ".join(problems)))
        return None

    def _find(self, name: str, finding: OverlayVerdict) -> None:
        self._findings[name] = finding
        if self._gates.tells:
            self._statuses.add(name)

    async def _tell(self, name: str) -> float | None:
        wire, finding = self._overlays.get(name), self._findings.get(name)
        if wire is None or finding is None:
            return None
        try:
            await write_verdict(
                self._dependencies.kube, wire, finding, self._dependencies.clock.now()
            )
        except (ConflictError, NotFoundError):
            return _SOON_SECONDS  # the watch will have shown what has changed
        return None


def _without_reservations(kind: InstanceType) -> InstanceType:
    """The type without what is reserved of it."""
    kept = tuple(item for item in kind.offerings if item.capacity_type != labels.RESERVED)
    return msgspec.structs.replace(kind, offerings=kept)
