"""Holds the current credentials: a token, a client certificate, or both.

Tokens and certificates in files are rotated by others, so files are read again every minute, and at
once when the server refuses what they said.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Protocol

import msgspec

from dovetail.clock import Timer
from dovetail.errors import InputError

_FRESH_FOR_SECONDS: Final = 60.0
_UNPRINTABLE: Final = re.compile(r"[^\x21-\x7e]")
_BREAKS: Final = re.compile(r"[\r\n\0]")


class Identity(msgspec.Struct, frozen=True, gc=False):
    """What is shown to the server; empty parts are not shown. PEM for certificate and key."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""


class Credentials(Protocol):
    """Knows who we are, and finds out anew."""

    async def current(self) -> Identity:
        """Who we are now. Raises UnauthorizedError or InputError."""
        ...

    async def renew(self, refused: Identity) -> Identity:
        """Who we are now that the server has refused this; equal to it if nothing is new."""
        ...


def is_token(text: str) -> bool:
    """Whether it can stand in a header as a token; none at all can."""
    return not _UNPRINTABLE.search(text)


def is_header_value(text: str) -> bool:
    """Whether it ends no line of its own accord."""
    return not _BREAKS.search(text)


class Material(msgspec.Struct, frozen=True, gc=False):
    """Secret or certificate: the bytes themselves, or the file to find them in, and its field."""

    data: bytes = b""
    path: str = ""
    field: str = ""

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return bool(self.data or self.path)

    def read(self) -> bytes:
        """What it is now. Raises InputError."""
        if not self.path:
            return self.data
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            msg = f"{self.field}: expected a readable file at {self.path}: {error.strerror}"
            raise InputError(msg) from error


class StoredIdentity(msgspec.Struct, frozen=True, gc=False):
    """Where an identity is written down."""

    token: Material = Material()
    certificate: Material = Material()
    key: Material = Material()

    def read(self) -> Identity:
        """The identity now. Raises InputError."""
        token = self.token.read().decode(errors="replace").strip()
        if not is_token(token):
            msg = f"{self.token.field}: expected a token of printable characters, in one line"
            raise InputError(msg)
        return Identity(token, self.certificate.read(), self.key.read())


class StoredCredentials:
    """An identity that is written down. What is read once stays good until a new one is there."""

    def __init__(self, stored: StoredIdentity, timer: Timer) -> None:
        self._stored = stored
        self._timer = timer
        self._identity = stored.read()
        self._read_at = timer.elapsed_seconds()

    async def current(self) -> Identity:
        """Who we are now."""
        if self._timer.elapsed_seconds() - self._read_at >= _FRESH_FOR_SECONDS:
            self._read_again()
        return self._identity

    async def renew(self, refused: Identity) -> Identity:
        """Who we are now that the server has refused this."""
        if refused == self._identity:
            self._read_again()
        return self._identity

    def _read_again(self) -> None:
        self._read_at = self._timer.elapsed_seconds()
        try:
            self._identity = self._stored.read()
        except InputError:
            return  # a file that is being replaced: try again in a minute
