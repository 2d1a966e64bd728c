"""Offerings that could not be had lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.cloud import refusals
from dovetail.cloud.errors import SoldOut
from dovetail.model.ledger import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPOT_A = SoldOut("c-1x", "a", "spot")
ON_DEMAND_A = SoldOut("c-1x", "a", "on-demand")


def test_a_refusal_is_remembered_for_three_minutes() -> None:
    """Up to then, and not at that very moment any more."""
    held = refusals.note((), [SPOT_A], NOW)
    assert held == (Refusal("c-1x", "a", "spot", NOW + timedelta(minutes=3)),)
    assert refusals.current(held, NOW + timedelta(minutes=3, microseconds=-1)) == held
    assert refusals.current(held, NOW + timedelta(minutes=3)) == ()


def test_a_refusal_concerns_one_type_zone_and_capacity_type() -> None:
    """In a fixed order, whatever the order of the news."""
    held = refusals.note(refusals.note((), [SPOT_A], NOW), [ON_DEMAND_A], NOW)
    assert held == refusals.note((), [SPOT_A, ON_DEMAND_A], NOW)
    assert [one.capacity_type for one in held] == ["on-demand", "spot"]


def test_what_is_refused_again_is_remembered_anew() -> None:
    """And what has lapsed is dropped on the way."""
    later = NOW + timedelta(minutes=2)
    held = refusals.note(refusals.note((), [SPOT_A, ON_DEMAND_A], NOW), [SPOT_A], later)
    assert {one.capacity_type: one.until - NOW for one in held} == {
        "spot": timedelta(minutes=5),
        "on-demand": timedelta(minutes=3),
    }
    assert len(refusals.note(held, [], NOW + timedelta(minutes=4))) == 1
