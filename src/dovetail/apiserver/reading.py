"""Lists objects page by page, and watches them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from itertools import islice
from typing import Final

import msgspec

from dovetail.apiserver import refusals
from dovetail.apiserver.selectors import Selector, of_scope, prefix_of
from dovetail.apiserver.storage import ObjectStore
from dovetail.apiserver.table import KindTable, Logged, with_version
from dovetail.apiserver.trees import Obj, encode
from dovetail.kube.seam import Page, Scope, WatchEvent, WatchEventType

_ANY_VERSION: Final = ("", "0")
_INITIAL_EVENTS_END: Final[Obj] = {"annotations": {"k8s.io/initial-events-end": "true"}}


class _Token(msgspec.Struct, frozen=True):
    """Where a list goes on: the version of its first page, and the last key that was shown."""

    version: int
    after: str


_tokens: Final = msgspec.json.Decoder(_Token)


def page(storage: ObjectStore, scope: Scope, limit: int, token: str) -> Page:
    """Part of a list; every part shows the same version."""
    table = storage.table(scope.kind)
    selector = of_scope(scope, storage.traits(scope.kind))
    prefix = prefix_of(scope.kind, scope.namespace)
    where = _read_token(token) if token else _Token(storage.version, "")
    if where.version < table.oldest:
        raise refusals.expired_token()
    rows = table.at(where.version, prefix, where.after)
    meant = rows if selector == Selector() else (pair for pair in rows if selector.matches(pair[1]))
    shown = list(islice(meant, limit)) if limit > 0 else list(meant)
    has_more = limit > 0 and next(meant, None) is not None
    return Page(
        items=tuple(stored.raw for _, stored in shown),
        resource_version=str(where.version),
        token=_write_token(_Token(where.version, shown[-1][0])) if has_more else "",
    )


def _write_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _read_token(written: str) -> _Token:
    try:
        return _tokens.decode(base64.urlsafe_b64decode(written))
    except (binascii.Error, ValueError, msgspec.DecodeError):
        msg = "continue key is not valid"
        raise refusals.bad_request(msg) from None


async def changes(storage: ObjectStore, scope: Scope, since: str) -> AsyncIterator[WatchEvent]:
    """Every change after a version; from no version, first everything that is there."""
    table = storage.table(scope.kind)
    watcher = _Watcher(storage, table, scope)
    if since in _ANY_VERSION:
        version = storage.version
        place = table.place(version)
        for event in watcher.initial():
            yield event
        yield watcher.bookmark(version, _INITIAL_EVENTS_END)
    else:
        place = table.place(_version(since, table))
    async for event in watcher.follow(place):
        yield event


def _version(since: str, table: KindTable) -> int:
    if not since.isdigit():
        msg = f"resourceVersion: Invalid value: {since!r}: expected a number"
        raise refusals.bad_request(msg)
    if int(since) < table.oldest:
        raise refusals.gone_error(int(since), table.oldest)
    return int(since)


class _Watcher:
    """Follows a table's log, and tells what of it concerns a scope."""

    def __init__(self, storage: ObjectStore, table: KindTable, scope: Scope) -> None:
        self._storage = storage
        self._table = table
        self._kind = scope.kind
        self._selector: Selector = of_scope(scope, storage.traits(scope.kind))
        self._prefix = prefix_of(scope.kind, scope.namespace)
        self._n_bookmarks = table.n_bookmarks
        self._n_cuts = table.n_cuts

    def initial(self) -> list[WatchEvent]:
        """Everything that is there, as if it had just come."""
        return [
            WatchEvent(WatchEventType.ADDED, stored.raw, str(stored.version))
            for _, stored in self._table.items(self._prefix)
            if self._selector.matches(stored)
        ]

    async def follow(self, place: int) -> AsyncIterator[WatchEvent]:
        """Every change from a place in the log on, until the watch is cut or falls behind."""
        table = self._table
        while place >= table.n_dropped and self._n_cuts == table.n_cuts:
            logged = table.after(place)
            if logged is not None:
                place += 1
                change = self._event_of(logged)
                if change is not None:
                    yield change
            elif self._n_bookmarks < table.n_bookmarks:
                self._n_bookmarks = table.n_bookmarks
                yield self.bookmark(self._storage.version, {})
            else:
                await table.wait_for_change()

    def bookmark(self, version: int, more: Obj) -> WatchEvent:
        """Says that everything up to a version has been told."""
        told = str(version)
        tree: Obj = {
            "kind": self._kind.name,
            "apiVersion": self._kind.api_version,
            "metadata": {"resourceVersion": told, **more},
        }
        return WatchEvent(WatchEventType.BOOKMARK, encode(tree), told)

    def _event_of(self, logged: Logged) -> WatchEvent | None:
        """A change as this watch sees it: what comes into its scope is new, what leaves is gone."""
        if not logged.key.startswith(self._prefix):
            return None
        matches = self._selector.matches
        version = str(logged.version)
        was_there = logged.before is not None and matches(logged.before)
        if logged.after is not None and matches(logged.after):
            kind = WatchEventType.MODIFIED if was_there else WatchEventType.ADDED
            return WatchEvent(kind, logged.after.raw, version)
        if logged.before is not None and was_there:
            return WatchEvent(
                WatchEventType.DELETED, with_version(logged.before, logged.version), version
            )
        return None
