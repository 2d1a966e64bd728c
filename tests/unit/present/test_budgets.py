from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from dovetail.decide.disrupt.calendar import Limit, calendars
from dovetail.present.budgets import (
    BudgetCalendar,
    CalendarRow,
    allowed_text,
    budget_blocks,
    budgets_json,
)
from dovetail.testing import node, node_pool, snapshot

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)  # a Monday
HOUR = timedelta(hours=1)
MORNINGS = {"nodes": "0", "reasons": ["Empty"], "schedule": "30 8 * * *", "duration": "2h"}


def shown(
    budgets: Sequence[Mapping[str, object]], *, n_nodes: int = 0, span: timedelta = 24 * HOUR
) -> BudgetCalendar:
    """The calendar of one pool."""
    nodes = [node(f"n{number}", pool="default", is_ready=number > 0) for number in range(n_nodes)]
    cluster = snapshot(nodes=nodes, node_pools=[node_pool(budgets=budgets)])
    return BudgetCalendar(calendars(cluster, NOW, NOW + span), NOW, NOW + span)


@pytest.mark.parametrize(
    ("limit", "n_nodes", "want"),
    [
        pytest.param(Limit(0), None, "none", id="none"),
        pytest.param(Limit(0), 10, "none", id="none of ten"),
        pytest.param(Limit(), None, "no limit", id="any number"),
        pytest.param(Limit(), 10, "10 of 10 (no limit)", id="all of ten"),
        pytest.param(Limit(3), None, "3", id="a count"),
        pytest.param(Limit(percent=15), None, "15%", id="a percentage of nobody knows what"),
        pytest.param(Limit(percent=15), 10, "2 of 10 (15%)", id="a percentage of ten"),
        pytest.param(Limit(3, 15), None, "3 or 15%, the lesser", id="both"),
        pytest.param(Limit(3, 15), 10, "2 of 10 (3 or 15%, the lesser)", id="both of ten"),
    ],
)
def test_a_limit_is_said_in_words(limit: Limit, n_nodes: int | None, want: str) -> None:
    """With the count where it is known."""
    assert allowed_text(limit, n_nodes) == want


def test_a_line_is_a_change_and_reasons_that_are_alike_share_it() -> None:
    """In order of time; the last may go on."""
    [block] = budget_blocks(shown([{"nodes": "10%"}, MORNINGS], n_nodes=20))
    assert block.title == "default: 20 nodes, 1 of them unavailable now"
    rest = "2 of 20 (10%)"
    start, end = "Mon 2026-03-02 06:00", "Tue 2026-03-03 06:00 or later"
    begins, ends = "Mon 2026-03-02 08:30", "Mon 2026-03-02 10:30"
    assert block.rows == (
        CalendarRow(start, begins, "Empty", rest),
        CalendarRow(start, end, "Drifted, Underutilized", rest),
        CalendarRow(begins, ends, "Empty", "none"),
        CalendarRow(ends, end, "Empty", rest),
    )
    assert block.warnings == ()


def test_one_budget_for_everything_is_one_line() -> None:
    """Without a picture, as nothing changes."""
    [block] = budget_blocks(shown([{"nodes": "10%"}]))
    assert block.title == "default"
    assert [row.reasons for row in block.rows] == ["every reason"]
    assert block.pictures == ()


def test_the_wide_form_has_a_line_for_each_reason() -> None:
    """Even where they are alike."""
    [block] = budget_blocks(shown([{"nodes": "10%"}]), is_wide=True)
    assert [row.reasons for row in block.rows] == ["Empty", "Drifted", "Underutilized"]


def test_a_picture_has_a_row_a_day_and_a_cell_an_hour() -> None:
    """Blank outside the span; an hour in which it changes says so."""
    [block] = budget_blocks(shown([MORNINGS, {"nodes": "1", "reasons": ["Empty"]}]))
    [picture] = block.pictures
    assert picture.reasons == "Empty"
    assert picture.days == (
        ("Mon 02 Mar", "      aa/./aaaaaaaaaaaaa"),
        ("Tue 03 Mar", "aaaaaa                  "),
    )
    assert picture.legend == (("a", "1"), (".", "none"), ("/", "changes within the hour"))


def test_a_picture_shows_a_week_at_most() -> None:
    """What comes later is in the lines."""
    [block] = budget_blocks(shown([MORNINGS], span=30 * 24 * HOUR))
    [picture] = block.pictures
    assert len(picture.days) == 7
    assert picture.days[-1] == ("Sun 08 Mar", "########/./#############")
    assert len(block.rows) == 2 + 2 * 30


def test_limits_beyond_the_alphabet_share_a_cell() -> None:
    """No budget is lost, and the lines tell them apart."""
    many = [
        {"nodes": f"{n + 1}", "schedule": f"0 {n % 24} {2 + n // 24} * *", "duration": "1h"}
        for n in range(48)
    ]
    [block] = budget_blocks(shown(many, span=42 * HOUR))
    [picture] = block.pictures
    assert {"a", "z", "+"} <= {cell for cell, _ in picture.legend}


def test_what_cannot_be_meant_is_said_under_the_lines() -> None:
    """In a sentence each."""
    [block] = budget_blocks(shown([{"nodes": "0"}]))
    [warning] = block.warnings
    assert warning.startswith("budgets[0] never allows a node to be disrupted")


def test_scripts_read_stable_fields() -> None:
    """Fields may be added; these stay."""
    data = budgets_json(shown([{"nodes": "0"}, {"nodes": "15%", "reasons": ["Empty"]}], n_nodes=10))
    span = {"from": "2026-03-02T06:00:00Z", "until": "2026-03-03T06:00:00Z"}
    none = {"count": 0, "percent": None, "nodes": 0}
    [flaw] = budget_blocks(shown([{"nodes": "0"}]))[0].warnings
    assert data == {
        **span,
        "nodePools": [
            {
                "name": "default",
                "nodes": 10,
                "disrupting": 1,
                "allowed": [
                    {"reason": reason, **span, **none}
                    for reason in ("Empty", "Drifted", "Underutilized")
                ],
                "warnings": [{"warning": "NeverAllows", "budgets": [0], "message": flaw}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("nodes", "n_nodes", "want"),
    [
        pytest.param("15%", 10, (None, 15, 2), id="a percentage of ten"),
        pytest.param("15%", 0, (None, 15, None), id="of nobody knows how many"),
        pytest.param("3", 0, (3, None, None), id="a count of nobody knows how many"),
        pytest.param("3", 2, (3, None, 2), id="a count of less"),
        pytest.param("0", 0, (0, None, 0), id="none, of however many"),
    ],
)
def test_scripts_read_counts_where_they_are_known(
    nodes: str, n_nodes: int, want: tuple[int | None, ...]
) -> None:
    """null where nobody knows."""
    text = json.dumps(budgets_json(shown([{"nodes": nodes}], n_nodes=n_nodes)))
    [pool] = json.loads(text)["nodePools"]
    rows = [(one["count"], one["percent"], one["nodes"]) for one in pool["allowed"]]
    assert rows == [want] * 3
