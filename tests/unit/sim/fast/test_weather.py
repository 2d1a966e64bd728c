from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.decide import decide
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.pool import Budget, Disruption
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import AppDemand, CronWork, Demand
from dovetail.sim.fast.machines import MachinePace
from dovetail.sim.fast.run import Ended, Manner, simulate
from dovetail.sim.reference.policy import Reference
from dovetail.sim.weather import (
    ApiErrors,
    During,
    Offers,
    PriceCourse,
    Reclaims,
    Shortage,
    SlowBoots,
    Storm,
    Weather,
)
from dovetail.testing import instance_type, node_pool, pod, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
AT_ONCE = timedelta(0)
BOOTS = MachinePace(starts_after=30 * SECOND, starts_within=30 * SECOND, ends_after=5 * SECOND)
SMALL = instance_type("small", cpu=4, memory="16Gi", price=1.0, spot=0.4)
OTHER = instance_type("other", cpu=4, memory="16Gi", price=1.1, spot=0.5)

Decides = Callable[[Snapshot, datetime], Plan]


def given(*types: Any) -> Snapshot:
    """An empty cluster with one pool that buys as spot where it can."""
    pool = msgspec.structs.replace(
        node_pool(), disruption=Disruption(consolidate_after=MINUTE, budgets=(Budget("100%"),))
    )
    found = snapshot(types=types or (SMALL,), node_pools=[pool])
    return msgspec.structs.replace(found, policy=Policy(disrupts_for=(DisruptionReason.EMPTY,)))


def run(cluster: Snapshot, weather: Weather, *, policy: Decides = decide, **more: Any) -> Ended:
    """An hour with two pods that fill a node, unless said otherwise."""
    spec = pod("web", cpu=1.9, memory="1Gi").spec
    web = AppDemand(name="web", spec=spec, replicas=((AT_ONCE, 2),), guard=more.pop("guard", ""))
    demand = Demand(lasts_for=HOUR, workloads=more.pop("workloads", (web,)), **more)
    manner = Manner(
        start=START,
        pace=BOOTS,
        weather=weather,
        plans_interruptions=not isinstance(policy, Reference),
    )
    return simulate(cluster, demand, policy, manner=manner, chance=lambda: 0.5)


def running(ended: Ended) -> list[str]:
    """Where pods run, one entry for each."""
    nodes = {one.name: one for one in ended.snapshot.nodes}
    found = [nodes[one.node_name] for one in ended.snapshot.pods if one.node_name]
    return sorted(f"{one.instance_type} {one.capacity_type}" for one in found)


def test_a_price_that_moves_is_paid_from_then_on_and_seen_by_decisions() -> None:
    """Half an hour at 0.4 $, half an hour at twice that."""
    course = PriceCourse(Offers(capacity_type=labels.SPOT), ((HOUR / 2, 2.0),))
    ended = run(given(), Weather(prices=(course,)))
    booked = 1 - 1 / 3600  # the window takes a second
    assert ended.report.price == pytest.approx(0.4 * (booked - 0.5) + 0.8 * 0.5)
    prices = {
        one.capacity_type: one.price_nanousd
        for one in ended.snapshot.instance_types["default"][0].offerings
    }
    assert prices == {"spot": 800_000_000, "on-demand": 1_000_000_000}


def test_courses_of_one_offer_multiply() -> None:
    """Each is about what the price would be without it."""
    both = (
        PriceCourse(Offers(), ((AT_ONCE, 2.0),)),
        PriceCourse(Offers(zone="a"), ((AT_ONCE, 3.0),)),
    )
    ended = run(given(), Weather(prices=both))
    found = {
        (one.zone, one.capacity_type): one.price_nanousd
        for one in ended.snapshot.instance_types["default"][0].offerings
    }
    assert found["a", "on-demand"] == 6_000_000_000
    assert found["b", "on-demand"] == 2_000_000_000


@pytest.mark.parametrize("policy", [decide, Reference()], ids=["dovetail", "reference"])
def test_what_is_short_is_replaced_by_the_next_cheapest(policy: Decides) -> None:
    """No spot of the cheapest type: spot of another one is bought."""
    short = Shortage(Offers(instance_type="small", capacity_type=labels.SPOT))
    ended = run(given(SMALL, OTHER), Weather(shortages=(short,)), policy=policy)
    assert running(ended) == ["other spot", "other spot"]


def test_where_nothing_can_be_had_pods_wait_until_it_can() -> None:
    """The claim is given up, refused offers are left alone for a while, then asked for again."""
    short = Shortage(Offers(), During(AT_ONCE, 10 * MINUTE))
    ended = run(given(), Weather(shortages=(short,)))
    assert ended.report.n_failed > 0
    assert 10 < ended.report.waiting_median < 15
    assert len(running(ended)) == 2


def test_what_runs_goes_on_in_a_shortage() -> None:
    """Only orders are refused."""
    short = Shortage(Offers(), During(10 * MINUTE))
    ended = run(given(), Weather(shortages=(short,)))
    assert (ended.report.n_evictions, len(running(ended))) == (0, 2)


def test_errors_of_the_api_delay_launches() -> None:
    """An order is tried again, ever more slowly, and is paid for once it has been taken."""
    errors = ApiErrors(1.0, During(AT_ONCE, 2 * MINUTE))
    ended = run(given(), Weather(api_errors=(errors,)))
    assert ended.report.n_failed > 3
    assert 2 < ended.report.waiting_median < 5
    assert ended.report.price < 0.4 * (1 - 2 / 60)


def test_errors_that_last_give_the_claim_up() -> None:
    """After five minutes, as a controller does; the pods are planned for again."""
    errors = ApiErrors(1.0, During(AT_ONCE, 20 * MINUTE))
    ended = run(given(), Weather(api_errors=(errors,)))
    assert ended.report.n_launched == 1
    assert 20 < ended.report.waiting_median < 26


def test_slow_boots_take_so_many_times_as_long() -> None:
    """Thirty seconds become two minutes."""
    ended = run(given(), Weather(slow_boots=(SlowBoots(4.0),)))
    assert ended.report.waiting_median == pytest.approx(2 + 1 / 60)


def test_a_storm_takes_spot_instances_back_with_two_minutes_notice() -> None:
    """Pods move to another offering: what was taken back is not asked for again for a while."""
    ended = run(given(SMALL, OTHER), Weather(storms=(Storm(HOUR / 2, 1.0),)))
    assert ended.report.n_interrupted == 1
    assert ended.report.evictions == {"Interrupted": 2}
    assert running(ended) == ["small spot", "small spot"]
    assert [one.zone for one in ended.snapshot.nodes] == ["b"]


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param(decide, 2 * MINUTE - 30 * SECOND, id="with its grace period to end in"),
        pytest.param(Reference(), 2 * MINUTE, id="the reference loses it with its machine"),
    ],
)
def test_what_its_budget_keeps_goes_when_the_notice_is_over(
    policy: Decides, want: timedelta
) -> None:
    """A machine that is taken back asks nobody."""
    storm = Weather(storms=(Storm(HOUR / 2, 1.0),))
    ended = run(given(SMALL, OTHER), storm, guard="0", policy=policy)
    assert ended.report.evictions == {"Interrupted": 2}
    assert len(running(ended)) == 2
    ended_at = START + HOUR / 2 + want
    assert {one.created_at for one in ended.snapshot.pods} == {ended_at}


def test_nodes_of_a_storm_are_replaced_by_one_decision() -> None:
    """Two small nodes are taken back, and one large one is cheaper than two that are left."""
    large = instance_type("large", cpu=8, memory="32Gi", price=1.5, spot=0.75)
    spec = pod("web", cpu=3.8, memory="1Gi").spec
    work = AppDemand(name="web", spec=spec, replicas=((AT_ONCE, 2),))
    storm = Weather(storms=(Storm(HOUR / 2, 1.0),), shortages=(_UNTIL_THEN,))
    ended = run(given(SMALL, OTHER, large), storm, workloads=(work,))
    assert ended.report.n_interrupted == 2
    assert running(ended) == ["large spot", "large spot"]


_UNTIL_THEN = Shortage(Offers(instance_type="large"), During(AT_ONCE, HOUR / 4))


def test_instances_on_demand_are_not_taken_back() -> None:
    """Unless somebody says so."""
    only = instance_type("small", cpu=4, memory="16Gi", price=1.0)
    ended = run(given(only), Weather(storms=(Storm(HOUR / 2, 1.0),), reclaims=(Reclaims(5.0),)))
    assert ended.report.n_interrupted == 0


def test_a_rate_draws_for_every_instance_anew() -> None:
    """With even odds and one an hour, each lives for 0.69 hours."""
    ended = run(given(), Weather(reclaims=(Reclaims(1.0),)))
    assert ended.report.n_interrupted == 1
    assert run(given(), Weather(reclaims=(Reclaims(0.5),))).report.n_interrupted == 0


def test_a_job_whose_machine_is_lost_begins_anew() -> None:
    """Nobody drains in time: it ends late, but it ends."""
    spec = msgspec.structs.replace(pod("job", cpu=1).spec, termination_grace_seconds=600)
    work = CronWork(name="job", spec=spec, every=None, runs_for=40 * MINUTE, ends_after=10 * MINUTE)
    ended = run(
        given(), Weather(storms=(Storm(5 * MINUTE, 1.0),)), workloads=(), cron_works=(work,)
    )
    assert (ended.report.n_bound, ended.report.n_unbound) == (2, 0)
    assert ended.report.evictions == {"Interrupted": 1}
    assert not any(one.node_name for one in ended.snapshot.pods if not one.is_terminal)


def test_a_replacement_that_cannot_be_had_calls_the_move_off() -> None:
    """The node stays, is open again, and the move is not tried for a while."""
    large = instance_type("large", cpu=16, memory="64Gi", price=4.0)
    cluster = given(SMALL, large)
    cluster = msgspec.structs.replace(
        cluster,
        policy=Policy(disrupts_for=tuple(DisruptionReason), eviction_cost=AT_ONCE),
    )
    spec = pod("web", cpu=1.9, memory="1Gi").spec
    work = AppDemand(name="web", spec=spec, replicas=((AT_ONCE, 8), (10 * MINUTE, 1)))
    short = Shortage(Offers(), During(9 * MINUTE))
    ended = run(cluster, Weather(shortages=(short,)), workloads=(work,))
    assert ended.report.n_evictions == 0
    assert len(running(ended)) == 1
    assert all(not one.taints for one in ended.snapshot.nodes)
