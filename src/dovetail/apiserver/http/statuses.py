"""Turns errors into HTTP answers with a Status, whose code and reason clients react to."""

from __future__ import annotations

import math

import msgspec
from aiohttp import web

from dovetail.kube.errors import ApiError, TooManyRequestsError
from dovetail.kube.seam import Json

JSON_TYPE = "application/json"


def status_of(error: ApiError) -> dict[str, Json]:
    """The Status that says it."""
    told = error.details
    details: dict[str, Json] = msgspec.to_builtins(told) if told is not None else {}
    if isinstance(error, TooManyRequestsError):
        if error.retry_after is not None:
            details["retryAfterSeconds"] = math.ceil(error.retry_after.total_seconds())
        if error.cause:
            details.setdefault("causes", [{"reason": error.cause, "message": str(error)}])
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "details": details,
        "code": error.status,
    }


def answer(error: ApiError) -> web.Response:
    """The whole answer."""
    body = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, TooManyRequestsError) and error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after.total_seconds()))
    return web.Response(
        body=msgspec.json.encode(body),
        status=error.status,
        headers=headers,
        content_type=JSON_TYPE,
    )
