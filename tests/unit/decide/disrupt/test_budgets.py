from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail.decide.disrupt.budgets import (
    UNLIMITED,
    Allowance,
    allowances,
    allowed_disruptions,
    changes_at,
    is_active,
)
from dovetail.model.ledger import Departure, Ledger
from dovetail.model.node import Condition
from dovetail.model.pool import Budget
from dovetail.testing import node, node_pool, snapshot

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("budgets", "want"),
    [
        pytest.param([], UNLIMITED, id="no budget"),
        pytest.param([Budget("3")], 3, id="a count"),
        pytest.param([Budget("0")], 0, id="none at all"),
        pytest.param([Budget("10%")], 1, id="a percentage is rounded up"),
        pytest.param([Budget("15%")], 2, id="and up again"),
        pytest.param([Budget("0%")], 0, id="nothing of anything"),
        pytest.param([Budget("100%")], 10, id="all"),
        pytest.param([Budget("5"), Budget("20%")], 2, id="the tightest wins"),
        pytest.param([Budget("some")], 0, id="not a number"),
        pytest.param([Budget("-1")], 0, id="below nothing"),
        pytest.param([Budget("9" * 5000)], 0, id="no number that anybody meant"),
        pytest.param([Budget("1", schedule="@daily", duration=HOUR)], UNLIMITED, id="not active"),
        pytest.param([Budget("1", schedule="0 12 * * *", duration=HOUR)], 1, id="active"),
        pytest.param([Budget("1", schedule="never", duration=HOUR)], 0, id="no schedule"),
        pytest.param([Budget("1", schedule="@daily")], 0, id="a schedule without duration"),
        pytest.param([Budget("1", duration=HOUR)], 0, id="a duration without schedule"),
    ],
)
def test_budgets_allow_so_many_of_ten_nodes(budgets: list[Budget], want: int) -> None:
    """The tightest of those that are active; one that makes no sense allows nothing."""
    assert allowed_disruptions(budgets, 10, NOW) == want


@pytest.mark.parametrize(
    ("minute", "want"),
    [
        pytest.param(-1, False, id="before the hit"),
        pytest.param(0, True, id="at the hit"),
        pytest.param(59, True, id="until its end"),
        pytest.param(60, False, id="not at its end"),
    ],
)
def test_a_schedule_holds_from_its_hit_for_its_duration(minute: int, want: bool) -> None:  # noqa: FBT001  a table's column
    """The hit belongs to it, the end does not."""
    noon = Budget("1", schedule="0 12 * * *", duration=HOUR)
    assert is_active(noon, datetime(2026, 1, 1, 12, tzinfo=UTC) + minute * HOUR / 60) is want


@pytest.mark.parametrize(
    ("schedule", "duration", "want"),
    [
        pytest.param("", None, None, id="always"),
        pytest.param("0 12 * * *", HOUR, NOW + HOUR / 2, id="it ends"),
        pytest.param("0 13 * * *", HOUR, NOW + HOUR / 2, id="it begins"),
        pytest.param("0 0 30 2 *", HOUR, None, id="a day that never comes"),
        pytest.param("nonsense", HOUR, None, id="no schedule"),
        pytest.param("@hourly", timedelta.max, None, id="longer than the calendar"),
    ],
)
def test_a_budget_says_when_it_next_changes(
    schedule: str, duration: timedelta | None, want: datetime | None
) -> None:
    """So that nobody need look before."""
    budget = Budget("0", schedule=schedule, duration=duration)
    assert changes_at(budget, NOW) == want


def test_a_duration_that_never_ends_is_active_once_it_has_begun() -> None:
    """Though no calendar reaches that far back."""
    assert is_active(Budget("1", schedule="@hourly", duration=timedelta.max), NOW)


def test_nodes_that_are_away_count_against_what_is_allowed() -> None:
    """Those that have not started, are ending or have no claim are no nodes of the pool yet, or
    any more.
    """
    terminating = Condition("InstanceTerminating", "True")
    nodes = [
        node("ready", pool="default"),
        node("marked", pool="default"),
        node("deleting", pool="default", deleting_at=NOW.isoformat()),
        node("unready", pool="default", is_ready=False),
        node("starting", pool="default", stage="starting"),
        msgspec.structs.replace(node("ending", pool="default"), conditions=(terminating,)),
        msgspec.structs.replace(node("claimless", pool="default"), node_claim=""),
        node("theirs"),
    ]
    pools = [node_pool(budgets=[{"nodes": "100%"}, {"nodes": "1", "reasons": ["Drifted"]}])]
    cluster = msgspec.structs.replace(
        snapshot(nodes=nodes, node_pools=pools),
        ledger=Ledger(disrupting=(Departure("marked", "Empty", NOW),)),
    )
    assert allowances(cluster, "Empty", NOW) == {"default": Allowance(4, 3, 4)}
    assert allowances(cluster, "Drifted", NOW) == {"default": Allowance(4, 3, 1)}
    assert allowances(cluster, "Empty", NOW)["default"].n_remaining == 1
    assert allowances(cluster, "Drifted", NOW)["default"].n_remaining == 0
