"""Parses answers: Status objects become errors, lists become pages, lines become changes.

Only the wrapping is decoded here; objects stay JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, TypeVar

import msgspec

from dovetail.kube.errors import (
    DISRUPTION_BUDGET,
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from dovetail.kube.seam import Page, WatchEvent, WatchEventType

_ERROR: Final = "ERROR"
_LONGEST_QUOTE: Final = 200


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Part of an answer."""


class _Cause(_Wire, frozen=True):
    reason: str | None = ""


class _Details(_Wire, frozen=True):
    retry_after_seconds: int | None = 0
    causes: list[_Cause] | None = None


class _Status(_Wire, frozen=True):
    """What the API says instead of an object."""

    message: str | None = ""
    reason: str | None = ""
    code: int | None = 0
    details: _Details | None = None

    def has_cause(self, reason: str) -> bool:
        """Whether the details name it."""
        causes = self.details.causes if self.details else None
        return any(cause.reason == reason for cause in causes or ())

    @property
    def retry_after_seconds(self) -> int:
        """0 if the status does not say."""
        return (self.details.retry_after_seconds or 0) if self.details else 0


class _ListMeta(_Wire, frozen=True):
    resource_version: str = ""
    token: str | None = msgspec.field(default="", name="continue")


class _List(_Wire, frozen=True):
    items: tuple[msgspec.Raw, ...] | None
    metadata: _ListMeta = _ListMeta()


class _Event(_Wire, frozen=True):
    type: str
    object: msgspec.Raw


class _Meta(_Wire, frozen=True):
    resource_version: str = ""


class _Versioned(_Wire, frozen=True):
    metadata: _Meta = _Meta()


class _ServerVersion(_Wire, frozen=True):
    git_version: str = ""


_statuses: Final = msgspec.json.Decoder(_Status)
_lists: Final = msgspec.json.Decoder(_List)
_events: Final = msgspec.json.Decoder(_Event)
_versions: Final = msgspec.json.Decoder(_Versioned)
_server_versions: Final = msgspec.json.Decoder(_ServerVersion)
_objects: Final = msgspec.json.Decoder(msgspec.Raw)

T = TypeVar("T")

_ERRORS: Final[Mapping[int, type[ApiError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    **dict.fromkeys((400, 405, 406, 413, 415, 422), InvalidError),
}


def error_of(code: int, body: bytes | msgspec.Raw, retry_after: str = "") -> ApiError:
    """The error that an answer other than success stands for; `retry_after` is the header."""
    status = _status(body)
    code = code or status.code or 500
    reason, message = status.reason or "", status.message or ""
    if code == 429:
        wait = _seconds(retry_after) or status.retry_after_seconds
        return TooManyRequestsError(
            code,
            reason,
            message,
            timedelta(seconds=wait) if wait else None,
            DISRUPTION_BUDGET if status.has_cause(DISRUPTION_BUDGET) else "",
        )
    if code >= 500:
        return UnavailableError(code, reason, message)
    if reason == "AlreadyExists":
        return AlreadyExistsError(code, reason, message)
    return _ERRORS.get(code, ApiError)(code, reason, message)


def _status(body: bytes | msgspec.Raw) -> _Status:
    try:
        return _statuses.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Status(message=bytes(body)[:_LONGEST_QUOTE].decode(errors="replace").strip())


def _seconds(header: str) -> int:
    """A Retry-After in seconds; the API server never sends dates."""
    return int(header) if header.isascii() and header.isdigit() and len(header) < 9 else 0


def page_of(body: bytes) -> Page:
    """A page of a list. Raises UnavailableError if it is none."""
    page = _read(_lists.decode, body, "a list")
    return Page(page.items or (), page.metadata.resource_version, page.metadata.token or "")


def object_of(body: bytes) -> msgspec.Raw:
    """One object. Raises UnavailableError if it is none."""
    return _read(_objects.decode, body, "an object")


def version_of(body: bytes) -> str:
    """The version that a server tells. Raises UnavailableError if it tells none."""
    version = _read(_server_versions.decode, body, "a version").git_version
    if not version:
        expected = "a version"
        raise _garbled_error(expected, body, "it is empty")
    return version


def change_of(line: bytes) -> WatchEvent:
    """One event of a watch. Raises what an ERROR event says, UnavailableError if it is no event."""
    event = _read(_events.decode, line, "an event")
    if event.type == _ERROR:
        raise error_of(0, event.object)
    try:
        kind = WatchEventType(event.type)
    except ValueError:
        msg = "an event"
        raise _garbled_error(msg, line, f"its type is {event.type!r}") from None
    version = _read(_versions.decode, event.object, "an event").metadata.resource_version
    return WatchEvent(kind, event.object, version)


def _read(
    decode: Callable[[bytes | msgspec.Raw], T], body: bytes | msgspec.Raw, expected: str
) -> T:
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _garbled_error(expected, body, str(error)) from None


def _garbled_error(expected: str, body: bytes | msgspec.Raw, why: str) -> UnavailableError:
    start = bytes(body)[:_LONGEST_QUOTE].decode(errors="replace")
    return UnavailableError(200, "", f"expected {expected}, but {why}; it begins {start!r}")
