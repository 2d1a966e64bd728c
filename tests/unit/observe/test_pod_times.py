"""A pod's waiting is timed from what it waits for, and forgotten when it is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from dovetail.observe.meters import Meters
from dovetail.observe.pod_times import PodTimes
from dovetail.testing.virtual_time import START
from tests.unit.observe.scraped import metered, values
from tests.unit.observe.wire_pods import wire_pod

KEY = "default/p1"
GAUGES = (
    "unstarted_time_seconds",
    "unbound_time_seconds",
    "provisioning_unstarted_time_seconds",
    "provisioning_unbound_time_seconds",
    "provisioning_scheduling_undecided_time_seconds",
)


def after(seconds: float) -> datetime:
    """So long after the pod was created."""
    return START + timedelta(seconds=seconds)


def shown(times: PodTimes, now: datetime) -> list[float | None]:
    """What the gauges say of the pod, in the order of GAUGES."""
    text = "".join(times.text(now))
    found = [
        values(text, f"karpenter_pods_{name}", name="p1", namespace="default") for name in GAUGES
    ]
    return [one[0] if one else None for one in found]


def test_a_pods_way_from_sight_to_readiness() -> None:
    """Seen after 2 s, placed after 5, bound after 60, ready after 75."""
    meters = Meters()
    times = PodTimes(meters)
    times.see(wire_pod(), after(2))
    assert shown(times, after(3)) == [3, 3, None, None, 1]
    times.note_plan([KEY], [], after(5))
    times.note_plan([KEY], [], after(8))
    assert shown(times, after(10)) == [10, 10, 5, 5, None]
    times.see(wire_pod(node="n1", conditions={"PodScheduled": after(60)}), after(61))
    assert shown(times, after(65)) == [65, None, 60, None, None]
    ready = {"PodScheduled": after(60), "Ready": after(75)}
    times.see(wire_pod(node="n1", phase="Running", conditions=ready), after(76))
    assert shown(times, after(80)) == [None] * 5
    for name, want in (
        ("scheduling_decision_duration_seconds_sum", 3),
        ("bound_duration_seconds_sum", 60),
        ("provisioning_bound_duration_seconds_sum", 55),
        ("startup_duration_seconds_sum", 75),
        ("provisioning_startup_duration_seconds_sum", 70),
    ):
        assert metered(meters, f"karpenter_pods_{name}") == [want], name


def test_a_pod_that_runs_when_it_is_first_seen_is_not_timed() -> None:
    """A restart would time every pod of the cluster anew."""
    meters = Meters()
    times = PodTimes(meters)
    times.see(wire_pod(node="n1", phase="Running", conditions={"Ready": after(9)}), after(100))
    assert metered(meters, "karpenter_pods_startup_duration_seconds_count") == [0]
    assert shown(times, after(100)) == [None] * 5


def test_a_pod_that_has_a_node_when_it_is_first_seen_counts_only_as_starting() -> None:
    """Nobody knows whether it waited for a decision."""
    meters = Meters()
    times = PodTimes(meters)
    times.see(wire_pod(node="n1"), after(4))
    times.note_plan([KEY], [], after(5))
    assert shown(times, after(6)) == [6, None, None, None, None]
    assert metered(meters, "karpenter_pods_bound_duration_seconds_count") == [0]
    assert metered(meters, "karpenter_pods_scheduling_decision_duration_seconds_count") == [0]


def test_a_plan_without_a_place_ends_the_promise_of_an_earlier_one() -> None:
    """A decision it was all the same."""
    meters = Meters()
    times = PodTimes(meters)
    times.see(wire_pod(), after(1))
    times.note_plan([], [KEY], after(2))
    assert shown(times, after(3)) == [3, 3, None, None, None]
    times.note_plan([KEY], [], after(4))
    times.note_plan([], [KEY], after(5))
    assert shown(times, after(6)) == [6, 6, None, None, None]
    assert metered(meters, "karpenter_pods_scheduling_decision_duration_seconds_count") == [1]


def test_a_pod_that_ended_or_is_gone_is_forgotten() -> None:
    """And one of the same name is another."""
    meters = Meters()
    times = PodTimes(meters)
    times.see(wire_pod(), after(1))
    times.see(wire_pod(phase="Failed"), after(2))
    assert shown(times, after(3)) == [None] * 5
    times.see(wire_pod(), after(4))
    times.forget(KEY)
    assert shown(times, after(5)) == [None] * 5
    times.see(wire_pod(), after(6))
    times.note_plan([KEY], [], after(7))
    times.see(wire_pod(uid="u2"), after(8))
    assert shown(times, after(9)) == [9, 9, None, None, 1]
    assert metered(meters, "karpenter_pods_startup_duration_seconds_count") == [0]
