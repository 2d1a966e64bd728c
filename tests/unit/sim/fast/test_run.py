from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dovetail import labels
from dovetail.decide import decide
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import Budget, Disruption
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import AppDemand, CronWork, Demand
from dovetail.sim.fast.machines import MachinePace
from dovetail.sim.fast.run import Ended, Manner, simulate
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
BOOTS = MachinePace(starts_after=30 * SECOND, starts_within=30 * SECOND, ends_after=5 * SECOND)
SMALL = instance_type("small", cpu=4, memory="16Gi", price=1.0)
LARGE = instance_type("large", cpu=16, memory="64Gi", price=4.0)


def given(
    *types: Any, reasons: Iterable[DisruptionReason] = (), after: timedelta = MINUTE, **more: Any
) -> Snapshot:
    """An empty cluster with one pool."""
    pool = msgspec.structs.replace(
        node_pool(), disruption=Disruption(consolidate_after=after, budgets=(Budget("100%"),))
    )
    found = snapshot(types=types or (SMALL,), node_pools=[pool], **more)
    return msgspec.structs.replace(found, policy=Policy(disrupts_for=tuple(reasons)))


def run(
    cluster: Snapshot,
    *workloads: AppDemand,
    lasts: timedelta = HOUR,
    policy: Callable[[Snapshot, datetime], Plan] = decide,
    **more: Any,
) -> Ended:
    """So long with these workloads."""
    demand = Demand(lasts_for=lasts, workloads=workloads, **more)
    manner = Manner(start=START, pace=BOOTS)
    return simulate(cluster, demand, policy, manner=manner, chance=lambda: 0.5)


def web(*replicas: tuple[timedelta, int], **more: Any) -> AppDemand:
    """A workload of pods that take half a small node each."""
    spec = pod("web", cpu=1.9, memory="1Gi").spec
    return AppDemand(name="web", spec=spec, replicas=replicas, **more)


def running(ended: Ended) -> list[str]:
    """Pods with a node, by name."""
    return sorted(one.name for one in ended.snapshot.pods if one.node_name)


class Seen:
    """A policy that shows what it was asked."""

    def __init__(self) -> None:
        self.snapshots: list[tuple[datetime, Snapshot]] = []

    def __call__(self, cluster: Snapshot, now: datetime) -> Plan:
        """Decide, and remember upon what."""
        self.snapshots.append((now, cluster))
        return decide(cluster, now)


def test_pods_wait_for_their_node_and_money_is_paid_from_its_launch() -> None:
    """A window of a second, thirty seconds of boot; one dollar an hour for each node."""
    ended = run(given(), web((timedelta(0), 4)))
    assert len(running(ended)) == 4
    assert ended.report.waiting_median == 31 / 60
    assert ended.report.n_launched == 2
    assert round(ended.report.price, 4) == round(2 * (1 - 1 / 3600), 4)


def test_what_came_before_the_end_of_the_warm_up_does_not_count() -> None:
    """The first filling of an empty cluster says nothing of a day."""
    demand = Demand(lasts_for=HOUR, workloads=(web((timedelta(0), 4)),))
    manner = Manner(start=START, warms_up_for=30 * MINUTE, pace=BOOTS)
    report = simulate(given(), demand, decide, manner=manner, chance=lambda: 0.5).report
    assert (report.n_launched, report.n_bound, report.waiting_total) == (0, 0, 0.0)
    assert round(report.price, 6) == 1.0


def test_an_empty_node_goes_once_it_was_quiet_and_confirmed() -> None:
    """consolidateAfter a minute, 15 seconds to confirm, 5 to drain, 5 to end."""
    ended = run(given(reasons=[DisruptionReason.EMPTY]), web((timedelta(0), 4), (10 * MINUTE, 2)))
    assert len(ended.snapshot.nodes) == 1
    assert ended.report.n_evictions == 0
    paid = 1 + 10 / 60
    assert paid < ended.report.price < paid + 3 / 60


def test_a_rollout_never_has_too_many_pods_and_never_too_few_that_are_ready() -> None:
    """maxSurge and maxUnavailable are percentages, rounded up and down."""
    seen = Seen()
    work = web((timedelta(0), 8), rollouts=(20 * MINUTE,))
    ended = run(given(), work, policy=seen)
    for now, cluster in seen.snapshots:
        active = [one for one in cluster.pods if one.deleting_at is None]
        assert len(active) <= 10
        if now > START + 10 * MINUTE:
            assert sum(one.is_ready for one in active) >= 6
    templates = {one.labels[labels.POD_TEMPLATE_HASH] for one in ended.snapshot.pods}
    assert templates == {"1"}
    assert len(running(ended)) == 8


def test_a_stateful_set_makes_the_same_pod_again_from_the_highest_number_down() -> None:
    """One at a time, each by its own name."""
    work = web((timedelta(0), 3), rollouts=(20 * MINUTE,), is_stateful=True)
    ended = run(given(), work)
    assert running(ended) == ["web-0", "web-1", "web-2"]
    made = sorted((str(one.created_at), one.name) for one in ended.snapshot.pods)
    assert [name for _, name in made] == ["web-2", "web-1", "web-0"]


def test_cron_jobs_come_run_and_succeed_and_the_last_three_runs_are_listed() -> None:
    """A job is named by its minute, as a CronJob names it."""
    work = CronWork(
        name="report",
        spec=pod("x", cpu=1).spec,
        every=10 * MINUTE,
        first_after=5 * MINUTE,
        runs_for=2 * MINUTE,
        n_pods=2,
    )
    ended = run(given(), cron_works=(work,))
    assert ended.report.n_bound == 12
    jobs = {one.owner.name for one in ended.snapshot.pods if one.owner}
    assert len(jobs) == 3
    assert {one.phase for one in ended.snapshot.pods} == {"Succeeded"}


def test_a_replacement_is_ready_before_the_drained_node_loses_a_pod() -> None:
    """And the pods that were evicted run again in the end."""
    seen = Seen()
    cluster = given(SMALL, LARGE, reasons=list(DisruptionReason), after=timedelta(0))
    work = web((timedelta(0), 6), (10 * MINUTE, 2))
    ended = run(cluster, work, policy=seen)
    assert len(running(ended)) == 2
    for _, there in seen.snapshots:
        going = {one.name for one in there.nodes if one.deleting_at is not None}
        starting = [one for one in there.nodes if not one.is_initialized]
        assert not (going and starting)
        assert all(DISRUPTED in one.taints for one in there.nodes if one.deleting_at is not None)


def test_nodes_and_pods_that_are_there_already_are_taken_over() -> None:
    """Pods of one owner keep their number when their nodes go."""
    nodes = [node(f"n{at}", pool="default", type="small", types=[SMALL]) for at in range(3)]
    pods = [
        msgspec.structs.replace(one, node_name=f"n{at // 2}", is_ready=True, phase="Running")
        for at, one in enumerate(deployment(6, cpu=1.9, owner="ReplicaSet/web"))
    ]
    cluster = given(pods=pods, nodes=nodes, reasons=[DisruptionReason.DRIFTED])
    ended = run(cluster, drifts=(5 * MINUTE,))
    assert len(running(ended)) == 6
    assert ended.report.evictions == {"Drifted": 6}
    assert not {"n0", "n1", "n2"} & {one.name for one in ended.snapshot.nodes}


def test_a_guarded_workload_never_has_more_pods_away_than_its_budget_says() -> None:
    """The budget is counted as pods come, become ready and go."""
    seen = Seen()
    work = web((timedelta(0), 6), guard="1")
    ended = run(given(reasons=[DisruptionReason.DRIFTED]), work, policy=seen, drifts=(20 * MINUTE,))
    for now, there in seen.snapshots:
        if now > START + 10 * MINUTE:
            assert sum(one.is_ready for one in there.pods) >= 5
    assert ended.report.evictions["Drifted"] >= 6
    assert [one.disruptions_allowed for one in ended.snapshot.disruption_budgets] == [1]


def test_a_node_that_expires_goes_whatever_the_reasons_are() -> None:
    """Drained, and its pods get another."""
    cluster = given()
    (pool,) = cluster.node_pools
    pools = (msgspec.structs.replace(pool, expire_after=30 * MINUTE),)
    ended = run(msgspec.structs.replace(cluster, node_pools=pools), web((timedelta(0), 2)))
    assert ended.report.evictions == {"Expired": 2}
    assert ended.report.n_launched == 2


def test_nothing_is_decided_while_nothing_happens() -> None:
    """A quiet day costs a handful of decisions."""
    ended = run(given(), web((timedelta(0), 4)), lasts=24 * HOUR)
    assert ended.report.n_decisions < 20


def test_parts_that_nobody_touched_are_the_same_objects_in_the_next_snapshot() -> None:
    """Decisions find again what they worked out before."""
    seen = Seen()
    cluster = given(reasons=[DisruptionReason.EMPTY])
    run(cluster, web((timedelta(0), 4), (10 * MINUTE, 2)), policy=seen)
    pairs = list(zip(seen.snapshots, seen.snapshots[1:], strict=False))
    assert any(a.pods is b.pods for (_, a), (_, b) in pairs)
    assert any(a.nodes is b.nodes for (_, a), (_, b) in pairs)
    assert all(a.instance_types is b.instance_types for (_, a), (_, b) in pairs)
