"""Handles writes that conflict, and objects that cannot be read."""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.controllers.cache import WatchCache
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.decide.lifecycle.timing import shortened
from dovetail.kube.errors import ConflictError, NotFoundError
from dovetail.kube.seam import Reader, Ref
from dovetail.model.backoff import Backoff, Chance

UNREADABLE: Final = "UnreadableObject"
_SETTLED_SECONDS: Final = 1.0  # by then the watch has shown that something is gone
_BACKOFF: Final = Backoff(0.1, 10.0)


class Conflicts:
    """How often a write was refused in a row, by the object's name: somebody else was faster, or
    what is known is not what is there.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._n_by_name: dict[str, int] = {}

    def seconds(self, name: str, error: ConflictError | NotFoundError) -> float:
        """One more; when to look again. At once the first time, since it was read again."""
        if isinstance(error, NotFoundError):
            return _SETTLED_SECONDS
        n_before = self._n_by_name.get(name, 0)
        self._n_by_name[name] = n_before + 1
        return _BACKOFF.seconds(n_before, self._chance) if n_before else 0.0

    def forget(self, name: str) -> None:
        """It was written, or there is nothing left to write to."""
        self._n_by_name.pop(name, None)


async def read_again(kube: Reader, cache: WatchCache, kind: api.Kind, name: str) -> None:
    """Learn what somebody else has written, without waiting for the watch to show it."""
    try:
        cache.put(kind, await kube.get(Ref(kind, name)))
    except NotFoundError:
        return  # the watch will show that it is gone


def unreadable_event(kind: str, meta: api.ObjectMeta, problem: object) -> Event:
    """An object makes no sense and is left alone."""
    message = shortened(f"{problem}")
    return Event(kind, meta.name, UNREADABLE, message, type=EventType.WARNING, uid=meta.uid)
