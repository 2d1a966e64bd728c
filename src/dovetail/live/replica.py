"""Plugs the parts of one replica together."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock, Timer, happens_within
from dovetail.cloud.provider import CloudProvider, workers_of
from dovetail.controllers.controller import Controller, Setup
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.leadership import election
from dovetail.controllers.leadership.supervisor import Loop
from dovetail.controllers.provisioning.loop import Window, Witness
from dovetail.decide import decide
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.seam import Kube
from dovetail.live.providing import Provided
from dovetail.model.backoff import Chance
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.cloud import measure
from dovetail.observe.decisions import DecisionMeters
from dovetail.observe.events import Recorder
from dovetail.observe.journal.segments import Bounds
from dovetail.observe.journal.writer import JournalKeeper, JournalWriter
from dovetail.observe.logs import Log
from dovetail.observe.meters import Meters
from dovetail.observe.onlooker import Onlooker
from dovetail.observe.provider_meters import ProviderSeries
from dovetail.observe.requests import MeteredKube
from dovetail.observe.shadow import Shadow
from dovetail.settings.operator import OperatorSettings
from dovetail.sim.kubelets import Kubelets

_PATIENT_SECONDS: Final = 30.0
_COMPLAINT_SECONDS: Final = 10.0


class Outside(msgspec.Struct, frozen=True):
    """What a replica takes from the world around it."""

    settings: OperatorSettings
    environment: Mapping[str, str]
    clock: Clock
    timer: Timer
    chance: Chance
    log: Log
    stopping: asyncio.Event


class Replica:
    """One replica: it follows the cluster, and works when it leads. Stand-ins for kubelets, if any,
    speak through `kubelets_kube`.
    """

    def __init__(
        self, outside: Outside, kube: Kube, kubelets_kube: Kube, provided: Provided
    ) -> None:
        settings = outside.settings
        self._outside = outside
        self._kubelets_kube = kubelets_kube
        self._extensions = provided.extensions
        self._workers = workers_of(provided.cloud)
        self._meters = Meters(node_class_labels=_node_class_labels(provided.cloud))
        self._meters.tell_build(version=version("dovetail"), commit="")
        self._cloud = measure(provided.cloud, self._meters, outside.timer)
        self._kube = MeteredKube(kube, self._meters, outside.timer)
        self._recorder = Recorder(
            self._kube,
            outside.clock,
            outside.timer,
            log=outside.log,
            kinds=api.all_kinds(self._extensions),
        )
        self._onlooker = Onlooker(
            self._meters,
            _ignore if settings.dry_run else self._recorder.tell,
            outside.clock,
            is_enabled=not settings.disable_cluster_state_observability,
        )
        self._decisions = DecisionMeters(self._meters, outside.timer)
        self._thinking: Executor = ThreadPoolExecutor(1, thread_name_prefix="decide")
        self._journal = _journal(outside)
        self._latest = Snapshot()
        self._shadow = Shadow(outside.log, self._meters.registry) if settings.dry_run else None
        self._watching: list[Witness] = [self._shadow.note_plan] if self._shadow else []
        self._controller = Controller(self._dependencies(), self._setup())
        self._controller.feed.subscribe(self._onlooker.hear_pods)
        provided.voice.connect(
            _ignore if settings.dry_run else self._recorder.tell,
            self._controller.announce,
            self._controller.catalogue.refresh,
        )
        provided.meters.connect(ProviderSeries(provided.metrics, self._meters.registry))
        provided.voice.plan_with(self._controller.cache.cluster.instance_types)
        self._is_leading = False
        self._unsynced_since: float | None = outside.timer.elapsed_seconds()

    def _dependencies(self) -> Dependencies:
        return Dependencies(
            kube=self._kube,
            cloud=self._cloud,
            clock=self._outside.clock,
            timer=self._outside.timer,
            chance=self._outside.chance,
            recorder=self._recorder,
            meters=self._meters,
            log=self._outside.log,
            extensions=self._extensions,
            breadth=self._outside.settings.n_at_once(least=100, most=500) / 100,
        )

    def _setup(self) -> Setup:
        settings = self._outside.settings
        return Setup(
            mark=uuid.uuid4().hex,
            compute=self._compute,
            witness=self._witness,
            policy=settings.policy,
            window=Window(settings.batch_idle_duration, settings.batch_max_duration),
            gates=settings.feature_gates,
            nominates_pods=settings.steer_pods,
            namespace=settings.leader_election_namespace
            or election.namespace(self._outside.environment),
            acts=not settings.dry_run,
        )

    async def _compute(self, snapshot: Snapshot, now: datetime) -> Plan:
        """Decide in a thread of its own: leases, watches and probes do not wait for it."""
        self._decisions.begin(snapshot)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thinking, decide, snapshot, now)
        except BaseException:
            self._decisions.end_all(snapshot)
            raise

    def _witness(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        self._latest = snapshot
        if self._journal is not None:
            self._journal.add(snapshot, plan, now, seconds)
        self._decisions.end(snapshot, plan, seconds)
        self._onlooker.note_plan(plan)
        for watch in self._watching:
            try:
                watch(snapshot, plan, now, seconds)
            except Exception as error:  # noqa: BLE001  who only watches must not stop who works
                self._outside.log.warning("a decision could not be shown", problem=repr(error))

    def show(self, witness: Witness) -> None:
        """From now on, show every decision to this one, too."""
        self._watching.append(witness)

    def view(self) -> tuple[Snapshot, datetime]:
        """The cluster as it is known at this moment."""
        now = self._outside.clock.now()
        return self._controller.cache.cluster.view(now), now

    # ------------------------------------------------------------------ what is asked of it

    def scrape(self) -> Iterator[bytes]:
        """Everything that Prometheus reads, in parts. What follows from the cluster is told by
        whoever leads, lest it be counted twice.
        """
        self._decisions.look()
        self._tell_sync()
        if self._is_leading:
            return self._onlooker.scrape(self._latest)
        return iter((self._meters.text(),))

    def _tell_sync(self) -> None:
        since, now = self._unsynced_since, self._outside.timer.elapsed_seconds()
        self._meters.cluster_state_synced.set(0 if since is not None else 1)
        waited = 0.0 if since is None else now - since
        self._meters.cluster_state_unsynced_time_seconds.set(waited)

    def unsynced_parts(self) -> tuple[str, ...]:
        """What is not known of the cluster yet; none when this replica could lead."""
        return self._controller.feed.unsynced_kinds()

    def background(self) -> tuple[Loop, ...]:
        """What goes on whether or not this replica leads."""
        return (Loop("feed", self._controller.follow), Loop("sync", self._wait_for_sync))

    async def _wait_for_sync(self) -> None:
        async with asyncio.TaskGroup() as group:
            complaining = group.create_task(self._complain())
            await self._controller.feed.wait_in_sync()
            complaining.cancel()
        # What was read at the start stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        self._unsynced_since = None

    async def _complain(self) -> None:
        """Say what is not known of the cluster, from the time on when it should be."""
        timer = self._outside.timer
        await timer.sleep(_PATIENT_SECONDS)
        while True:
            missing = list(self._controller.feed.unsynced_kinds())
            self._outside.log.error("cluster is not known yet", missing=missing)
            await timer.sleep(_COMPLAINT_SECONDS)

    async def taken_over(self) -> bool:
        """Begin to lead once everything is known; False if it is time to stop before that."""
        stopping = self._outside.stopping
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(self._take_over())
            ending = group.create_task(stopping.wait())
            await asyncio.wait({taking, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            if not taking.done():
                taking.cancel()
        return not stopping.is_set()

    async def _take_over(self) -> None:
        await self._controller.feed.wait_in_sync()
        self._latest = self._controller.cache.cluster.view(self._outside.clock.now())
        self._onlooker.meet(self._latest.pods)
        self._controller.feed.subscribe(self._onlooker.hear)
        self._is_leading = True
        await self._controller.take_over()

    def leader_loops(self) -> tuple[Loop, ...]:
        """What a leader does."""
        loops = [Loop(work.name, work.run) for work in self._controller.work()]
        if self._outside.settings.dry_run:
            return tuple(loops)
        loops.append(Loop("events", self._recorder.run))
        loops += [Loop(worker.name, worker.run) for worker in self._workers]
        if self._outside.settings.kubelets:
            loops.append(Loop("kubelets", self._kubelets().run))
        return tuple(loops)

    def _kubelets(self) -> Kubelets:
        outside = self._outside
        return Kubelets(self._kubelets_kube, outside.clock, outside.timer, chance=outside.chance)

    async def finish(self, grace_seconds: float) -> None:
        """End what was begun, if that does not take too long. A dry run says what it came to."""
        done = asyncio.Event()

        async def finish() -> None:
            await self._controller.finish()
            await self._recorder.close()
            if self._journal is not None:
                await asyncio.to_thread(self._journal.close)
            done.set()

        async with asyncio.TaskGroup() as group:
            finishing = group.create_task(finish())
            if not await happens_within(done, grace_seconds, self._outside.timer):
                self._outside.log.warning("stopping although something is still under way")
            finishing.cancel()
        if self._shadow is not None:
            self._shadow.end(self._outside.clock.now())


def _ignore(event: Event) -> None:
    """Nothing is told where nothing may be written."""


def _journal(outside: Outside) -> JournalKeeper | None:
    settings = outside.settings
    if not settings.journal:
        return None
    bounds = Bounds(settings.journal_max_bytes, settings.journal_max_age)
    return JournalKeeper(JournalWriter(Path(settings.journal), bounds), outside.log)


def _node_class_labels(cloud: CloudProvider) -> tuple[str, ...]:
    return tuple(f"{kind.group}/{kind.kind.lower()}" for kind in cloud.supported_node_classes)
