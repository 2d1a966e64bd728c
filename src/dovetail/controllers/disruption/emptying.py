"""Lets nodes empty by themselves: soft taints keep new pods off, and their pods are deleted first.

`SoftTaints` puts a PreferNoSchedule taint on the nodes that a decision names. `DeletionCosts` gives
their pods a low deletion cost: when a workload is scaled down, its ReplicaSet deletes those first.
Where an owner has set a cost, on any pod of a ReplicaSet, all of its pods are left alone.

After each decision what it says is compared with what is there, and the difference is written, some
objects at a time and beside everything else. Nothing waits for such a batch, and what it does not
get done is left to the next. Taints and annotations are watched, not remembered: those that an
earlier process left are dealt with as our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.evicting import CostAnnotation, annotate
from dovetail.actuate.taints import add_soft_taint, remove_soft_taint
from dovetail.controllers.cache import NODE, POD, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.disrupted_nodes import is_deleted, is_disrupted, is_ours
from dovetail.decide.disrupt.cost import may_yield
from dovetail.decide.lifecycle.protection import is_active
from dovetail.errors import DovetailError
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.plan import Yield
from dovetail.model.pod import PodKey
from dovetail.model.taints import DISCOURAGED

_MOST_NODES: Final = 10  # Nodes that are written after one decision
_MOST_PODS: Final = 50  # pods that are written after one decision


class BatchWriter:
    """Calls `write` after each decision, never twice at a time."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        self._write = write
        self._has_decided = asyncio.Event()
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    def begin(self) -> None:
        """There is something to write."""
        self._has_decided.set()

    async def run(self) -> None:
        """Write after each decision, until cancelled."""
        while True:
            await self._has_decided.wait()
            if self._is_closing:
                return
            self._has_decided.clear()
            self._is_at_rest.clear()
            try:
                await self._write()
            finally:
                self._is_at_rest.set()

    async def finish(self) -> None:
        """Begin nothing new, and return when what was begun is done."""
        self._is_closing = True
        self._has_decided.set()
        await self._is_at_rest.wait()


class SoftTaints:
    """Marks Nodes, and takes marks off, one round after a decision."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("disruption")
        self._supported = dependencies.node_classes
        self._wanted: frozenset[str] = frozenset()
        self._failed: frozenset[str] = frozenset()  # in the last round: others come first
        self._writer = BatchWriter(self._write)
        self.run = self._writer.run
        self.finish = self._writer.finish

    def want(self, names: Iterable[str]) -> None:
        """These nodes, and no others, should bear the mark."""
        self._wanted = frozenset(names)
        self._writer.begin()

    async def _write(self) -> None:
        due = sorted(
            (node for node in self._cache.nodes.all() if self._is_due(node)),
            key=lambda node: (node.metadata.name in self._failed, node.metadata.name),
        )[:_MOST_NODES]
        async with asyncio.TaskGroup() as group:
            tasks = [(node.metadata.name, group.create_task(self._change(node))) for node in due]
        self._failed = frozenset(name for name, task in tasks if not task.result())

    def _is_due(self, node: api.Node) -> bool:
        """Whether it bears what it should not, or the other way round. What is leaving anyway is
        left alone.
        """
        is_wanted = node.metadata.name in self._wanted
        if is_wanted == _is_marked(node):
            return False
        if is_wanted and node.metadata.labels.get(labels.INITIALIZED) != "true":
            return False
        return not self._is_leaving(node) and is_ours(node, self._supported)

    def _is_leaving(self, node: api.Node) -> bool:
        claims = self._cache.claims.under(node.spec.provider_id)
        return is_disrupted(node) or is_deleted(node) or any(is_deleted(claim) for claim in claims)

    async def _change(self, node: api.Node) -> bool:
        """Whether that worked; what fails is told, and left to the next decision."""
        name = node.metadata.name
        change = remove_soft_taint if _is_marked(node) else add_soft_taint
        try:
            answers = await change(self._dependencies.kube, node)
        except NotFoundError:
            return True  # there is nothing left to mark
        except DovetailError as error:
            self._log.error("marking a node failed", Node=name, error=str(error))
            return False
        for raw in answers:
            self._cache.put(NODE, raw)
        self._log.debug("marked a node", Node=name, discouraged=change is add_soft_taint)
        return True


def _is_marked(node: api.Node) -> bool:
    return any(
        taint.key == DISCOURAGED.key and taint.effect == DISCOURAGED.effect
        for taint in node.spec.taints
    )


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
        stated = meta.annotations.get(labels.DELETION_COST)
        ours = meta.annotations.get(labels.YIELDS)
        key = f"{meta.namespace}/{meta.name}"
        if ours is not None:
            self._said[key] = _Said(meta.uid, ours, is_ours=stated == ours)
        if stated is not None and stated != ours:
            controllers = (owner.uid for owner in meta.owner_references if owner.controller)
            self._owners[key] = next(controllers, "")

    def _forget(self, meta: api.ObjectMeta) -> None:
        key = f"{meta.namespace}/{meta.name}"
        self._said.pop(key, None)
        self._owners.pop(key, None)

    def want(self, wanted: Iterable[Yield]) -> None:
        """Pods of these nodes, and no others, should go first."""
        self._wanted = tuple(wanted)
        self._writer.begin()

    async def _write(self) -> None:
        # A mark that should not be there does more harm than one that is missing.
        due = sorted(self._due(), key=lambda item: (item.pod in self._failed, item.cost or -100))
        async with asyncio.TaskGroup() as group:
            tasks = [(item.pod, group.create_task(self._say(item))) for item in due[:_MOST_PODS]]
        tried = {pod for pod, _ in tasks}
        failed = {pod for pod, task in tasks if not task.result()}
        self._failed = (self._failed & {annotation.pod for annotation in due}) - tried | failed

    def _due(self) -> Iterator[CostAnnotation]:
        """Annotations that pods should have and do not, or the other way round."""
        meant: set[PodKey] = set()
        spoken = frozenset(self._owners.values())
        for item in self._wanted:
            for pod in filter(may_yield, self._cache.cluster.pods_on(item.node)):
                if pod.owner is not None and pod.owner.uid in spoken:
                    continue
                meant.add(pod.key)
                written = self._said.get(pod.key)
                if written is None or (written.uid, written.cost) != (pod.uid, str(item.cost)):
                    yield CostAnnotation(pod.key, pod.uid, item.cost)
        for key, written in self._said.items():
            if key not in meant and self._stays(key):
                yield CostAnnotation(key, written.uid, is_owners=not written.is_ours)

    def _stays(self, key: PodKey) -> bool:
        """Whether a pod is neither leaving nor on a node that is."""
        pod = self._cache.cluster.pod(key)
        if pod is None or not is_active(pod):
            return False
        node = self._cache.nodes.get(pod.node_name)
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
