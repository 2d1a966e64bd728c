from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide.lifecycle import timing
from dovetail.decide.lifecycle.timing import EVICTION_BACKOFF, LIFECYCLE_BACKOFF, shorten
from dovetail.model.backoff import Backoff


@pytest.mark.parametrize(
    ("name", "want_seconds"),
    [
        ("LAUNCH_TIMEOUT", 300),
        ("REGISTRATION_TIMEOUT", 900),
        ("INSTANCE_POLL", 5),
        ("DRAIN_POLL", 1),
        ("MIN_DRAIN", 5),
        ("STUCK_TERMINATING_AFTER", 60),
        ("DRIFT_RECHECK", 300),
        ("TYPE_CHECK_FIRST_AFTER", 3600),
        ("TYPE_CHECK_KEPT_FOR", 1800),
        ("POD_EVENT_DEDUPE", 10),
        ("CONSISTENCY_SCAN", 600),
        ("GARBAGE_PERIOD", 120),
        ("COUNTER_PERIOD", 5),
    ],
)
def test_times_are_the_references(name: str, want_seconds: int) -> None:
    """As the table of constants has them."""
    assert getattr(timing, name) == timedelta(seconds=want_seconds)


@given(
    st.sampled_from((EVICTION_BACKOFF, LIFECYCLE_BACKOFF)),
    st.integers(min_value=0, max_value=10**9),
)
def test_waits_grow_and_stay_within_bounds(backoff: Backoff, n_failures: int) -> None:
    """From the first to the longest, and never back."""
    wait, longer = backoff.after(n_failures), backoff.after(n_failures + 1)
    assert backoff.first <= wait <= longer <= backoff.longest
    assert longer in {2 * wait, backoff.longest} or n_failures == 0


def test_a_message_that_fits_is_left_alone() -> None:
    """Only longer ones are cut."""
    assert shorten("x" * 300) == "x" * 300
    assert shorten("abcdef", 5) == "ab..."
