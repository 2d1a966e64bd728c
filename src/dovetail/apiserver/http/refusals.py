"""Turns errors into HTTP answers with a Status, whose code and reason clients react to."""

from __future__ import annotations

import math

import msgspec
from aiohttp import web

from dovetail.kube.errors import ApiError, InvalidError, NotFoundError, TooManyRequestsError
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


def no_such_resource() -> NotFoundError:
    """The path means nothing."""
    return NotFoundError(404, "NotFound", "the server could not find the requested resource")


def no_such_method(method: str) -> InvalidError:
    """That cannot be done there."""
    message = f"the server does not allow this method on the requested resource: {method}"
    return InvalidError(405, "MethodNotAllowed", message)


def no_containers() -> InvalidError:
    """Whoever asks for logs or a shell learns why there are none."""
    message = "pods are only pretended here: there are no containers to read from or to enter"
    return InvalidError(501, "NotImplemented", message)


def bad_request(why: str) -> InvalidError:
    """The request makes no sense."""
    return InvalidError(400, "BadRequest", why)


def unsupported(content_type: str) -> InvalidError:
    """The body is written in a way that is not read here."""
    message = f"the body of the request was in an unknown format: {content_type}"
    return InvalidError(415, "UnsupportedMediaType", message)
