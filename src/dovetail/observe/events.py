"""Writes Kubernetes events about objects, which `kubectl describe` shows.

`tell` takes an event down and returns; `run` writes. An event that was told lately is not told
again, nominations are told at a bounded rate, and when the API server cannot keep up, what is too
much is dropped and counted: events are news, not state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.decide.lifecycle.step import Event
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json, Kube, Ref
from dovetail.observe.logs import SILENT, Log

EVENT: Final = api.Kind("", "v1", "Event", "events", api.Object)
COMPONENT: Final = "karpenter"  # what users filter events by
NOMINATED: Final = "Nominated"
_MOST_WAITING: Final = 10_000
_N_WRITERS: Final = 4
_STALE_AFTER: Final = timedelta(minutes=10)  # a replica that waits to lead has none to tell
_LONGEST_MESSAGE: Final = 1_024
_LONGEST_NAME: Final = 253
_MOST: Final = 50_000

Key = tuple[str, ...]


class Repeats:
    """What was said, until when it need not be said again. Past its bound it forgets the oldest."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._until_by_key: dict[Key, datetime] = {}

    def __len__(self) -> int:
        return len(self._until_by_key)

    def is_recent(self, key: Key, now: datetime) -> bool:
        """Whether it was said lately."""
        until = self._until_by_key.get(key)
        return until is not None and now < until

    def note(self, key: Key, *, until: datetime, now: datetime) -> None:
        """It is said now."""
        self._until_by_key.pop(key, None)  # so that the order is that of saying
        if len(self._until_by_key) >= self._most:
            self._make_room(now)
        self._until_by_key[key] = until

    def _make_room(self, now: datetime) -> None:
        current = [(key, until) for key, until in self._until_by_key.items() if now < until]
        # A tenth at least goes, so that this is not done again for each one that follows.
        self._until_by_key = dict(current[-(self._most * 9 // 10) :])


class TokenBucket:
    """Lets so many pass each second, and as many as `burst` at once."""

    def __init__(self, timer: Timer, *, per_second: float, burst: int) -> None:
        self._timer = timer
        self._per_second = per_second
        self._burst = float(burst)
        self._n_tokens = float(burst)
        self._filled_at = 0.0

    def take(self) -> bool:
        """Whether one more may pass now."""
        seconds = self._timer.elapsed_seconds()
        gained = max(seconds - self._filled_at, 0.0) * self._per_second
        self._n_tokens = min(self._burst, self._n_tokens + gained)
        self._filled_at = seconds
        if self._n_tokens < 1:
            return False
        self._n_tokens -= 1
        return True


class Recorder:
    """Tells events. `n_dropped` counts those for which there was no room."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        timer: Timer,
        *,
        log: Log = SILENT,
        kinds: Mapping[tuple[str, str], api.Kind] = api.KINDS,
    ) -> None:
        self._kube = kube
        self._kinds = {kind.name: kind for kind in kinds.values()}
        self._clock = clock
        self._timer = timer
        self._log = log
        self._repeats = Repeats()
        self._nominations = TokenBucket(timer, per_second=5, burst=10)
        self._waiting: asyncio.Queue[tuple[Event, datetime]] = asyncio.Queue(_MOST_WAITING)
        self._n_told = 0
        self.n_dropped = 0

    def tell(self, event: Event) -> None:
        """Take an event down. Never blocks, never raises."""
        now = self._clock.now()
        key = (event.kind, event.name, event.uid, event.reason.lower(), *event.dedupe)
        if self._repeats.is_recent(key, now):
            return
        if event.reason == NOMINATED and not self._nominations.take():
            return
        if self._waiting.full():
            self._drop()
            return
        self._repeats.note(key, until=now + event.dedupe_for, now=now)
        self._waiting.put_nowait((event, now))

    async def run(self) -> None:
        """Write what was told, until cancelled."""
        async with asyncio.TaskGroup() as writers:
            for _ in range(_N_WRITERS):
                writers.create_task(self._write_all())

    async def close(self, within: timedelta = timedelta(seconds=5)) -> None:
        """Write what is left, for so long at most; `run` may have ended already."""
        until = self._timer.elapsed_seconds() + within.total_seconds()
        while not self._waiting.empty():
            if self._timer.elapsed_seconds() >= until:
                self._waiting.get_nowait()
                self._waiting.task_done()
                self._drop()
            else:
                await self._write_next()
        await self._waiting.join()

    async def _write_all(self) -> None:
        while True:
            await self._write_next()

    async def _write_next(self) -> None:
        event, told_at = await self._waiting.get()
        try:
            if self._clock.now() - told_at < _STALE_AFTER:
                await self._write(event, told_at)
        except ApiError as error:
            self._log.warning(
                "could not write event",
                kind=event.kind,
                name=event.name,
                reason=event.reason,
                error=error,
            )
        finally:
            self._waiting.task_done()

    async def _write(self, event: Event, told_at: datetime) -> None:
        namespace, _, name = event.name.rpartition("/")
        about: dict[str, Json] = {"kind": event.kind, "name": name}
        kind = self._kinds.get(event.kind)
        if kind is not None:
            about["apiVersion"] = kind.api_version
        if namespace:
            about["namespace"] = namespace
        uid = event.uid or await self._uid(kind, name, namespace)
        if uid:
            about["uid"] = uid
        home = namespace or "default"
        self._n_told += 1
        body: dict[str, Json] = {
            **_body(event, told_at),
            "metadata": {"name": _name(name, told_at, self._n_told), "namespace": home},
            "involvedObject": about,
        }
        await self._kube.create(EVENT, body, home)

    async def _uid(self, kind: api.Kind | None, name: str, namespace: str) -> str:
        """The object's uid where it was not told: kubectl shows events by it."""
        if kind is None:
            return ""
        try:
            raw = await self._kube.get(Ref(kind, name, namespace))
            return api.decode(api.Object, raw).metadata.uid
        except (ApiError, api.DecodeError):
            return ""

    def _drop(self) -> None:
        self.n_dropped += 1
        if self.n_dropped.bit_count() == 1:  # ever more seldom: the first, the second, the fourth
            self._log.warning("dropped event", n_dropped=self.n_dropped)


def _body(event: Event, told_at: datetime) -> Mapping[str, Json]:
    moment = told_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "reason": event.reason,
        "message": _shorten(event.message),
        "type": event.type.value,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": "",
    }


def _shorten(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return message[: _LONGEST_MESSAGE - 3] + "..."


def _name(about: str, told_at: datetime, ordinal: int) -> str:
    """A name of its own: of the object, the moment, and the how-manieth event it is."""
    ending = f".{int(told_at.timestamp() * 1e6):x}.{ordinal:x}"
    return about[: _LONGEST_NAME - len(ending)].rstrip(".-") + ending
