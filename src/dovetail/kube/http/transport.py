"""Sends requests, under the rate limit and with the current credentials.

Answers other than success, and connections that fail, become the errors of `kube/errors.py`.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Self, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from dovetail.clock import Clock, Timer
from dovetail.errors import InputError
from dovetail.kube.errors import ApiError, UnauthorizedError, UnavailableError
from dovetail.kube.http import answers
from dovetail.kube.http.credentials import Credentials, Identity, StoredCredentials
from dovetail.kube.http.plugin import Access, Plugin, PluginCredentials
from dovetail.kube.http.retry import Repeat, Retries, UnsentError, UntrustedError
from dovetail.kube.http.tls import Contexts
from dovetail.model.backoff import Chance


class RateLimit:
    """`burst` requests at once, then `per_second`; first come, first served.

    A place in the queue is the moment at which its token will be there, so that nobody overtakes;
    who gives up waiting leaves that token unused.
    """

    def __init__(self, per_second: float, burst: int, timer: Timer) -> None:
        self._interval_seconds = 1 / per_second
        self._slack_seconds = (max(burst, 1) - 1) / per_second
        self._timer = timer
        self._next_at = float("-inf")  # when the next token would be there without any slack

    async def take(self) -> None:
        """Return once a request may be sent."""
        now = self._timer.elapsed_seconds()
        at = max(self._next_at, now - self._slack_seconds)
        self._next_at = at + self._interval_seconds
        if at > now:
            await self._timer.sleep(at - now)


JSON: Final = "application/json"
T = TypeVar("T")


def _version() -> str:
    try:
        return version("dovetail")
    except PackageNotFoundError:  # run from its source, not installed
        return "source"


USER_AGENT: Final = f"dovetail/{_version()}"
# No connection, or a proxy that made none.
_UNSENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)


class HttpSettings(msgspec.Struct, frozen=True):
    """How hard and how patiently a server is asked. The rates are the reference's."""

    requests_per_second: float = 200.0
    burst: int = 300
    n_connections: int = 128
    connect_seconds: float = 10.0
    answer_seconds: float = 60.0
    idle_watch_seconds: float = 180.0  # servers send a bookmark every minute
    shortest_watch_seconds: float = 300.0  # each watch is asked to last up to twice that
    retries: Retries = Retries()


class World(msgspec.Struct, frozen=True):
    """What a client takes from its surroundings; `environment` is for plugins."""

    clock: Clock
    timer: Timer
    chance: Chance
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)


class Request(msgspec.Struct, frozen=True):
    """One thing to ask, by path and query. An urgent one does not wait behind the others."""

    method: str
    path: str
    repeat: Repeat
    body: bytes | None = None
    content_type: str = JSON
    is_urgent: bool = False


class Transport:
    """Sends requests to one server. Use it as a context manager."""

    def __init__(self, access: Access, world: World, settings: HttpSettings) -> None:
        self._access = access
        self._world = world
        self._settings = settings
        self._credentials = _credentials(access, world)
        self._contexts = Contexts(access.trust)
        if not isinstance(access.identity, Plugin):
            self._contexts.of(access.identity.read())  # a bad pair is told before any request
        self._rate = RateLimit(settings.requests_per_second, settings.burst, world.timer)
        connect = settings.connect_seconds
        self._prompt = aiohttp.ClientTimeout(total=settings.answer_seconds, sock_connect=connect)
        self._patient = aiohttp.ClientTimeout(
            total=None, sock_connect=connect, sock_read=settings.idle_watch_seconds
        )
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._settings.n_connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": USER_AGENT, "Accept": JSON, "Accept-Encoding": "gzip"},
        )
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def answer(self, request: Request, read: Callable[[bytes], T]) -> T:
        """What the server answers, as `read` understands it. Raises ApiError."""

        async def once() -> T:
            response = await self._send(request, self._prompt)
            with _translate_errors(request):
                async with response:
                    return read(await response.read())

        return await self._try_request(request.repeat, once)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """An answer in chunks, as they come. It ends when the server ends it or falls silent."""

        async def once() -> aiohttp.ClientResponse:
            return await self._send(request, self._patient)

        response = await self._try_request(request.repeat, once)
        try:
            yield _chunks(response, request)
        finally:
            response.close()

    async def _try_request(self, repeat: Repeat, attempt: Callable[[], Awaitable[T]]) -> T:
        n_failed = 0
        while True:
            try:
                return await attempt()
            except ApiError as error:
                n_failed += 1
                wait = self._settings.retries.wait_seconds(
                    error, repeat=repeat, n_failed=n_failed, chance=self._world.chance
                )
                if wait is None:
                    raise
            await self._world.timer.sleep(wait)

    async def _send(
        self, request: Request, patience: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """The answer of a server that knows us: who is refused asks for new credentials, once."""
        identity = await self._credentials.current()
        try:
            return await self._send_as(identity, request, patience)
        except UnauthorizedError:
            renewed = await self._credentials.renew(identity)
            if renewed == identity:
                raise
        return await self._send_as(renewed, request, patience)

    async def _send_as(
        self, identity: Identity, request: Request, patience: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            msg = "the client is closed"
            raise UnavailableError(0, "", msg)
        if not request.is_urgent:
            await self._rate.take()
        with _translate_errors(request):
            response = await self._session.request(
                request.method,
                URL(self._access.server + request.path, encoded=True),
                data=request.body,
                headers=self._headers(identity, request),
                timeout=patience,
                allow_redirects=False,  # a redirect would carry the token elsewhere
                proxy=self._access.proxy or None,
                ssl=self._contexts.of(identity),
                server_hostname=self._access.trust.server_name or None,
            )
            if response.status < 300:
                return response
            async with response:
                header = response.headers.get("Retry-After", "")
                raise answers.error_of(response.status, await response.read(), header)

    def _headers(self, identity: Identity, request: Request) -> CIMultiDict[str]:
        headers = CIMultiDict(self._access.headers)
        if identity.token:
            headers["Authorization"] = f"Bearer {identity.token}"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        return headers


def _credentials(access: Access, world: World) -> Credentials:
    if isinstance(access.identity, Plugin):
        return PluginCredentials(access.identity, world.environment, world.clock)
    return StoredCredentials(access.identity, world.timer)


async def _chunks(response: aiohttp.ClientResponse, request: Request) -> AsyncIterator[bytes]:
    with _translate_errors(request):
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except aiohttp.SocketTimeoutError:
            return  # nothing happened for long, or nobody is there any more: ask again


@contextmanager
def _translate_errors(request: Request) -> Iterator[None]:
    """What the connection suffers, as errors of the seam."""
    doing = f"{request.method} {request.path.partition('?')[0]}"
    try:
        yield
    except InputError as error:  # of credentials that were good at the start
        raise UnauthorizedError(401, "Unauthorized", f"{doing}: {error}") from error
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        msg = f"{doing}: TLS failed: {error}"
        raise UntrustedError(0, "", msg) from error
    except _UNSENT as error:
        msg = f"{doing}: no connection: {error}"
        raise UnsentError(0, "", msg) from error
    except TimeoutError as error:
        msg = f"{doing}: no answer in time"
        raise UnavailableError(0, "", msg) from error
    except (aiohttp.ClientError, OSError) as error:
        msg = f"{doing}: connection lost: {str(error) or type(error).__name__}"
        raise UnavailableError(0, "", msg) from error
