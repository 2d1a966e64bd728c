"""Tells kube-scheduler which pod is meant for which node, in `status.nominatedNodeName`.

The scheduler tries the nominated node first and keeps its room from other pods of no higher
priority. But whenever it finds no place for a pod it removes the nomination, and it tries all pods
again with every Node that joins: pods whose own Node is not ready yet lose theirs. So a nomination
that was removed is written again for as long as the promise stands; one that no longer holds is
removed, if it is still the one we wrote. Of pods that a hard spread counts, a few are nominated to
a node at a time (`decide/spread.py`): when one of them is bound, the next one follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from dovetail import api
from dovetail.controllers.cache import POD, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.workqueue import WorkQueue, failure_log
from dovetail.decide.spread import Steerable
from dovetail.kube.errors import ApiError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.kube.seam import Json, Kube, Patch, PatchType, Ref
from dovetail.model.backoff import Backoff
from dovetail.model.pod import Pod, PodKey

_N_WORKERS: Final = 20
_PATH: Final = "/status/nominatedNodeName"
_AT_ONCE: Final = 50


class Nominations:
    """Sends pods to the nodes that they are promised; without `steering`, none."""

    def __init__(
        self, dependencies: Dependencies, cache: WatchCache, steering: NominationWriter | None
    ) -> None:
        self._cache = cache
        self._steering = steering
        self._log = dependencies.log.named("provisioner")
        self._steerable = Steerable()
        self._told: dict[PodKey, tuple[str, str]] = {}  # a pod's uid, and where it was sent
        self._later: dict[PodKey, str] = {}  # who is to follow, and where to
        self._queue: WorkQueue[PodKey] = WorkQueue(
            self._repeat,
            failed=failure_log(self._log, "steering a pod failed", "Pod"),
            queue_settings=dependencies.queue_settings(Backoff(1.0, 10.0), _N_WORKERS),
        )
        self.run, self.finish = self._queue.run, self._queue.finish

    def consider(self, pods: Iterable[Pod]) -> None:
        """These are the pods that wait now: who may be sent depends on the others."""
        self._steerable = Steerable(pods)

    def handle(self, notice: Notice) -> None:
        """What was said to a pod may have been struck out, or be of no more use."""
        match notice:
            case Present(object=api.Pod() as pod):
                key = f"{pod.metadata.namespace}/{pod.metadata.name}"
                told = self._told.get(key)
                if pod.spec.node_name:
                    self._later.pop(key, None)
                if told is None:
                    return
                if pod.spec.node_name or pod.metadata.uid != told[0]:
                    self._forget(key)
                elif not pod.status.nominated_node_name:
                    self._queue.add(key)
            case Absent(object=api.Pod(metadata=meta)):
                self._forget(f"{meta.namespace}/{meta.name}")
            case _:
                return

    def _forget(self, key: PodKey) -> None:
        """A pod needs no word any more; those of its node who were to follow may be told now."""
        self._later.pop(key, None)
        _, node = self._told.pop(key, ("", ""))
        for other, place in self._later.items():
            if place == node:
                self._queue.add(other)

    async def steer(self, node: str, pods: Iterable[PodKey]) -> int:
        """Tell the scheduler that these pods, as far as they still wait, are meant for the node;
        how many it was told of.
        """
        if self._steering is None:
            return 0
        known = [self._cache.cluster.pod(pod) for pod in pods]
        meant = [item for item in known if item is not None and not item.node_name]
        chosen = self._steerable.choose(meant, self._nominated_pods(node, meant))
        waiting = [(item.key, item.uid) for item in chosen]
        for item in meant:
            self._later[item.key] = node
        for key, uid in waiting:
            self._later.pop(key)
            self._told[key] = (uid, node)
        refused = await self._steering.steer(waiting, node)
        for pod, error in refused:
            self._told.pop(pod, None)
            self._log.debug("steering a pod", Pod=pod, Node=node, error=str(error))
        return len(waiting) - len(refused)

    def _nominated_pods(self, node: str, besides: Iterable[Pod]) -> list[Pod]:
        """The pods that wait and that the node was told of, but for these."""
        ours = {beside.key for beside in besides}
        keys = [key for key, (_, place) in self._told.items() if place == node and key not in ours]
        pods = (self._cache.cluster.pod(key) for key in keys)
        return [pod for pod in pods if pod is not None and not pod.node_name]

    async def take_back(self) -> None:
        """Withdraw what was said of nodes that pods are not meant for any more."""
        if self._steering is None:
            return
        stale = self._cache.cluster.book.stale()
        for pod, error in await self._steering.withdraw(stale):
            self._log.debug("withdrawing a nomination", Pod=pod, error=str(error))

    async def _repeat(self, key: PodKey) -> None:
        node = self._told[key][1] if key in self._told else self._later.get(key)
        if node is None:
            return
        if key in self._cache.cluster.book.promised_to(node):
            await self.steer(node, (key,))
        else:
            self._told.pop(key, None)
            self._later.pop(key, None)


class NominationWriter:
    """Writes and takes back nominations. `failed` hears of what the API refused."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def steer(
        self, pods: Iterable[tuple[PodKey, str]], node: str
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        """Tell the scheduler that these pods (each with its uid) are meant for the node; what the
        API refused. A pod that has gone or is bound by now needs no word.
        """
        return await self._each((pod, _nominate(node, uid)) for pod, uid in pods)

    async def withdraw(
        self, pods: Iterable[tuple[PodKey, str]]
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        """Take back what pods were told (each with that word), unless it has changed since."""
        return await self._each((pod, _take_back(word)) for pod, word in pods)

    async def _each(
        self, patches: Iterable[tuple[PodKey, Patch]]
    ) -> tuple[tuple[PodKey, ApiError], ...]:
        refused: list[tuple[PodKey, ApiError]] = []

        async def write(pod: PodKey, patch: Patch) -> None:
            namespace, _, name = pod.partition("/")
            async with self._slots:
                try:
                    await self._kube.patch(Ref(POD, name, namespace), patch)
                except ApiError as error:
                    refused.append((pod, error))

        async with asyncio.TaskGroup() as group:
            for pod, patch in patches:
                group.create_task(write(pod, patch))
        return tuple(refused)


def _nominate(node: str, uid: str) -> Patch:
    # A uid that differs is refused: the pod was made anew.
    body: dict[str, Json] = {"metadata": {"uid": uid}, "status": {"nominatedNodeName": node}}
    return Patch(body, subresource="status")


def _take_back(word: str) -> Patch:
    body: list[Json] = [
        {"op": "test", "path": _PATH, "value": word},
        {"op": "remove", "path": _PATH},
    ]
    return Patch(body, type=PatchType.JSON, subresource="status")
