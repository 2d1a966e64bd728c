from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.decide.disrupt.budgets import allowed_disruptions
from dovetail.decide.disrupt.calendar import (
    NOTHING,
    REASONS,
    UNLIMITED,
    Limit,
    Stretch,
    about,
    calendars,
    stretches,
    tightest,
    windows,
)
from dovetail.model.pool import Budget
from dovetail.testing import node, node_pool, snapshot
from tests.laws.test_units_laws import SCHEDULES

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)  # a Thursday
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
N_NODES = 17

COUNTS = st.one_of(
    st.integers(0, 20).map(str), st.integers(0, 100).map(lambda n: f"{n}%"), st.just("some")
)
SCHEDULE = st.one_of(
    st.sampled_from(["", "", "nonsense", "@hourly", "*/7 * * * *", "59 23 * * *"]),
    SCHEDULES,
)
DURATION = st.one_of(
    st.none(),
    st.integers(-5, 90).map(lambda n: n * MINUTE),
    st.integers(0, 60).map(lambda n: n * HOUR),
    st.sampled_from([timedelta.max, 100_000 * HOUR]),
)
BUDGETS = st.lists(
    st.builds(
        Budget,
        nodes=COUNTS,
        reasons=st.sets(st.sampled_from([*REASONS, "Expired"])).map(tuple),
        schedule=SCHEDULE,
        duration=DURATION,
    ),
    max_size=4,
)
MOMENTS = st.datetimes(
    min_value=datetime(2019, 1, 1),  # noqa: DTZ001  the zone is given below
    max_value=datetime(2050, 1, 1),  # noqa: DTZ001  the zone is given below
    timezones=st.just(UTC),
)


def allowed_at(some: tuple[Stretch, ...], at: datetime) -> int:
    """What the calendar says of a moment."""
    [held] = [one for one in some if one.starts_at <= at < one.ends_at]
    return held.limit.of(N_NODES)


@settings(max_examples=60, deadline=None)
@given(BUDGETS, MOMENTS, st.sampled_from(REASONS))
def test_the_calendar_says_of_every_minute_what_the_budgets_say(
    budgets: list[Budget], now: datetime, reason: str
) -> None:
    """It is what asking once a minute would have found."""
    until = now + 4 * HOUR
    held = about(budgets, reason)
    found = stretches(held, now, until)
    asked = {at: min(allowed_disruptions(held, N_NODES, at), N_NODES) for at in minutes(now, until)}
    assert {at: allowed_at(found, at) for at in asked} == asked


def minutes(now: datetime, until: datetime) -> list[datetime]:
    """The moments at which anything may change, and `now`."""
    first = now.replace(second=0, microsecond=0) + MINUTE
    return [now, *(first + n * MINUTE for n in range((until - first) // MINUTE))]


@settings(max_examples=150, deadline=None)
@given(BUDGETS, MOMENTS, st.lists(st.floats(0, 1, exclude_max=True), min_size=20, max_size=20))
def test_the_calendar_of_months_agrees_with_the_budgets_at_any_moment(
    budgets: list[Budget], now: datetime, shares: list[float]
) -> None:
    """Also just before, at and after what it calls a change."""
    until = now + 100 * DAY
    found = stretches(budgets, now, until)
    turns = [one.starts_at for one in (*found[:10], *found[-10:])]
    tried = [now + share * (until - now) for share in shares]
    tried += [at + late * MINUTE for at in turns for late in (-1, 0, 1)]
    for at in tried:
        if now <= at < until:
            want = min(allowed_disruptions(budgets, N_NODES, at), N_NODES)
            assert allowed_at(found, at) == want


@settings(max_examples=100, deadline=None)
@given(BUDGETS, MOMENTS)
def test_stretches_leave_no_gap_and_each_begins_with_a_change(
    budgets: list[Budget], now: datetime
) -> None:
    """From now until then, and no moment twice."""
    until = now + 3 * DAY
    found = stretches(budgets, now, until)
    assert (found[0].starts_at, found[-1].ends_at) == (now, until)
    for one, following in pairwise(found):
        assert one.starts_at < one.ends_at == following.starts_at
        assert one.limit != following.limit


def test_a_window_in_the_middle_makes_three_stretches() -> None:
    """Before it, in it, after it."""
    held = (Budget("20%"), Budget("5"), Budget("0", schedule="0 14 * * *", duration=HOUR))
    both = Limit(count=5, percent=20)
    begins, ends = NOW + 1.5 * HOUR, NOW + 2.5 * HOUR
    assert stretches(held, NOW, NOW + 6 * HOUR) == (
        Stretch(NOW, begins, both),
        Stretch(begins, ends, NOTHING),
        Stretch(ends, NOW + 6 * HOUR, both),
    )


@pytest.mark.parametrize(
    ("limits", "want"),
    [
        pytest.param([], UNLIMITED, id="no budget"),
        pytest.param([Limit(5), Limit(3)], Limit(3), id="counts"),
        pytest.param([Limit(percent=5), Limit(percent=3)], Limit(percent=3), id="percentages"),
        pytest.param([Limit(5), Limit(percent=3)], Limit(5, 3), id="which is less is not known"),
        pytest.param([Limit(percent=3), NOTHING], NOTHING, id="nothing is less than anything"),
    ],
)
def test_the_tightest_wins(limits: list[Limit], want: Limit) -> None:
    """Counts among counts, percentages among percentages."""
    assert tightest(limits) == want


@pytest.mark.parametrize(
    ("limit", "want"),
    [
        pytest.param(UNLIMITED, 10, id="all"),
        pytest.param(Limit(12), 10, id="not more than there are"),
        pytest.param(Limit(3), 3, id="a count"),
        pytest.param(Limit(percent=11), 2, id="rounded up"),
        pytest.param(Limit(3, 11), 2, id="the lesser"),
        pytest.param(Limit(1, 11), 1, id="the lesser, again"),
        pytest.param(NOTHING, 0, id="none"),
    ],
)
def test_a_limit_means_so_many_of_ten_nodes(limit: Limit, want: int) -> None:
    """As budgets count."""
    assert limit.of(10) == want


@pytest.mark.parametrize(
    ("schedule", "span", "want"),
    [
        pytest.param("0 12 * * *", HOUR, [(0, 0.5), (23.5, 24.5)], id="begun before"),
        pytest.param("0 13 * * *", HOUR, [(0.5, 1.5), (24.5, 25.5)], id="to come"),
        pytest.param("@hourly", HOUR, [(0, 30)], id="those that touch are one"),
        pytest.param("0 0 1 1 *", 24 * HOUR, [(0, 11.5)], id="once a year"),
        pytest.param("0 0 29 2 *", timedelta.max, [(0, 30)], id="for ever since the last leap day"),
        pytest.param("0 0 30 2 *", HOUR, [], id="never"),
        pytest.param("@hourly", timedelta(0), [], id="for no time"),
    ],
)
def test_a_budget_holds_in_windows(
    schedule: str, span: timedelta, want: list[tuple[float, float]]
) -> None:
    """Hours from now, of the next thirty."""
    found = windows(Budget("1", schedule=schedule, duration=span), NOW, NOW + 30 * HOUR)
    assert [((one - NOW) / HOUR, (other - NOW) / HOUR) for one, other in found] == want


def test_windows_reach_to_both_ends_of_the_calendar() -> None:
    """No year is too early or too late."""
    held = Budget("1", schedule="* * * * *", duration=HOUR)
    first = datetime(1, 1, 1, tzinfo=UTC)
    last = datetime.max.replace(tzinfo=UTC)
    assert list(windows(held, first, first + HOUR)) == [(first, first + HOUR)]
    assert list(windows(held, last - HOUR, last)) == [(last - HOUR, last)]


def test_nodes_are_counted_where_the_input_has_some() -> None:
    """Of a pool without any, nobody knows how many it will have."""
    nodes = [
        node("n1", pool="b"),
        node("n2", pool="b", is_ready=False),
        node("n3", pool="starting", stage="starting"),
    ]
    pools = [
        node_pool("b", budgets=[{"nodes": "1", "reasons": ["Drifted"]}]),
        node_pool("a"),
        node_pool("starting"),
    ]
    cluster = snapshot(nodes=nodes, node_pools=pools)
    a, b, starting = calendars(cluster, NOW, NOW + HOUR)
    assert [one.node_pool.name for one in (a, b, starting)] == ["a", "b", "starting"]
    assert (a.n_nodes, a.n_disrupting) == (None, 0)
    assert (b.n_nodes, b.n_disrupting) == (2, 1)
    assert (starting.n_nodes, starting.n_disrupting) == (0, 0)
    assert {reason: [one.limit for one in some] for reason, some in b.stretches.items()} == {
        "Empty": [UNLIMITED],
        "Drifted": [Limit(1)],
        "Underutilized": [UNLIMITED],
    }
