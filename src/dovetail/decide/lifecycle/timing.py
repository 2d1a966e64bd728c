"""Defines the timeouts and periods of claims, nodes and evictions."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dovetail.model.backoff import Backoff

LAUNCH_TIMEOUT: Final = timedelta(minutes=5)
REGISTRATION_TIMEOUT: Final = timedelta(minutes=15)
INSTANCE_POLL: Final = timedelta(seconds=5)
DRAIN_POLL: Final = timedelta(seconds=1)
MIN_DRAIN: Final = timedelta(seconds=5)
STUCK_TERMINATING_AFTER: Final = timedelta(minutes=1)
DRIFT_RECHECK: Final = timedelta(minutes=5)
DRIFT_SETTLES_AFTER: Final = timedelta(seconds=15)  # what follows from an edit is known by then
DRIFT_RETRY: Final = timedelta(minutes=1)  # where the cloud could not be asked
TYPE_CHECK_FIRST_AFTER: Final = timedelta(hours=1)
TYPE_CHECK_KEPT_FOR: Final = timedelta(minutes=30)
POD_EVENT_DEDUPE: Final = timedelta(seconds=10)
CONSISTENCY_SCAN: Final = timedelta(minutes=10)
GARBAGE_PERIOD: Final = timedelta(minutes=2)
ORPHAN_GRACE: Final = timedelta(seconds=30)
COUNTER_PERIOD: Final = timedelta(seconds=5)

LONGEST_MESSAGE: Final = 300


LIFECYCLE_BACKOFF: Final = Backoff(1.0, 60.0)
DISRUPTION_BACKOFF: Final = Backoff(60.0, 3600.0)  # until a failed disruption is tried again
EVICTION_BACKOFF: Final = Backoff(0.1, 10.0)


def shorten(message: str, longest: int = LONGEST_MESSAGE) -> str:
    """The message, cut where it would run on for ever."""
    return message if len(message) <= longest else message[: longest - 3] + "..."
