"""What may be sent again, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.kube.errors import (
    DISRUPTION_BUDGET,
    ApiError,
    ConflictError,
    TooManyRequestsError,
    UnavailableError,
)
from dovetail.kube.http import retry
from dovetail.kube.http.retry import Repeat, Retries, UnsentError, UntrustedError
from dovetail.kube.seam import Deletion, Patch, PatchType
from tests.unit.kube.surroundings import no_chance

BUSY = TooManyRequestsError(429, "TooManyRequests", "")
BUDGET = TooManyRequestsError(429, "TooManyRequests", "", None, DISRUPTION_BUDGET)
LOST = UnavailableError(0, "", "")
INTERNAL = UnavailableError(500, "InternalError", "")


@pytest.mark.parametrize(
    ("error", "want"),
    [
        pytest.param(BUSY, set(Repeat), id="a busy server did not act"),
        pytest.param(BUDGET, set(), id="a budget is the caller's to wait for"),
        pytest.param(UnsentError(0, "", ""), set(Repeat), id="an unsent request did nothing"),
        pytest.param(UntrustedError(0, "", ""), set(), id="a wrong certificate stays wrong"),
        pytest.param(LOST, {Repeat.FREELY, Repeat.EVICTION}, id="a lost answer may hide a deed"),
        pytest.param(INTERNAL, {Repeat.FREELY}, id="two budgets for one pod are a 500"),
        pytest.param(UnavailableError(501, "", ""), set(), id="what is not there will not come"),
        pytest.param(ConflictError(409, "Conflict", ""), set(), id="a conflict is an answer"),
    ],
)
def test_only_what_cannot_act_twice_is_repeated(error: ApiError, want: set[Repeat]) -> None:
    """By what the failure proves, and what a second time would do."""
    assert {one for one in Repeat if retry.may_repeat(error, one)} == want


def test_waits_double_and_end() -> None:
    """After the last try the error is told."""
    retries = Retries(n_tries=4)
    waits = [
        retries.wait_seconds(LOST, repeat=Repeat.FREELY, n_failed=n, chance=no_chance)
        for n in (1, 2, 3, 4)
    ]
    assert waits == [0.125, 0.25, 0.5, None]


def test_retry_after_is_honoured_unless_it_asks_for_too_much() -> None:
    """A server that asks for an hour gets its caller an error instead."""

    def wait(seconds: int) -> float | None:
        asked = TooManyRequestsError(429, "", "", timedelta(seconds=seconds))
        return Retries().wait_seconds(asked, repeat=Repeat.ONCE, n_failed=1, chance=no_chance)

    assert (wait(7), wait(3600)) == (7.0, None)


def test_only_patches_that_merge_may_be_repeated() -> None:
    """A JSON patch may append."""
    repeats = {kind: retry.repeat_of_patch(Patch({}, kind)) for kind in PatchType}
    assert {kind for kind, one in repeats.items() if one is Repeat.ONCE} == {PatchType.JSON}


def test_deletions_are_repeated_only_by_uid() -> None:
    """By name alone, the second one might hit a successor."""
    assert retry.repeat_of_deletion(Deletion()) is Repeat.ONCE
    assert retry.repeat_of_deletion(Deletion(uid="u")) is Repeat.FREELY
    assert retry.repeat_of_eviction(Deletion()) is Repeat.ONCE
    assert retry.repeat_of_eviction(Deletion(uid="u")) is Repeat.EVICTION
