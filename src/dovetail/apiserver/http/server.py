"""Serves the API in memory over HTTP, on 127.0.0.1.

async with serve(kube, clock=clock, timer=timer) as served:
    print(served.url)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from dovetail.apiserver import MemoryKube, refusals
from dovetail.apiserver.http import discovery, openapi, reading
from dovetail.apiserver.http.kinds import target
from dovetail.apiserver.http.reading import Reading
from dovetail.apiserver.http.writing import Writing
from dovetail.clock import Clock, Timer
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Servable
from dovetail.loopback import by_its_own_name, not_for_pages

_HOST: Final = "127.0.0.1"
_LARGEST_BODY: Final = 3 * 2**20
_BOOKMARK_SECONDS: Final = 30.0  # clients take a watch for dead that says nothing for minutes
_FAREWELL_SECONDS: Final = 0.1
_OPENAPI_V2: Final = "/openapi/v2"
_OF_CONTAINERS: Final = ("attach", "exec", "log", "portforward", "proxy")
_PROBES: Final = ("/healthz", "/livez", "/readyz")


class Served(msgspec.Struct, frozen=True):
    """A server that listens."""

    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{_HOST}:{self.port}"

    def kubeconfig(self) -> str:
        """What kubectl and other clients need to reach it."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "dovetail",
            "clusters": [{"name": "dovetail", "cluster": {"server": self.url}}],
            "users": [{"name": "dovetail", "user": {}}],
            "contexts": [
                {"name": "dovetail", "context": {"cluster": "dovetail", "user": "dovetail"}}
            ],
        }
        return msgspec.json.format(msgspec.json.encode(config)).decode()


def application(kube: Servable, clock: Clock) -> web.Application:
    """The API as an application, to be served alone or within another."""
    guards = [by_its_own_name, not_for_pages]
    made = web.Application(client_max_size=_LARGEST_BODY, middlewares=guards)
    made.router.add_route("*", "/{path:.*}", _Front(kube, clock).answer)
    return made


@asynccontextmanager
async def serve(
    kube: MemoryKube, *, clock: Clock, timer: Timer, port: int = 0
) -> AsyncIterator[Served]:
    """Serve on 127.0.0.1 for as long as the block lasts; port 0 means any that is free."""
    runner = web.AppRunner(
        application(kube, clock),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_FAREWELL_SECONDS,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, _HOST, port)
        await site.start()
        async with asyncio.TaskGroup() as group:
            marking = group.create_task(_send_bookmarks(kube, timer))
            yield Served(int(runner.addresses[0][1]))
            marking.cancel()
    finally:
        await runner.cleanup()


async def _send_bookmarks(kube: MemoryKube, timer: Timer) -> None:
    while True:
        await timer.sleep(_BOOKMARK_SECONDS)
        kube.send_bookmarks()


class _Front:
    """Takes every request, and finds who answers it."""

    def __init__(self, kube: Servable, clock: Clock) -> None:
        reading, writing = Reading(kube, clock), Writing(kube)
        self._answers = {
            "GET": reading.get,
            "POST": writing.post,
            "PATCH": writing.patch,
            "PUT": writing.put,
            "DELETE": writing.delete,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer, whatever is asked."""
        path = request.rel_url.raw_path
        if path in _PROBES:
            return web.Response(text="ok")
        if path == _OPENAPI_V2:
            return web.Response(
                body=openapi.document_v2(), headers={"Content-Type": openapi.CONTENT_TYPE}
            )
        about = discovery.document(path)
        if about is not None:
            return web.json_response(about)
        try:
            meant = target(path)
            respond = self._answers.get(request.method)
            if meant is None:
                raise refusals.no_such_resource()
            if meant.subresource in _OF_CONTAINERS:
                raise refusals.no_containers()
            if respond is None:
                raise refusals.no_such_method(request.method)
            return await respond(request, meant)
        except ApiError as error:
            return reading.refusal_response(error)
