"""Defines the end of an instance that its provider announces."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec

DRAINS_FOR: Final = timedelta(minutes=10)


class ReclaimedOffering(msgspec.Struct, frozen=True, gc=False):
    """An offering whose instances the cloud takes back: it has no capacity for others."""

    instance_type: str
    zone: str
    capacity_type: str


class InstanceEnding(msgspec.Struct, frozen=True, gc=False):
    """This instance will be gone at that time, None if soon, whatever we do: it is interrupted,
    retired or broken. Its node is replaced, and drained from `drains_for` before that time on.

    `reason` is one word in CamelCase, such as SpotInterrupted: the reason of the events. `message`
    explains it to people. The disruption metric counts it under `metric_reason`; without one, under
    `reason`. With `is_forced` the drain waits for nothing: the machine does not answer.
    `reclaimed` is not launched again for a while.
    """

    provider_id: str
    reason: str
    message: str
    at: datetime | None = None
    metric_reason: str = ""
    is_forced: bool = False
    drains_for: timedelta = DRAINS_FOR
    reclaimed: ReclaimedOffering | None = None


class KnownEnding(msgspec.Struct, frozen=True, gc=False):
    """An ending as the controller knows it: since when, and whether a decision has planned for the
    pods of its node since.
    """

    ending: InstanceEnding
    announced_at: datetime
    is_planned: bool = False
