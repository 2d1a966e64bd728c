"""Runs the decision loop: waits for a batch, takes a snapshot, decides, and carries out the plan.

The first change opens a batch window. It closes once no new pod has come for a
moment, and after a while in any case. Changes that bring no new pods open a window but do not
prolong it; they can be made to wait after a decision that took long and changed nothing.

Then claims are made, pods are nominated to nodes, disruptions begin, and events say why other pods
stay pending. What came of it goes back into the ledger, so that the next decision knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.clock import Timer, happens_within
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.launching.claim_creation import ClaimCreation
from dovetail.controllers.pods.nominations import Nominations
from dovetail.controllers.provisioning.reporting import DecisionReporter
from dovetail.controllers.workqueue import LONGEST_WAIT_SECONDS
from dovetail.decide.endings import with_due_endings
from dovetail.decide.lifecycle.step import soonest
from dovetail.model.backoff import Backoff
from dovetail.model.ending import InstanceEnding
from dovetail.model.plan import Disrupt, Nominate, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import Nominated, Proposed, Touched

_RESTS_FOR: Final = 4.0  # times as long as a decision took that came to nothing
_REFUSED: Final = Backoff(1.0, 60.0)  # until claims that the API refused are tried again

Compute = Callable[[Snapshot, datetime], Awaitable[Plan]]
Witness = Callable[[Snapshot, Plan, datetime, float], None]
IDLE: Final = timedelta(seconds=1)
LONGEST: Final = timedelta(seconds=10)
_SHORTEST_NAP_SECONDS: Final = 0.1


class Window(msgspec.Struct, frozen=True, gc=False):
    """How long to wait for more."""

    idle: timedelta = IDLE
    longest: timedelta = LONGEST


class Batch:
    """Collects what happens between two decisions."""

    def __init__(self, window: Window, timer: Timer) -> None:
        self._window = window
        self._timer = timer
        self._is_open = asyncio.Event()
        self._opened_at = 0.0
        self._last_at = 0.0
        self._rests_until = 0.0
        self._has_news = False  # whether new pods have come

    def rest(self, seconds: float) -> None:
        """Let nothing but new pods close a window for so long, within what is longest."""
        self._rests_until = self._timer.elapsed_seconds() + seconds

    def add(self, *, prolongs: bool) -> None:
        """Something has happened."""
        now = self._timer.elapsed_seconds()
        self._has_news = self._has_news or prolongs
        if not self._is_open.is_set():
            self._opened_at = self._last_at = now
            self._is_open.set()
        elif prolongs:
            self._last_at = now

    async def complete(self, within_seconds: float | None) -> None:
        """Return when a window has closed, or when so much time has passed without any."""
        if not await happens_within(self._is_open, within_seconds, self._timer):
            return
        nap = max(self._window.idle.total_seconds(), _SHORTEST_NAP_SECONDS)
        while (left := self._seconds_left()) > 0:
            await self._timer.sleep(min(left, nap))  # news may come meanwhile
        self._is_open.clear()
        self._has_news = False

    def _seconds_left(self) -> float:
        quiet_at = self._last_at + self._window.idle.total_seconds()
        if not self._has_news:
            quiet_at = max(quiet_at, self._rests_until)
        closes_at = min(quiet_at, self._opened_at + self._window.longest.total_seconds())
        return closes_at - self._timer.elapsed_seconds()


def _ignore_endings(endings: tuple[InstanceEnding, ...]) -> None:
    """Nobody waits for a plan."""


class DecisionEffects(msgspec.Struct, frozen=True):
    """What the decision loop works through. `compute` runs `decide` without holding up the rest.
    `disrupt` begins a disruption and says whether nothing failed so far. `let_nodes_empty` is told
    which nodes should empty by themselves, and waits for nothing. `planned` is told of instances
    that end once the pods on their nodes are planned for. `witness` is shown every decision and how
    long it took; where the loop does not act, nothing else is done with a decision.
    """

    claim_creation: ClaimCreation
    nominations: Nominations
    compute: Compute
    disrupt: Callable[[Disrupt, tuple[NodePool, ...]], Coroutine[None, None, bool]]
    let_nodes_empty: Callable[[Plan], None]
    witness: Witness
    acts: bool = True
    planned: Callable[[tuple[InstanceEnding, ...]], None] = _ignore_endings


class DecisionLoop:
    """The decision loop."""

    def __init__(
        self,
        dependencies: Dependencies,
        cache: WatchCache,
        effects: DecisionEffects,
        window: Window,
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._effects = effects
        self._batch = Batch(window, dependencies.timer)
        self._rest_seconds = window.idle.total_seconds()
        self._log = dependencies.log.named("provisioner")
        self._reporter = DecisionReporter(dependencies, cache)
        self._n_refused = 0  # decisions in a row of which the API refused something
        self._try_again_at: datetime | None = None
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()
        self._has_decided = asyncio.Event()

    def touch(self, touched: Touched) -> None:
        """Something has happened that could matter."""
        self._batch.add(prolongs=bool(touched & Touched.PENDING))

    async def run(self) -> None:
        """Decide whenever it is time, until cancelled."""
        self._batch.add(prolongs=False)
        wake_at: datetime | None = None
        while True:
            await self._batch.complete(self._seconds_until(wake_at))
            if self._is_closing:
                return
            self._is_at_rest.clear()
            try:
                plan = await self.decide_once()
            finally:
                self._is_at_rest.set()
                self._has_decided.set()
            wake_at = soonest(plan.wake_at, self._try_again_at)

    async def finish(self) -> None:
        """Begin no other decision, and return when the one under way is carried out."""
        self._is_closing = True
        await self._is_at_rest.wait()
        self._has_decided.set()  # nobody is to wait for one that does not come

    async def wait_for_plan(self) -> None:
        """Return once there was a decision: who begins to lead knows of no promises before."""
        await self._has_decided.wait()

    def _seconds_until(self, moment: datetime | None) -> float | None:
        if moment is None:
            return None
        left = (moment - self._dependencies.clock.now()).total_seconds()
        # What has passed does not spin the loop, and before a far moment the clock may be set.
        return min(max(left, self._rest_seconds), LONGEST_WAIT_SECONDS)

    async def decide_once(self) -> Plan:
        """One round of the ring."""
        now = self._dependencies.clock.now()
        snapshot = self._cache.cluster.snapshot(now)
        begun = self._dependencies.timer.elapsed_seconds()
        self._effects.nominations.consider(pod for pod in snapshot.pods if not pod.node_name)
        plan = await self._effects.compute(snapshot, now)
        took = self._dependencies.timer.elapsed_seconds() - begun
        self._effects.witness(snapshot, plan, now, took)
        self._note(plan, now)
        self._reporter.log(snapshot, plan, now, took)
        if self._effects.acts:
            self._reporter.tell(snapshot, plan, now)
            await self._perform(snapshot, plan)
            self._effects.planned(with_due_endings(snapshot, now).ledger.endings)
        if not (plan.launches or plan.nominations or plan.disruptions):
            # Pods without hope must not cost more the more happens elsewhere.
            self._batch.rest(_RESTS_FOR * took)
        return plan

    def _note(self, plan: Plan, now: datetime) -> None:
        """Let the next decision know of this one. A loop that does not act notes proposals only."""
        cluster = self._cache.cluster
        if self._effects.acts:
            for launch in plan.launches:
                self._effects.claim_creation.begin(launch, now)
            for nominate in plan.nominations:
                cluster.apply(Nominated(nominate.node, nominate.pods, now))
        cluster.apply(Proposed(plan.proposals))

    async def _perform(self, snapshot: Snapshot, plan: Plan) -> None:
        pools = {pool.name: pool for pool in snapshot.node_pools}
        async with asyncio.TaskGroup() as group:
            launching = [
                group.create_task(
                    self._effects.claim_creation.create(launch, pools[launch.node_pool])
                )
                for launch in plan.launches
            ]
            for nominate in plan.nominations:
                group.create_task(self._steer(nominate))
            disrupting = [
                group.create_task(self._effects.disrupt(disrupt, snapshot.node_pools))
                for disrupt in plan.disruptions
            ]
            group.create_task(self._effects.nominations.take_back())
        self._effects.let_nodes_empty(
            plan
        )  # once taints are set: nodes that have one are left alone
        done = (*launching, *disrupting)
        self._note_refusals(is_refused=not all(item.result() for item in done))

    # ------------------------------------------------------------------ launches

    def _note_refusals(self, *, is_refused: bool) -> None:
        """Try again what the API refused, ever more slowly."""
        self._n_refused = self._n_refused + 1 if is_refused else 0
        self._try_again_at = None
        if is_refused:
            seconds = _REFUSED.seconds(self._n_refused, self._dependencies.chance)
            self._try_again_at = self._dependencies.clock.now() + timedelta(seconds=seconds)

    # ------------------------------------------------------------------ promises

    async def _steer(self, nominate: Nominate) -> None:
        """Tell the scheduler, if the node is there; otherwise it is told when it joins."""
        self._effects.claim_creation.report_nomination(nominate.pods, f"node/{nominate.node}")
        if self._cache.nodes.get(nominate.node) is not None:
            await self._effects.nominations.steer(nominate.node, nominate.pods)
