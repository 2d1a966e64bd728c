"""Sees to NodeClaims, one pass after another, one pass of a claim at a time.

A pass observes the claim, computes the next step (`decide/lifecycle/claim.py`), writes it (the Node
before the claim: nothing is said before it is so), carries it out, reports it, and comes back when
the step says so. Whatever was not written is concluded again by the next pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.writing import (
    delete_claim,
    delete_instance,
    delete_node,
    write_claim,
    write_node,
)
from dovetail.controllers.cache import (
    NODE,
    NODE_CLAIM,
    Conflicts,
    WatchCache,
    read_again,
    unreadable_event,
)
from dovetail.controllers.claims.context import DriftChecks, NodeHealth, hook_answers, hooks_of
from dovetail.controllers.claims.routing import ClaimRouter, latest_arrival
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.launching.instance_launch import InstanceLaunches
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.lifecycle.claim import (
    NEVER_STARTED,
    ClaimContext,
    claim_step,
    claim_to_write,
    look_again_at,
)
from dovetail.decide.lifecycle.registration import TAINT_MISSING_EVENT, awaits_hooks
from dovetail.decide.lifecycle.running import PodChange
from dovetail.decide.lifecycle.step import (
    Action,
    CreateInstance,
    DeleteClaim,
    DeleteInstance,
    DeleteNode,
    Milestone,
    NoteRegistration,
    Step,
    node_after,
)
from dovetail.decide.lifecycle.timing import INSTANCE_POLL
from dovetail.errors import DovetailError, InputError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Notice
from dovetail.model.backoff import Backoff
from dovetail.model.claim import ClaimObject, ClaimView, InstanceState, NodeObject
from dovetail.model.node import RepairPolicy
from dovetail.observe.cloud import on_behalf_of
from dovetail.observe.steps import count_claim_step
from dovetail.state.changes import LaunchRefused
from dovetail.state.objects import claim_object, node_object

N_WORKERS: Final = 200
_NAME: Final = "nodeclaim.lifecycle"


class ClaimEffects(msgspec.Struct, frozen=True):
    """What others do for claims: `steer` sends pods to a Node that is about to take them, `note`
    remembers for a pool whether its nodes come up. `repairs` are the conditions for which a Node is
    taken for broken: none where nothing is to be repaired.
    """

    steer: Callable[[api.NodeClaim, api.Node], Awaitable[None]]
    note: Callable[[NoteRegistration], None]
    repairs: tuple[RepairPolicy, ...] = ()


class _Seen(msgspec.Struct, frozen=True):
    """A claim and its Nodes, as written and as read."""

    wire: api.NodeClaim
    claim: ClaimObject
    wire_nodes: tuple[api.Node, ...]
    nodes: tuple[NodeObject, ...]


class _Ending(msgspec.Struct, frozen=True):
    """What the cloud said when it was asked to terminate an instance."""

    state: InstanceState
    asked_at: datetime


class ClaimLoop:
    """Sees to every claim of ours."""

    def __init__(
        self, dependencies: Dependencies, cache: WatchCache, effects: ClaimEffects
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._effects = effects
        self._log = dependencies.log.named(_NAME)
        self._hooks = hooks_of(dependencies.cloud)
        self._launches = InstanceLaunches(dependencies, cache, ended=self._end_launch)
        self._drift_checks = DriftChecks(dependencies, cache)
        self._node_health = NodeHealth(cache, effects.repairs)
        self._endings: dict[str, _Ending] = {}  # by the claim's UID
        self._deleted: set[str] = set()  # UIDs of claims that we deleted
        self._ended: set[str] = set()  # UIDs of claims that we let go
        self._steered: set[str] = set()  # UIDs of Nodes
        self._pod_changes: dict[str, PodChange] = {}
        self._unread: set[str] = set()  # UIDs of claims whose pods were there before us
        self._queue: WorkQueue[str] = WorkQueue(
            self._see_to,
            failed=self._report_failure,
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), N_WORKERS),
        )
        self._router = ClaimRouter(cache, dependencies.clock)
        self._conflicts = Conflicts(dependencies.chance)

    # ---- what has happened

    def handle(self, notice: Notice) -> None:
        """Something has happened that may matter to a claim."""
        routed = self._router.route(notice)
        if routed.gone_uid:
            self._forget(routed.gone_uid)
        self._pod_changes.update(routed.pod_changes)
        for name in routed.names:
            self._queue.add(name)

    def announce(self, provider_id: str) -> None:
        """The instance of some claim will be gone: see to that claim."""
        for other in self._cache.claims.all():
            if other.status.provider_id == provider_id:
                self._queue.add(other.metadata.name)

    async def run(self) -> None:
        """See to claims until cancelled. What is known by now is no news."""
        self._router.begin()
        for claim in self._cache.claims.all():
            self._unread.add(claim.metadata.uid)
            self._queue.add(claim.metadata.name)
        async with asyncio.TaskGroup() as group:
            with on_behalf_of(_NAME):
                group.create_task(self._launches.run())
                group.create_task(self._queue.run())

    async def finish(self) -> None:
        """Begin nothing new, and return when what is under way has ended and is written down."""
        await self._launches.finish()
        await self._queue.finish()
        for name in self._launches.unwritten_claims():
            try:
                await self._see_to(name)
            except DovetailError as error:
                self._report_failure(
                    name, error
                )  # whoever comes next launches it again, which is once

    def _end_launch(self, claim: ClaimObject) -> None:
        current = self._cache.claims.get(claim.name)
        if current is None or current.metadata.uid != claim.uid:
            self._launches.forget(claim.uid)  # what was launched for nobody is garbage
        else:
            self._queue.add(claim.name)

    def _forget(self, uid: str) -> None:
        self._launches.forget(uid)
        self._drift_checks.forget(uid)
        self._endings.pop(uid, None)
        for uids in (self._deleted, self._ended, self._steered, self._unread):
            uids.discard(uid)

    def _report_failure(self, name: str, error: Exception) -> None:
        self._log.error("could not see to node claim", node_claim=name, error=error)

    # ---- one pass

    async def _see_to(self, name: str) -> float | None:
        seen = self._observe(name)
        if seen is None:
            self._conflicts.forget(name)
            return None
        pod_change = self._initial_change(seen)
        change = self._pod_changes.pop(name, None) or pod_change
        try:
            again = await self._pass(seen, change)
        except BaseException as error:
            if change is not None:  # it is still to be written down
                self._pod_changes.setdefault(name, change)
            if not isinstance(error, ConflictError | NotFoundError):
                raise
            await read_again(self._dependencies.kube, self._cache, NODE_CLAIM, name)
            for node in seen.nodes:
                await read_again(self._dependencies.kube, self._cache, NODE, node.name)
            return self._conflicts.seconds(name, error)
        self._conflicts.forget(name)
        return again

    async def _pass(self, seen: _Seen, change: PodChange | None) -> float | None:
        now = self._dependencies.clock.now()
        beside = await self._drift_checks.beside(seen.wire, seen.claim, seen.wire_nodes, now)
        unhealthy_node = self._node_health.unhealthy_node(seen.claim, seen.nodes, now)
        ending = self._cache.cluster.book.ending(seen.claim.provider_id)
        context = ClaimContext(beside, change, unhealthy_node, ending)
        step = claim_step(await self._view(seen, now), context, now)
        if Milestone.NODE_REGISTERED in step.milestones:
            await self._steer(seen)
        after = await self._write(seen, step, now)
        for action in step.actions:
            await self._perform(action, seen, now)
        self._settle(seen, step, after, now)
        return self._seconds_left(seen.claim.uid, step, now)

    def _observe(self, name: str) -> _Seen | None:
        """What there is to see to, if there is anything."""
        wire = self._cache.claims.get(name)
        if wire is None:
            self._pod_changes.pop(name, None)
            return None
        is_deleted = wire.metadata.uid in self._deleted and not wire.metadata.deletion_timestamp
        if is_deleted or wire.metadata.uid in self._ended:
            return None  # until the watch has shown it
        nodes = self._cache.nodes.under(wire.status.provider_id)
        try:
            read = tuple(node_object(node) for node in nodes)
            return _Seen(wire, claim_object(wire), nodes, read)
        except InputError as error:
            self._log.error("could not read node claim", node_claim=name, error=error)
            self._dependencies.recorder.tell(unreadable_event("NodeClaim", wire.metadata, error))
            return None

    async def _view(self, seen: _Seen, now: datetime) -> ClaimView:
        claim = seen.claim
        ending = self._endings.get(claim.uid)
        view = ClaimView(
            claim=claim,
            nodes=seen.nodes,
            instance=ending.state if ending is not None else InstanceState.UNKNOWN,
            outcome=self._launches.outcome(claim.uid, now),
        )
        if not self._hooks or not awaits_hooks(view, now):
            return view
        answers = await hook_answers(self._hooks, seen.wire, seen.wire_nodes)
        return msgspec.structs.replace(view, hooks=answers)

    def _initial_change(self, seen: _Seen) -> PodChange | None:
        """What pods did that were there before us; looked for once."""
        claim = seen.claim
        if claim.uid not in self._unread:
            return None
        self._unread.discard(claim.uid)
        pods = (pod for node in seen.nodes for pod in self._cache.cluster.pods_on(node.name))
        return latest_arrival(pods, claim.last_pod_event_at)

    async def _steer(self, seen: _Seen) -> None:
        """Pods are sent to a Node once, before it takes any; whatever comes of that, it goes on."""
        for node in seen.wire_nodes:
            if node.metadata.uid in self._steered:
                continue
            self._steered.add(node.metadata.uid)
            try:
                await self._effects.steer(seen.wire, node)
            except DovetailError as error:
                self._log.warning("could not steer pods", node=node.metadata.name, error=error)

    async def _write(self, seen: _Seen, step: Step, now: datetime) -> ClaimObject:
        kube = self._dependencies.kube
        for wire, node in zip(seen.wire_nodes, seen.nodes, strict=True):
            patched = node_after(node, step.nodes)
            for raw in await write_node(kube, wire, patched, (seen.claim,)):
                self._cache.put(NODE, raw)
        after = claim_to_write(seen.claim, step, now)
        for raw in await write_claim(kube, seen.wire, after):
            self._cache.put(NODE_CLAIM, raw)
        return after

    async def _perform(self, action: Action, seen: _Seen, now: datetime) -> None:
        kube, uid = self._dependencies.kube, seen.claim.uid
        match action:
            case CreateInstance():
                self._launches.begin(seen.claim)
            case DeleteInstance():
                await self._end(action, uid, now)
            case DeleteNode():
                await delete_node(kube, action)
            case NoteRegistration():
                self._effects.note(action)
            case DeleteClaim():
                await delete_claim(kube, action)
                self._deleted.add(uid)
                self._log.info("deleted node claim", node_claim=action.claim, reason=action.reason)
                if action.reason in NEVER_STARTED:
                    self._cache.cluster.apply(LaunchRefused(action.claim, now))
            case _:
                msg = f"no law of a claim orders {type(action).__name__}"
                raise TypeError(msg)

    async def _end(self, action: DeleteInstance, uid: str, now: datetime) -> None:
        """Ask the cloud, but not more often than an instance takes to go."""
        ending = self._endings.get(uid)
        # The clock may have been set back meanwhile.
        if ending is None or not timedelta(0) <= now - ending.asked_at < INSTANCE_POLL:
            state = await delete_instance(self._dependencies.cloud, action)
            self._endings[uid] = _Ending(state, now)

    def _settle(self, seen: _Seen, step: Step, after: ClaimObject, now: datetime) -> None:
        """Everything is written and done: remember and tell it."""
        claim = seen.claim
        if after.provider_id:
            self._launches.forget(claim.uid)
        for event in step.events:
            self._dependencies.recorder.tell(event)
            if event.reason == TAINT_MISSING_EVENT:
                self._log.error("node joined without its taint", node_claim=claim.name)
        for milestone in step.milestones:
            if milestone is Milestone.TYPE_SEEN:
                self._drift_checks.see_type(claim.uid, now)
            else:
                self._log.info("claim came further", node_claim=claim.name, milestone=milestone)
        if Milestone.CLAIM_TERMINATED in step.milestones:
            self._ended.add(claim.uid)
        count_claim_step(self._dependencies.meters, claim, step, now)

    def _seconds_left(self, uid: str, step: Step, now: datetime) -> float | None:
        ending = self._endings.get(uid)
        if ending == _Ending(InstanceState.GONE, now) and uid not in self._ended:
            return 0.0
        again_at = look_again_at(step, self._launches.again_at(uid), now)
        return None if again_at is None else max((again_at - now).total_seconds(), 0.0)
