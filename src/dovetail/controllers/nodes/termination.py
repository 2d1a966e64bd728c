"""Removes Nodes that are being deleted: taints and drains them, and ends their instances.

Only Nodes that are ours, deleted and held by our finalizer are seen to. What comes next is decided
from what is there each time, so that the next leader goes on where this one stopped. Run it once
everything is known: a node whose pods nobody has listed yet looks empty.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.writing import (
    NODE,
    NODE_CLAIM,
    delete_claim,
    delete_instance,
    write_claim,
    write_node,
)
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.pods.eviction_queue import EvictionQueue
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.lifecycle.claim import is_managed_node
from dovetail.decide.lifecycle.step import (
    DeleteClaim,
    DeleteInstance,
    EnqueueEviction,
    Step,
    claim_with,
    node_after,
)
from dovetail.decide.lifecycle.termination import TerminationView, asks_cloud, step
from dovetail.decide.lifecycle.timing import DRAIN_POLL, EVICTION_BACKOFF, INSTANCE_POLL
from dovetail.errors import InputError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.claim import InstanceState, NodeObject
from dovetail.observe.cloud import on_behalf_of
from dovetail.observe.steps import count_node_step
from dovetail.state.objects import attachment, claim_object, node_object

_NAME: Final = "node.termination"
_N_WORKERS: Final = 100
_POLL_SECONDS: Final = INSTANCE_POLL.total_seconds()
_AT_ONCE: Final = 0.0
_MOMENT_SECONDS: Final = 0.001  # less is no time to wait, but what the sums of a timer leave over


class _Leaving(msgspec.Struct):
    """A Node on its way out: what the cloud said of its instance, and when it was last asked about
    it and told to end it, in seconds of the timer.
    """

    uid: str
    instance: InstanceState = InstanceState.UNKNOWN
    asked_at: float | None = None
    told_at: float | None = None


class _Seen(msgspec.Struct, frozen=True):
    """What was seen of a Node, and the very objects that it was seen in: writes name their version,
    so that nothing is overwritten that happened since.
    """

    view: TerminationView
    node: api.Node
    claim: api.NodeClaim | None


class NodeTermination:
    """Nodes that are being deleted."""

    def __init__(
        self, dependencies: Dependencies, cache: WatchCache, evictions: EvictionQueue
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._eviction_queue = evictions
        self._log = dependencies.log.named(_NAME)
        self._supported = dependencies.node_classes
        self._leaving: dict[str, _Leaving] = {}
        self._queue: WorkQueue[str] = WorkQueue(
            self._see_to,
            failed=self._report_failure,
            queue_settings=dependencies.queue_settings(EVICTION_BACKOFF, _N_WORKERS),
        )
        self.finish = self._queue.finish

    def handle(self, notice: Notice) -> None:
        """A Node is to leave, or something happened to one that does."""
        match notice:
            case Present(object=api.Node() as node):
                self._meet(node)
            case Absent(object=api.Node(metadata=meta)):
                self._drop(meta.name)
            case Present(object=api.Pod() as pod) | Absent(object=api.Pod() as pod):
                self._wake(pod.spec.node_name)
            case (
                Present(object=api.VolumeAttachment() as attachment)
                | Absent(object=api.VolumeAttachment() as attachment)
            ):
                self._wake(attachment.spec.node_name)
            case Present(object=api.NodeClaim() as claim) | Absent(object=api.NodeClaim() as claim):
                for node in self._cache.nodes.under(claim.status.provider_id):
                    self._wake(node.metadata.name)
            case _:
                return

    async def run(self) -> None:
        """Work until cancelled."""
        with on_behalf_of(_NAME):
            await self._queue.run()

    def _meet(self, wire: api.Node) -> None:
        name, uid = wire.metadata.name, wire.metadata.uid
        if not self._is_leaving(wire):
            return
        leaving = self._leaving.get(name)
        if leaving is None or leaving.uid != uid:
            self._leaving[name] = _Leaving(uid)
        self._queue.add(name)

    def _wake(self, name: str) -> None:
        if name in self._leaving:
            self._queue.add(name)

    def _drop(self, name: str) -> None:
        self._leaving.pop(name, None)
        self._queue.forget(name)

    def _is_leaving(self, wire: api.Node) -> bool:
        meta = wire.metadata
        if meta.deletion_timestamp is None or labels.TERMINATION_FINALIZER not in meta.finalizers:
            return False
        try:
            return is_managed_node(node_object(wire), self._supported)
        except InputError:
            return False  # one that makes no sense is left alone

    async def _see_to(self, name: str) -> float | None:
        wire, leaving = self._cache.nodes.get(name), self._leaving.get(name)
        if wire is None or leaving is None or not self._is_leaving(wire):
            self._drop(name)
            return None
        await self._ask(node_object(wire), leaving)
        seen = self._observe(wire, leaving.instance)
        now = self._dependencies.clock.now()
        try:
            return await self._take(seen, step(seen.view, now), now)
        except NotFoundError:
            return DRAIN_POLL.total_seconds()  # Node or claim are gone: the watch will show it

    async def _ask(self, node: NodeObject, leaving: _Leaving) -> None:
        """Ask whether the instance of a Node that does not speak is still there; not too often."""
        now = self._dependencies.timer.elapsed_seconds()
        if not (asks_cloud(node) and node.provider_id) or leaving.instance is InstanceState.GONE:
            return
        if leaving.asked_at is not None and now - leaving.asked_at < _POLL_SECONDS:
            return
        leaving.asked_at = now
        try:
            await self._dependencies.cloud.get(node.provider_id)
        except NodeClaimNotFoundError:
            leaving.instance = InstanceState.GONE
        except CloudError as error:  # nothing is known: the drain goes on
            self._log.warning("asking for an instance failed", node=node.name, error=str(error))

    def _observe(self, wire: api.Node, instance: InstanceState) -> _Seen:
        cache, name = self._cache, wire.metadata.name
        claims = cache.claims.under(wire.spec.provider_id)
        pods = cache.cluster.pods_on(name)
        attachments = tuple(attachment(item) for item in cache.attachments.under(name))
        view = TerminationView(
            node=node_object(wire),
            claims=tuple(claim_object(claim) for claim in claims),
            pods=pods,
            attachments=attachments,
            volumes_by_pod={pod.key: cache.cluster.volumes_of(pod) for pod in pods if attachments},
            instance=instance,
        )
        return _Seen(view, wire, claims[0] if len(claims) == 1 else None)

    async def _take(self, seen: _Seen, decided: Step, now: datetime) -> float | None:
        """Do it all: the fence before anything leaves, the finalizer when everything has."""
        for event in decided.events:
            self._dependencies.recorder.tell(event)
        has_deleted = await self._delete_claim(decided)
        if any(patch.finalizers is not None for patch in decided.nodes):
            await self._release(seen, decided, now)
            return None
        await self._write_node(seen, decided)
        if has_deleted:
            return DRAIN_POLL.total_seconds()  # the claim is another now: the watch will show it
        await self._write_claim(seen, decided, now)
        count_node_step(self._dependencies.meters, seen.view.node, decided, now)
        again = await self._order(seen.view.node.name, decided)
        return again if again is not None else seconds_until(decided.look_again_at, now)

    async def _release(self, seen: _Seen, decided: Step, now: datetime) -> None:
        await self._write_claim(seen, decided, now)
        await self._write_node(seen, decided)
        count_node_step(self._dependencies.meters, seen.view.node, decided, now)
        self._log.info("terminated node", node=seen.view.node.name)

    async def _delete_claim(self, decided: Step) -> bool:
        has_deleted = False
        for action in decided.actions:
            if isinstance(action, DeleteClaim) and await delete_claim(
                self._dependencies.kube, action
            ):
                self._log.info("deleted node claim", node_claim=action.claim)
                has_deleted = True
        return has_deleted

    async def _write_node(self, seen: _Seen, decided: Step) -> None:
        after = node_after(seen.view.node, decided.nodes)
        for raw in await write_node(self._dependencies.kube, seen.node, after):
            self._cache.put(NODE, raw)

    async def _write_claim(self, seen: _Seen, decided: Step, now: datetime) -> None:
        claim = seen.view.claim
        if claim is None or seen.claim is None or not decided.conditions:
            return
        after = claim_with(claim, decided, now)
        for raw in await write_claim(self._dependencies.kube, seen.claim, after):
            self._cache.put(NODE_CLAIM, raw)

    async def _order(self, node: str, decided: Step) -> float | None:
        """Have pods evicted and the instance ended; when to look again, if that says it better."""
        again: float | None = None
        for action in decided.actions:
            match action:
                case EnqueueEviction():
                    self._eviction_queue.enqueue(action)
                case DeleteInstance():
                    again = await self._end(self._leaving.get(node), action)
                case _:
                    continue
        return again

    async def _end(self, leaving: _Leaving | None, action: DeleteInstance) -> float | None:
        """Tell the cloud to end the instance, again and again but not too often."""
        now = self._dependencies.timer.elapsed_seconds()
        if leaving is None:
            return None
        if leaving.told_at is not None:
            left = leaving.told_at + _POLL_SECONDS - now
            if left > _MOMENT_SECONDS:
                return left
        leaving.instance = await delete_instance(self._dependencies.cloud, action)
        leaving.told_at = now
        if leaving.instance is not InstanceState.GONE:
            return _POLL_SECONDS
        self._log.info("instance is gone", provider_id=action.provider_id, node_claim=action.claim)
        return _AT_ONCE

    def _report_failure(self, name: str, error: Exception) -> None:
        if isinstance(error, ConflictError):
            self._log.debug("node changed meanwhile", node=name, error=str(error))
        else:
            self._log.error("terminating node failed", node=name, error=str(error))


def seconds_until(moment: datetime | None, now: datetime) -> float | None:
    """How long until then, if there is a then."""
    return None if moment is None else max(moment - now, timedelta(0)).total_seconds()
