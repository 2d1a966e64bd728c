"""How does a Node leave? Fenced off, drained, its volumes off, its instance ended, and only then let
go (spec/core.md 5.12).

Only Nodes that are ours, deleted and held by our finalizer are seen to. What comes next is decided
from what is there each time, so that whoever takes over after a crash goes on where it stopped. Run
it once everything is known: a node whose pods nobody has listed yet looks empty.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.doing import delete_claim, delete_instance
from dovetail.actuate.writing import NODE, NODE_CLAIM, write_claim, write_node
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.controllers.evictions import Evictions
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.lifecycle.actions import DeleteClaim, DeleteInstance, EnqueueEviction
from dovetail.decide.lifecycle.hydration import is_managed_node
from dovetail.decide.lifecycle.patches import NodePatch, node_after
from dovetail.decide.lifecycle.step import Step, claim_with
from dovetail.decide.lifecycle.termination import TerminationView, asks_cloud, step
from dovetail.decide.lifecycle.timing import DRAIN_POLL, EVICTION_BACKOFF, INSTANCE_POLL
from dovetail.kube.backoff import Backoff
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.claim import InstanceState, NodeObject
from dovetail.model.pool import NodeClassRef
from dovetail.state.objects import attachment, claim_object, node_object

_N_WORKERS: Final = 100
_BACKOFF: Final = Backoff(
    EVICTION_BACKOFF.first.total_seconds(), EVICTION_BACKOFF.longest.total_seconds()
)
_POLL_SECONDS: Final = INSTANCE_POLL.total_seconds()
_AT_ONCE: Final = 0.0


class _Leaving(msgspec.Struct):
    """A Node on its way out: what the cloud said of its instance, and when it was last asked about
    it and told to end it, in seconds of the timer.
    """

    uid: str
    instance: InstanceState = InstanceState.UNKNOWN
    asked_at: float | None = None
    told_at: float | None = None


class Terminations:
    """Nodes that are being deleted."""

    def __init__(self, means: Means, known: Known, evictions: Evictions) -> None:
        self._means = means
        self._known = known
        self._evictions = evictions
        self._log = means.log.named("node.termination")
        self._supported = tuple(
            NodeClassRef(one.group, one.kind) for one in means.cloud.supported_node_classes
        )
        self._leaving: dict[str, _Leaving] = {}
        self._queue: WorkQueue[str] = WorkQueue(
            self._see_to, failed=self._failed, manner=means.manner(_BACKOFF, _N_WORKERS)
        )

    def hear(self, notice: Notice) -> None:
        """A Node is to leave, or something happened to one that does."""
        match notice:
            case Present(object=api.Node() as node):
                self._meet(node)
            case Absent(object=api.Node(metadata=meta)):
                self._drop(meta.name)
            case Present(object=api.Pod() as pod) | Absent(object=api.Pod() as pod):
                self._wake(pod.spec.node_name)
            case (
                Present(object=api.VolumeAttachment() as held)
                | Absent(object=api.VolumeAttachment() as held)
            ):
                self._wake(held.spec.node_name)
            case (
                Present(object=api.NodeClaim() as claim) | Absent(object=api.NodeClaim() as claim)
            ):
                for node in self._known.nodes_with(claim.status.provider_id):
                    self._wake(node.metadata.name)
            case _:
                return

    async def run(self) -> None:
        """Work until cancelled."""
        await self._queue.run()

    async def finish(self) -> None:
        """Begin nothing new and return when what was begun is done."""
        await self._queue.finish()

    def _meet(self, wire: api.Node) -> None:
        name, uid = wire.metadata.name, wire.metadata.uid
        if not self._is_leaving(wire):
            return
        held = self._leaving.get(name)
        if held is None or held.uid != uid:
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
        return is_managed_node(node_object(wire), self._supported)

    async def _see_to(self, name: str) -> float | None:
        wire, leaving = self._known.node(name), self._leaving.get(name)
        if wire is None or leaving is None or not self._is_leaving(wire):
            self._drop(name)
            return None
        node = node_object(wire)
        await self._ask(node, leaving)
        view = self._view(node, leaving.instance)
        now = self._means.clock.now()
        decided = step(view, now)
        try:
            return await self._take(wire, view, decided, now)
        except NotFoundError:
            return DRAIN_POLL.total_seconds()  # Node or claim are gone: the watch will show it

    async def _ask(self, node: NodeObject, leaving: _Leaving) -> None:
        """Ask whether the instance of a Node that does not speak is still there; not too often."""
        now = self._means.timer.elapsed_seconds()
        if not (asks_cloud(node) and node.provider_id) or leaving.instance is InstanceState.GONE:
            return
        if leaving.asked_at is not None and now - leaving.asked_at < _POLL_SECONDS:
            return
        leaving.asked_at = now
        try:
            await self._means.cloud.get(node.provider_id)
        except NodeClaimNotFoundError:
            leaving.instance = InstanceState.GONE
        except CloudError as error:  # nothing is known: the drain goes on
            self._log.warning("asking for an instance failed", node=node.name, error=str(error))

    def _view(self, node: NodeObject, instance: InstanceState) -> TerminationView:
        known = self._known
        pods = known.pods_on(node.name)
        attachments = tuple(attachment(one) for one in known.attachments_on(node.name))
        return TerminationView(
            node=node,
            claims=tuple(claim_object(one) for one in known.claims_with(node.provider_id)),
            pods=pods,
            attachments=attachments,
            volumes_by_pod={pod.key: known.volumes_of(pod) for pod in pods if attachments},
            instance=instance,
        )

    async def _take(
        self, wire: api.Node, view: TerminationView, decided: Step, now: datetime
    ) -> float | None:
        """Do it all, the fence first and the finalizer last."""
        for event in decided.events:
            self._means.recorder.tell(event)
        for action in decided.actions:
            if isinstance(action, DeleteClaim) and await delete_claim(self._means.kube, action):
                self._log.info("deleted node claim", node_claim=action.claim, node=view.node.name)
        patches = {is_release: _part(decided, is_release) for is_release in (False, True)}
        await self._write_node(wire, view.node, patches[False])
        await self._write_claim(view, decided, now)
        again = await self._order(view.node, decided)
        if patches[True]:
            await self._release(view.node.name, patches[True])
            return None
        return again if again is not None else _seconds_until(decided.look_again_at, now)
