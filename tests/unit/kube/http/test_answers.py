"""Status objects, lists and events as the API server writes them, and as nobody should."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.kube import errors
from dovetail.kube.http import answers
from dovetail.kube.seam import WatchEventType


def said(code: int, reason: str, **details: object) -> bytes:
    """A Status."""
    return msgspec.json.encode(
        {"kind": "Status", "reason": reason, "message": "why", "code": code, "details": details}
    )


@pytest.mark.parametrize(
    ("code", "reason", "want"),
    [
        (400, "BadRequest", errors.InvalidError),
        (401, "Unauthorized", errors.UnauthorizedError),
        (403, "Forbidden", errors.ForbiddenError),
        (404, "NotFound", errors.NotFoundError),
        (409, "AlreadyExists", errors.AlreadyExistsError),
        (409, "Conflict", errors.ConflictError),
        (410, "Expired", errors.GoneError),
        (418, "", errors.ApiError),
        (422, "Invalid", errors.InvalidError),
        (429, "TooManyRequests", errors.TooManyRequestsError),
        (500, "InternalError", errors.UnavailableError),
        (504, "Timeout", errors.UnavailableError),
    ],
)
def test_every_status_has_its_error(code: int, reason: str, want: type[errors.ApiError]) -> None:
    """Code, reason and message are kept."""
    error = answers.error_of(code, said(code, reason))
    assert (type(error), error.status, error.reason, str(error)) == (want, code, reason, "why")


def test_a_server_tells_its_version() -> None:
    """An answer without one is none."""
    assert answers.version_of(b'{"major":"1","minor":"35+","gitVersion":"v1.35.2-eks-1"}') == (
        "v1.35.2-eks-1"
    )
    for body in (b"{}", b"<html>502</html>", b""):
        with pytest.raises(errors.UnavailableError):
            answers.version_of(body)


def test_a_budget_is_told_from_a_busy_server_by_its_cause() -> None:
    """Both are 429."""
    busy = answers.error_of(429, said(429, "TooManyRequests"), "3")
    budget = answers.error_of(
        429,
        said(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget"}], retryAfterSeconds=9),
    )
    assert isinstance(busy, errors.TooManyRequestsError)
    assert isinstance(budget, errors.TooManyRequestsError)
    assert (busy.cause, busy.retry_after) == ("", timedelta(seconds=3))
    assert (budget.cause, budget.retry_after) == ("DisruptionBudget", timedelta(seconds=9))


@pytest.mark.parametrize("body", [b"", b"<html>502</html>", b"\xff\xfe", b"[1]", b'{"code": "x"}'])
def test_an_answer_that_is_no_status_still_says_what_it_is(body: bytes) -> None:
    """Proxies answer in their own words."""
    error = answers.error_of(502, body)
    assert isinstance(error, errors.UnavailableError)
    assert error.status == 502


def test_nulls_in_a_list_or_status_are_nothing() -> None:
    """Go writes an empty list as null."""
    page = answers.page_of(b'{"metadata": {"resourceVersion": "5"}, "items": null}')
    assert (page.items, page.resource_version, page.token) == ((), "5", "")
    error = answers.error_of(404, b'{"message": null, "reason": null, "details": null}')
    assert isinstance(error, errors.NotFoundError)


def test_an_error_event_raises_what_it_says() -> None:
    """410 comes inside a stream that began with 200."""
    line = b'{"type": "ERROR", "object": ' + said(410, "Expired") + b"}"
    with pytest.raises(errors.GoneError):
        answers.change_of(line)


@pytest.mark.parametrize(
    "line",
    [b"{", b"null", b'{"type": "ADDED"}', b'{"type": "WONDER", "object": {}}', b"\xff",
     b'{"type": "ADDED", "object": 3}'],
)  # fmt: skip
def test_garbage_is_an_error_of_the_server(line: bytes) -> None:
    """Never an exception that nobody expects."""
    with pytest.raises(errors.UnavailableError, match="expected an event"):
        answers.change_of(line)


def test_a_bookmark_has_a_version_and_nothing_else() -> None:
    """It says how far the watch has come."""
    line = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}'
    change = answers.change_of(line)
    assert (change.type, change.resource_version) == (WatchEventType.BOOKMARK, "12")
