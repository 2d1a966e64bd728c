from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.testing.builders import deployment, instance_type, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = instance_type("large", cpu=4, memory="16Gi", price=1.0, zones=("a", "b", "c"))
NEAR_WEB = [{"topology_key": "zone", "selector": {"app": "web"}}]
SPREAD = [{"topology_key": "zone"}]


def planned(*pods: Pod) -> Plan:
    """The plan for these pods."""
    return decide(snapshot(pods, types=(LARGE,)), NOW)


def app(n_pods: int, name: str, **words: object) -> tuple[Pod, ...]:
    """So many pods that others can select by their name."""
    return deployment(n_pods, name, labels={"app": name}, **words)


def test_pods_that_follow_others_fill_the_nodes_of_all_of_them() -> None:
    """One web pod in every zone: nine followers fill the three nodes, in no single zone."""
    plan = planned(*app(3, "web", cpu=1, spread=SPREAD), *app(9, "near", cpu=1, affinity=NEAR_WEB))
    assert len(plan.launches) == 3
    assert sum(len(launch.pods) for launch in plan.launches) == 12


def test_pods_that_are_followed_leave_one_behind_for_company() -> None:
    """Web pods join pinned pods of other zones; the followers keep one of them."""
    pinned = [pod(f"pinned-{zone}", cpu=3, node_selector={"zone": zone}) for zone in "abc"]
    plan = planned(*pinned, *app(3, "web", cpu=1), *app(3, "near", cpu=1, affinity=NEAR_WEB))
    assert len(plan.launches) <= 4
    with_web = {one.zone for one in plan.launches if any("web" in name for name in one.pods)}
    with_near = {one.zone for one in plan.launches if any("near" in name for name in one.pods)}
    assert with_near <= with_web


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_the_pods_of_a_spread_that_it_does_not_bind_go_where_there_is_room(zone: str) -> None:
    """Four pods over three zones: the fourth joins the pinned pod, wherever that is."""
    pinned = pod("pinned", cpu=2, node_selector={"zone": zone})
    plan = planned(pinned, *app(4, "web", cpu=1, spread=SPREAD), *app(2, "big", cpu=3))
    assert len(plan.launches) == 3


def test_the_same_pods_get_the_same_nodes() -> None:
    """To the last byte."""
    pods = (*app(5, "web", cpu=1, spread=SPREAD), *app(9, "near", cpu=1, affinity=NEAR_WEB))
    assert planned(*pods) == planned(*pods)
