"""Replicas of one program on one API, with everything that can happen to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random
from typing import TypeVar

import msgspec

from dovetail import api
from dovetail.apiserver.server import MemoryKube
from dovetail.clock import SystemClock
from dovetail.controllers.leadership.election import (
    LEASE,
    ElectionDependencies,
    LeaderCandidate,
    LeadershipLostError,
    LeaseSpec,
    Terms,
)
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Deletion, Page, Patch, Ref, Scope, WatchEvent
from dovetail.observe.logs import Level, Log, Sink
from dovetail.testing.virtual_time import VirtualTime

NAME = Ref(LEASE, "karpenter-leader-election", "kube-system")
T = TypeVar("T")


class Notes(Log):
    """A log that can be looked at."""

    def __init__(self) -> None:
        super().__init__(Sink(Level.DEBUG, SystemClock()))
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def debug(self, message: str, /, **fields: object) -> None:
        """Write it down."""
        self.lines.append(("debug", message, fields))

    def info(self, message: str, /, **fields: object) -> None:
        """Write it down."""
        self.lines.append(("info", message, fields))

    def warning(self, message: str, /, **fields: object) -> None:
        """Write it down."""
        self.lines.append(("warning", message, fields))

    def error(self, message: str, /, **fields: object) -> None:
        """Write it down."""
        self.lines.append(("error", message, fields))

    def named(self, name: str) -> Notes:
        """The same, whoever asks."""
        del name
        return self

    @property
    def messages(self) -> list[str]:
        """What was said, without the fields."""
        return [message for _, message, _ in self.lines]


class Process:
    """What holds up or breaks everything that one replica does: a clock that is wrong, a machine
    that stands still, a network that is slow or cut. It is the replica's clock, timer and API.
    """

    def __init__(self, time: VirtualTime, server: MemoryKube, network: asyncio.TaskGroup) -> None:
        self._time = time
        self._server = server
        self._network = network
        self._runs = asyncio.Event()
        self._runs.set()
        self.skew = timedelta(0)
        self.delay_seconds = 0.0  # of what is asked
        self.answer_delay_seconds = 0.0
        self.is_cut = False
        self.is_dead = False
        self.n_calls = 0

    def pause(self) -> None:
        """Stand still, as a machine does that is being moved."""
        self._runs.clear()

    def resume(self) -> None:
        """Go on as if nothing had happened."""
        self._runs.set()

    def hurry(self) -> None:
        """Let the network be as quick as it can."""
        self.delay_seconds = self.answer_delay_seconds = 0.0

    def now(self) -> datetime:
        """What this machine takes for the time."""
        return self._time.now() + self.skew

    def elapsed_seconds(self) -> float:
        """Spans are measured well, also by a clock that is wrong."""
        return self._time.elapsed_seconds()

    async def sleep(self, seconds: float) -> None:
        """Nobody wakes while the machine stands still."""
        await self._time.sleep(seconds)
        await self._runs.wait()

    async def get(self, ref: Ref) -> msgspec.Raw:
        """One object."""
        return await self._asked(lambda: self._server.get(ref))

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        return await self._asked(lambda: self._server.list(scope, limit=limit, token=token))

    def watch(self, scope: Scope, *, since: str) -> AsyncIterator[WatchEvent]:
        """Every change after a version."""
        return self._server.watch(scope, since=since)

    async def create(self, kind: api.Kind, body: Body, namespace: str = "") -> msgspec.Raw:
        """Make an object."""
        return await self._asked(lambda: self._server.create(kind, body, namespace))

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """Change an object."""
        return await self._asked(lambda: self._server.patch(ref, patch))

    async def delete(self, ref: Ref, how: Deletion) -> None:
        """Delete an object."""
        await self._asked(lambda: self._server.delete(ref, how))

    async def evict(self, ref: Ref, how: Deletion) -> None:
        """Evict a pod."""
        await self._asked(lambda: self._server.evict(ref, how))

    async def _asked(self, call: Callable[[], Awaitable[T]]) -> T:
        """The answer, when it comes; what was sent arrives, whether or not anybody still waits."""
        await self._runs.wait()
        self.n_calls += 1
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._network.create_task(self._carried(call, answer, is_cut=self.is_cut or self.is_dead))
        try:
            return await asyncio.shield(answer)
        finally:
            await self._runs.wait()

    async def _carried(
        self, call: Callable[[], Awaitable[T]], answer: asyncio.Future[T], *, is_cut: bool
    ) -> None:
        await self._time.sleep(self.delay_seconds)
        try:
            if is_cut:
                raise UnavailableError(0, "", "the network is cut")  # noqa: TRY301  a fake's only failure
            found = await call()
            await self._time.sleep(self.answer_delay_seconds)
            if not answer.done():
                answer.set_result(found)
        except Exception as error:  # noqa: BLE001  whatever the server says goes to whoever asked
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # nobody may be there to hear it


class Replica:
    """One process with its candidate, from its start until it ends."""

    def __init__(self, identity: str, process: Process, seed: int, terms: Terms) -> None:
        self.identity = identity
        self.process = process
        self.notes = Notes()
        self.stopping = asyncio.Event()
        self.is_lost = False
        self.has_ended = False
        self.n_working = 0
        self.task: asyncio.Task[None] | None = None
        chance = Random(seed).random  # noqa: S311  repeatable
        dependencies = ElectionDependencies(process, process, process, chance, self.notes)
        self.candidate = LeaderCandidate(NAME, identity, dependencies, terms)

    async def run(self) -> None:
        """Lead if elected, until told to stop."""
        try:
            await self.candidate.lead(self._work, self.stopping)
        except LeadershipLostError:
            self.is_lost = True
        finally:
            self.has_ended = True

    async def _work(self) -> None:
        self.n_working += 1
        try:
            await self.stopping.wait()
        finally:
            self.n_working -= 1


class Fleet:
    """Any number of replicas of one program, and the API between them."""

    def __init__(self, time: VirtualTime, group: asyncio.TaskGroup, terms: Terms) -> None:
        self.time = time
        self.server = MemoryKube(time)
        self.replicas: list[Replica] = []
        self._group = group
        self._terms = terms

    def start(self) -> Replica:
        """One more replica."""
        number = len(self.replicas)
        process = Process(self.time, self.server, self._group)
        replica = Replica(f"replica-{number}", process, number, self._terms)
        replica.task = self._group.create_task(replica.run())
        self.replicas.append(replica)
        return replica

    def kill(self, replica: Replica) -> None:
        """End it at once: nothing that it would still say is heard."""
        replica.process.is_dead = True
        replica.process.resume()
        if replica.task is not None:
            replica.task.cancel()

    @property
    def leaders(self) -> list[Replica]:
        """Everybody who would act at this moment."""
        return [
            one for one in self.replicas if one.candidate.is_leading and not one.process.is_dead
        ]

    async def pass_seconds(self, seconds: float, step: float = 0.5) -> None:
        """Let time pass and look again and again: there is never more than one leader."""
        for _ in range(max(1, round(seconds / step))):
            await self.time.advance(timedelta(seconds=step))
            assert len(self.leaders) <= 1, [one.identity for one in self.leaders]

    async def lease(self) -> LeaseSpec:
        """What the lease says."""
        tree = msgspec.json.decode(await self.server.get(NAME))
        return msgspec.convert(tree["spec"], LeaseSpec)


@asynccontextmanager
async def fleet(terms: Terms | None = None) -> AsyncIterator[Fleet]:
    """A fleet in a time of its own; at the end everybody is killed."""
    time = VirtualTime()
    async with asyncio.TaskGroup() as group:
        made = Fleet(time, group, terms or Terms())
        try:
            yield made
        finally:
            for one in made.replicas:
                made.kill(one)
            await time.advance(timedelta(hours=1))
