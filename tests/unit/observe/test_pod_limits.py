"""Limits are added up by node as pods come, move on and go."""

from __future__ import annotations

from dovetail.observe.pod_limits import PodLimits
from tests.unit.observe.wire_pods import wire_pod

GIB = 1 << 30


def test_limits_are_those_of_the_pods_that_are_there() -> None:
    """Daemons count twice: among all pods, and by themselves."""
    limits = PodLimits()
    limits.see(wire_pod("a", node="n1", limits={"cpu": "1500m", "memory": "1Gi"}))
    limits.see(wire_pod("b", node="n1", limits={"cpu": "1"}, owner="DaemonSet"))
    limits.see(wire_pod("c", node="n2", limits={"cpu": "4"}))
    limits.see(wire_pod("d", limits={"cpu": "8"}))
    assert limits.on("n1").pods == {"cpu": 2500, "memory": GIB}
    assert limits.on("n1").daemons == {"cpu": 1000}
    assert limits.on("n2").pods == {"cpu": 4000}
    limits.forget("default/a")
    limits.see(wire_pod("c", node="n2", phase="Succeeded", limits={"cpu": "4"}))
    assert limits.on("n1").pods == {"cpu": 1000}
    assert limits.on("n2").pods == limits.on("unknown").pods == {}


def test_a_pod_seen_again_counts_once_and_by_its_latest_word() -> None:
    """A resize in place changes what it may take."""
    limits = PodLimits()
    same = wire_pod("a", node="n1", limits={"cpu": "1"})
    limits.see(same)
    limits.see(same)
    assert limits.on("n1").pods == {"cpu": 1000}
    limits.see(wire_pod("a", node="n1", limits={"cpu": "3"}))
    assert limits.on("n1").pods == {"cpu": 3000}


def test_a_pod_that_cannot_be_read_harms_nobody() -> None:
    """It counts as having no limits."""
    limits = PodLimits()
    limits.see(wire_pod("a", node="n1", limits={"cpu": "much"}))
    assert limits.on("n1").pods == {}
