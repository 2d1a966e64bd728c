"""Writes the status of NodePools: readiness, hash, resources in use, and registration health.

What the nodes of a pool have together is added up every five seconds, and only written when it has
changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from dovetail import api, labels
from dovetail.actuate.writing import write_claim, write_pool
from dovetail.controllers.cache import (
    NODE_CLAIM,
    NODE_POOL,
    Conflicts,
    WatchCache,
    read_again,
    unreadable_event,
)
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.workqueue import WorkQueue, failure_log
from dovetail.decide.lifecycle.pool import (
    Health,
    NodeClassState,
    PoolView,
    hash_step,
    health_step,
    note_registration,
    pool_with,
    readiness,
    usage_step,
    validation,
)
from dovetail.decide.lifecycle.step import STAY, NoteRegistration, Step, claim_after
from dovetail.decide.lifecycle.timing import COUNTER_PERIOD
from dovetail.decide.nodes import is_leaving
from dovetail.errors import InputError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.backoff import Backoff
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Node
from dovetail.model.resources import NODES
from dovetail.state.objects import claim_object, node_class_ref, node_class_state, pool_view

_N_WORKERS: Final = 10
_NO_TOTALS: Final[Mapping[str, int]] = {}

Totals = Mapping[str, Mapping[str, int]]  # by pool


class PoolLoop:
    """Sees to every pool of ours."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("nodepool")
        self._health: dict[str, Health] = {}  # by the pool's UID
        self._notes: dict[str, tuple[NoteRegistration, ...]] = {}  # by the pool's name
        self._problems: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {}  # by UID
        self._nodes: tuple[Node, ...] | None = None
        self._totals: Totals | None = None  # None: not added up yet
        self._conflicts = Conflicts(dependencies.chance)
        self._queue: WorkQueue[str] = WorkQueue(
            self._see_to,
            failed=failure_log(self._log, "could not see to node pool", "node_pool"),
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), _N_WORKERS),
        )
        self.finish = self._queue.finish

    def handle(self, notice: Notice) -> None:
        """Something has happened that may matter to a pool."""
        match notice:
            case Present(object=api.NodePool() as pool):
                self._queue.add(pool.metadata.name)
            case Absent(object=api.NodePool() as pool):
                self._forget(pool.metadata)
            case Present(object=item) | Absent(object=item) if self._cache.is_node_class(item):
                for name in pools_of(item, self._cache):
                    self._queue.add(name)
            case _:
                return

    def note(self, note: NoteRegistration) -> None:
        """A node of a pool came up, or did not."""
        self._notes[note.node_pool] = (*self._notes.get(note.node_pool, ()), note)
        self._queue.add(note.node_pool)

    async def run(self) -> None:
        """See to pools until cancelled."""
        for pool in self._cache.pools():
            self._queue.add(pool.metadata.name)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run())
            group.create_task(self._count())

    def _forget(self, meta: api.ObjectMeta) -> None:
        self._health.pop(meta.uid, None)
        self._problems.pop(meta.uid, None)
        if self._cache.pool(meta.name) is None:
            self._notes.pop(meta.name, None)

    async def _count(self) -> None:
        """Add up what pools have, again and again."""
        while True:
            nodes = self._cache.cluster.nodes(self._dependencies.clock.now())
            if nodes is not self._nodes:
                before = self._totals
                self._nodes, self._totals = nodes, totals(nodes)
                for pool in self._cache.pools():
                    name = pool.metadata.name
                    if before is None or before.get(name) != self._totals.get(name):
                        self._queue.add(name)
            await self._dependencies.timer.sleep(COUNTER_PERIOD.total_seconds())

    # ---- one pass

    async def _see_to(self, name: str) -> float | None:
        wire = self._cache.pool(name)
        if wire is None:
            self._notes.pop(name, None)
            self._conflicts.forget(name)
            return None
        try:
            view = pool_view(wire)
        except InputError as error:
            self._log.error("could not read node pool", node_pool=name, error=error)
            self._dependencies.recorder.tell(unreadable_event("NodePool", wire.metadata, error))
            return None
        now = self._dependencies.clock.now()
        notes = self._notes.get(name, ())
        step, known_health = self._step(wire, view, notes, now)
        try:
            await self._write(wire, view, step, now)
        except (ConflictError, NotFoundError) as error:
            await read_again(self._dependencies.kube, self._cache, NODE_POOL, name)
            return self._conflicts.seconds(name, error)
        self._conflicts.forget(name)
        self._health[view.pool.uid] = known_health
        self._notes[name] = self._notes.get(name, ())[len(notes) :]
        for event in step.events:
            self._dependencies.recorder.tell(event)
        return None

    def _step(
        self, wire: api.NodePool, view: PoolView, notes: tuple[NoteRegistration, ...], now: datetime
    ) -> tuple[Step, Health]:
        """Everything that is to be said of a pool now, and how well its nodes do."""
        wire_class = self._cache.node_class(node_class_ref(wire.spec.template.spec.node_class_ref))
        node_class = node_class_state(wire_class) if wire_class is not None else None
        step = readiness(view, node_class).then(validation(self._problems_of(wire, view)))
        if not view.pool.problems:
            step = step.then(hash_step(view, self._claims_of(view.pool.name), now))
        if self._totals is not None:
            step = step.then(usage_step(view, self._totals.get(view.pool.name, _NO_TOTALS), now))
        health, part = self._healthy(view, node_class, now)
        step = step.then(part)
        for note in notes:
            health, part = note_registration(view, health, note)
            step = step.then(part)
        return step, health

    def _healthy(
        self, view: PoolView, node_class: NodeClassState | None, now: datetime
    ) -> tuple[Health, Step]:
        health = self._health.get(view.pool.uid, Health())
        if node_class is None:
            return health, STAY  # nobody knows of which class to speak
        return health_step(view, health, node_class.generation, now)

    def _problems_of(self, wire: api.NodePool, view: PoolView) -> tuple[str, ...]:
        """What is wrong with the pool; looked for once in each generation, to which annotations
        do not belong.
        """
        uid, annotations = view.pool.uid, wire.metadata.annotations
        mark = (view.generation, *(annotations.get(key) for key in labels.POOL_KNOBS))
        problems = self._problems.get(uid)
        if problems is None or problems[0] != mark:
            texts = tuple(str(item) for item in api.problems(wire, self._dependencies.extensions))
            told = texts or tuple(problem.message for problem in view.pool.problems)
            problems = self._problems[uid] = (mark, told)
        return problems[1]

    def _claims_of(self, pool: str) -> Iterator[ClaimObject]:
        for wire in self._cache.claims.all():
            if wire.metadata.labels.get(labels.NODE_POOL) != pool:
                continue
            try:
                yield claim_object(wire)
            except InputError:
                continue  # told by whoever sees to claims

    async def _write(self, wire: api.NodePool, view: PoolView, step: Step, now: datetime) -> None:
        """Claims first: the pool's word is that they have been brought over."""
        for patch in step.claims:
            claim = self._cache.claims.get(patch.name)
            if claim is not None:
                after = claim_after(claim_object(claim), (patch,))
                for raw in await write_claim(self._dependencies.kube, claim, after):
                    self._cache.put(NODE_CLAIM, raw)
        for raw in await write_pool(self._dependencies.kube, wire, pool_with(view, step, now)):
            self._cache.put(NODE_POOL, raw)


def totals(nodes: tuple[Node, ...]) -> Totals:
    """What the nodes of each pool have together, counted as `nodes` too. What is not launched yet
    has nothing, and what is leaving has it no more.
    """
    result: dict[str, dict[str, int]] = {}
    for node in nodes:
        if not node.node_pool or not node.provider_id or is_leaving(node):
            continue
        usage = result.setdefault(node.node_pool, {NODES: 0})
        usage[NODES] += 1
        for name, amount in node.capacity.items():
            usage[name] = usage.get(name, 0) + amount
    return result


def pools_of(node_class: api.Object, cache: WatchCache) -> Iterator[str]:
    """Names of the pools that launch with a node class."""
    for pool in cache.pools():
        ref = pool.spec.template.spec.node_class_ref
        if (ref.kind, ref.name) == (node_class.kind, node_class.metadata.name):
            yield pool.metadata.name
