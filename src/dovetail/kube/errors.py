"""Defines the errors that a Kubernetes API may answer, one for each reaction of a caller."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from dovetail.errors import DovetailError

DISRUPTION_BUDGET: Final = "DisruptionBudget"  # the cause that the eviction API names


class Cause(msgspec.Struct, frozen=True):
    """One thing that is wrong, and with which field."""

    reason: str
    message: str
    field: str = ""


class Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a refusal is about, for clients that tell people."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] = ()


class ApiError(DovetailError):
    """The API refused. `reason` is Kubernetes' own word (metav1.StatusReason)."""

    def __init__(
        self, status: int, reason: str, message: str, details: Details | None = None
    ) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status = status
        self.reason = reason
        self.details = details


class NotFoundError(ApiError):
    """There is no such object, or no such kind."""


class AlreadyExistsError(ApiError):
    """There is an object of that name."""


class ConflictError(ApiError):
    """The object has changed since it was read, or another manager owns the field."""


class GoneError(ApiError):
    """A resource version is too old to watch from, or a list token has expired: list again."""


class InvalidError(ApiError):
    """The object breaks a rule of its kind, or the request makes no sense."""


class ForbiddenError(ApiError):
    """The service account may not do that."""


class UnauthorizedError(ApiError):
    """The credentials are missing or have expired."""


class TooManyRequestsError(ApiError):
    """Not now: the server is busy, or (`cause` DISRUPTION_BUDGET) a budget forbids the eviction."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: timedelta | None = None,
        cause: str = "",
    ) -> None:
        super().__init__(status, reason, message)
        self.retry_after = retry_after
        self.cause = cause


class UnavailableError(ApiError):
    """The server failed, or the connection did; `status` is 0 if there was no answer at all."""
