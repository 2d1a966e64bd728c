"""Decides whether and when a failed request is sent again.

The server certainly did not act on a request that never reached it, nor on one that it turned away
as too many. Any other failure leaves that open: then only what may happen twice is repeated.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from dovetail.kube.errors import DISRUPTION_BUDGET, ApiError, TooManyRequestsError, UnavailableError
from dovetail.kube.seam import Deletion, Patch, PatchType
from dovetail.model.backoff import Backoff, Chance

_NOT_IMPLEMENTED: Final = 501
_INTERNAL: Final = 500


class UnsentError(UnavailableError):
    """There was no connection, so the server knows nothing of the request."""


class UntrustedError(UnavailableError):
    """The server is not who it should be, or TLS with it fails; that does not pass by itself."""


class Repeat(StrEnum):
    """What sending a request twice may do."""

    FREELY = "freely"  # twice is the same as once
    EVICTION = "eviction"  # so too, but a failure inside the server is about the pod's budgets
    ONCE = "once"  # twice may act twice


class Retries(msgspec.Struct, frozen=True, gc=False):
    """How often and how patiently."""

    n_tries: int = 6
    backoff: Backoff = Backoff(0.25, 10.0)
    longest_retry_after_seconds: float = 60.0

    def wait_seconds(
        self, error: ApiError, *, repeat: Repeat, n_failed: int, chance: Chance
    ) -> float | None:
        """How long to wait before the next try; None if the error must be told instead."""
        if n_failed >= self.n_tries or not may_repeat(error, repeat):
            return None
        wait = self.backoff.seconds(n_failed, chance)
        asked = error.retry_after if isinstance(error, TooManyRequestsError) else None
        if asked is None:
            return wait
        if asked.total_seconds() > self.longest_retry_after_seconds:
            return None
        # What was asked for in full, and then not everybody in the same instant.
        return asked.total_seconds() + self.backoff.first_seconds * chance()


def may_repeat(error: ApiError, repeat: Repeat) -> bool:
    """Whether sending the request again could help, and can do no harm."""
    match error:
        case TooManyRequestsError():
            return error.cause != DISRUPTION_BUDGET
        case UntrustedError():
            return False
        case UnsentError():
            return True
        case UnavailableError():
            if error.status == _NOT_IMPLEMENTED or repeat is Repeat.ONCE:
                return False
            return repeat is Repeat.FREELY or error.status != _INTERNAL
        case _:
            return False


def repeat_of_patch(patch: Patch) -> Repeat:
    """Merging the same values twice is as once; a JSON patch may append or test."""
    return Repeat.ONCE if patch.type is PatchType.JSON else Repeat.FREELY


def repeat_of_deletion(how: Deletion) -> Repeat:
    """By uid the second deletion finds nothing; by name alone it might hit a successor."""
    return Repeat.FREELY if how.uid else Repeat.ONCE


def repeat_of_eviction(how: Deletion) -> Repeat:
    """As for deletions."""
    return Repeat.EVICTION if how.uid else Repeat.ONCE
