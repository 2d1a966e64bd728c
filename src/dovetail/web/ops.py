"""Serves metrics and profiles of a running controller on one port, health on another.

What is served comes from callables that are handed in; nothing here knows where it is from.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from dovetail.errors import InputError
from dovetail.web.profiling import Handler, Profiler

LOOPBACK: Final = "127.0.0.1"
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SHUTDOWN_SECONDS: Final = 1.0
_LARGEST_BODY: Final = 1024  # nothing here reads one


class OpsContent(msgspec.Struct, frozen=True):
    """What there is to serve: metrics in pieces, and what stands in the way of being ready."""

    metrics: Callable[[], Iterable[bytes]]
    problems: Callable[[], tuple[str, ...]]


class OpsPlace(msgspec.Struct, frozen=True):
    """Where it is served. No `host` means all interfaces; port 0 takes any that is free."""

    metrics_port: int = 8080
    health_port: int = 8081
    host: str | None = None
    has_profiling: bool = False


class OpsPorts(msgspec.Struct, frozen=True):
    """The ports that were taken."""

    metrics: int
    health: int


def host(environment: Mapping[str, str]) -> str | None:
    """In a pod all interfaces, since probes and scrapes come from outside; elsewhere loopback,
    since nobody else has any business there.
    """
    return None if environment.get("KUBERNETES_SERVICE_HOST") else LOOPBACK


@asynccontextmanager
async def serving(content: OpsContent, place: OpsPlace) -> AsyncIterator[OpsPorts]:
    """Serve for as long as the block lasts. Raises InputError when a port cannot be had."""
    profiler = Profiler()
    metrics = web.Application(client_max_size=_LARGEST_BODY)
    metrics.router.add_get("/metrics", _metrics(content.metrics))
    if place.has_profiling:
        metrics.add_routes(profiler.routes())
    health = web.Application(client_max_size=_LARGEST_BODY)
    health.router.add_get("/healthz", _healthy)
    health.router.add_get("/readyz", _ready(content.problems))
    metrics_at = _Asked("--metrics-port", place.metrics_port, place.host)
    health_at = _Asked("--health-probe-port", place.health_port, place.host)
    async with _listen(metrics, metrics_at) as at, _listen(health, health_at) as health_port:
        try:
            yield OpsPorts(at, health_port)
        finally:
            profiler.stop()


class _Asked(msgspec.Struct, frozen=True):
    """Where to listen, and which flag says so."""

    flag: str
    port: int
    host: str | None


@asynccontextmanager
async def _listen(app: web.Application, asked: _Asked) -> AsyncIterator[int]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, asked.host, asked.port).start()
        except OSError as error:
            where = f"{asked.host or 'all interfaces'}, port {asked.port}"
            msg = f"{asked.flag}: cannot listen on {where}: {error.strerror or error}"
            raise InputError(msg) from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _healthy(request: web.Request) -> web.Response:
    """It answers, so the loop turns."""
    del request
    return web.Response(text="ok\n")


def _ready(problems: Callable[[], tuple[str, ...]]) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        del request
        faults = problems()
        if not faults:
            return web.Response(text="ok\n")
        return web.Response(status=503, text="".join(f"{line}\n" for line in faults))

    return answer


def _metrics(metrics: Callable[[], Iterable[bytes]]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        pieces = iter(metrics())
        first = next(pieces, b"")  # what fails here still becomes an error for whoever asks
        response = web.StreamResponse(headers={"Content-Type": _METRICS_TYPE})
        await response.prepare(request)
        await response.write(first)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)  # others get their turn between pieces
        await response.write_eof()
        return response

    return answer
