"""Guards of servers on loopback: only this machine may ask, and no page of another site.

Such a page can have a name of its own resolve to 127.0.0.1; the browser then sends that name. And
it can send a form anywhere; the browser then says where that came from.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def by_its_own_name(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer only to a name of this machine."""
    name, _, port = request.host.lower().rpartition(":")
    if not port.isdecimal():
        name = request.host.lower()
    if name in _NAMES:
        return await handler(request)
    return web.Response(status=403, text="only for this machine\n")


@web.middleware
async def not_for_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer no page at all: tools such as kubectl name no origin."""
    if "Origin" in request.headers:
        return web.Response(status=403, text="not for pages\n")
    return await handler(request)
