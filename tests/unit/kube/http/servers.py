"""A real server on the loopback that plays an API's part, and a client of it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from dovetail import api
from dovetail.kube.http.client import HttpKube
from dovetail.kube.http.plugin import Access
from dovetail.kube.http.transport import HttpSettings, World
from dovetail.kube.seam import Json
from tests.unit.kube.surroundings import VirtualClock, VirtualTimer, no_chance

PODS: Final = api.KINDS["", "Pod"]
NODES: Final = api.KINDS["", "Node"]
CLAIMS: Final = api.KINDS["karpenter.sh", "NodeClaim"]
CERTIFICATES: Final = Path(__file__).parent / "certificates"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that gives every request to one handler."""

    async def handled(request: web.Request) -> web.StreamResponse:
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handled)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def client(
    access: Access | str, timer: VirtualTimer | None = None, settings: HttpSettings | None = None
) -> AsyncIterator[HttpKube]:
    """A client in virtual time."""
    found = Access(access) if isinstance(access, str) else access
    world = World(VirtualClock(), timer or VirtualTimer(), no_chance)
    async with HttpKube(found, world, settings) as kube:
        yield kube


def status(code: int, reason: str, message: str = "", **details: Json) -> web.Response:
    """A Status, as the API server writes it."""
    return web.json_response(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        },
        status=code,
    )


def pod(name: str, version: str = "1") -> dict[str, Json]:
    """A pod with little to it."""
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": version}}


def event(kind: str, content: Json) -> bytes:
    """One line of a watch."""
    return msgspec.json.encode({"type": kind, "object": content}) + b"\n"


async def streaming(request: web.Request, *chunks: bytes) -> web.StreamResponse:
    """A watch that is sent in these chunks and stays open: close it or finish it."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for chunk in chunks:
        await response.write(chunk)
    return response


def cut(request: web.Request) -> None:
    """Drop the connection without a word."""
    transport = request.transport
    if transport is not None:
        transport.abort()
