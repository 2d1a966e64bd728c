"""Reads a live cluster, once or for as long as somebody looks, without changing anything.

It uses the controller's own watch cache, without the loops that act. Every NodePool counts,
whatever its node class; prices come from a catalogue. A kind that the cluster does not have, or
that we may not read, counts as empty, except Nodes and Pods.
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
from dovetail.cloud.catalogues import OfflineCatalogues
from dovetail.cloud.overlays import PooledTypes, apply_to_pools, overlay
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.errors import InputError
from dovetail.kube.errors import ForbiddenError, NotFoundError
from dovetail.kube.http import kubeconfig
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.mirror import Absent, Notice, Pace, Present, Stalled
from dovetail.kube.seam import Reader
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import Catalogued
from dovetail.state.cluster import Cluster

_NEEDED: Final = frozenset({"Node", "Pod"})
_FORGET_AFTER_SECONDS: Final = 60.0  # trouble is told again before that, if it lasts
READER: Final = HttpSettings(connect_seconds=5.0, retries=Retries(n_tries=2))

T = TypeVar("T")
Types = tuple[InstanceType, ...]


class Whose(msgspec.Struct, frozen=True):
    """Which cluster to read, with which catalogue (an empty one means whichever fits), and
    whether capacity buffers count.
    """

    environment: Mapping[str, str]
    kubeconfig: str = ""
    context: str = ""
    catalogue: str = ""
    with_buffers: bool = False


class Following:
    """A copy of a cluster that keeps up with it. `touched` is called when something has changed."""

    def __init__(
        self,
        kube: Reader,
        pace: Pace,
        *,
        catalogue: str = "",
        with_buffers: bool = False,
        touched: Callable[[], None],
    ) -> None:
        self._pace = pace
        self._touched = touched
        self._chosen = catalogue
        self._offline = OfflineCatalogues()
        if catalogue:  # a bad name is an error at once
            self._offline.by_name(catalogue)
        self._cluster = Cluster()
        self._overlays: dict[str, api.NodeOverlay] = {}
        self._laid: object = None  # what catalogues were last worked out for
        self._trouble: dict[str, tuple[str, float]] = {}
        gates = {"NodeOverlay": True, "CapacityBuffer": with_buffers}
        kinds = watched_kinds((), gates)
        self._feed = Feed(
            kube, WatchCache(self._cluster, None), kinds, pace=pace, touched=lambda _: touched()
        )
        self._feed.subscribe(self._hear)
        self._answered = {kind.name: asyncio.Event() for kind in kinds}
        self._refused: dict[str, Exception] = {}

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed.run())
            for name in self._answered:
                group.create_task(self._note_sync(name))

    async def _note_sync(self, name: str) -> None:
        await self._feed.wait_in_sync(name)
        self._answered[name].set()

    async def ready(self) -> None:
        """Return once everything is known that we are shown. Raises InputError."""
        for name, answered in self._answered.items():
            await answered.wait()
            error = self._refused.get(name)
            if error is not None and (name in _NEEDED or not isinstance(error, ForbiddenError)):
                msg = f"cannot read {name}s: {error}"
                raise InputError(msg)

    def hidden_kinds(self) -> tuple[str, ...]:
        """Kinds that we may not read, and that therefore count as empty."""
        return tuple(sorted(name for name in self._refused if name not in _NEEDED))

    def catalogues(self) -> tuple[str, ...]:
        """The names of all catalogues that prices came from."""
        return self._offline.used_names

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
            in_kind = in_use.get(pool.node_class.kind, ())
            name = self._chosen or self._offline.best_name(pool, in_kind)
            pooled.append(PooledTypes(pool, self._offline.by_name(name)))
        overlays = [overlay(item) for item in self._overlays.values() if not api.problems(item)]
        return apply_to_pools(pooled, overlays)[0]

    def _hear(self, notice: Notice) -> None:
        match notice:
            case Present(object=api.NodeOverlay() as item):
                self._overlays[item.metadata.name] = item
                self._touched()
            case Absent(object=api.NodeOverlay() as gone):
                self._overlays.pop(gone.metadata.name, None)
                self._touched()
            case Present(object=item):
                self._trouble.pop(item.kind, None)
            case Stalled():
                self._stall(notice)
            case _:
                return

    def _stall(self, notice: Stalled) -> None:
        name = notice.scope.kind.name
        if isinstance(notice.error, NotFoundError):
            return  # a cluster need not have every kind
        if not self._answered[name].is_set():
            self._refused[name] = notice.error
            self._answered[name].set()
        elif name not in self._refused:
            at = self._pace.timer.elapsed_seconds()
            self._trouble[name] = (f"{name}s cannot be followed: {notice.error}", at)
        self._touched()


def _types_in_use(
    nodes: tuple[Node, ...], pools: tuple[NodePool, ...]
) -> Mapping[str, frozenset[str]]:
    """The instance types of nodes, by the kind of node class: pools of one kind buy at one cloud,
    also those that have no nodes yet.
    """
    kinds = {pool.name: pool.node_class.kind for pool in pools}
    by_kind: dict[str, set[str]] = {}
    for node in nodes:
        by_kind.setdefault(kinds.get(node.node_pool, ""), set()).add(node.instance_type)
    return {kind: frozenset(types) for kind, types in by_kind.items()}


async def follow(
    whose: Whose, look: Callable[[Following], Awaitable[T]], touched: Callable[[], None]
) -> T:
    """Follow a cluster for as long as somebody looks, who begins once everything is known. Raises
    InputError where there is no cluster to follow, or nothing may be read of it.
    """
    access = kubeconfig.load(whose.environment, path=whose.kubeconfig, context=whose.context)
    timer, chance = LoopTimer(), SystemRandom().random
    world = World(SystemClock(), timer, chance, whose.environment)
    async with HttpKube(access, world, READER) as kube:
        following = Following(
            kube,
            Pace(timer, chance),
            catalogue=whose.catalogue,
            with_buffers=whose.with_buffers,
            touched=touched,
        )
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(following.run())
                await following.ready()
                seen = await look(following)
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
    input_error: BaseException | None = raised.subgroup(InputError)
    while isinstance(input_error, BaseExceptionGroup):
        input_error = input_error.exceptions[0]
    return input_error


class Sighting(msgspec.Struct, frozen=True):
    """A cluster at a moment, the catalogues of its prices, and the kinds that we may not read."""

    snapshot: Snapshot
    now: datetime
    catalogues: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def sight(whose: Whose) -> Sighting:
    """Read a cluster once. Raises InputError."""

    async def look(following: Following) -> Sighting:
        now = SystemClock().now()
        snapshot = following.snapshot(now)
        return Sighting(snapshot, now, following.catalogues(), following.hidden_kinds())

    return asyncio.run(follow(whose, look, lambda: None))
