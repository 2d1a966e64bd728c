"""Does kube-scheduler still know who is meant for which node?

It tries the node that a pod is nominated to first, and keeps its room from others. But whenever it
finds no place for a pod it strikes the nomination out, and it tries all pods again with every Node
that joins: those whose own Node is not ready yet lose theirs. So what it struck out is said again,
for as long as the promise stands. Of pods that a hard spread counts, a node may be told of a few at
a time (`decide/steering.py`): when one of them is bound, the next one follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail import api
from dovetail.actuate.steering import Steering
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.workqueue import WorkQueue
from dovetail.decide.steering import Steerable
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.backoff import Backoff
from dovetail.model.pod import Pod, PodKey

_N_WORKERS: Final = 20


class Steers:
    """Sends pods to the nodes that they are promised; without `steering`, none."""

    def __init__(self, means: Means, known: Known, steering: Steering | None) -> None:
        self._known = known
        self._steering = steering
        self._log = means.log.named("provisioner")
        self._steerable = Steerable()
        self._told: dict[PodKey, tuple[str, str]] = {}  # a pod's uid, and where it was sent
        self._later: dict[PodKey, str] = {}  # who is to follow, and where to
        self._queue: WorkQueue[PodKey] = WorkQueue(
            self._say_again,
            failed=self._failed,
            manner=means.manner(Backoff(1.0, 10.0), _N_WORKERS),
        )

    def consider(self, pods: Iterable[Pod]) -> None:
        """These are the pods that wait now: who may be sent depends on the others."""
        self._steerable = Steerable(pods)

    def hear(self, notice: Notice) -> None:
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

    async def run(self) -> None:
        """Say again what was struck out, until cancelled."""
        await self._queue.run()

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun is done."""
        await self._queue.finish()

    async def steer(self, node: str, pods: Iterable[PodKey]) -> int:
        """Tell the scheduler that these pods, as far as they still wait, are meant for the node;
        how many it was told of.
        """
        if self._steering is None:
            return 0
        found = [self._known.pod(pod) for pod in pods]
        meant = [one for one in found if one is not None and not one.node_name]
        chosen = self._steerable.chosen(meant, self._pods_told_of(node, meant))
        waiting = [(one.key, one.uid) for one in chosen]
        for one in meant:
            self._later[one.key] = node
        for key, uid in waiting:
            self._later.pop(key)
            self._told[key] = (uid, node)
        refused = await self._steering.steer(waiting, node)
        for pod, error in refused:
            self._told.pop(pod, None)
            self._log.debug("steering a pod", Pod=pod, Node=node, error=str(error))
        return len(waiting) - len(refused)

    def _pods_told_of(self, node: str, besides: Iterable[Pod]) -> list[Pod]:
        """The pods that wait and that the node was told of, but for these."""
        ours = {one.key for one in besides}
        keys = [key for key, (_, place) in self._told.items() if place == node and key not in ours]
        found = (self._known.pod(key) for key in keys)
        return [one for one in found if one is not None and not one.node_name]

    async def take_back(self) -> None:
        """Withdraw what was said of nodes that pods are not meant for any more."""
        if self._steering is None:
            return
        stale = self._known.cluster.stale_nominations()
        for pod, error in await self._steering.withdraw(stale):
            self._log.debug("withdrawing a nomination", Pod=pod, error=str(error))

    async def _say_again(self, key: PodKey) -> None:
        node = self._told[key][1] if key in self._told else self._later.get(key)
        if node is None:
            return
        if key in self._known.cluster.promised_to(node):
            await self.steer(node, (key,))
        else:
            self._told.pop(key, None)
            self._later.pop(key, None)

    def _failed(self, key: PodKey, error: Exception) -> None:
        self._log.error("steering a pod failed", Pod=key, error=error)
