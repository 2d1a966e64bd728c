"""Reads the do-not-disrupt annotation of pods and Nodes.

`true` protects for ever, a duration until so long after the pod's start; anything else is a
mistake that protects nothing, and is told.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.conditions import rfc3339
from dovetail.decide.lifecycle.step import Event, EventType
from dovetail.model.pod import Pod
from dovetail.units import duration

UNTIL_EVENT: Final = "DoNotDisruptUntil"
ELAPSED_EVENT: Final = "DoNotDisruptGracePeriodElapsed"
INVALID_EVENT: Final = "InvalidDoNotDisruptAnnotation"


class Protection(msgspec.Struct, frozen=True, gc=False):
    """Whether a pod is protected, until when if that is known, and what is to be told of it."""

    is_active: bool = False
    until: datetime | None = None
    events: tuple[Event, ...] = ()


def protection(pod: Pod, now: datetime) -> Protection:
    """What the annotation comes to at this moment. Only active pods are protected."""
    stated = pod.annotations.get(labels.DO_NOT_DISRUPT)
    if stated is None or not is_active(pod):
        return Protection()
    if stated == "true":
        return Protection(is_active=True)
    span = protected_for(stated)
    if span is None:
        message = (
            f"{labels.DO_NOT_DISRUPT}={stated} is not valid and has no effect; "
            'expected "true" or a positive duration such as "30m"'
        )
        return Protection(events=(_event(pod, INVALID_EVENT, message, EventType.WARNING),))
    if pod.started_at is None:
        return Protection(is_active=True)
    until = pod.started_at + span
    if now < until:
        told = _event(pod, UNTIL_EVENT, f"Pod may not be disrupted until {rfc3339(until)}")
        return Protection(is_active=True, until=until, events=(told,))
    message = f"Pod may be disrupted since {rfc3339(until)}"
    return Protection(until=until, events=(_event(pod, ELAPSED_EVENT, message),))


def is_active(pod: Pod) -> bool:
    """Whether it neither has ended nor is about to."""
    return not pod.is_terminal and pod.deleting_at is None


def protected_for(stated: str) -> timedelta | None:
    """How long after its start a pod is protected, if its annotation says so."""
    try:
        span = duration.parse(stated)
    except ValueError:
        return None
    return span if span > timedelta(0) else None


def _event(pod: Pod, reason: str, message: str, kind: EventType = EventType.NORMAL) -> Event:
    return Event("Pod", pod.key, reason, message, type=kind, uid=pod.uid)
