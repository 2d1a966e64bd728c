"""Puts a PreferNoSchedule taint on nodes that should empty by themselves, and on no others.

After each decision what it says is compared with the taints of Nodes, and the difference is
written, some Nodes at a time and beside everything else: nothing waits for it. Nothing is
remembered, so taints that an earlier process left are dealt with as our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from dovetail import api, labels
from dovetail.actuate.taints import add_soft_taint, remove_soft_taint
from dovetail.controllers.cache import NODE, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.batch_writer import BatchWriter
from dovetail.controllers.disruption.disrupted_nodes import (
    is_deleted,
    is_disrupted,
    is_ours,
    supported,
)
from dovetail.errors import DovetailError
from dovetail.kube.errors import NotFoundError
from dovetail.model.taints import DISCOURAGED

_AT_MOST: Final = 10  # Nodes that are written after one decision


class SoftTaints:
    """Marks Nodes, and takes marks off, one round after a decision."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("disruption")
        self._supported = supported(dependencies)
        self._wanted: frozenset[str] = frozenset()
        self._failed: frozenset[str] = frozenset()  # in the last round: others come first
        self._writer = BatchWriter(self._write)
        self.run = self._writer.run
        self.finish = self._writer.finish

    def decided(self, names: Iterable[str]) -> None:
        """These nodes, and no others, should bear the mark."""
        self._wanted = frozenset(names)
        self._writer.begin()

    async def _write(self) -> None:
        due = sorted(
            (one for one in self._cache.nodes() if self._is_due(one)),
            key=lambda one: (one.metadata.name in self._failed, one.metadata.name),
        )[:_AT_MOST]
        async with asyncio.TaskGroup() as group:
            tasks = [(one.metadata.name, group.create_task(self._change(one))) for one in due]
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
        claims = self._cache.claims_with(node.spec.provider_id)
        return is_disrupted(node) or is_deleted(node) or any(is_deleted(one) for one in claims)

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
        one.key == DISCOURAGED.key and one.effect == DISCOURAGED.effect for one in node.spec.taints
    )
