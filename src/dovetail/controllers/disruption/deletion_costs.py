"""Annotates pods of nodes that should empty with a low deletion cost, and no others.

When a workload is scaled down, its ReplicaSet deletes pods with a low cost first. After each
decision what it says is compared with the annotations of pods, and the difference is written, some
pods at a time. Annotations are watched, not remembered: those that an earlier process left are
dealt with as our own. Where an owner has set a cost, on any pod of a ReplicaSet, all of its pods
are left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.deletion_cost import CostAnnotation, annotate
from dovetail.controllers.cache import POD, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.batch_writer import BatchWriter
from dovetail.controllers.disruption.disrupted_nodes import is_deleted, is_disrupted
from dovetail.decide.disrupt.cost import may_yield
from dovetail.decide.lifecycle.protection import is_active
from dovetail.errors import DovetailError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.plan import Yield
from dovetail.model.pod import PodKey

_AT_MOST: Final = 50  # pods that are written after one decision


class _Said(msgspec.Struct, frozen=True):
    """What a pod that bears our mark says: the cost that we said, and whether it still does."""

    uid: str
    cost: str
    is_ours: bool


class DeletionCosts:
    """Marks pods, and takes marks off, one round after a decision."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("disruption")
        self._wanted: tuple[Yield, ...] = ()
        self._said: dict[PodKey, _Said] = {}
        self._owners: dict[PodKey, str] = {}  # of pods whose owner set a cost
        self._failed: frozenset[PodKey] = frozenset()  # when last tried: others come first
        self._writer = BatchWriter(self._write)
        self.run = self._writer.run
        self.finish = self._writer.finish

    def handle(self, notice: Notice) -> None:
        """A pod has come, changed or gone: note the costs in its annotations."""
        match notice:
            case Present(object=api.Pod(metadata=meta)):
                self._forget(meta)
                self._listen(meta)
            case Absent(object=api.Pod(metadata=meta)):
                self._forget(meta)
            case _:
                return

    def _listen(self, meta: api.ObjectMeta) -> None:
        stated, ours = _words(meta.annotations)
        key = f"{meta.namespace}/{meta.name}"
        if ours is not None:
            self._said[key] = _Said(meta.uid, ours, is_ours=stated == ours)
        if stated is not None and stated != ours:
            controllers = (one.uid for one in meta.owner_references if one.controller)
            self._owners[key] = next(controllers, "")

    def _forget(self, meta: api.ObjectMeta) -> None:
        key = f"{meta.namespace}/{meta.name}"
        self._said.pop(key, None)
        self._owners.pop(key, None)

    def decided(self, wanted: Iterable[Yield]) -> None:
        """Pods of these nodes, and no others, should go first."""
        self._wanted = tuple(wanted)
        self._writer.begin()

    async def _write(self) -> None:
        # A mark that should not be there does more harm than one that is missing.
        due = sorted(self._due(), key=lambda one: (one.pod in self._failed, one.cost or -100))
        async with asyncio.TaskGroup() as group:
            tasks = [(one.pod, group.create_task(self._say(one))) for one in due[:_AT_MOST]]
        tried = {pod for pod, _ in tasks}
        failed = {pod for pod, task in tasks if not task.result()}
        self._failed = (self._failed & {one.pod for one in due}) - tried | failed

    def _due(self) -> Iterator[CostAnnotation]:
        """Annotations that pods should have and do not, or the other way round."""
        meant: set[PodKey] = set()
        spoken = frozenset(self._owners.values())
        for one in self._wanted:
            for pod in filter(may_yield, self._cache.pods_on(one.node)):
                if pod.owner is not None and pod.owner.uid in spoken:
                    continue
                meant.add(pod.key)
                said = self._said.get(pod.key)
                if said is None or (said.uid, said.cost) != (pod.uid, str(one.cost)):
                    yield CostAnnotation(pod.key, pod.uid, one.cost)
        for key, said in self._said.items():
            if key not in meant and self._stays(key):
                yield CostAnnotation(key, said.uid, is_owners=not said.is_ours)

    def _stays(self, key: PodKey) -> bool:
        """Whether a pod is neither leaving nor on a node that is."""
        pod = self._cache.pod(key)
        if pod is None or not is_active(pod):
            return False
        node = self._cache.node(pod.node_name)
        return node is None or not (is_disrupted(node) or is_deleted(node))

    async def _say(self, word: CostAnnotation) -> bool:
        """Whether that worked; what fails is told, and left to the next decision."""
        try:
            answer = await annotate(self._dependencies.kube, word)
        except (NotFoundError, ConflictError):
            return True  # there is no such pod any more
        except DovetailError as error:
            self._log.error("marking a pod failed", Pod=word.pod, error=str(error))
            return False
        self._cache.put(POD, answer)
        return True


def _words(annotations: Mapping[str, str]) -> tuple[str | None, str | None]:
    """What a pod says that it costs, and what we said."""
    return annotations.get(labels.DELETION_COST), annotations.get(labels.YIELDS)
