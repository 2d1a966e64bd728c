"""How does a static pool lose the nodes that it has too many of? Their claims are deleted.

(spec/core.md 7.2) Nobody is asked first: the pool's replicas were lowered. From the moment that it
is decided such a node counts as leaving; draining waits for its pods as ever.
"""

from __future__ import annotations

import asyncio
from typing import Final

from dovetail import api
from dovetail.actuate.doing import delete_claim
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.errors import DovetailError
from dovetail.model.plan import Disrupt
from dovetail.state.changes import Disrupting, DisruptionEnded

_AT_ONCE: Final = 50  # claims that are being deleted


class Surplus:
    """Takes away what static pools have too many of."""

    def __init__(self, means: Means, known: Known) -> None:
        self._means = means
        self._known = known
        self._log = means.log.named("static.deprovisioning")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def take_away(self, disrupt: Disrupt) -> bool:
        """Delete the claims of these nodes. Whatever fails is told and stays; nothing is raised.
        Whether nothing failed: what did is worth another try.
        """
        found = [(name, self._claim(name)) for name in disrupt.nodes]
        going = [(name, claim) for name, claim in found if claim is not None]
        names = tuple(name for name, _ in going)
        now, cluster = self._means.clock.now(), self._known.cluster
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
        node = self._known.node(name)
        claims = () if node is None else self._known.claims_with(node.spec.provider_id)
        claim = claims[0] if len(claims) == 1 else self._known.claim(name)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return None
        return claim

    async def _delete(self, name: str, claim: api.NodeClaim) -> bool:
        meta = claim.metadata
        try:
            async with self._slots:
                await delete_claim(self._means.kube, DeleteClaim(meta.name, meta.uid))
        except DovetailError as error:
            self._log.error("deleting nodeclaim", NodeClaim=meta.name, error=str(error))
            self._known.cluster.apply(DisruptionEnded((name,)))
            return False
        self._log.info("deleted surplus nodeclaim", NodeClaim=meta.name, Node=name)
        return True
