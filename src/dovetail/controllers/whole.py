"""How do the loops make one controller? Each hears of changes and works; some help each other.

Every replica follows the cluster. The one that leads works as well, and what it takes up it finds
in the API alone: whatever an earlier leader left undone is done by this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.launching import Orders
from dovetail.actuate.steering import Steering
from dovetail.controllers.batching import Window
from dovetail.controllers.buffers import BufferLoop
from dovetail.controllers.catalogue import Admitted, CatalogueLoop
from dovetail.controllers.claims import ClaimHands, ClaimLoop
from dovetail.controllers.discouragement import Discouragement
from dovetail.controllers.disruptions import Disruptions
from dovetail.controllers.eviction_memory import EvictionMemory
from dovetail.controllers.evictions import Evictions
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.controllers.garbage import GarbageLoop
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.ordering import Ordering
from dovetail.controllers.pools import PoolLoop
from dovetail.controllers.provisioning import Compute, Decisions, Hands, Witness
from dovetail.controllers.steers import Steers
from dovetail.controllers.surplus import Surplus
from dovetail.controllers.terminations import Terminations
from dovetail.controllers.yielding import Yielding
from dovetail.decide.static import OVERPROVISIONED
from dovetail.kube.mirror import Notice, Pace
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import Touched
from dovetail.state.cluster import Cluster

_HEARD_SECONDS: Final = 0.5


class Setup(msgspec.Struct, frozen=True):
    """How the controller is to behave. `mark` tells this run from every other."""

    mark: str
    compute: Compute
    witness: Witness
    policy: Policy = Policy()
    window: Window = Window()
    gates: Mapping[str, bool] = {}
    steers: bool = True
    namespace: str = "default"  # where it keeps what it remembers
    acts: bool = True  # or else it only says what it would do


class Work(msgspec.Struct, frozen=True):
    """One loop: how it runs until cancelled, and how it ends what it has begun."""

    name: str
    run: Callable[[], Awaitable[None]]
    finish: Callable[[], Awaitable[None]]


class Controller:
    """All the loops of one replica."""

    def __init__(self, means: Means, setup: Setup) -> None:
        self._means = means
        node_classes = _node_classes(means)
        cluster = Cluster(policy=setup.policy, batch_max=setup.window.longest)
        self.known = Known(cluster, node_classes)
        self.feed = Feed(
            means.kube,
            self.known,
            watched_kinds(node_classes, setup.gates),
            pace=Pace(means.timer, means.chance),
            touched=self._touched,
        )
        self.feed.failed = self._misheard
        self._evictions = Evictions(means, self.known)
        self._memory = EvictionMemory(means, cluster.evictions, setup.namespace)
        self._terminations = Terminations(means, self.known, self._evictions)
        orders = Orders(means.kube, mark=setup.mark, timer=means.timer, chance=means.chance)
        self._ordering = Ordering(means, self.known, orders)
        self._disruptions = Disruptions(means, self.known, self._ordering)
        self._discouragement = Discouragement(means, self.known)
        self._yielding = Yielding(means, self.known)
        if setup.acts:  # from the start: nobody else knows what pods say on our behalf
            self.feed.listen(self._yielding.hear)
        self._surplus = Surplus(means, self.known)
        self._pools = PoolLoop(means, self.known)
        self._catalogue = CatalogueLoop(
            means, self.known, touched=self._touched, admitted=_admitted(setup)
        )
        # From the start: it alone knows which overlays there are.
        self.feed.listen(self._catalogue.hear)
        has_buffers = setup.gates.get("CapacityBuffer", False)
        self._buffers = BufferLoop(means, self.known) if has_buffers else None
        self._steers = Steers(means, self.known, Steering(means.kube) if setup.steers else None)
        self._decisions = Decisions(means, self.known, self._hands(setup), setup.window)
        repairs = means.cloud.repair_policies if setup.gates.get("NodeRepair") else ()
        hands = ClaimHands(self._steer, self._pools.note, repairs)
        self._claims = ClaimLoop(means, self.known, hands)
        self._garbage = GarbageLoop(means, self.known)
        self._is_leading = False
        self._acts = setup.acts

    def _hands(self, setup: Setup) -> Hands:
        return Hands(
            ordering=self._ordering,
            steers=self._steers,
            compute=setup.compute,
            disrupt=self._disrupt,
            wish=self._wish,
            witness=self._witness(setup.witness),
            acts=setup.acts,
        )

    def _witness(self, witness: Witness) -> Witness:
        """Whoever is shown decisions, and with them the buffers."""
        buffers = self._buffers
        if buffers is None:
            return witness

        def both(snapshot: Snapshot, plan: Plan, now: datetime, took: float) -> None:
            witness(snapshot, plan, now, took)
            buffers.decided(snapshot, plan, now)

        return both

    def _wish(self, plan: Plan) -> None:
        """Nodes that are to empty by themselves: new pods keep off, and theirs go first."""
        self._discouragement.decided(plan.discouraged)
        self._yielding.decided(plan.yielding)

    async def _disrupt(self, disrupt: Disrupt, pools: tuple[NodePool, ...]) -> bool:
        """Take nodes away: at once those that a pool does not want any more, others with care."""
        if disrupt.reason == OVERPROVISIONED:
            return await self._surplus.take_away(disrupt)
        return await self._disruptions.begin(disrupt, pools)

    async def follow(self) -> None:
        """Keep up with the cluster, leading or not, until cancelled."""
        await self.feed.run()

    async def take_over(self) -> None:
        """Begin to lead, once everything that is there is known: whatever an earlier leader left
        is found in the API.
        """
        await self.feed.wait_in_sync()
        if self._acts:
            self.known.cluster.adopt(self._means.clock.now())
            await self._disruptions.take_over()
            await self._memory.recall()
        for hear in self._listeners():
            self.feed.listen(hear)
        self._is_leading = True

    def _listeners(self) -> tuple[Callable[[Notice], None], ...]:
        if not self._acts:
            return ()
        return (
            self._pools.hear,
            self._claims.hear,
            self._terminations.hear,
            self._evictions.hear,
            self._disruptions.hear,
            self._steers.hear,
            *(() if self._buffers is None else (self._buffers.hear,)),
        )

    def work(self) -> tuple[Work, ...]:
        """The loops of a leader. To end, they are finished in this order: first no more decisions,
        then what those have begun.
        """
        thinking = (
            Work("decisions", self._decisions.run, self._decisions.finish),
            Work("catalogue", self._catalogue.run, self._catalogue.finish),
        )
        if not self._acts:
            return thinking
        return (
            *thinking,
            Work("steers", self._steers.run, self._steers.finish),
            Work("pools", self._pools.run, self._pools.finish),
            Work("claims", self._claims.run, self._claims.finish),
            Work("terminations", self._terminations.run, self._terminations.finish),
            Work("evictions", self._evictions.run, self._evictions.finish),
            Work("eviction-memory", self._memory.run, self._memory.finish),
            Work("disruptions", self._disruptions.run, self._disruptions.finish),
            Work("discouragement", self._discouragement.run, self._discouragement.finish),
            Work("yielding", self._yielding.run, self._yielding.finish),
            Work("garbage", self._garbage.run, self._garbage.finish),
            *self._optional(),
        )

    def _optional(self) -> tuple[Work, ...]:
        """What only goes on where it is switched on."""
        buffers = self._buffers
        return () if buffers is None else (Work("buffers", buffers.run, buffers.finish),)

    async def lead(self) -> None:
        """Take over and work, until cancelled."""
        await self.take_over()
        async with asyncio.TaskGroup() as group:
            for one in self.work():
                group.create_task(_running(one))

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun has ended."""
        for one in self.work():
            await one.finish()

    def _misheard(self, about: str, error: Exception) -> None:
        problem = f"{type(error).__name__}: {error}"
        self._means.log.error("could not take in a change", about=about, problem=problem)

    def _touched(self, what: Touched) -> None:
        if self._is_leading:
            self._decisions.touched(what)

    async def _steer(self, claim: api.NodeClaim, node: api.Node) -> None:
        """Tell kube-scheduler who is meant for a node that is about to join: nobody may come to it
        before that, or they take the room of others, for whom another node would be launched.
        """
        await self._decisions.wait_decided()
        name = node.metadata.name
        pods = self.known.cluster.promised_to(name, claim.metadata.name)
        if await self._steers.steer(name, pods):
            # It hears of pods and of nodes by different watches: of the pods first, please.
            await self._means.timer.sleep(_HEARD_SECONDS)


async def _running(work: Work) -> None:
    await work.run()


def _admitted(setup: Setup) -> Admitted:
    return Admitted(
        overlays=setup.gates.get("NodeOverlay", False),
        reservations=setup.gates.get("ReservedCapacity", True),
        tells=setup.acts,
    )


def _node_classes(means: Means) -> tuple[api.Kind, ...]:
    named = ((one.group, one.kind) for one in means.cloud.supported_node_classes)
    return tuple(api.KINDS[key] for key in named if key in api.KINDS)
