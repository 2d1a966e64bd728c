"""How does a decision come about, and what becomes of it? The ring of ARCHITECTURE.md, once round.

Something happens, a window closes, the cluster is frozen, `decide` answers, and the answer is
carried out: claims are made, pods are promised their nodes, users are told why others wait. What
came of it goes back into the memory of the cluster, so that the next decision knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.controllers.batching import Batch, Window
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.ordering import Ordering
from dovetail.controllers.remarks import Remarks
from dovetail.controllers.steers import Steers
from dovetail.controllers.workqueue import LONGEST_WAIT_SECONDS
from dovetail.decide.lifecycle.step import DEDUPE_FOR, Event, EventType, soonest
from dovetail.decide.remarks import DISRUPTION_BLOCKED
from dovetail.model.backoff import Backoff
from dovetail.model.plan import Disrupt, Nominate, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.state.changes import (
    Nominated,
    Proposed,
    Touched,
)

FAILED_SCHEDULING: Final = "FailedScheduling"
UNCONSOLIDATABLE: Final = "Unconsolidatable"
_UNCONSOLIDATABLE_FOR: Final = timedelta(minutes=15)
# What is said of nodes that could go if only that saved anything, or their pool wanted it.
_FOR_GOOD: Final = frozenset(
    {
        Blocker.NEVER,
        Blocker.WHEN_EMPTY,
        Blocker.UNPRICED,
        Blocker.NOTHING_TO_GAIN,
        Blocker.NOT_WORTH_IT,
        Blocker.SAVES_TOO_LITTLE,
    }
)
_FAILED_FOR: Final = timedelta(minutes=5)
_RESTS_FOR: Final = 4.0  # times as long as a decision took that came to nothing
_REFUSED: Final = Backoff(1.0, 60.0)  # until claims that the API refused are tried again

Compute = Callable[[Snapshot, datetime], Awaitable[Plan]]
Witness = Callable[[Snapshot, Plan, datetime, float], None]


class Hands(msgspec.Struct, frozen=True):
    """What the decision loop works through. `compute` runs `decide` without holding up the rest;
    `disrupt` begins a disruption and says whether nothing failed so far; `wish` hears which
    nodes should empty by themselves, and waits for nothing; `witness` is shown every decision, with
    how long it took. Where it does not act, the witness is all that hears of decisions.
    """

    ordering: Ordering
    steers: Steers
    compute: Compute
    disrupt: Callable[[Disrupt, tuple[NodePool, ...]], Coroutine[None, None, bool]]
    wish: Callable[[Plan], None]
    witness: Witness
    acts: bool = True


class Decisions:
    """The decision loop."""

    def __init__(self, means: Means, known: Known, hands: Hands, window: Window) -> None:
        self._means = means
        self._known = known
        self._hands = hands
        self._batch = Batch(window, means.timer)
        self._rest_seconds = window.idle.total_seconds()
        self._log = means.log.named("provisioner")
        self._remarks = Remarks(means)
        self._n_refused = 0  # decisions in a row of which the API refused something
        self._try_again_at: datetime | None = None
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()
        self._has_decided = asyncio.Event()

    def touched(self, what: Touched) -> None:
        """Something has happened that could matter."""
        self._batch.add(prolongs=bool(what & Touched.PENDING))

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

    async def wait_decided(self) -> None:
        """Return once there was a decision: who begins to lead knows of no promises before."""
        await self._has_decided.wait()

    def _seconds_until(self, moment: datetime | None) -> float | None:
        if moment is None:
            return None
        left = (moment - self._means.clock.now()).total_seconds()
        # What has passed does not spin the loop, and before a far moment the clock may be set.
        return min(max(left, self._rest_seconds), LONGEST_WAIT_SECONDS)

    async def decide_once(self) -> Plan:
        """One round of the ring."""
        now = self._means.clock.now()
        snapshot = self._known.cluster.snapshot(now)
        begun = self._means.timer.elapsed_seconds()
        self._hands.steers.consider(pod for pod in snapshot.pods if not pod.node_name)
        plan = await self._hands.compute(snapshot, now)
        took = self._means.timer.elapsed_seconds() - begun
        self._hands.witness(snapshot, plan, now, took)
        self._remarks.log(snapshot, plan, now, took)
        if self._hands.acts:
            await self._perform(snapshot, plan, now)
        else:  # what could go is only ever told once it has been remembered for a while
            self._known.cluster.apply(Proposed(plan.proposals))
        if not (plan.launches or plan.nominations or plan.disruptions):
            # Pods without hope must not cost more the more happens elsewhere.
            self._batch.rest(_RESTS_FOR * took)
        return plan

    async def _perform(self, snapshot: Snapshot, plan: Plan, now: datetime) -> None:
        cluster = self._known.cluster
        if plan.launches:
            self._log_launches(plan)
        for launch in plan.launches:
            self._hands.ordering.begin(launch, now)
        for nominate in plan.nominations:
            cluster.apply(Nominated(nominate.node, nominate.pods, now))
        cluster.apply(Proposed(plan.proposals))
        self._tell_waiting(plan)
        self._tell_blocked(plan)
        self._remarks.tell(snapshot, plan, now)
        pools = {pool.name: pool for pool in snapshot.node_pools}
        async with asyncio.TaskGroup() as group:
            launching = [
                group.create_task(self._hands.ordering.place(launch, pools[launch.node_pool]))
                for launch in plan.launches
            ]
            for nominate in plan.nominations:
                group.create_task(self._steer(nominate))
            disrupting = [
                group.create_task(self._hands.disrupt(disrupt, snapshot.node_pools))
                for disrupt in plan.disruptions
            ]
            group.create_task(self._hands.steers.take_back())
        self._hands.wish(plan)  # once fences are up: those are left alone
        done = (*launching, *disrupting)
        self._note_refusals(is_refused=not all(one.result() for one in done))

    # ------------------------------------------------------------------ launches

    def _note_refusals(self, *, is_refused: bool) -> None:
        """Try again what the API refused, ever more slowly."""
        self._n_refused = self._n_refused + 1 if is_refused else 0
        self._try_again_at = None
        if is_refused:
            seconds = _REFUSED.seconds(self._n_refused, self._means.chance)
            self._try_again_at = self._means.clock.now() + timedelta(seconds=seconds)

    def _log_launches(self, plan: Plan) -> None:
        n_pods = sum(len(launch.pods) for launch in plan.launches)
        self._log.info(
            "computed new nodeclaim(s) to fit pod(s)",
            nodeclaims=len(plan.launches),
            pods=n_pods,
            price_per_hour=plan.cost.new_nanousd / 1e9,
            lower_bound_per_hour=plan.cost.lower_bound_nanousd / 1e9,
        )
        # One line for a whole plan: lines that come thick and fast are sampled.
        places = {launch.name: list(launch.pods) for launch in plan.launches}
        self._log.debug("planned pods", places=places)

    # ------------------------------------------------------------------ promises

    async def _steer(self, nominate: Nominate) -> None:
        """Tell the scheduler, if the node is there; otherwise it is told when it joins."""
        self._hands.ordering.tell_nominated(nominate.pods, f"node/{nominate.node}")
        if self._known.node(nominate.node) is not None:
            await self._hands.steers.steer(nominate.node, nominate.pods)

    # ------------------------------------------------------------------ telling

    def _tell_blocked(self, plan: Plan) -> None:
        """Say of each node that could go why it stays, to whoever looks at it or at its claim."""
        for one in plan.blocked:
            reason, told_for = DISRUPTION_BLOCKED, DEDUPE_FOR
            if one.reason in _FOR_GOOD:
                reason, told_for = UNCONSOLIDATABLE, _UNCONSOLIDATABLE_FOR
            node = self._known.node(one.node)
            claims = () if node is None else self._known.claims_with(node.spec.provider_id)
            subjects = [("Node", node.metadata)] if node is not None else []
            subjects += [("NodeClaim", claim.metadata) for claim in claims]
            for kind, meta in subjects:
                event = Event(kind, meta.name, reason, one.message, uid=meta.uid)
                # What keeps it now is news, though something else did a moment ago.
                dedupe = (str(one.reason),)
                self._tell(msgspec.structs.replace(event, dedupe=dedupe, dedupe_for=told_for))

    def _tell_waiting(self, plan: Plan) -> None:
        for one in plan.unschedulable:
            found = self._known.pod(one.pod)
            if found is None:
                continue
            message = f"{one.summary} What would help: {one.fix}." if one.fix else one.summary
            self._tell(
                Event(
                    "Pod",
                    one.pod,
                    FAILED_SCHEDULING,
                    message,
                    type=EventType.WARNING,
                    uid=found.uid,
                    dedupe_for=_FAILED_FOR,
                )
            )

    def _tell(self, event: Event) -> None:
        self._means.recorder.tell(event)
