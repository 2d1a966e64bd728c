from __future__ import annotations

from datetime import timedelta

from benchmarks.day_mix import DAY, demand, empty_cluster
from benchmarks.rows import EVICTIONS_SHARE, PRICE_SHARE
from benchmarks.simulated_day import Day, measure_day, passed
from dovetail.sim.reference.policy import Reference


def test_a_seed_fixes_the_day_and_another_seed_makes_another() -> None:
    """Two policies see the same demand."""
    assert demand(200, 3) == demand(200, 3)
    assert demand(200, 3) != demand(200, 4)
    assert empty_cluster(3) == empty_cluster(3)


def test_a_day_has_workloads_that_follow_it_rollouts_cron_jobs_and_guards() -> None:
    """All of what makes a cluster restless."""
    held = demand(1_000)
    assert any(len(one.replicas) > 10 for one in held.workloads)
    assert any(one.rollouts for one in held.workloads)
    assert any(one.is_stateful for one in held.workloads)
    assert any(one.guard for one in held.workloads)
    assert held.cron_works
    assert held.lasts_for == DAY
    assert all(at < DAY for one in held.workloads for at, _ in one.replicas)
    spans = [one.every for one in held.cron_works]
    assert all(one is not None and one % timedelta(minutes=1) == timedelta(0) for one in spans)


def test_the_same_day_passes_in_the_same_way_twice() -> None:
    """Nothing but the seed decides."""
    day = Day(60, hours=1.2)
    assert passed(day, Reference()).report == passed(day, Reference()).report


def test_both_policies_are_measured_against_each_other() -> None:
    """Shares of what the reference pays and evicts."""
    figures = measure_day(12, 1.2, seed=1).figures
    assert figures["price"] > 0
    assert figures[PRICE_SHARE] == figures["price"] / figures["reference price"]
    assert EVICTIONS_SHARE in figures
