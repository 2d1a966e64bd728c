"""Waits until the replacements of a disruption have started, then deletes the nodes they replace.

One key is one disruption: it is looked at when something happens to one of its claims, and when its
time is up. Nodes that somebody else deletes meanwhile are not waited for any more. A claim names
the nodes that it replaces in an annotation, so that the next leader goes on waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.actuate.writing import delete_claim
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.disrupted_nodes import (
    DisruptedNode,
    DisruptedNodes,
    is_deleted,
)
from dovetail.controllers.disruption.reporting import DisruptionReporter
from dovetail.controllers.workqueue import WorkQueue, failure_log
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.disrupt.execution import (
    Futile,
    Unready,
    is_passing,
    outlook,
    patience,
    second_look,
)
from dovetail.decide.lifecycle.conditions import INITIALIZED, Status
from dovetail.decide.lifecycle.step import DeleteClaim
from dovetail.errors import DovetailError, InputError
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.backoff import Backoff
from dovetail.model.claim import ClaimObject
from dovetail.model.plan import Disrupt, Launch
from dovetail.state.objects import claim_object

_N_WORKERS: Final = 50
_HELD_UP_SECONDS: Final = 5.0


class _Swap(msgspec.Struct, frozen=True):
    """What a claim says of the disruption that it is part of."""

    nodes: tuple[str, ...]
    replacements: tuple[str, ...]
    since: str


class _Move(msgspec.Struct, frozen=True):
    """A disruption under way, the nodes that have yet to go, and by when they must."""

    disrupt: Disrupt
    going: tuple[DisruptedNode, ...]
    due_seconds: float  # of the timer

    def claims(self) -> Iterable[str]:
        """Names of all claims that it is about."""
        yield from (replacement.name for replacement in self.disrupt.replacements)
        yield from (node.claim.metadata.name for node in self.going)


class Replacements:
    """Disruptions that wait for their replacements."""

    def __init__(
        self,
        dependencies: Dependencies,
        cache: WatchCache,
        disrupted_nodes: DisruptedNodes,
        reporter: DisruptionReporter,
    ) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._disrupted_nodes = disrupted_nodes
        self._reporter = reporter
        self._log = dependencies.log.named("disruption")
        self._numbers = count(1)
        self._moves: dict[int, _Move] = {}
        self._move_by_claim: dict[str, int] = {}
        self._queue: WorkQueue[int] = WorkQueue(
            self._see_to,
            failed=failure_log(self._log, "disrupting node failed", "disruption"),
            queue_settings=dependencies.queue_settings(Backoff(1.0, 30.0), _N_WORKERS),
        )
        self.run, self.finish = self._queue.run, self._queue.finish

    def await_(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> None:
        """Take these nodes away once their replacements have started."""
        n_queued = len(going) + sum(len(move.going) for move in self._moves.values())
        due = self._dependencies.timer.elapsed_seconds() + patience(n_queued).total_seconds()
        key = next(self._numbers)
        self._moves[key] = _Move(disrupt, tuple(going), due)
        self._move_by_claim |= dict.fromkeys(self._moves[key].claims(), key)
        self._queue.add(key)

    def resume(self) -> None:
        """Go on waiting for what an earlier process began to wait for. Once everything is known."""
        now = self._dependencies.clock.now()
        swaps = [
            claim_swap
            for claim in self._cache.claims.all()
            if (claim_swap := _swap_of(claim)) is not None
        ]
        for swap in sorted(set(swaps), key=lambda swap: swap.since, reverse=True):
            going = self._disrupted_nodes.inherited_nodes(swap.nodes)
            if going:
                self._disrupted_nodes.begin(going, now)
                self.await_(_disrupt_of(swap, going[0].reason), going)

    def handle(self, notice: Notice) -> None:
        """Something has happened to a claim."""
        match notice:
            case (
                Present(object=api.NodeClaim(metadata=meta))
                | Absent(object=api.NodeClaim(metadata=meta))
            ):
                key = self._move_by_claim.get(meta.name)
                if key is not None:
                    self._queue.add(key)
            case _:
                return

    # ---- one look

    async def _see_to(self, key: int) -> float | None:
        move = self._moves.get(key)
        if move is None:
            return None
        going = [node for node in move.going if self._disrupted_nodes.is_there(node)]
        if not going:
            self._end(key)
            return None
        left = move.due_seconds - self._dependencies.timer.elapsed_seconds()
        now = self._dependencies.clock.now()
        match outlook(self._replacement_claims(move.disrupt), now, is_late=left <= 0):
            case Futile() as futile:
                await self._give_up(key, going, futile.why)
                return None
            case Unready(unlaunched=unlaunched, starting=starting):
                self._reporter.report_wait(unlaunched, starting, move.disrupt.reason)
                return left
            case None:
                return await self._finish(key, going, is_late=left <= 0)

    def _replacement_claims(self, disrupt: Disrupt) -> dict[str, ClaimObject | None]:
        return {launch.name: self._claim(launch.name) for launch in disrupt.replacements}

    def _claim(self, name: str) -> ClaimObject | None:
        wire = self._cache.claims.get(name)
        try:
            return None if wire is None else claim_object(wire)
        except InputError:
            return None  # whoever sees to it says what is wrong

    async def _finish(self, key: int, going: list[DisruptedNode], *, is_late: bool) -> float | None:
        """All replacements have started: let the nodes go, if that is still right."""
        disrupt, now = self._moves[key].disrupt, self._dependencies.clock.now()
        names = [node.name for node in going]
        verdicts = second_look(self._cache.cluster.snapshot(now), names, disrupt.reason, now)
        if verdicts and not is_late and all(is_passing(verdict) for verdict in verdicts):
            self._reporter.report_delay(going, verdicts)
            return _HELD_UP_SECONDS
        if verdicts:
            self._reporter.report_rejection(disrupt, going, verdicts[0].message)
            await self._give_up(key, going, verdicts[0].message)
            return None
        failures = await self._delete_claims(key, going)
        if failures and not is_late:
            raise failures[0]
        if failures:
            await self._give_up(key, list(self._moves[key].going), str(failures[0]))
        else:
            self._end(key)
        return None

    async def _delete_claims(self, key: int, going: Sequence[DisruptedNode]) -> list[DovetailError]:
        """Delete their claims; what failed. Those that are gone are not the move's any more."""

        async def _taint(node: DisruptedNode) -> DovetailError | None:
            meta = node.claim.metadata
            try:
                await delete_claim(
                    self._dependencies.kube, DeleteClaim(meta.name, meta.uid, node.reason)
                )
            except DovetailError as error:
                return error
            return None

        async with asyncio.TaskGroup() as group:
            tasks = [(node, group.create_task(_taint(node))) for node in going]
        gone = [node for node, task in tasks if task.result() is None]
        move = self._moves[key]
        self._reporter.report_deletion(move.disrupt, gone)
        left = tuple(node for node in going if node not in gone)
        self._moves[key] = msgspec.structs.replace(move, going=left)
        return [error for _, task in tasks if (error := task.result()) is not None]

    # ---- ends

    def _end(self, key: int) -> None:
        del self._moves[key]
        self._move_by_claim = {
            name: move for name, move in self._move_by_claim.items() if move != key
        }

    async def _give_up(self, key: int, going: Sequence[DisruptedNode], why: str) -> None:
        """Put the nodes back as they were. First, lest they be forgotten if we die meanwhile,
        replacements go that are of no use; those that have started are left to whoever needs them.
        """
        disrupt = self._moves[key].disrupt
        self._end(key)
        await self._clear_away(disrupt)
        async with asyncio.TaskGroup() as group:
            for node in going:
                group.create_task(self._disrupted_nodes.untaint(node))
        self._disrupted_nodes.end(going, failed_at=self._dependencies.clock.now())
        self._reporter.report_failure(disrupt, going, why)

    async def _clear_away(self, disrupt: Disrupt) -> None:
        """Delete replacements that have not started and that nobody else was given: no node that
        has yet to start is ever taken away for being empty.
        """
        moving = {pod.key for name in disrupt.nodes for pod in self._cache.cluster.pods_on(name)}
        for name in (replacement.name for replacement in disrupt.replacements):
            claim = self._cache.claims.get(name)
            if claim is None or is_deleted(claim) or self._is_of_use(claim, moving):
                continue
            try:
                gone = DeleteClaim(name, claim.metadata.uid, disrupt.reason)
                await delete_claim(self._dependencies.kube, gone)
            except DovetailError as error:
                self._log.error("deleting a replacement failed", NodeClaim=name, error=str(error))

    def _is_of_use(self, claim: api.NodeClaim, moving: set[str]) -> bool:
        if any(
            condition.type == INITIALIZED and condition.status == Status.TRUE
            for condition in claim.status.conditions
        ):
            return True
        nodes = self._cache.nodes.under(claim.status.provider_id)
        names = (claim.metadata.name, *(node.metadata.name for node in nodes))
        if not moving.issuperset(self._cache.cluster.book.promised_to(*names)):
            return True
        return not all(is_empty(self._cache.cluster.pods_on(name)) for name in names)


def marks_of(disrupt: Disrupt, now: datetime) -> Mapping[str, str]:
    """What its replacements say of a disruption, in annotations."""
    names = tuple(replacement.name for replacement in disrupt.replacements)
    swap = _Swap(disrupt.nodes, names, now.isoformat())
    return {labels.REPLACES: msgspec.json.encode(swap).decode()}


def _swap_of(claim: api.NodeClaim) -> _Swap | None:
    annotation = claim.metadata.annotations.get(labels.REPLACES)
    if annotation is None or is_deleted(claim):
        return None
    try:
        return msgspec.json.decode(annotation, type=_Swap)
    except msgspec.DecodeError:
        return None  # somebody else wrote it


def _disrupt_of(swap: _Swap, reason: str) -> Disrupt:
    """The disruption as far as it matters to whoever waits for its replacements."""
    launches = (Launch(name, "", "", "", "", 0, (), {}, ()) for name in swap.replacements)
    return Disrupt(reason, swap.nodes, replacements=tuple(launches))
