"""Runs exec plugins for credentials, such as those of EKS, GKE and AKS; defines access to a server.

The program is run at first need, when what it gave expires, and when the server refuses that; many
requests that need it at once wait for one run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Clock
from dovetail.kube.errors import UnauthorizedError
from dovetail.kube.http.credentials import Identity, StoredIdentity, is_token
from dovetail.kube.http.tls import Trust
from dovetail.kube.seam import Body

VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EARLY: Final = timedelta(seconds=10)  # renewed before it expires under way
_LONGEST_QUOTE: Final = 500


class Plugin(msgspec.Struct, frozen=True):
    """A program to run. `cluster` is told to it if not empty; `origin` says where this stands."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    api_version: str = VERSIONS[0]
    cluster: Body = msgspec.field(default_factory=dict)
    install_hint: str = ""
    origin: str = ""
    timeout_seconds: float = 60.0

    def request(self) -> str:
        """What the program finds in KUBERNETES_EXEC_INFO."""
        spec: dict[str, object] = {"interactive": False}
        if self.cluster:
            spec["cluster"] = self.cluster
        request = {"kind": "ExecCredential", "apiVersion": self.api_version, "spec": spec}
        return msgspec.json.encode(request).decode()


class _Given(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Given | None = None


class PluginCredentials:
    """The identity that a plugin gives, kept until it expires or is refused."""

    def __init__(self, plugin: Plugin, environment: Mapping[str, str], clock: Clock) -> None:
        self._plugin = plugin
        self._environment = environment
        self._clock = clock
        self._running = asyncio.Lock()
        self._identity: Identity | None = None
        self._expires_at: datetime | None = None

    async def current(self) -> Identity:
        """Who we are now. Raises UnauthorizedError if the plugin fails."""
        async with self._running:
            return self._fresh() or await self._ask()

    async def renew(self, refused: Identity) -> Identity:
        """Who we are now that the server has refused this."""
        async with self._running:
            identity = self._fresh()
            return identity if identity is not None and identity != refused else await self._ask()

    def _fresh(self) -> Identity | None:
        is_stale = self._expires_at is not None and self._clock.now() >= self._expires_at - _EARLY
        return None if is_stale else self._identity

    async def _ask(self) -> Identity:
        answer = self._parse_output(await self._run())
        if answer.status is None or answer.kind != "ExecCredential":
            msg = "expected it to print an ExecCredential with a status"
            raise self._failure(msg)
        if answer.api_version != self._plugin.api_version:
            told = answer.api_version
            msg = f"expected apiVersion {self._plugin.api_version}, not {told!r}"
            raise self._failure(msg)
        given = answer.status
        has_certificate = given.client_certificate_data and given.client_key_data
        if not (given.token or has_certificate) or not is_token(given.token):
            msg = "expected a token in one line, or a client certificate with its key"
            raise self._failure(msg)
        self._identity = Identity(
            given.token, given.client_certificate_data.encode(), given.client_key_data.encode()
        )
        self._expires_at = _in_utc(given.expiration_timestamp)
        return self._identity

    async def _run(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.arguments,
                env={
                    **self._environment,
                    **self._plugin.environment,
                    "KUBERNETES_EXEC_INFO": self._plugin.request(),
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self._plugin.install_hint}" if self._plugin.install_hint else ""
            msg = f"it cannot be run: {error.strerror}{hint}"
            raise self._failure(msg) from error
        out, complaint = await self._output(process)
        if process.returncode:
            told = complaint.decode(errors="replace").strip()[-_LONGEST_QUOTE:]
            msg = f"it ended with {process.returncode}: {told}"
            raise self._failure(msg)
        return out

    async def _output(self, process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(self._plugin.timeout_seconds):
                return await process.communicate()
        except TimeoutError:
            msg = f"it did not end within {self._plugin.timeout_seconds:g} s"
            raise self._failure(msg) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _parse_output(self, out: bytes) -> _ExecCredential:
        try:
            return api.decode(_ExecCredential, out)
        except api.DecodeError as error:
            msg = f"what it printed is wrong: {error}"
            raise self._failure(msg) from None

    def _failure(self, problem: str) -> UnauthorizedError:
        msg = f"{self._plugin.origin}: running {self._plugin.command}: {problem}"
        return UnauthorizedError(401, "Unauthorized", msg)


def _in_utc(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant and instant.tzinfo is None else instant


class Access(msgspec.Struct, frozen=True):
    """One server and who we are to it. `origin` says where that is written, for messages."""

    server: str
    trust: Trust = Trust()
    identity: StoredIdentity | Plugin = StoredIdentity()
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # whom we act for
    namespace: str = "default"
    origin: str = ""
