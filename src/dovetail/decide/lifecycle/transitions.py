"""What is told of an object's status? One event for each condition that turns, named for it, and
one when the object is gone (spec/core.md 8.4). The same for claims, Nodes and pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dovetail.decide.lifecycle.step import Event
from dovetail.model.node import Condition

FINALIZED: Final = "Finalized"


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The object that is spoken of."""

    kind: str
    name: str
    uid: str = ""


def transition_events(
    subject: Subject, before: Iterable[Condition], after: Iterable[Condition]
) -> Iterator[Event]:
    """An event for each condition whose status changed. What is said for the first time is none."""
    status_by_type = {one.type: one.status for one in before}
    for one in after:
        known = status_by_type.get(one.type)
        if known is None or known == one.status:
            continue
        why = f" ({one.reason}: {one.message})" if one.message else f" ({one.reason})"
        message = f"{one.type} changed from {known} to {one.status}{why}"
        yield _event(subject, one.type, message, one.status)


def finalized_event(subject: Subject) -> Event:
    """The object is gone."""
    return _event(subject, FINALIZED, f"{subject.kind} {subject.name} was deleted", "")


def _event(subject: Subject, reason: str, message: str, value: str) -> Event:
    return Event(
        subject.kind,
        subject.name,
        reason,
        message,
        uid=subject.uid,
        dedupe=(value,) if value else (),
    )
