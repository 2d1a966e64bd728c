"""Removes nodes that a plan wants gone: taints them, orders replacements, validates again, deletes.

All nodes of a disruption go through each phase side by side. Without replacements, one that drops
out is put back as it was and the others go on; with them, all go or none. A decision waits until
claims are made and taints are set, not for replacements to start: `replacements` waits for those in
the background, and nothing else counts on them meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from dovetail import api
from dovetail.actuate.writing import delete_claim
from dovetail.controllers.cache import POD, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.disrupted_nodes import DisruptedNode, DisruptedNodes
from dovetail.controllers.disruption.replacements import Replacements, marks_of
from dovetail.controllers.disruption.reporting import DisruptionReporter
from dovetail.controllers.launching.claim_creation import ClaimCreation, LaunchPurpose
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.disrupt.execution import removal_objections
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.errors import DovetailError
from dovetail.kube.seam import Scope
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pool import NodePool
from dovetail.observe.steps import snake_case
from dovetail.state.changes import Disrupting, DisruptionEnded, Nominated

_AT_ONCE: Final = 50  # nodes of disruptions that are written about, claims that are deleted
_TIDY_SECONDS: Final = 30.0


class Disruptions:
    """Takes nodes away, and puts back what nobody takes away any more."""

    def __init__(
        self, dependencies: Dependencies, cache: WatchCache, claim_creation: ClaimCreation
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._claim_creation = claim_creation
        self._disrupted_nodes = DisruptedNodes(dependencies, cache)
        self._reporter = DisruptionReporter(dependencies, cache)
        self._replacements = Replacements(
            dependencies, cache, self._disrupted_nodes, self._reporter
        )
        self.handle = self._replacements.handle
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    async def run(self) -> None:
        """Wait for replacements, and tidy up now and then, until cancelled."""
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(self._replacements.run())
            while not self._is_closing:
                self._is_at_rest.clear()
                try:
                    await self._disrupted_nodes.untaint_leftovers()
                finally:
                    self._is_at_rest.set()
                await self._dependencies.timer.sleep(_TIDY_SECONDS)
            waiting.cancel()

    async def finish(self) -> None:
        """Tidy up no more, and return when what was begun is done. Replacements that have yet to
        start are left to whoever comes next.
        """
        self._is_closing = True
        await self._replacements.finish()
        await self._is_at_rest.wait()

    async def take_over(self) -> None:
        """Go on with what an earlier process began, and put back what is left over of it. Once
        everything is known.
        """
        self._replacements.resume()
        await self._disrupted_nodes.untaint_leftovers()

    async def tidy(self) -> None:
        """Remove taints and reasons that nobody stands behind."""
        await self._disrupted_nodes.untaint_leftovers()

    async def begin(self, disrupt: Disrupt, pools: Iterable[NodePool] = ()) -> bool:
        """Take these nodes away, as far as that is still right. Whatever fails is told, and put
        back; nothing is raised. Whether nothing failed: what did is worth another try. `pools` are
        those that replacements belong to.
        """
        going = self._disrupted_nodes.available(disrupt.nodes, disrupt.reason)
        if not going or (disrupt.replacements and len(going) < len(disrupt.nodes)):
            return True
        now = self._dependencies.clock.now()
        self._disrupted_nodes.begin(going, now)
        for place in disrupt.places:
            self._cache.cluster.apply(Nominated(place.node, place.pods, now))
        try:
            if disrupt.replacements:
                return await self._replace(disrupt, going, pools)
            return await self._remove(disrupt, going)
        except BaseException:  # cut short: what is left over is removed by `untaint_leftovers`
            self._disrupted_nodes.end(going)
            raise

    # ---- without replacements

    async def _remove(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> bool:
        there = await self._run_phase(disrupt, going, self._disrupted_nodes.taint)
        if disrupt.reason == DisruptionReason.EMPTY:
            there = await self._run_phase(disrupt, there, self._ask_for_pods)
        why = self._objections(disrupt, there)
        kept = [node for node in there if node.name in why]
        for node in kept:
            self._reporter.report_rejection(disrupt, (node,), why[node.name])
        await self._put_back(kept)
        free = [node for node in there if node.name not in why]
        gone = await self._run_phase(disrupt, free, self._delete)
        if gone:
            self._report_begin(disrupt, gone)
            self._reporter.report_deletion(disrupt, gone)
        return len(gone) + len(kept) == len(going)

    def _report_begin(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> None:
        self._reporter.report_begin(disrupt, going)
        for place in disrupt.places:
            self._claim_creation.report_nomination(place.pods, f"node/{place.node}")

    async def _run_phase(
        self,
        disrupt: Disrupt,
        going: Sequence[DisruptedNode],
        phase: Callable[[DisruptedNode], Awaitable[None]],
    ) -> list[DisruptedNode]:
        """Those that come through a phase; the others are put back as they were."""

        async def through(node: DisruptedNode) -> bool:
            async with self._slots:
                try:
                    await phase(node)
                except DovetailError as error:
                    self._reporter.report_failure(disrupt, (node,), str(error))
                    await self._put_back((node,))
                    return False
                return True

        async with asyncio.TaskGroup() as group:
            tasks = [(node, group.create_task(through(node))) for node in going]
        return [node for node, task in tasks if task.result()]

    async def _ask_for_pods(self, node: DisruptedNode) -> None:
        """Ask the API itself who is on a node: we may hear late of a pod that came before the
        taint was set. Raises DovetailError.
        """
        page = await self._dependencies.kube.list(Scope(POD, fields=f"spec.nodeName={node.name}"))
        for raw in page.items:
            self._cache.put(POD, raw)

    def _objections(self, disrupt: Disrupt, there: Sequence[DisruptedNode]) -> dict[str, str]:
        """Why nodes must stay after all, now that their taint keeps pods away, by name."""
        now, names = self._dependencies.clock.now(), [node.name for node in there]
        occupied = {
            name: "A pod has come to it."
            for name in names
            if disrupt.reason == DisruptionReason.EMPTY
            and not is_empty(self._cache.cluster.pods_on(name))
        }
        free = [name for name in names if name not in occupied]
        verdicts = removal_objections(self._cache.cluster.view(now), free, disrupt.reason, now)
        return {**occupied, **{verdict.node: verdict.message for verdict in verdicts}}

    async def _delete(self, node: DisruptedNode) -> None:
        meta = node.claim.metadata
        await delete_claim(self._dependencies.kube, DeleteClaim(meta.name, meta.uid, node.reason))

    async def _put_back(self, these: Sequence[DisruptedNode]) -> None:
        async with asyncio.TaskGroup() as group:
            for node in these:
                group.create_task(self._disrupted_nodes.untaint(node))
        self._disrupted_nodes.end(these)

    # ---- with replacements

    async def _replace(
        self, disrupt: Disrupt, going: Sequence[DisruptedNode], pools: Iterable[NodePool]
    ) -> bool:
        marked = await self._run_phase(disrupt, going, self._disrupted_nodes.taint)
        is_tainted = len(marked) == len(going)
        if not is_tainted or not await self._create_replacements(disrupt, pools):
            await self._put_back(marked)
            if is_tainted:
                self._reporter.report_failure(disrupt, going, "a replacement could not be ordered")
            return False
        self._report_begin(disrupt, going)
        self._replacements.await_(disrupt, going)
        return True

    async def _create_replacements(self, disrupt: Disrupt, pools: Iterable[NodePool]) -> bool:
        """Have the replacements made; whether the API took all."""
        by_name = {pool.name: pool for pool in pools}
        purpose = LaunchPurpose(
            snake_case(disrupt.reason), marks_of(disrupt, self._dependencies.clock.now())
        )
        wanted = [(launch, by_name[launch.node_pool]) for launch in disrupt.replacements]
        for launch, _ in wanted:
            self._claim_creation.begin(launch, self._dependencies.clock.now())
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._claim_creation.create(launch, pool, purpose))
                for launch, pool in wanted
            ]
        return all(task.result() for task in tasks)


class StaticScaleDown:
    """Deletes the claims of nodes that a static pool has too many of. No budget is asked: the
    pool's replicas were lowered. From the moment that it is decided such a node counts as leaving;
    draining waits for its pods as ever.
    """

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("static.deprovisioning")
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def take_away(self, disrupt: Disrupt) -> bool:
        """Delete the claims of these nodes. Whatever fails is told and stays; nothing is raised.
        Whether nothing failed: what did is worth another try.
        """
        claims = [(name, self._claim(name)) for name in disrupt.nodes]
        going = [(name, claim) for name, claim in claims if claim is not None]
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
        node = self._cache.nodes.get(name)
        claims = () if node is None else self._cache.claims.under(node.spec.provider_id)
        claim = claims[0] if len(claims) == 1 else self._cache.claims.get(name)
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
