from __future__ import annotations

from benchmarks.rows import ROWS, PlanRow, selected


def test_without_a_name_every_row_is_measured() -> None:
    """The whole table, in its order."""
    assert selected(None, None) == ROWS


def test_a_name_means_one_row_or_a_whole_scenario() -> None:
    """`fleet` is all sizes of it, `fleet-5000` is one."""
    assert [row.name for row in selected("fleet-5000", None)] == ["fleet-5000"]
    assert [row.name for row in selected("diverse", None)] == ["diverse-5000", "diverse-20000"]
    assert selected("fleece", None) == ()


def test_a_size_of_ones_own_is_planned_once_and_without_limits() -> None:
    """The promises are for the sizes of the table."""
    assert selected("fleet", 3_000) == (PlanRow("fleet-3000", "fleet", 3_000, {}),)


def test_plans_are_measured_on_seeds_that_planning_was_not_tuned_on() -> None:
    """Where a row says so; other rows are the clusters they always were."""
    before = {row.name: row.seeds_before for row in ROWS if isinstance(row, PlanRow)}
    assert before["plain-1000"] == before["plain-5000"] >= 24
    assert before["fleet-5000"] == 0
