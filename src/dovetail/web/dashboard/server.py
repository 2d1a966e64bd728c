"""Serves the page: files, a stream of changes, and answers; nothing is written.

It listens on loopback unless told otherwise. Names and messages from the cluster travel as JSON and
are put into the page as text. The headers forbid everything that the page does not need.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from ipaddress import ip_address
from typing import Final

import msgspec
from aiohttp import web

from dovetail.errors import InputError
from dovetail.loopback import Handler, by_its_own_name
from dovetail.present.board import pool_cards
from dovetail.present.explanation import Explanation
from dovetail.web.dashboard.lookout import explain_deed
from dovetail.web.dashboard.stream import Stream

LOOPBACK: Final = "127.0.0.1"
_FAREWELL_SECONDS: Final = 0.1
_LARGEST_BODY: Final = 1024
_LARGEST_QUESTION: Final = 600
_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
Explain = Callable[[str], Awaitable[Explanation]]
SetTempo = Callable[[float], None]


class DashboardContent(msgspec.Struct, frozen=True):
    """What there is to serve. `explain` answers for one object, by kind/name; `set_tempo` is there
    only where time is not the real one.
    """

    stream: Stream
    explain: Explain
    set_tempo: SetTempo | None = None


class ListenAddress(msgspec.Struct, frozen=True):
    """Where to listen; port 0 takes any that is free. `flag` is what a complaint names."""

    port: int = 0
    host: str = LOOPBACK
    flag: str = "--port"


@asynccontextmanager
async def serving(content: DashboardContent, place: ListenAddress) -> AsyncIterator[int]:
    """Serve for as long as the block lasts; the port. Raises InputError if it cannot be had."""
    runner = web.AppRunner(
        application(content, place),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_FAREWELL_SECONDS,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, place.host, place.port).start()
        except OSError as error:
            msg = (
                f"{place.flag}: cannot listen on {place.host}, port {place.port}: "
                f"{error.strerror or error}; name another port, or 0 for any that is free"
            )
            raise InputError(msg) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def application(content: DashboardContent, place: ListenAddress) -> web.Application:
    """The page and its answers, every one of them with strict headers."""
    guards = [by_its_own_name] if _is_local(place.host) else []
    made = web.Application(client_max_size=_LARGEST_BODY, middlewares=guards)
    made.on_response_prepare.append(_strict)
    asked = _Asked(content)
    made.router.add_get("/", _page("index.html"))
    made.router.add_get("/stream", content.stream.answer, allow_head=False)  # it would never end
    made.router.add_get("/pools", asked.pools)
    made.router.add_get("/explain", asked.explain)
    made.router.add_get(r"/decisions/{number:\d{1,9}}/{place:\d{1,6}}", asked.decision)
    if content.set_tempo is not None:
        made.router.add_post("/tempo", asked.tempo)
    made.router.add_get(r"/{name:[a-z]+\.(?:js|css|svg)}", _file)
    return made


async def _strict(request: web.Request, response: web.StreamResponse) -> None:
    """Also for failures and for the stream. What it is served with is nobody's business."""
    del request
    response.headers.update(_HEADERS)
    response.headers["Server"] = "dovetail"


def _is_local(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _page(name: str) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        del request
        return _static(name)

    return answer


async def _file(request: web.Request) -> web.Response:
    return _static(request.match_info["name"])


def _static(name: str) -> web.Response:
    traversable = files("dovetail.web.dashboard") / "pages" / name
    if not traversable.is_file():
        raise web.HTTPNotFound
    suffix = name[name.rindex(".") :]
    return web.Response(body=traversable.read_bytes(), content_type=_TYPES[suffix], charset="utf-8")


class _Asked:
    """Answers to questions of the page."""

    def __init__(self, content: DashboardContent) -> None:
        self._content = content

    async def pools(self, request: web.Request) -> web.Response:
        """Every NodePool, with limits and budgets."""
        del request
        lookout = self._content.stream.lookout
        moment = lookout.now
        if moment is None:
            return _json([])
        return _json(await asyncio.to_thread(pool_cards, lookout.snapshot, moment))

    async def explain(self, request: web.Request) -> web.Response:
        """Why one object is as it is."""
        asked = request.query.get("what", "")[:_LARGEST_QUESTION]
        try:
            return _json(await self._content.explain(asked))
        except InputError as error:
            return _json({"problem": str(error)}, status=404)

    async def decision(self, request: web.Request) -> web.Response:
        """One line of the timeline, whole."""
        number, place = (int(request.match_info[name]) for name in ("number", "place"))
        decision = self._content.stream.lookout.decision_of(number)
        if decision is not None:
            explanation = await asyncio.to_thread(explain_deed, decision, place)
            if explanation is not None:
                return _json(explanation)
        return _json({"problem": "that decision is not remembered any more"}, status=404)

    async def tempo(self, request: web.Request) -> web.Response:
        """Let time pass faster, slower or not at all. Only for the page itself."""
        origin = request.headers.get("Origin", "")
        if request.content_type != "application/json" or origin != f"http://{request.host}":
            return _json({"problem": "only for the page itself"}, status=403)
        try:
            wanted = msgspec.json.decode(await request.read(), type=_Tempo)
        except msgspec.DecodeError as error:
            return _json({"problem": str(error)}, status=400)
        if self._content.set_tempo is not None:
            self._content.set_tempo(wanted.rate)
        return _json({})


class _Tempo(msgspec.Struct, forbid_unknown_fields=True):
    rate: float


def _json(answer: object, status: int = 200) -> web.Response:
    body = msgspec.json.encode(answer)
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8")
