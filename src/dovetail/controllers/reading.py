"""What if an object is not as it was thought to be? It is read again, or left alone and told."""

from __future__ import annotations

from typing import Final

from dovetail import api
from dovetail.controllers.known import Known
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.decide.lifecycle.timing import shortened
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Reader, Ref

STRANGE: Final = "UnreadableObject"


async def read_again(kube: Reader, known: Known, kind: api.Kind, name: str) -> None:
    """Learn what somebody else has written, without waiting for the watch to show it."""
    try:
        known.put(kind, await kube.get(Ref(kind, name)))
    except NotFoundError:
        return  # the watch will show that it is gone


def strange_event(kind: str, meta: api.ObjectMeta, problem: object) -> Event:
    """An object makes no sense and is left alone."""
    message = shortened(f"{problem}")
    return Event(kind, meta.name, STRANGE, message, type=EventType.WARNING, uid=meta.uid)
