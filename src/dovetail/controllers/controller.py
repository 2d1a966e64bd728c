"""Joins the control loops into one controller, and decides when each of them runs.

Every replica follows the cluster. The leader works as well. It takes up what it finds in the API
alone: whatever an earlier leader left undone is done by this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.controllers.cache import (
    NODE,
    NODE_CLAIM,
    NODE_POOL,
    POD,
    VOLUME_ATTACHMENT,
    WatchCache,
)
from dovetail.controllers.claims.garbage_collection import GarbageCollection
from dovetail.controllers.claims.loop import ClaimEffects, ClaimLoop
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.emptying import DeletionCosts, SoftTaints
from dovetail.controllers.disruption.loop import Disruptions, StaticScaleDown
from dovetail.controllers.feed import Feed, Listener, watched_kinds
from dovetail.controllers.launching.claim_creation import ClaimCreation, ClaimWriter
from dovetail.controllers.nodes.termination import NodeTermination
from dovetail.controllers.pods.eviction_counts import EvictionCountStore
from dovetail.controllers.pods.eviction_queue import EvictionQueue
from dovetail.controllers.pods.nominations import Nominations, NominationWriter
from dovetail.controllers.pools.capacity_buffers import CAPACITY_BUFFER, BufferLoop
from dovetail.controllers.pools.catalogue import NODE_OVERLAY, CatalogueGates, CatalogueLoop
from dovetail.controllers.pools.loop import PoolLoop
from dovetail.controllers.provisioning.loop import (
    Compute,
    DecisionEffects,
    DecisionLoop,
    Window,
    Witness,
)
from dovetail.decide.static import OVERPROVISIONED
from dovetail.kube.mirror import Pace
from dovetail.model.ending import InstanceEnding
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import EndingAnnounced, EndingsPlanned, Touched
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
    nominates_pods: bool = True
    namespace: str = "default"  # where it keeps what it remembers
    acts: bool = True  # or else it only says what it would do


class Work(msgspec.Struct, frozen=True):
    """One loop: how it runs until cancelled, and how it ends what it has begun."""

    name: str
    run: Callable[[], Coroutine[object, object, None]]
    finish: Callable[[], Awaitable[None]]


class Controller:
    """All the loops of one replica."""

    def __init__(self, dependencies: Dependencies, setup: Setup) -> None:
        self._dependencies = dependencies
        node_classes = _node_classes(dependencies)
        cluster = Cluster(policy=setup.policy, batch_max=setup.window.longest)
        self.cache = WatchCache(cluster, node_classes)
        self.feed = Feed(
            dependencies.kube,
            self.cache,
            watched_kinds(node_classes, setup.gates),
            pace=Pace(dependencies.timer, dependencies.chance),
            touched=self._wake_for,
        )
        self.feed.failed = self._log_failed_listener
        self._eviction_queue = EvictionQueue(dependencies, self.cache)
        self._eviction_counts = EvictionCountStore(dependencies, cluster.evictions, setup.namespace)
        self._termination = NodeTermination(dependencies, self.cache, self._eviction_queue)
        writer = ClaimWriter(
            dependencies.kube, mark=setup.mark, timer=dependencies.timer, chance=dependencies.chance
        )
        self._claim_creation = ClaimCreation(dependencies, self.cache, writer)
        self._disruptions = Disruptions(dependencies, self.cache, self._claim_creation)
        self._soft_taints = SoftTaints(dependencies, self.cache)
        self._deletion_costs = DeletionCosts(dependencies, self.cache)
        if setup.acts:  # from the start: nobody else knows what pods say on our behalf
            self.feed.subscribe(self._deletion_costs.handle, (POD,))
        self._static_scale_down = StaticScaleDown(dependencies, self.cache)
        self._pools = PoolLoop(dependencies, self.cache)
        self.catalogue = CatalogueLoop(
            dependencies, self.cache, touched=self._wake_for, gates=_gates(setup)
        )
        # From the start: it alone knows which overlays there are.
        self.feed.subscribe(self.catalogue.handle, (NODE_OVERLAY, NODE_POOL, *node_classes))
        has_buffers = setup.gates.get("CapacityBuffer", False)
        self._buffers = BufferLoop(dependencies, self.cache) if has_buffers else None
        steering = NominationWriter(dependencies.kube) if setup.nominates_pods else None
        self._nominations = Nominations(dependencies, self.cache, steering)
        self._decisions = DecisionLoop(dependencies, self.cache, self._effects(setup), setup.window)
        self._claims = ClaimLoop(dependencies, self.cache, self._claim_effects(setup))
        self._garbage_collection = GarbageCollection(dependencies, self.cache)
        self._is_leading = False
        self._acts = setup.acts

    def _claim_effects(self, setup: Setup) -> ClaimEffects:
        policies = self._dependencies.cloud.repair_policies
        repairs = policies if setup.gates.get("NodeRepair") else ()
        return ClaimEffects(self._steer, self._pools.note, repairs)

    def _effects(self, setup: Setup) -> DecisionEffects:
        return DecisionEffects(
            claim_creation=self._claim_creation,
            nominations=self._nominations,
            compute=setup.compute,
            disrupt=self._disrupt,
            let_nodes_empty=self._let_nodes_empty,
            planned=self._drain_replaced,
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
            buffers.note_plan(snapshot, plan, now)

        return both

    def _let_nodes_empty(self, plan: Plan) -> None:
        """Nodes that are to empty by themselves: new pods keep off, and theirs go first."""
        self._soft_taints.want(plan.discouraged)
        self._deletion_costs.want(plan.yielding)

    async def _disrupt(self, disrupt: Disrupt, pools: tuple[NodePool, ...]) -> bool:
        """Take nodes away: at once those that a pool does not want any more, others with care."""
        if disrupt.reason == OVERPROVISIONED:
            return await self._static_scale_down.take_away(disrupt)
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
            self.cache.cluster.adopt(self._dependencies.clock.now())
            await self._disruptions.take_over()
            await self._eviction_counts.recall()
            for listener, kinds in self._subscriptions():
                self.feed.subscribe(listener, kinds)
        self._is_leading = True

    def _subscriptions(self) -> Iterator[tuple[Listener, tuple[api.Kind, ...]]]:
        """Which loop of a leader is told of changes to which kinds."""
        node_classes = _node_classes(self._dependencies)
        yield self._pools.handle, (NODE_POOL, *node_classes)
        yield self._claims.handle, (NODE_CLAIM, NODE, POD, NODE_POOL, *node_classes)
        yield self._termination.handle, (NODE, POD, VOLUME_ATTACHMENT, NODE_CLAIM)
        yield self._eviction_queue.handle, (POD,)
        yield self._disruptions.handle, (NODE_CLAIM,)
        yield self._nominations.handle, (POD,)
        if self._buffers is not None:
            yield self._buffers.handle, (CAPACITY_BUFFER,)

    def work(self) -> tuple[Work, ...]:
        """The loops of a leader. To end, they are finished in this order: first no more decisions,
        then what those have begun.
        """
        thinking = (
            Work("decisions", self._decisions.run, self._decisions.finish),
            Work("catalogue", self.catalogue.run, self.catalogue.finish),
        )
        if not self._acts:
            return thinking
        return (
            *thinking,
            Work("nominations", self._nominations.run, self._nominations.finish),
            Work("pools", self._pools.run, self._pools.finish),
            Work("claims", self._claims.run, self._claims.finish),
            Work("terminations", self._termination.run, self._termination.finish),
            Work("evictions", self._eviction_queue.run, self._eviction_queue.finish),
            Work("eviction-counts", self._eviction_counts.run, self._eviction_counts.finish),
            Work("disruptions", self._disruptions.run, self._disruptions.finish),
            Work("soft-taints", self._soft_taints.run, self._soft_taints.finish),
            Work("deletion-costs", self._deletion_costs.run, self._deletion_costs.finish),
            Work("garbage", self._garbage_collection.run, self._garbage_collection.finish),
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
            for work in self.work():
                group.create_task(work.run())

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun has ended."""
        for work in self.work():
            await work.finish()

    def announce(self, ending: InstanceEnding) -> None:
        """A provider says that an instance will be gone. A replica that does not lead remembers it,
        for when it does.
        """
        announced = EndingAnnounced(ending, self._dependencies.clock.now())
        touched = self.cache.cluster.apply(announced)
        if not touched:
            return
        self._dependencies.log.info(
            "instance ends", provider_id=ending.provider_id, reason=ending.reason, at=ending.at
        )
        self._wake_for(touched)
        if self._is_leading and self._acts:
            self._claims.announce(ending.provider_id)

    def _drain_replaced(self, endings: tuple[InstanceEnding, ...]) -> None:
        """Replacements for these are under way: their nodes may be drained."""
        book = self.cache.cluster.book
        known = (book.ending(ending.provider_id) for ending in endings)
        waiting = [e.ending.provider_id for e in known if e is not None and not e.is_planned]
        if not waiting:
            return
        self.cache.cluster.apply(EndingsPlanned(tuple(waiting)))
        for provider_id in waiting:
            self._claims.announce(provider_id)

    def _log_failed_listener(self, about: str, error: Exception) -> None:
        problem = f"{type(error).__name__}: {error}"
        self._dependencies.log.error("could not take in a change", about=about, problem=problem)

    def _wake_for(self, touched: Touched) -> None:
        if self._is_leading:
            self._decisions.touch(touched)

    async def _steer(self, claim: api.NodeClaim, node: api.Node) -> None:
        """Tell kube-scheduler who is meant for a node that is about to join: nobody may come to it
        before that, or they take the room of others, for whom another node would be launched.
        """
        await self._decisions.wait_for_plan()
        name = node.metadata.name
        pods = self.cache.cluster.book.promised_to(name, claim.metadata.name)
        if await self._nominations.steer(name, pods):
            # It hears of pods and of nodes by different watches: of the pods first, please.
            await self._dependencies.timer.sleep(_HEARD_SECONDS)


def _gates(setup: Setup) -> CatalogueGates:
    return CatalogueGates(
        overlays=setup.gates.get("NodeOverlay", False),
        reservations=setup.gates.get("ReservedCapacity", True),
        tells=setup.acts,
    )


def _node_classes(dependencies: Dependencies) -> tuple[api.Kind, ...]:
    named = ((kind.group, kind.kind) for kind in dependencies.cloud.supported_node_classes)
    known = api.all_kinds(dependencies.extensions)
    return tuple(known[key] for key in named if key in known)
