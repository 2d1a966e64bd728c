"""What a move must save to pay for what it disturbs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dovetail.decide.disrupt.calm import changes_at
from dovetail.decide.disrupt.cost import Toll, toll_of
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.testing import deployment, node, node_pool, pod, snapshot
from dovetail.testing.given import STANDARD_TYPES
from dovetail.units import money

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
WEEK_HOURS = 7 * 24
TYPES = tuple(given.instance_type(name) for name, given in STANDARD_TYPES.items())
LARGE = node("n1", pool="default", type="large", types=TYPES)  # 8 cpu for $0.40
OTHER = node("n2", pool="default", type="large", types=TYPES)
DOLLARS_AN_HOUR = money.nanousd(0.4)
AN_HOUR = Policy(eviction_cost=HOUR)


def launch(price: float, *pods: str) -> Launch:
    """A new node at this price for these pods."""
    return Launch(
        "new", "default", "small", "a", "on-demand", money.nanousd(price), ("small",), {}, pods
    )


def toll(*pods: Pod, launches: tuple[Launch, ...] = (), **fields: object) -> Toll:
    """What moving these pods off the node costs, an eviction being worth an hour."""
    cluster = snapshot(pods, nodes=[LARGE])
    cluster = msgspec.structs.replace(cluster, **{"policy": AN_HOUR, **fields})
    return toll_of(pods, going=[LARGE], launches=launches, snapshot=cluster, now=NOW)


def least(*pods: Pod, launches: tuple[Launch, ...] = (), **fields: object) -> float:
    """What that must save, as a share of what the node costs."""
    return toll(*pods, launches=launches, **fields).least_nanousd / DOLLARS_AN_HOUR


def service(n_pods: int, hours: float | None = 1, **words: Any) -> tuple[Pod, ...]:
    """Pods of 2 cpu on the node, a quarter of it each, that have stood for so long."""
    since = {} if hours is None else {"started_at": (NOW - hours * HOUR).isoformat()}
    return deployment(
        n_pods, "web", **{"node": "n1", "cpu": 2, "owner": "ReplicaSet/web", **since, **words}
    )


def worker(minutes: float) -> Pod:
    """A pod of a Job that has the whole node and started so long ago."""
    at = (NOW - minutes * MINUTE).isoformat()
    return pod("a", owner="Job/sums", node="n1", cpu=8, started_at=at)


def test_a_move_that_disturbs_nobody_must_only_save() -> None:
    """Any strict saving will do."""
    assert least() == 0


@pytest.mark.parametrize(
    ("hours", "want"),
    [
        pytest.param(1, 1, id="as long as it costs: all that they occupy"),
        pytest.param(4, 1 / 4, id="four times as long"),
        pytest.param(WEEK_HOURS, 1 / WEEK_HOURS, id="a week"),
        pytest.param(10 * WEEK_HOURS, 1 / WEEK_HOURS, id="no more than a week counts"),
        pytest.param(None, 1 / WEEK_HOURS, id="nobody knows since when"),
        pytest.param(0, 60, id="no less than a minute does"),
    ],
)
def test_a_saving_lasts_as_long_as_pods_have_stood(hours: float | None, want: float) -> None:
    """So that it must be the larger, the later they came."""
    assert least(*service(4, hours)) == pytest.approx(want)


def test_of_pods_that_came_at_different_times_the_mean_counts() -> None:
    """By what it costs to move them."""
    assert toll(*service(1, 1), *service(1, 3)).stood_seconds == 2 * 3600


def test_a_new_node_must_start_and_has_no_images() -> None:
    """Three minutes of its price, and an eighth more of every restart."""
    replaced = launch(0.39, *(f"default/web-{index}" for index in range(4)))
    want = 9 / 8 + 0.05 * 0.39 / 0.4
    assert least(*service(4), launches=(replaced,)) == pytest.approx(want)


def test_a_small_pod_costs_as_much_as_an_ordinary_one() -> None:
    """Somebody is disturbed, whatever it asks for."""
    tiny = service(1, cpu="10m")
    others = deployment(3, "db", node="n2", cpu=2, owner="ReplicaSet/db")
    there = snapshot((*tiny, *others), nodes=[LARGE, OTHER])
    assert least(*tiny, pods=there.pods, nodes=there.nodes) == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("words", "times"),
    [
        pytest.param({"priority": 2**25}, 2, id="priority"),
        pytest.param(
            {"annotations": {"controller.kubernetes.io/pod-deletion-cost": str(-(2**27))}},
            0,
            id="one that would rather go",
        ),
    ],
)
def test_a_restart_costs_by_what_the_pod_says(words: dict[str, Any], times: int) -> None:
    """As the reference weighs it."""
    assert least(*service(4, **words)) == pytest.approx(times, 1e-4)


def test_a_job_loses_the_work_that_it_has_done() -> None:
    """In steps that double, so that it does not change all the time."""
    assert least(worker(4)) == pytest.approx(60 / 4)
    assert least(worker(5)) == pytest.approx((60 + 5) / 5)
    assert least(worker(179)) == pytest.approx((60 + 160) / 179)


def test_the_operator_may_want_more_for_each_pod() -> None:
    """The pool's word counts more than the flag's, and either is about every pod."""
    policy = Policy(least_saving_nanousd=money.nanousd(0.01))
    old = service(4, None)
    assert least(*old, policy=policy) == pytest.approx(0.04 / 0.4)
    mild = node_pool(least_saving=0.005)
    assert least(*old, policy=policy, node_pools=(mild,)) == pytest.approx(0.02 / 0.4)


def test_the_pool_may_say_what_an_eviction_is_worth() -> None:
    """Nothing, where any saving will do."""
    assert least(*service(4), node_pools=(node_pool(eviction_cost="30m"),)) == pytest.approx(1 / 2)
    assert least(*service(4), node_pools=(node_pool(eviction_cost="0s"),)) == 0


def test_it_is_known_when_a_saving_will_pay() -> None:
    """To the minute, and not before."""
    held = toll(*service(4, 1))
    saved = money.nanousd(0.1)
    pays_at = held.pays_at(saved, NOW)
    assert pays_at == NOW + 3 * HOUR + MINUTE
    later = snapshot(service(4, 1), nodes=[LARGE])
    later = msgspec.structs.replace(later, policy=AN_HOUR)

    def at(now: datetime) -> int:
        found = toll_of(later.pods, going=[LARGE], launches=(), snapshot=later, now=now)
        return found.least_nanousd

    assert at(pays_at - 2 * MINUTE) >= saved > at(pays_at)


def test_what_would_take_more_than_a_week_never_pays() -> None:
    """Nor does what is less than somebody wants."""
    held = toll(*service(4, 1))
    assert held.pays_at(money.nanousd(0.4) // WEEK_HOURS, NOW) is None
    assert Toll(1, 1, wanted_nanousd=10).pays_at(10, NOW) is None


def test_work_that_is_lost_is_the_same_until_it_changes() -> None:
    """The moment of the next step is known."""
    pods = (worker(7),)
    cluster = msgspec.structs.replace(snapshot(pods, nodes=[LARGE]), policy=AN_HOUR)

    def at(now: datetime) -> int:
        return toll_of(pods, going=[LARGE], launches=(), snapshot=cluster, now=now).lost

    first = changes_at(pods, cluster, NOW)
    assert first == NOW + 3 * MINUTE
    assert at(first - timedelta(microseconds=1)) == at(NOW) < at(first)
