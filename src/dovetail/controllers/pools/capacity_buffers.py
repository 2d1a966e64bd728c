"""Writes the status of CapacityBuffers after each decision that changes it.

Whatever changes a buffer, or what it refers to, leads to a decision; so there is nothing to look at
in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.writing import STATUS, condition_list
from dovetail.api.autoscaling import ACTIVE_CAPACITY
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.buffers import BufferKey, BufferRoom, buffer_conditions, buffer_rooms
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.backoff import Backoff
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.state.buffers import Buffer
from dovetail.state.objects import conditions_about
from dovetail.state.shelf import key_of

CAPACITY_BUFFER: Final = api.KINDS["autoscaling.x-k8s.io", "CapacityBuffer"]
_N_WORKERS: Final = 10
_SOON_SECONDS: Final = 1.0


class _Outlook(msgspec.Struct, frozen=True):
    """What a buffer comes to, and its room; None as long as no plan has looked at it."""

    buffer: Buffer
    room: BufferRoom | None


class BufferLoop:
    """Writes the status of capacity buffers."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("capacitybuffer")
        self._wires: dict[BufferKey, api.CapacityBuffer] = {}
        self._outlooks: Mapping[BufferKey, _Outlook] = {}
        self._queue: WorkQueue[BufferKey] = WorkQueue(
            self._tell,
            failed=self._log_error,
            queue_settings=dependencies.queue_settings(Backoff(1.0, 60.0), _N_WORKERS),
        )
        self.run, self.finish = self._queue.run, self._queue.finish

    def handle(self, notice: Notice) -> None:
        """A buffer is there, or gone."""
        match notice:
            case Present(object=api.CapacityBuffer() as capacity_buffer):
                self._wires[key_of(capacity_buffer)] = capacity_buffer
                self._queue.add(key_of(capacity_buffer))
            case Absent(object=api.CapacityBuffer() as gone):
                self._wires.pop(key_of(gone), None)
                self._queue.forget(key_of(gone))
            case _:
                return

    def note_plan(self, snapshot: Snapshot, plan: Plan, now: datetime) -> None:
        """A decision was made: room may be there that was not before."""
        buffers = self._cache.cluster.buffers()
        rooms = buffer_rooms(snapshot, plan, now) if buffers else {}
        before = self._outlooks
        self._outlooks = {
            key: _Outlook(buffer, rooms.get(key))
            for buffer in buffers
            for key in ((buffer.namespace, buffer.name),)
        }
        for key, outlook in self._outlooks.items():
            if before.get(key) != outlook:
                self._queue.add(key)

    async def _tell(self, key: BufferKey) -> float | None:
        wire, outlook = self._wires.get(key), self._outlooks.get(key)
        if wire is None or outlook is None:
            return None
        body = _reporter(wire, outlook, self._dependencies.clock.now())
        if body is None:
            return None
        ref = Ref(CAPACITY_BUFFER, wire.metadata.name, wire.metadata.namespace)
        try:
            answer = await self._dependencies.kube.patch(ref, Patch(body, subresource=STATUS))
        except (ConflictError, NotFoundError):
            return _SOON_SECONDS  # the watch will have shown what has changed
        self._cache.put(CAPACITY_BUFFER, answer)
        return None

    def _log_error(self, key: BufferKey, error: Exception) -> None:
        self._log.error("could not write buffer status", capacity_buffer="/".join(key), error=error)


def _reporter(wire: api.CapacityBuffer, outlook: _Outlook, now: datetime) -> Body | None:
    """What is to be written; None where the status says so already."""
    capacity_buffer_status, buffer = wire.status, outlook.buffer
    before = conditions_about(wire.metadata, capacity_buffer_status.conditions)
    problem = "" if buffer.problem is None else str(buffer.problem)
    changes = buffer_conditions(len(buffer.pods), outlook.room, problem, buffer.message)
    after = before.with_changes(changes, now)
    fresh = api.autoscaling.CapacityBufferStatus(
        pod_template_ref=api.autoscaling.LocalObjectRef(buffer.template)
        if buffer.template
        else None,
        pod_template_generation=buffer.template_generation or None,
        replicas=None if buffer.problem is not None else len(buffer.pods),
        provisioning_strategy=wire.spec.provisioning_strategy or ACTIVE_CAPACITY,
        conditions=capacity_buffer_status.conditions,
    )
    if fresh == capacity_buffer_status and after.held == before.held:
        return None
    reference: Json = {"name": buffer.template} if buffer.template else None
    status: dict[str, Json] = {
        "podTemplateRef": reference,
        "podTemplateGeneration": fresh.pod_template_generation,
        "replicas": fresh.replicas,
        "provisioningStrategy": fresh.provisioning_strategy,
        "conditions": condition_list(after.held),
    }
    return {"metadata": {"resourceVersion": wire.metadata.resource_version}, STATUS: status}
