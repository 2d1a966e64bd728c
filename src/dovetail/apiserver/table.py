"""Stores the objects of one kind, with recent versions and changes for watches; of each its JSON,
with what selectors and owners are looked up by.

Every change is logged with the object before and after it. A watch is a place in that log, so a
slow watcher costs nothing: when the log has moved on without it, it is cut. A list that is read in
pages is undone, change by change, to the version of its first page.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from functools import cache
from heapq import merge

import msgspec

from dovetail.apiserver.traits import Traits
from dovetail.apiserver.trees import Obj, at, decode, encode, items, labels_of, part, text
from dovetail.kube.seam import Json


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of an object. `owners` are the uids of those it belongs to."""

    raw: msgspec.Raw
    version: int
    uid: str
    labels: dict[str, str]
    fields: dict[str, str]
    owners: tuple[str, ...] = ()
    is_going: bool = False

    def tree(self) -> Obj:
        """The object, to change at will."""
        return decode(self.raw)


def to_stored(tree: Obj, traits: Traits, version: int) -> Stored:
    """A tree as it is kept, marked with its version."""
    metadata = part(tree, "metadata")
    metadata["resourceVersion"] = str(version)
    owners = tuple(text(item, "uid") for item in items(metadata.get("ownerReferences")))
    return Stored(
        raw=encode(tree),
        version=version,
        uid=text(metadata, "uid"),
        labels=labels_of(metadata, "labels"),
        fields=_fields(tree, traits),
        owners=owners,
        is_going="deletionTimestamp" in metadata,
    )


def with_version(stored: Stored, version: int) -> msgspec.Raw:
    """The object as it last was, marked with the version in which it went."""
    tree = stored.tree()
    part(tree, "metadata")["resourceVersion"] = str(version)
    return encode(tree)


def _fields(tree: Obj, traits: Traits) -> dict[str, str]:
    fields = {
        "metadata.name": text(tree, "metadata", "name"),
        "metadata.namespace": text(tree, "metadata", "namespace"),
    }
    for path, absent in traits.fields.items():
        fields[path] = _text_of(at(tree, *_steps(path)), absent)
    return fields


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _text_of(value: Json, absent: str) -> str:
    match value:
        case None:
            return absent
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            return ""


class Logged(msgspec.Struct, frozen=True, gc=False):
    """One change: what was there before it and after it."""

    version: int
    key: str
    before: Stored | None
    after: Stored | None


class KindTable:
    """The objects of one kind in the order of their keys, and the log of their changes."""

    def __init__(self, history: int, version: int) -> None:
        self.n_bookmarks = 0
        self.n_cuts = 0
        self._history = history
        self._held: dict[str, Stored] = {}
        self._keys: list[str] = []
        self._log: list[Logged] = []
        self.n_dropped = 0  # changes that the log has moved on past
        self._known_since = version  # every later change is in the log
        self._waiting: list[asyncio.Future[None]] = []

    def get(self, key: str) -> Stored | None:
        """The object of that key."""
        return self._held.get(key)

    def items(self, prefix: str = "") -> Iterator[tuple[str, Stored]]:
        """Every object whose key begins so, in order."""
        for key in self._range(prefix, ""):
            yield key, self._held[key]

    def put(self, key: str, now: Stored) -> None:
        """Keep a new version of an object."""
        before = self._held.get(key)
        if before is None:
            insort(self._keys, key)
        self._held[key] = now
        self._note(Logged(now.version, key, before, now))

    def remove(self, key: str, version: int) -> None:
        """Forget an object."""
        before = self._held.pop(key)
        del self._keys[bisect_left(self._keys, key)]
        self._note(Logged(version, key, before, None))

    # ---- what was

    @property
    def oldest(self) -> int:
        """The oldest version that can be watched from."""
        return self._known_since

    def at(self, version: int, prefix: str, after: str) -> Iterator[tuple[str, Stored]]:
        """What there was then, from the key after that one on. The version must be known."""
        undone: dict[str, Stored | None] = {}
        for item in reversed(self._log[self._index(version) :]):
            undone[item.key] = item.before
        begins = sorted(key for key in undone if key.startswith(prefix) and key > after)
        seen = ""
        for key in merge(self._range(prefix, after), begins):
            stored = undone[key] if key in undone else self._held[key]
            if stored is not None and key != seen:
                yield key, stored
            seen = key

    def forget(self) -> None:
        """Drop the whole log, as a server does that was started anew."""
        self._drop(len(self._log))

    # ---- what happens

    def place(self, version: int) -> int:
        """The place in the log where the changes after a version begin."""
        return self.n_dropped + self._index(version)

    def after(self, place: int) -> Logged | None:
        """The change at a place, if it has happened."""
        index = place - self.n_dropped
        return self._log[index] if index < len(self._log) else None

    async def wait_for_change(self) -> None:
        """Return when anything has happened here."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def wake(self) -> None:
        """Let every watcher look again."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _note(self, logged: Logged) -> None:
        self._log.append(logged)
        if len(self._log) >= 2 * self._history:
            self._drop(len(self._log) - self._history)
        self.wake()

    def _drop(self, n_oldest: int) -> None:
        if n_oldest:
            self._known_since = self._log[n_oldest - 1].version
            self.n_dropped += n_oldest
            del self._log[:n_oldest]

    def _index(self, version: int) -> int:
        return bisect_right(self._log, version, key=lambda logged: logged.version)

    def _range(self, prefix: str, after: str) -> Iterator[str]:
        start = bisect_right(self._keys, after) if after else bisect_left(self._keys, prefix)
        for index in range(start, len(self._keys)):
            key = self._keys[index]
            if not key.startswith(prefix):
                return
            yield key
