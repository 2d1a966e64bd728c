"""Reads messages of EventBridge about instances, as the interruption queue has them.

A message is known by its source, its detail type and its version. What is not known says nothing
about an instance and is no mistake. What is no JSON object, or lacks what its kind always has, is
malformed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from dovetail.errors import DovetailError

NOTICE: Final = timedelta(minutes=2)
_VERSION: Final = "0"
_LONGEST_SHOWN: Final = 80
_STOPPING: Final = frozenset({"stopping", "stopped"})
_TERMINATING: Final = frozenset({"shutting-down", "terminated"})
_T = TypeVar("_T")


class MalformedMessageError(DovetailError):
    """A message that cannot be read."""


class InterruptionKind(StrEnum):
    """What is said about an instance, as metrics name it."""

    SPOT = "spot_interrupted"
    REBALANCE = "rebalance_recommendation"
    SCHEDULED_CHANGE = "scheduled_change"
    STOPPED = "instance_stopped"
    TERMINATED = "instance_terminated"
    RESERVATION = "capacity_reservation_interrupted"
    INSTANCE_STATUS = "instance_status"
    SYSTEM_STATUS = "system_status"
    SCHEDULED_EVENT = "event_status"
    NOTHING = "no_op"


class Interruption(msgspec.Struct, frozen=True):
    """What a message or a check says about instances: of which kind it is, when it was sent, when
    they will be gone, and details for people.
    """

    kind: InterruptionKind
    instance_ids: tuple[str, ...] = ()
    sent_at: datetime | None = None
    at: datetime | None = None
    detail: str = ""


class _Envelope(msgspec.Struct, rename={"detail_type": "detail-type"}):
    version: str = ""
    source: str = ""
    detail_type: str = ""
    time: str = ""
    detail: msgspec.Raw = msgspec.Raw(b"{}")


class _InstanceDetail(
    msgspec.Struct,
    rename={"instance_id": "instance-id", "terminated_at": "instance-termination-time"},
):
    instance_id: str
    state: str = ""
    terminated_at: str = ""


class _Entity(msgspec.Struct, rename="camel"):
    entity_value: str = ""


class _HealthDetail(msgspec.Struct, rename="camel"):
    service: str = ""
    event_type_category: str = ""
    event_type_code: str = ""
    status_code: str = ""
    start_time: str = ""
    affected_entities: tuple[_Entity, ...] = ()


def read_message(body: str) -> Interruption:
    """What a message says. Raises MalformedMessageError."""
    if not body.strip():
        return Interruption(InterruptionKind.NOTHING, detail="an empty message")
    envelope = _decode(body.encode(), _Envelope)
    sent_at = _instant(envelope.time)
    name = (envelope.source, envelope.detail_type)
    if envelope.version != _VERSION:
        detail = f"version {envelope.version or '(none)'} of {' '.join(name)}"
        return Interruption(InterruptionKind.NOTHING, sent_at=sent_at, detail=detail)
    match name:
        case ("aws.ec2", "EC2 Spot Instance Interruption Warning"):
            instance = _decode(envelope.detail, _InstanceDetail)
            return _interruption(InterruptionKind.SPOT, instance, sent_at, _after_notice(sent_at))
        case ("aws.ec2", "EC2 Instance Rebalance Recommendation"):
            instance = _decode(envelope.detail, _InstanceDetail)
            return _interruption(InterruptionKind.REBALANCE, instance, sent_at)
        case ("aws.ec2", "EC2 Instance State-change Notification"):
            return _state_change(_decode(envelope.detail, _InstanceDetail), sent_at)
        case ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"):
            instance = _decode(envelope.detail, _InstanceDetail)
            at = _instant(instance.terminated_at) or _after_notice(sent_at)
            return _interruption(InterruptionKind.RESERVATION, instance, sent_at, at)
        case ("aws.health", "AWS Health Event"):
            return _health(_decode(envelope.detail, _HealthDetail), sent_at)
        case _:
            detail = " ".join(name)[:_LONGEST_SHOWN]
            return Interruption(InterruptionKind.NOTHING, sent_at=sent_at, detail=detail)


def _interruption(
    kind: InterruptionKind,
    instance: _InstanceDetail,
    sent_at: datetime | None,
    at: datetime | None = None,
) -> Interruption:
    return Interruption(kind, (instance.instance_id,), sent_at, at)


def _state_change(instance: _InstanceDetail, sent_at: datetime | None) -> Interruption:
    kind = InterruptionKind.NOTHING
    if instance.state in _STOPPING:
        kind = InterruptionKind.STOPPED
    elif instance.state in _TERMINATING:
        kind = InterruptionKind.TERMINATED
    return Interruption(kind, (instance.instance_id,), sent_at, detail=instance.state)


def _health(event: _HealthDetail, sent_at: datetime | None) -> Interruption:
    is_about_us = event.service == "EC2" and event.event_type_category == "scheduledChange"
    if not is_about_us or event.status_code == "closed":
        detail = f"{event.service} {event.event_type_category} {event.status_code}".strip()
        return Interruption(InterruptionKind.NOTHING, sent_at=sent_at, detail=detail)
    ids = tuple(entity.entity_value for entity in event.affected_entities if entity.entity_value)
    return Interruption(
        InterruptionKind.SCHEDULED_CHANGE,
        tuple(dict.fromkeys(ids)),
        sent_at,
        _instant(event.start_time),
        event.event_type_code,
    )


def _after_notice(sent_at: datetime | None) -> datetime | None:
    return None if sent_at is None else sent_at + NOTICE


def _instant(text: str) -> datetime | None:
    """An instant as EventBridge writes it, or as AWS Health does; None if it is neither."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _decode(text: bytes | msgspec.Raw, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"not a message of EventBridge: {error}"
        raise MalformedMessageError(msg) from error
