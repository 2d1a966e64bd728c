"""Deletes the claims of nodes that a static pool has too many of.

No budget is asked: the pool's replicas were lowered. From the moment that it is decided such a node
counts as leaving; draining waits for its pods as ever.
"""

from __future__ import annotations

import asyncio
from typing import Final

from dovetail import api
from dovetail.actuate.writing import delete_claim
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.errors import DovetailError
from dovetail.model.plan import Disrupt
from dovetail.state.changes import Disrupting, DisruptionEnded

_AT_ONCE: Final = 50  # claims that are being deleted


class StaticScaleDown:
    """Takes away what static pools have too many of."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("static.deprovisioning")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def take_away(self, disrupt: Disrupt) -> bool:
        """Delete the claims of these nodes. Whatever fails is told and stays; nothing is raised.
        Whether nothing failed: what did is worth another try.
        """
        found = [(name, self._claim(name)) for name in disrupt.nodes]
        going = [(name, claim) for name, claim in found if claim is not None]
        names = tuple(name for name, _ in going)
        now, cluster = self._dependencies.clock.now(), self._cache.cluster
        cluster.apply(Disrupting(names, disrupt.reason, now))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._delete(name, claim)) for name, claim in going]
        except BaseException:  # cut short: whoever comes next counts again
            cluster.apply(DisruptionEnded(names))
            raise
        return all(task.result() for task in tasks)

    def _claim(self, name: str) -> api.NodeClaim | None:
        """The claim of a node, or of that name, unless it is leaving already."""
        node = self._cache.node(name)
        claims = () if node is None else self._cache.claims_with(node.spec.provider_id)
        claim = claims[0] if len(claims) == 1 else self._cache.claim(name)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return None
        return claim

    async def _delete(self, name: str, claim: api.NodeClaim) -> bool:
        meta = claim.metadata
        try:
            async with self._slots:
                await delete_claim(self._dependencies.kube, DeleteClaim(meta.name, meta.uid))
        except DovetailError as error:
            self._log.error("deleting nodeclaim", NodeClaim=meta.name, error=str(error))
            self._cache.cluster.apply(DisruptionEnded((name,)))
            return False
        self._log.info("deleted surplus nodeclaim", NodeClaim=meta.name, Node=name)
        return True
