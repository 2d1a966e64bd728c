"""Do the nodes that new pods should keep off bear the mark, and no others?

After each decision what it says is compared with what Nodes bear, and the difference is written,
some Nodes at a time and beside everything else: nobody waits for it. Nothing is remembered, so
marks that an earlier process left are dealt with as our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from dovetail import api, labels
from dovetail.actuate.discouraging import discourage, welcome
from dovetail.controllers.fences import is_deleted, is_fenced, is_ours, supported
from dovetail.controllers.known import NODE, Known
from dovetail.controllers.means import Means
from dovetail.controllers.rounds import Rounds
from dovetail.errors import DovetailError
from dovetail.kube.errors import NotFoundError
from dovetail.model.taints import DISCOURAGED

_AT_MOST: Final = 10  # Nodes that are written after one decision


class Discouragement:
    """Marks Nodes, and takes marks off, one round after a decision."""

    def __init__(self, means: Means, known: Known) -> None:
        self._means = means
        self._known = known
        self._log = means.log.named("disruption")
        self._supported = supported(means)
        self._wanted: frozenset[str] = frozenset()
        self._failed: frozenset[str] = frozenset()  # in the last round: others come first
        self._rounds = Rounds(self._write)
        self.run = self._rounds.run
        self.finish = self._rounds.finish

    def decided(self, names: Iterable[str]) -> None:
        """These nodes, and no others, should bear the mark."""
        self._wanted = frozenset(names)
        self._rounds.begin()

    async def _write(self) -> None:
        due = sorted(
            (one for one in self._known.nodes() if self._is_due(one)),
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
        claims = self._known.claims_with(node.spec.provider_id)
        return is_fenced(node) or is_deleted(node) or any(is_deleted(one) for one in claims)

    async def _change(self, node: api.Node) -> bool:
        """Whether that worked; what fails is told, and left to the next decision."""
        name = node.metadata.name
        change = welcome if _is_marked(node) else discourage
        try:
            answers = await change(self._means.kube, node)
        except NotFoundError:
            return True  # there is nothing left to mark
        except DovetailError as error:
            self._log.error("marking a node failed", Node=name, error=str(error))
            return False
        for raw in answers:
            self._known.put(NODE, raw)
        self._log.debug("marked a node", Node=name, discouraged=change is discourage)
        return True


def _is_marked(node: api.Node) -> bool:
    return any(
        one.key == DISCOURAGED.key and one.effect == DISCOURAGED.effect for one in node.spec.taints
    )
