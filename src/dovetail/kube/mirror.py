"""Keeps a copy of all objects of one kind and follows the API.

It streams what is there and what happens then in one watch; a watch that ends is taken up where it
stopped. Where the API has forgotten so much that this cannot be done, it begins anew and tells what
differs. A server that cannot stream what is there is asked for lists, in pages. An object that can
no longer be read stays as it last was, since to forget a node is worse than to know it a little
late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from dovetail import api
from dovetail.clock import Timer
from dovetail.kube.errors import ApiError, GoneError, InvalidError, NotFoundError
from dovetail.kube.seam import Reader, Scope, WatchEvent, WatchEventType
from dovetail.kube.typed import Intake, Unreadable
from dovetail.model.backoff import Backoff, Chance

_PAGE: Final = 500
_LARGEST_PAGE: Final = 32_000
_STEADY_SECONDS: Final = 5.0  # a watch that lasts this long was no failure
_N_BURIED: Final = 10_000  # so many objects are remembered after their end

Key = tuple[str, str]  # namespace and name


class Present(msgspec.Struct, frozen=True, gc=False):
    """The object is there, and like this."""

    object: api.Object


class Absent(msgspec.Struct, frozen=True, gc=False):
    """The object is gone; this is what was last known of it."""

    object: api.Object


class Stalled(msgspec.Struct, frozen=True, gc=False):
    """The API cannot be followed for now; it is tried again by itself after a while."""

    scope: Scope
    error: ApiError
    retry_after_seconds: float


Notice = Present | Absent | Unreadable | Stalled


class Pace(msgspec.Struct, frozen=True):
    """Time and chance for a mirror, and how it uses them."""

    timer: Timer
    chance: Chance
    backoff: Backoff = Backoff(0.5, 30.0)
    n_page: int = _PAGE


class Mirror:
    """Follows all objects of one scope; `tell` hears of every change, in order, in this task.

    `keep` may be set to say what is held of an object once it was told: at least its metadata.
    """

    def __init__(
        self, kube: Reader, scope: Scope, *, tell: Callable[[Notice], None], intake: Intake,
        pace: Pace,
    ) -> None:  # fmt: skip
        self._kube = kube
        self._scope = scope
        self._tell = tell
        self._intake = intake
        self._pace = pace
        self.keep: Callable[[api.Object], api.Object] = lambda item: item
        self._held: dict[Key, api.Object] = {}
        self._buried: dict[str, None] = {}  # uids of objects that are gone, the latest last
        self._version = ""  # where to go on watching; empty means from the beginning
        self._streams = True  # whether the server streams what is there, as far as is known
        self._n_page = pace.n_page
        self._n_failed = 0
        self._is_fresh = False  # listed, and not yet watched with success
        self._in_sync = asyncio.Event()

    @property
    def objects(self) -> Mapping[Key, api.Object]:
        """Every object by namespace and name, as last known."""
        return MappingProxyType(self._held)

    @property
    def is_in_sync(self) -> bool:
        """Whether everything that was there at some moment has been told."""
        return self._in_sync.is_set()

    async def wait_in_sync(self) -> None:
        """Return once everything that was there at some moment has been told."""
        await self._in_sync.wait()

    def put(self, raw: msgspec.Raw) -> None:
        """The API's answer to a write of ours: known at once, not only when the watch shows it."""
        item = self._intake.read(self._scope.kind, raw)
        if isinstance(item, Unreadable) or item.metadata.uid in self._buried:
            return
        meta = item.metadata
        if meta.deletion_timestamp is None or meta.finalizers:
            self._hold(item)

    async def run(self) -> None:
        """Follow until cancelled. Whatever the API answers, it goes on."""
        while True:
            try:
                if not self._version and not self._streams:
                    await self._list()
                await self._follow()
            except GoneError as error:
                await self._restart(error)
            except InvalidError as error:
                await self._give_up_streaming(error)
            except ApiError as error:
                await self._pause(error)

    async def _give_up_streaming(self, error: InvalidError) -> None:
        """This server cannot stream what is there: list it."""
        if not self._streams or self._version:
            await self._pause(error)
        self._streams = False

    async def _restart(self, error: GoneError) -> None:
        """List again: at once, unless a list has just been made or itself grew too old."""
        is_listing = not self._version
        self._version = ""
        if is_listing:
            self._n_page = min(4 * self._n_page, _LARGEST_PAGE)
        if is_listing or self._is_fresh:
            await self._pause(error)

    async def _pause(self, error: ApiError) -> None:
        self._n_failed += 1
        if isinstance(error, NotFoundError) and not self._held:
            self._in_sync.set()  # the cluster does not know this kind: there is nothing to see
        wait = self._pace.backoff.seconds(self._n_failed, self._pace.chance)
        self._tell(Stalled(self._scope, error, wait))
        await self._pace.timer.sleep(wait)

    async def _list(self) -> None:
        unseen = dict.fromkeys(self._held)
        token = ""
        while True:
            page = await self._kube.list(self._scope, limit=self._n_page, token=token)
            for raw in page.items:
                unseen.pop(self._take(raw), None)
            token = page.token
            if not token:
                break
        for key in unseen:
            self._bury(self._held.pop(key))
        self._version = page.resource_version
        self._n_page = self._pace.n_page
        self._is_fresh = True
        self._in_sync.set()

    async def _follow(self) -> None:
        """Watch until the server ends it. One that ends at once is paced like a failure."""
        started_at = self._pace.timer.elapsed_seconds()
        unseen = None if self._version else dict.fromkeys(self._held)
        async for change in self._kube.watch(self._scope, since=self._version):
            if unseen is not None:
                unseen = self._catch_up(change, unseen)
                continue
            self._apply(change)
            self._version = change.resource_version or self._version
            self._n_failed = 0
            self._is_fresh = False
        self._is_fresh = False
        if self._pace.timer.elapsed_seconds() - started_at >= _STEADY_SECONDS:
            self._n_failed = 0
            return
        self._n_failed += 1
        wait = self._pace.backoff.seconds(self._n_failed, self._pace.chance)
        await self._pace.timer.sleep(wait)

    def _catch_up(self, change: WatchEvent, unseen: dict[Key, None]) -> dict[Key, None] | None:
        """Take in part of what is there; what has not been seen yet, None once all has."""
        if change.is_caught_up:
            for key in unseen:
                self._bury(self._held.pop(key))
            self._version = change.resource_version
            self._is_fresh = True
            self._in_sync.set()
            return None
        if change.type is WatchEventType.ADDED:
            unseen.pop(self._take(change.object), None)
        else:
            self._apply(change)
        return unseen

    def _apply(self, change: WatchEvent) -> None:
        match change.type:
            case WatchEventType.BOOKMARK:
                return
            case WatchEventType.DELETED:
                self._drop(change.object)
            case _:
                self._take(change.object)

    def _take(self, raw: msgspec.Raw) -> Key:
        """Hold an object and tell of it, unless it is the same as before."""
        item = self._intake.read(self._scope.kind, raw)
        if isinstance(item, Unreadable):
            self._tell(item)
            return item.namespace, item.name
        return self._hold(item)

    def _hold(self, item: api.Object) -> Key:
        meta = item.metadata
        key = (meta.namespace, meta.name)
        before = self._held.get(key)
        if before is not None:
            if not _is_newer(meta.resource_version, before.metadata.resource_version):
                return key  # also of one that was gone before this one of its name was made
            if before.metadata.uid != meta.uid:  # gone and made anew, unseen
                self._bury(before)
        self._held[key] = self.keep(item)
        self._tell(Present(item))
        return key

    def _drop(self, raw: msgspec.Raw) -> None:
        item = self._intake.read(self._scope.kind, raw)
        if isinstance(item, Unreadable):
            before = self._held.pop((item.namespace, item.name), None)
            if before is not None:
                self._bury(before)
            return
        key = (item.metadata.namespace, item.metadata.name)
        previous = self._held.get(key)
        if previous is None or previous.metadata.uid == item.metadata.uid:
            self._held.pop(key, None)
            self._bury(item)  # else it was made anew, which we know since we did it

    def _bury(self, gone: api.Object) -> None:
        self._buried[gone.metadata.uid] = None
        if len(self._buried) > _N_BURIED:
            del self._buried[next(iter(self._buried))]
        self._tell(Absent(gone))


def _is_newer(version: str, current: str) -> bool:
    """Whether a version may be later than the one that is held: numbers grow, others only differ.

    Our own writes are known before the watch has shown what came before them.
    """
    if version.isdecimal() and current.isdecimal():
        return int(version) > int(current)
    return version != current or not version
