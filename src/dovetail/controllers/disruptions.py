"""How are nodes taken away that a plan wants gone? Fenced, replaced, looked at again, deleted.

(spec/core.md 6.12) All nodes of a disruption go through each phase side by side. Without
replacements, one that drops out is put back as it was and the others go on; with them, all go or
none. Whoever decides waits until claims are made and marks are set, not for replacements to start:
those are waited for in the background, and nobody counts on them meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from dovetail.actuate.doing import delete_claim
from dovetail.controllers.disruption_news import DisruptionNews
from dovetail.controllers.fences import Departing, Fences
from dovetail.controllers.known import POD, Known
from dovetail.controllers.means import Means
from dovetail.controllers.ordering import Ordering, Purpose
from dovetail.controllers.replacements import Replacements, marks_of
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.disrupt.execution import second_look
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.errors import DovetailError
from dovetail.kube.mirror import Notice
from dovetail.kube.seam import Scope
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pool import NodePool
from dovetail.observe.steps import snake_case
from dovetail.state.changes import Nominated

_AT_ONCE: Final = 50  # nodes of disruptions that are written about
_TIDY_SECONDS: Final = 30.0


class Disruptions:
    """Takes nodes away, and puts back what nobody takes away any more."""

    def __init__(self, means: Means, known: Known, ordering: Ordering) -> None:
        self._means = means
        self._known = known
        self._ordering = ordering
        self._fences = Fences(means, known)
        self._news = DisruptionNews(means, known)
        self._replacements = Replacements(means, known, self._fences, self._news)
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._is_closing = False
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    def hear(self, notice: Notice) -> None:
        """Something has happened that may matter to a disruption under way."""
        self._replacements.hear(notice)

    async def run(self) -> None:
        """Wait for replacements, and tidy up now and then, until cancelled."""
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(self._replacements.run())
            while not self._is_closing:
                self._is_at_rest.clear()
                try:
                    await self._fences.tidy()
                finally:
                    self._is_at_rest.set()
                await self._means.timer.sleep(_TIDY_SECONDS)
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
        await self._fences.tidy()

    async def tidy(self) -> None:
        """Take down fences and reasons that nobody stands behind."""
        await self._fences.tidy()

    async def begin(self, disrupt: Disrupt, pools: Iterable[NodePool] = ()) -> bool:
        """Take these nodes away, as far as that is still right. Whatever fails is told, and put
        back; nothing is raised. Whether nothing failed: what did is worth another try. `pools` are
        those that replacements belong to.
        """
        going = self._fences.free(disrupt.nodes, disrupt.reason)
        if not going or (disrupt.replacements and len(going) < len(disrupt.nodes)):
            return True
        now = self._means.clock.now()
        self._fences.hold(going, now)
        for place in disrupt.places:
            self._known.cluster.apply(Nominated(place.node, place.pods, now))
        try:
            if disrupt.replacements:
                return await self._replace(disrupt, going, pools)
            return await self._remove(disrupt, going)
        except BaseException:  # cut short: what is left over is taken down by `tidy`
            self._fences.drop(going)
            raise

    # ---- without replacements

    async def _remove(self, disrupt: Disrupt, going: Sequence[Departing]) -> bool:
        there = await self._tried(disrupt, going, self._fences.put_up)
        if disrupt.reason == DisruptionReason.EMPTY:
            there = await self._tried(disrupt, there, self._ask_for_pods)
        why = self._objections(disrupt, there)
        kept = [one for one in there if one.name in why]
        for one in kept:
            self._news.rejected(disrupt, (one,), why[one.name])
        await self._put_back(kept)
        free = [one for one in there if one.name not in why]
        gone = await self._tried(disrupt, free, self._delete)
        if gone:
            self._tell_begun(disrupt, gone)
            self._news.gone(disrupt, gone)
        return len(gone) + len(kept) == len(going)

    def _tell_begun(self, disrupt: Disrupt, going: Sequence[Departing]) -> None:
        self._news.begun(disrupt, going)
        for place in disrupt.places:
            self._ordering.tell_nominated(place.pods, f"node/{place.node}")

    async def _tried(
        self,
        disrupt: Disrupt,
        going: Sequence[Departing],
        phase: Callable[[Departing], Awaitable[None]],
    ) -> list[Departing]:
        """Those that come through a phase; the others are put back as they were."""

        async def through(one: Departing) -> bool:
            async with self._slots:
                try:
                    await phase(one)
                except DovetailError as error:
                    self._news.failed(disrupt, (one,), str(error))
                    await self._put_back((one,))
                    return False
                return True

        async with asyncio.TaskGroup() as group:
            tasks = [(one, group.create_task(through(one))) for one in going]
        return [one for one, task in tasks if task.result()]

    async def _ask_for_pods(self, one: Departing) -> None:
        """Ask the API itself who is on a node: we may hear late of a pod that came before the
        fence was up. Raises DovetailError.
        """
        page = await self._means.kube.list(Scope(POD, fields=f"spec.nodeName={one.name}"))
        for raw in page.items:
            self._known.put(POD, raw)

    def _objections(self, disrupt: Disrupt, there: Sequence[Departing]) -> dict[str, str]:
        """Why nodes must stay after all, now that no pod can come to them any more, by name."""
        if disrupt.reason == DisruptionReason.EMPTY:
            return {
                one.name: "A pod has come to it."
                for one in there
                if not is_empty(self._known.pods_on(one.name))
            }
        now, names = self._means.clock.now(), [one.name for one in there]
        found = second_look(self._known.cluster.snapshot(now), names, disrupt.reason, now)
        return {one.node: one.message for one in found}

    async def _delete(self, one: Departing) -> None:
        meta = one.claim.metadata
        await delete_claim(self._means.kube, DeleteClaim(meta.name, meta.uid, one.reason))

    async def _put_back(self, these: Sequence[Departing]) -> None:
        async with asyncio.TaskGroup() as group:
            for one in these:
                group.create_task(self._fences.take_down(one))
        self._fences.drop(these)

    # ---- with replacements

    async def _replace(
        self, disrupt: Disrupt, going: Sequence[Departing], pools: Iterable[NodePool]
    ) -> bool:
        marked = await self._tried(disrupt, going, self._fences.put_up)
        is_fenced = len(marked) == len(going)
        if not is_fenced or not await self._ordered(disrupt, pools):
            await self._put_back(marked)
            if is_fenced:
                self._news.failed(disrupt, going, "a replacement could not be ordered")
            return False
        self._tell_begun(disrupt, going)
        self._replacements.await_(disrupt, going)
        return True

    async def _ordered(self, disrupt: Disrupt, pools: Iterable[NodePool]) -> bool:
        """Have the replacements made; whether the API took all."""
        by_name = {pool.name: pool for pool in pools}
        purpose = Purpose(snake_case(disrupt.reason), marks_of(disrupt, self._means.clock.now()))
        wanted = [(launch, by_name[launch.node_pool]) for launch in disrupt.replacements]
        for launch, _ in wanted:
            self._ordering.begin(launch, self._means.clock.now())
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._ordering.place(launch, pool, purpose))
                for launch, pool in wanted
            ]
        return all(task.result() for task in tasks)
