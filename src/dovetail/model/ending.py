"""Defines the end of an instance that its provider announces."""

from __future__ import annotations

from datetime import datetime

import msgspec


class InstanceEnding(msgspec.Struct, frozen=True, gc=False):
    """This instance will be gone at that time, None if soon, whatever we do: it is interrupted,
    retired or broken. Its node is drained and replaced at once.

    `reason` is one word in CamelCase, such as SpotInterrupted: the reason of the events. `message`
    explains it to people. The disruption metric counts it under `metric_reason`; without one, under
    `reason`. With `is_forced` the drain waits for nothing: the machine does not answer.
    """

    provider_id: str
    reason: str
    message: str
    at: datetime | None = None
    metric_reason: str = ""
    is_forced: bool = False
