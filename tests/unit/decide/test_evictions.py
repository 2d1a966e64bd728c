"""How often pods were evicted within a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.decide.evictions import free_at, hour_of, with_evictions
from dovetail.model.ledger import EvictionCount, Ledger
from dovetail.testing import deployment, pod

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOON = NOW - HOUR / 2
WEB = "ReplicaSet/default/web"


def test_evictions_are_counted_by_workload_and_hour() -> None:
    """Pods that nobody makes again are not counted."""
    web = deployment(2, owner="ReplicaSet/web")
    first = with_evictions(Ledger(), (*web, pod("alone")), NOW)
    assert first.evictions == (EvictionCount(WEB, NOON, 2),)
    second = with_evictions(with_evictions(first, web[:1], NOW), web[:1], NOW + HOUR)
    assert second.evictions == (EvictionCount(WEB, NOON, 3), EvictionCount(WEB, NOON + HOUR, 1))
    assert with_evictions(second, (pod("alone"),), NOW) is second


def test_an_eviction_counts_for_a_day_at_least() -> None:
    """And for less than an hour more."""
    counted = (EvictionCount(WEB, NOON, 1),)
    assert hour_of(NOW) == NOON
    assert free_at(WEB, 0, counted, NOW) == NOON + 25 * HOUR
    assert free_at(WEB, 0, counted, NOON + 25 * HOUR) is None
    assert free_at(WEB, 1, counted, NOW) is None
    assert free_at("ReplicaSet/default/other", 0, counted, NOW) is None


def test_as_many_hours_are_waited_for_as_it_takes() -> None:
    """The earliest evictions are forgotten first, in whatever order they are given."""
    counted = (
        EvictionCount(WEB, NOON, 2),
        EvictionCount(WEB, NOON - 3 * HOUR, 2),
        EvictionCount(WEB, NOON - 30 * HOUR, 9),
    )
    assert free_at(WEB, 3, counted, NOW) == NOON + 22 * HOUR
    assert free_at(WEB, 1, counted, NOW) == NOON + 25 * HOUR
