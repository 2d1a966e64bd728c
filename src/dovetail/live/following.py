"""What does a live cluster look like, now and from now on, to somebody who only reads?

The same mirrors and the same memory as the controller's, without anybody who acts. Every NodePool
counts, whoever's it is; prices come from a catalogue. A kind that the cluster does not have, or
does not show us, counts as empty, unless nothing makes sense without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from random import SystemRandom
from typing import Final, TypeVar

import msgspec

from dovetail import api
from dovetail.clock import LoopTimer, SystemClock
from dovetail.cloud.overlay_manifest import overlay
from dovetail.cloud.overlays import PooledTypes, apply_to_pools
from dovetail.controllers.feed import watched_kinds
from dovetail.errors import InputError
from dovetail.kube.errors import ForbiddenError, NotFoundError
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present, Stalled
from dovetail.kube.seam import Reader, Scope
from dovetail.kube.typed import Intake
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.providers import choose
from dovetail.state.changes import NOTHING, Catalogued, Observed, Touched, Vanished
from dovetail.state.cluster import Cluster

_NEEDED: Final = frozenset({"Node", "Pod"})
_GATES: Final = {"NodeOverlay": True}
_FORGET_AFTER_SECONDS: Final = 60.0  # trouble is told again before that, if it lasts
_READER: Final = HttpSettings(connect_seconds=5.0, retries=Retries(n_tries=2))

T = TypeVar("T")
Types = tuple[InstanceType, ...]


class Whose(msgspec.Struct, frozen=True):
    """Which cluster to look at, and with which catalogue; an empty one means whichever fits."""

    environment: Mapping[str, str]
    kubeconfig: str = ""
    context: str = ""
    catalogue: str = ""


class Following:
    """A copy of a cluster that keeps up with it. `touched` hears that something has changed."""

    def __init__(
        self, kube: Reader, pace: Pace, *, catalogue: str = "", touched: Callable[[], None]
    ) -> None:
        self._pace = pace
        self._touched = touched
        self._chosen = catalogue
        self._types = {catalogue: choose.by_name(catalogue)} if catalogue else {}
        self._cluster = Cluster()
        self._overlays: dict[str, api.NodeOverlay] = {}
        self._laid: object = None  # what catalogues were last worked out for
        self._trouble: dict[str, tuple[str, float]] = {}
        intake = Intake()
        self._mirrors = {
            kind.name: Mirror(kube, Scope(kind), tell=self._hear, intake=intake, pace=pace)
            for kind in watched_kinds((), _GATES)
        }
        self._answered = {name: asyncio.Event() for name in self._mirrors}
        self._refused: dict[str, Exception] = {}

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, mirror in self._mirrors.items():
                group.create_task(mirror.run())
                group.create_task(self._note_sync(name, mirror))

    async def _note_sync(self, name: str, mirror: Mirror) -> None:
        await mirror.wait_in_sync()
        self._answered[name].set()

    async def ready(self) -> None:
        """Return once everything is known that we are shown. Raises InputError."""
        for name, answered in self._answered.items():
            await answered.wait()
            error = self._refused.get(name)
            if error is not None and (name in _NEEDED or not isinstance(error, ForbiddenError)):
                msg = f"cannot read {name}s: {error}"
                raise InputError(msg)

    def hidden(self) -> tuple[str, ...]:
        """Kinds that we may not read, and that therefore count as empty."""
        return tuple(sorted(name for name in self._refused if name not in _NEEDED))

    def catalogues(self) -> tuple[str, ...]:
        """The names of all catalogues that prices came from."""
        return tuple(self._types)

    def trouble(self) -> str:
        """Why the cluster cannot be followed just now; empty if it can."""
        now = self._pace.timer.elapsed_seconds()
        recent = [text for text, at in self._trouble.values() if now - at < _FORGET_AFTER_SECONDS]
        return recent[0] if recent else ""

    def snapshot(self, now: datetime) -> Snapshot:
        """The cluster as it is known at this moment, with prices."""
        bare = self._cluster.view(now)
        in_use = _types_in_use(bare.nodes, bare.node_pools)
        about = (bare.node_pools, in_use, tuple(self._overlays.values()))
        if about == self._laid:
            return bare
        self._laid = about
        for name, types in self._catalogues(bare.node_pools, in_use).items():
            self._cluster.apply(Catalogued(name, types))
        return self._cluster.view(now)

    def _catalogues(
        self, pools: tuple[NodePool, ...], in_use: Mapping[str, frozenset[str]]
    ) -> Mapping[str, Types]:
        pooled = []
        for pool in pools:
            name = self._chosen or choose.fitting(pool, in_use.get(pool.node_class.kind, ()))
            if name not in self._types:
                self._types[name] = choose.by_name(name)
            pooled.append(PooledTypes(pool, self._types[name]))
        overlays = [overlay(one) for one in self._overlays.values() if not api.problems(one)]
        return apply_to_pools(pooled, overlays)[0]

    def _hear(self, notice: Notice) -> None:
        touched = self._take(notice)
        if touched:
            self._touched()

    def _take(self, notice: Notice) -> Touched:
        match notice:
            case Present(object=api.NodeOverlay() as found):
                self._overlays[found.metadata.name] = found
                return Touched.POOLS
            case Absent(object=api.NodeOverlay() as gone):
                self._overlays.pop(gone.metadata.name, None)
                return Touched.POOLS
            case Present(object=found):
                self._trouble.pop(found.kind, None)
                return self._cluster.apply(Observed(found))
            case Absent(object=gone):
                kind = api.find(gone.api_version, gone.kind)
                if kind is None:
                    return NOTHING
                meta = gone.metadata
                return self._cluster.apply(Vanished(kind, meta.name, meta.namespace))
            case Stalled():
                return self._stall(notice)
            case _:
                return NOTHING

    def _stall(self, notice: Stalled) -> Touched:
        name = notice.scope.kind.name
        if isinstance(notice.error, NotFoundError):
            return NOTHING  # a cluster need not have every kind
        if not self._answered[name].is_set():
            self._refused[name] = notice.error
            self._answered[name].set()
        elif name not in self._refused:
            at = self._pace.timer.elapsed_seconds()
            self._trouble[name] = (f"{name}s cannot be followed: {notice.error}", at)
        return Touched.NODES


def _types_in_use(
    nodes: tuple[Node, ...], pools: tuple[NodePool, ...]
) -> Mapping[str, frozenset[str]]:
    """The instance types of nodes, by the kind of node class: pools of one kind buy at one cloud,
    also those that have no nodes yet.
    """
    kinds = {pool.name: pool.node_class.kind for pool in pools}
    found: dict[str, set[str]] = {}
    for node in nodes:
        found.setdefault(kinds.get(node.node_pool, ""), set()).add(node.instance_type)
    return {kind: frozenset(types) for kind, types in found.items()}


async def follow(
    whose: Whose, look: Callable[[Following], Awaitable[T]], touched: Callable[[], None]
) -> T:
    """Follow a cluster for as long as somebody looks, who begins once everything is known. Raises
    InputError where there is no cluster to follow, or nothing may be read of it.
    """
    access = kubeconfig.load(whose.environment, path=whose.kubeconfig, context=whose.context)
    timer, chance = LoopTimer(), SystemRandom().random
    world = World(SystemClock(), timer, chance, whose.environment)
    async with HttpKube(access, world, _READER) as kube:
        found = Following(kube, Pace(timer, chance), catalogue=whose.catalogue, touched=touched)
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(found.run())
                await found.ready()
                seen = await look(found)
                running.cancel()
        except ExceptionGroup as raised:
            fault = _fault(raised)
            if fault is None:
                raise
            msg = f"{access.server}: {fault}"
            raise InputError(msg) from None
    return seen


def _fault(raised: ExceptionGroup[Exception]) -> BaseException | None:
    """What was wrong, if that was the input."""
    found: BaseException | None = raised.subgroup(InputError)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


class Sighting(msgspec.Struct, frozen=True):
    """A cluster as it was at a moment, where its prices come from, and which kinds we were not
    shown.
    """

    snapshot: Snapshot
    now: datetime
    catalogues: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def sight(whose: Whose) -> Sighting:
    """Look at a cluster once. Raises InputError."""

    async def look(found: Following) -> Sighting:
        now = SystemClock().now()
        snapshot = found.snapshot(now)
        return Sighting(snapshot, now, found.catalogues(), found.hidden())

    return asyncio.run(follow(whose, look, lambda: None))
