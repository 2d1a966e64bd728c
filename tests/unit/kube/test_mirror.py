"""The mirror follows a server that ends watches, forgets, fails and lies.

The server here is an old one, which cannot stream what is there (`test_mirror_streams.py` has one
that can).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from dovetail.kube.http.retry import Retries
from dovetail.kube.http.transport import HttpSettings
from dovetail.kube.mirror import Absent, Mirror, Notice, Pace, Present, Stalled
from dovetail.kube.seam import Json, Scope
from dovetail.kube.typed import Intake, Unreadable
from tests.unit.kube.http.servers import PODS, client, cut, event, served, status, streaming
from tests.unit.kube.surroundings import VirtualTimer, no_chance

GONE: Final[Json] = {"kind": "Status", "code": 410, "reason": "Expired"}
ONE_TRY: Final = HttpSettings(retries=Retries(n_tries=1))


class Server:
    """An API for pods: a log of what happened, lists in pages, and watches from any version."""

    def __init__(self) -> None:
        self.version = 10
        self.compacted = 0
        self.objects: dict[str, Json] = {}
        self.log: list[tuple[int, str, Json]] = []
        self.n_lists = 0
        self.since: list[int] = []
        self.answers: list[web.Response] = []  # to be given first
        self.is_half_sent = False
        self._ended = asyncio.Event()
        self._changed = asyncio.Event()

    def put(self, name: str, uid: str = "", **spec: Json) -> None:
        """Make or change a pod."""
        is_new = name not in self.objects
        self.version += 1
        meta: dict[str, Json] = {
            "name": name,
            "namespace": "shop",
            "uid": uid or name,
            "resourceVersion": str(self.version),
        }
        self.objects[name] = {"metadata": meta, "spec": dict(spec)}
        self._happened("ADDED" if is_new else "MODIFIED", self.objects[name])

    def remove(self, name: str) -> None:
        """Take a pod away."""
        self.version += 1
        self._happened("DELETED", self.objects.pop(name))

    def bookmark(self) -> None:
        """Say how far it has come."""
        self._happened("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def _happened(self, kind: str, content: Json) -> None:
        self.log.append((self.version, kind, content))
        self._changed.set()

    def forget(self) -> None:
        """Nobody can watch from before this any more."""
        self.compacted = self.version

    def end_watches(self) -> None:
        """Every watch ends; new ones may come."""
        self._ended.set()
        self._ended = asyncio.Event()
        self._changed.set()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Lists and watches."""
        if "sendInitialEvents" in request.query:
            return status(422, "Invalid", "sendInitialEvents: Forbidden")
        if self.answers:
            return self.answers.pop(0)
        return await self.watch(request) if "watch" in request.query else self.list(request)

    def list(self, request: web.Request) -> web.Response:
        """A page."""
        self.n_lists += 1
        limit, start = int(request.query["limit"]), int(request.query.get("continue", 0))
        names = sorted(self.objects)[start : start + limit]
        more = str(start + limit) if start + limit < len(self.objects) else ""
        return web.json_response(
            {
                "metadata": {"resourceVersion": str(self.version), "continue": more},
                "items": [self.objects[name] for name in names],
            }
        )

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """All that happened since, and what happens from now on."""
        ended, sent = self._ended, int(request.query["resourceVersion"])
        self.since.append(sent)
        if sent < self.compacted:
            return await streaming(request, event("ERROR", GONE))
        response = await streaming(request)
        at = next((at for at, one in enumerate(self.log) if one[0] > sent), len(self.log))
        while not ended.is_set():
            for _, kind, content in self.log[at:]:
                await response.write(event(kind, content))
            at = len(self.log)
            self._changed.clear()
            await self._changed.wait()
        if self.is_half_sent:
            self.is_half_sent = False
            await response.write(b'{"type": "ADDED", "obj')
            await asyncio.sleep(0.01)  # until it is on its way
            cut(request)
        return response


class Follower:
    """A mirror at work, and what it told."""

    def __init__(self, mirror: Mirror, notices: list[Notice], timer: VirtualTimer) -> None:
        self.mirror = mirror
        self.notices = notices
        self.timer = timer

    def told(self) -> list[str]:
        """What was told since the last time, in short."""
        short = [_short(one) for one in self.notices]
        self.notices.clear()
        return short

    def names(self) -> list[str]:
        """What it holds."""
        return sorted(name for _, name in self.mirror.objects)


def _short(notice: Notice) -> str:
    match notice:
        case Present():
            return f"+{notice.object.metadata.name}"
        case Absent():
            return f"-{notice.object.metadata.name}"
        case Unreadable():
            return f"?{notice.name}"
        case Stalled():
            return f"!{notice.error.status}"


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  the server and the mirror know of no test
            await asyncio.sleep(0.001)


@asynccontextmanager
async def following(server: Server, n_page: int = 500) -> AsyncIterator[Follower]:
    """A mirror of a server, over HTTP."""
    notices: list[Notice] = []
    timer = VirtualTimer()
    async with served(server) as address, client(address, settings=ONE_TRY) as kube:
        mirror = Mirror(
            kube,
            Scope(PODS),
            tell=notices.append,
            intake=Intake(),
            pace=Pace(timer, no_chance, n_page=n_page),
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(mirror.run())
            try:
                yield Follower(mirror, notices, timer)
            finally:
                running.cancel()
                server.end_watches()


def filled(*names: str) -> Server:
    """A server with some pods."""
    server = Server()
    for name in names:
        server.put(name)
    return server


async def test_everything_is_listed_in_pages_and_then_followed() -> None:
    """In sync once the last page has been told."""
    server = filled("a", "b", "c")
    async with following(server, n_page=2) as follower:
        await follower.mirror.wait_in_sync()
        assert follower.told() == ["+a", "+b", "+c"]
        server.put("d")
        server.put("a", priority=1)
        server.remove("b")
        await until(lambda: len(follower.notices) == 3)
        assert follower.told() == ["+d", "+a", "-b"]
        assert (follower.names(), server.n_lists) == (["a", "c", "d"], 2)
        assert follower.mirror.is_in_sync


async def test_a_watch_that_ends_is_taken_up_where_it_stopped() -> None:
    """Nothing is listed again, told twice or missed."""
    server = filled("a")
    async with following(server) as follower:
        await until(lambda: len(server.since) == 1)
        server.put("b")
        await until(lambda: follower.names() == ["a", "b"])
        server.end_watches()
        server.put("c")
        await until(lambda: follower.names() == ["a", "b", "c"])
        assert follower.told() == ["+a", "+b", "+c"]
        assert (server.n_lists, server.since) == (1, [11, 12])


async def test_a_watch_that_is_cut_within_an_event_loses_nothing() -> None:
    """The half of it is told to nobody, and the whole of it comes again."""
    server = filled("a")
    async with following(server) as follower:
        await until(lambda: len(server.since) == 1)
        server.is_half_sent = True
        server.end_watches()
        await until(lambda: len(server.since) == 2)
        server.put("b")
        await until(lambda: "b" in follower.names())
        assert follower.told() == ["+a", "!0", "+b"]
        assert server.n_lists == 1


async def test_what_happened_while_nobody_looked_is_told_after_a_new_list() -> None:
    """Vanished, new and made anew; what is as it was is not told again."""
    server = filled("a", "b", "c")
    async with following(server) as follower:
        await until(lambda: len(server.since) == 1)
        follower.told()
        server.log.clear()
        server.remove("a")
        server.put("b", uid="another")
        server.put("d")
        server.log.clear()
        server.forget()
        server.end_watches()
        await until(lambda: server.n_lists == 2 and follower.names() == ["b", "c", "d"])
        assert follower.told() == ["-b", "+b", "+d", "-a"]


async def test_a_bookmark_saves_a_list() -> None:
    """The watch goes on from there, although nothing else was told."""
    server = filled("a")
    async with following(server) as follower:
        await until(lambda: len(server.since) == 1)
        server.version += 100
        server.bookmark()
        server.forget()
        await asyncio.sleep(0.01)  # until it has come
        server.end_watches()
        await until(lambda: len(server.since) == 2)
        assert (server.since[1], server.n_lists) == (111, 1)
        assert follower.told() == ["+a"]


async def test_a_bad_object_is_reported_and_the_rest_goes_on() -> None:
    """What was last known of it stays until it is gone."""
    server = filled("a", "b")
    server.put("bad", priority="high")
    async with following(server) as follower:
        await follower.mirror.wait_in_sync()
        assert follower.told() == ["+a", "+b", "?bad"]
        server.put("a", priority="high")
        server.put("b", priority=3)
        await until(lambda: len(follower.notices) == 2)
        assert follower.told() == ["?a", "+b"]
        assert follower.names() == ["a", "b"]
        server.remove("a")
        server.remove("bad")
        server.remove("b")
        await until(lambda: follower.names() == [])
        assert follower.told() == ["-a", "-b"]


async def test_a_bad_object_survives_a_new_list() -> None:
    """It is there, only not to be read."""
    server = filled("a")
    async with following(server) as follower:
        await until(lambda: len(server.since) == 1)
        server.put("a", priority="high")
        server.forget()
        server.log.clear()
        server.end_watches()
        await until(lambda: server.n_lists == 2)
        await until(lambda: len(server.since) == 3)
        assert set(follower.told()) == {"+a", "?a"}
        assert follower.names() == ["a"]


async def test_an_api_that_fails_is_tried_again_ever_more_slowly() -> None:
    """Each failure is told; success forgets them."""
    server = filled("a")
    server.answers = [status(503, "ServiceUnavailable") for _ in range(4)]
    async with following(server) as follower:
        await follower.mirror.wait_in_sync()
        assert follower.told() == ["!503", "!503", "!503", "!503", "+a"]
        assert follower.timer.slept == [0.25, 0.5, 1.0, 2.0]


async def test_a_kind_that_the_cluster_does_not_know_is_an_empty_one() -> None:
    """Until it does."""
    server = filled("a")
    server.answers = [status(404, "NotFound") for _ in range(2)]
    async with following(server) as follower:
        await follower.mirror.wait_in_sync()
        await until(lambda: follower.names() == ["a"])
        assert follower.told() == ["!404", "!404", "+a"]


async def test_a_list_that_grows_too_old_is_read_in_larger_pages() -> None:
    """A token that has expired is no reason to give up, nor to go on in the same way."""
    server = filled(*(f"p{at}" for at in range(8)))

    async def strict(request: web.Request) -> web.StreamResponse:
        if "continue" in request.query:
            return status(410, "Expired")
        return await server(request)

    notices: list[Notice] = []
    async with served(strict) as address, client(address, settings=ONE_TRY) as kube:
        mirror = Mirror(
            kube,
            Scope(PODS),
            tell=notices.append,
            intake=Intake(),
            pace=Pace(VirtualTimer(), no_chance, n_page=1),
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(mirror.run())
            await mirror.wait_in_sync()
            running.cancel()
    assert server.n_lists == 3
    names = [one.object.metadata.name for one in notices if isinstance(one, Present)]
    assert names == [f"p{at}" for at in range(8)]


async def test_watches_that_end_at_once_are_not_asked_for_in_a_frenzy() -> None:
    """Each waits longer than the one before."""
    server = filled("a")
    n_watches = 0

    async def hasty(request: web.Request) -> web.StreamResponse:
        nonlocal n_watches
        if "watch" not in request.query:
            return server.list(request)
        n_watches += 1
        return await streaming(request)

    timer = VirtualTimer()
    async with served(hasty) as address, client(address, settings=ONE_TRY) as kube:
        pace = Pace(timer, no_chance)
        mirror = Mirror(kube, Scope(PODS), tell=_unheard, intake=Intake(), pace=pace)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(mirror.run())
            await until(lambda: len(timer.slept) >= 8)
            running.cancel()
    assert timer.slept[:8] == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


def _unheard(_: Notice) -> None:
    """What is told here is of no interest."""
