"""Memory of what was said stays within its bound, and loses the oldest first."""

from __future__ import annotations

from datetime import timedelta

from dovetail.observe.events import Repeats
from dovetail.testing.virtual_time import START

SOON = timedelta(minutes=2)


def test_what_is_over_makes_room_first() -> None:
    """As long as that suffices, nothing current is forgotten."""
    repeats = Repeats(most=10)
    for number in range(8):
        repeats.note((f"old {number}",), until=START, now=START)
    for number in range(9):
        repeats.note((f"new {number}",), until=START + SOON, now=START)
    assert all(repeats.is_recent((f"new {number}",), START) for number in range(9))


def test_past_its_bound_it_forgets_the_oldest() -> None:
    """However much is said, memory does not grow."""
    repeats = Repeats(most=10)
    for number in range(1_000):
        repeats.note((str(number),), until=START + SOON, now=START)
        assert len(repeats) <= 10
    assert repeats.is_recent(("999",), START)
    assert not repeats.is_recent(("900",), START)
