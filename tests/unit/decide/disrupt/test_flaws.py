from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.decide.disrupt.budgets import allowed_disruptions
from dovetail.decide.disrupt.flaws import FlawKind, flaws
from dovetail.model.pool import Budget
from tests.unit.decide.disrupt.test_calendar import BUDGETS, MOMENTS

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def scheduled(nodes: str, schedule: str, hours: float) -> Budget:
    """A budget with windows."""
    return Budget(nodes, schedule=schedule, duration=hours * HOUR)


@pytest.mark.parametrize(
    "budgets",
    [
        pytest.param([], id="none"),
        pytest.param([Budget()], id="the default"),
        pytest.param([Budget("5"), scheduled("0", "0 8 * * mon-fri", 10)], id="office hours"),
        pytest.param([scheduled("0", "@daily", 23)], id="an hour is left"),
        pytest.param([scheduled("0", "0 0 1 1 *", 365 * 24)], id="a day of a leap year is left"),
        pytest.param([scheduled("0", "0 0 1 * *", 30 * 24)], id="a 31st is left"),
        pytest.param([scheduled("0", "0 0 29 2 *", 1)], id="seldom is not never"),
        pytest.param([scheduled("0", "0 0 * * mon-sat", 24)], id="a Sunday is left"),
        pytest.param([scheduled("0", "0 0 * 1-11 *", 24)], id="a December is left"),
        pytest.param(
            [scheduled("0", "0 0 * * *", 23), scheduled("0", "0 23 * * mon-sat", 1)],
            id="an hour of a Sunday is left",
        ),
        pytest.param([scheduled("0", "* * * * *", 1 / 120)], id="half of each minute is left"),
        pytest.param(
            [scheduled("0", "0 0 * * *", 12), scheduled("0", "0 12 * * *", 11)],
            id="two that leave an hour",
        ),
        pytest.param(
            [scheduled("0", "0 0 * * *", 12), scheduled("1", "0 12 * * *", 12)],
            id="two of which one lets a node go",
        ),
    ],
)
def test_budgets_that_let_nodes_go_at_times_are_fine(budgets: list[Budget]) -> None:
    """However seldom."""
    assert flaws(budgets, NOW) == ()


@pytest.mark.parametrize(
    ("budget", "kind", "words"),
    [
        pytest.param(
            Budget("0"),
            FlawKind.NEVER_ALLOWS,
            "budgets[0] never allows a node to be disrupted for Empty, Drifted or Underutilized: "
            "it has no schedule, so it is always active",
            id="none at any time",
        ),
        pytest.param(
            Budget("0%", reasons=("Drifted",)),
            FlawKind.NEVER_ALLOWS,
            "never allows a node to be disrupted for Drifted: it has no schedule",
            id="nothing of anything for one reason",
        ),
        pytest.param(
            scheduled("0", "@daily", 25),
            FlawKind.NEVER_ALLOWS,
            "its schedule '@daily' matches again before its 25h0m0s are over",
            id="longer than its period",
        ),
        pytest.param(
            scheduled("0", "@hourly", 1),
            FlawKind.NEVER_ALLOWS,
            "its schedule '@hourly' matches again",
            id="as long as its period",
        ),
        pytest.param(
            scheduled("0", "0 0 1 1 *", 366 * 24),
            FlawKind.NEVER_ALLOWS,
            "matches again",
            id="as long as a leap year",
        ),
        pytest.param(
            Budget("0", schedule="@yearly", duration=timedelta.max),
            FlawKind.NEVER_ALLOWS,
            "matches again",
            id="for ever",
        ),
        pytest.param(
            scheduled("10%", "@daily", 24),
            FlawKind.NEVER_ENDS,
            "budgets[0] is always active: its schedule '@daily' matches again",
            id="a window without end",
        ),
        pytest.param(
            scheduled("0", "0 0 30 2 *", 24),
            FlawKind.NEVER_BEGINS,
            "never limits anything: its schedule '0 0 30 2 *' never matches",
            id="a day that never comes",
        ),
        pytest.param(
            scheduled("0", "@daily", 0),
            FlawKind.NEVER_BEGINS,
            "its duration is 0s",
            id="no time at all",
        ),
        pytest.param(
            scheduled("0", "@daily", -1),
            FlawKind.NEVER_BEGINS,
            "its duration is -1h0m0s",
            id="less than no time",
        ),
        pytest.param(
            Budget("1", reasons=("Expired",)),
            FlawKind.UNKNOWN_REASON,
            "limits Expired, which is not a disruption reason; "
            "expected Empty, Drifted or Underutilized",
            id="a reason that does not exist",
        ),
        pytest.param(
            Budget("0", reasons=()),
            FlawKind.NO_REASON,
            "budgets[0] never limits anything: reasons is an empty list",
            id="no reason",
        ),
        pytest.param(
            Budget("0", reasons=("Expired",)),
            FlawKind.UNKNOWN_REASON,
            "Expired",
            id="none for a reason that does not exist",
        ),
        pytest.param(
            Budget("some"),
            FlawKind.UNREADABLE,
            "allows no disruption: nodes is 'some'",
            id="no number",
        ),
        pytest.param(
            scheduled("some", "@daily", 1),
            FlawKind.UNREADABLE,
            "nodes is 'some'",
            id="no number, at times",
        ),
        pytest.param(
            scheduled("1", "daily", 1),
            FlawKind.UNREADABLE,
            "schedule 'daily' cannot be read",
            id="no schedule",
        ),
        pytest.param(
            Budget("1", schedule="@daily"),
            FlawKind.UNREADABLE,
            "expected schedule and duration together",
            id="no duration",
        ),
        pytest.param(
            Budget("1", duration=HOUR),
            FlawKind.UNREADABLE,
            "expected schedule and duration together",
            id="only a duration",
        ),
    ],
)
def test_a_budget_that_cannot_be_meant_is_named(budget: Budget, kind: FlawKind, words: str) -> None:
    """With what is wrong with it."""
    [flaw] = flaws([budget], NOW)
    assert (flaw.kind, flaw.budgets) == (kind, (0,))
    assert words in flaw.message


def test_windows_that_leave_no_gap_together_are_named_together() -> None:
    """Though each alone would be fine."""
    budgets = [
        Budget("5"),
        Budget("0", schedule="0 0 * * *", duration=12 * HOUR),
        Budget("0", schedule="0 12 * * *", duration=12 * HOUR, reasons=("Empty", "Drifted")),
    ]
    [flaw] = flaws(budgets, NOW)
    assert (flaw.kind, flaw.budgets) == (FlawKind.NEVER_ALLOWS, (1, 2))
    assert flaw.message == (
        "budgets[1] and budgets[2] together never allow a node to be disrupted for "
        "Empty or Drifted: their windows leave no gap"
    )


def test_a_window_within_another_does_not_cut_it_short() -> None:
    """The longer one holds on."""
    halves = [scheduled("0", "0 0 * * *", 12), scheduled("0", "0 12 * * *", 12)]
    [flaw] = flaws([*halves, scheduled("0", "0 3 * * *", 1)], NOW)
    assert (flaw.kind, flaw.budgets) == (FlawKind.NEVER_ALLOWS, (0, 1, 2))


def test_the_end_of_the_calendar_is_no_trouble() -> None:
    """Nothing reaches beyond it."""
    last = datetime.max.replace(tzinfo=UTC) - HOUR
    assert [one.kind for one in flaws([Budget("0")], last)] == [FlawKind.NEVER_ALLOWS]


@settings(max_examples=60, deadline=None)
@given(BUDGETS, MOMENTS, st.lists(st.integers(0, 4 * 366 * 24 * 60), min_size=20, max_size=20))
def test_what_never_lets_a_node_go_never_does(
    budgets: list[Budget], now: datetime, waits: list[int]
) -> None:
    """At whatever minute of the years to come one asks."""
    for flaw in flaws(budgets, now):
        blamed = [budgets[index] for index in flaw.budgets]
        if flaw.kind is FlawKind.NEVER_ALLOWS and not any(one.reasons for one in blamed):
            for wait in waits:
                assert allowed_disruptions(blamed, 10, now + timedelta(minutes=wait)) == 0
