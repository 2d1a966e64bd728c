"""Evicts pods, each until it is gone.

An entry stands for one very pod. It is evicted through the eviction API, later again if a budget or
its own annotation forbids it, and deleted when the deadline of its node leaves no other way. What
is lost in a crash is queued again by whoever drains the node.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.actuate.evicting import Answered, delete_pod, evict
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.lifecycle.eviction import (
    EvictionAnswer,
    QueuedEviction,
    after_answer,
    queue_entry,
    step,
)
from dovetail.decide.lifecycle.step import (
    Action,
    DeletePod,
    EnqueueEviction,
    EvictPod,
    ForgetEviction,
    RetryEviction,
    Step,
)
from dovetail.decide.lifecycle.timing import EVICTION_BACKOFF
from dovetail.kube.mirror import Absent, Notice
from dovetail.model.pod import Pod, PodKey
from dovetail.observe.steps import count_eviction
from dovetail.state.changes import Evicted

_N_WORKERS: Final = 100
_NOT_AT_ALL: Final = timedelta(0)

_Key = tuple[PodKey, str]  # the pod and its uid


class EvictionQueue:
    """Pods that must leave their nodes."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("eviction-queue")
        self._entries: dict[_Key, QueuedEviction] = {}
        self._queue: WorkQueue[_Key] = WorkQueue(
            self._see_to,
            failed=self._report_failure,
            queue_settings=dependencies.queue_settings(EVICTION_BACKOFF, _N_WORKERS),
        )
        self.run, self.finish = self._queue.run, self._queue.finish

    def __len__(self) -> int:
        """How many pods are on their way out."""
        return len(self._entries)

    def enqueue(self, wanted: EnqueueEviction) -> None:
        """See to it that this pod leaves; one that is queued keeps its earliest deadline."""
        key = (wanted.pod, wanted.uid)
        current = self._entries.get(key)
        entry = queue_entry(current, wanted)
        if entry != current:
            self._entries[key] = entry
            self._queue.add(key)

    def handle(self, notice: Notice) -> None:
        """A pod that is gone needs no more seeing to."""
        match notice:
            case Absent(object=api.Pod(metadata=meta)):
                self._forget((f"{meta.namespace}/{meta.name}", meta.uid))
            case _:
                return

    async def _see_to(self, key: _Key) -> float | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._dependencies.clock.now()
        pod = self._cache.cluster.pod(entry.pod)
        decided = step(entry, pod, now)
        if pod is not None and any(isinstance(action, EvictPod) for action in decided.actions):
            self._tell(decided)
            return await self._ask(entry, pod)
        return await self._take(decided, now)

    async def _ask(self, entry: QueuedEviction, pod: Pod) -> float | None:
        """Ask the API to let the pod go, and do what follows from its answer."""
        answer = await evict(self._dependencies.kube, EvictPod(entry.pod, entry.uid))
        now = self._dependencies.clock.now()
        self._note(entry, pod, answer, now)
        follows = after_answer(entry, pod, answer.answer, now, answer.message)
        return await self._take(follows, now, answer.retry_after)

    async def _take(
        self, decided: Step, now: datetime, at_least: timedelta = _NOT_AT_ALL
    ) -> float | None:
        for action in decided.actions:
            await self._perform(action)
        self._tell(decided)
        if decided.look_again_at is None:
            return None
        return max(decided.look_again_at - now, at_least).total_seconds()

    async def _perform(self, action: Action) -> None:
        match action:
            case DeletePod():
                pod = self._cache.cluster.pod(action.pod)
                await delete_pod(self._dependencies.kube, action)
                self._count_deleted(pod, action.uid)
                self._log.info("deleted pod", pod=action.pod, grace_seconds=action.grace_seconds)
            case ForgetEviction():
                self._forget((action.pod, action.uid))
            case RetryEviction():
                self._retry((action.pod, action.uid), action.n_failures)
            case _:
                msg = f"an eviction asks for {type(action).__name__}"
                raise AssertionError(msg)

    def _count_deleted(self, pod: Pod | None, uid: str) -> None:
        """For its workload it is the same as an eviction, unless it was leaving anyway."""
        if pod is not None and pod.uid == uid and pod.deleting_at is None:
            self._cache.cluster.evictions.add(pod.workload, uid, self._dependencies.clock.now())

    def _retry(self, key: _Key, n_failures: int) -> None:
        entry = self._entries.get(key)  # not as it was read: its deadline may be sooner by now
        if entry is not None:
            self._entries[key] = msgspec.structs.replace(entry, n_failures=n_failures)

    def _forget(self, key: _Key) -> None:
        self._entries.pop(key, None)
        self._queue.forget(key)

    def _note(self, entry: QueuedEviction, pod: Pod, answer: Answered, now: datetime) -> None:
        count_eviction(self._dependencies.meters, entry, answer.answer, answer.code)
        if answer.answer is EvictionAnswer.EVICTED:
            self._cache.cluster.apply(Evicted(entry.pod, entry.uid, now, pod.workload))
            self._log.info("evicted pod", pod=entry.pod, node=entry.node, reason=entry.reason)
        elif answer.answer is EvictionAnswer.FAILED:
            self._log.warning(
                "evicting pod failed", pod=entry.pod, node=entry.node, error=answer.message
            )

    def _tell(self, decided: Step) -> None:
        for event in decided.events:
            self._dependencies.recorder.tell(event)

    def _report_failure(self, key: _Key, error: Exception) -> None:
        self._log.error("seeing to a pod failed", pod=key[0], error=str(error))
