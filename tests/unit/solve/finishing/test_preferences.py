from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.policy import PreferencePolicy
from dovetail.model.snapshot import Snapshot
from dovetail.solve.encoding.wishes import wishes_of
from dovetail.solve.finishing.preferences import prefer
from dovetail.solve.packing.attempt import left_of
from dovetail.solve.packing.contents import loads
from dovetail.solve.packing.units import ANY_CELL
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot
from tests.unit.solve.puzzles import SMALL, empty_attempt, encoded

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOFT_ZONES = {"topology_key": "zone", "when_unsatisfiable": "ScheduleAnyway"}


def plans(cluster: Snapshot) -> tuple[Plan, Plan]:
    """The plan with preferences respected, and with preferences ignored."""
    policy = msgspec.structs.replace(cluster.policy, preference_policy=PreferencePolicy.IGNORE)
    return decide(cluster, NOW), decide(msgspec.structs.replace(cluster, policy=policy), NOW)


def zones(plan: Plan, prefix: str) -> Counter[str]:
    """How many pods of this name are planned for new nodes in each zone."""
    return Counter(
        launch.zone
        for launch in plan.launches
        for one in launch.pods
        if one.startswith(f"default/{prefix}")
    )


def test_preferences_cost_nothing() -> None:
    """Whatever a mix of pods prefers, the price is that of a plan without preferences."""
    wishes: list[dict[str, object]] = [
        {"preferred_node_affinity": [{"weight": 9, "term": ["zone In c"]}]},
        {"preferred_node_affinity": [{"weight": 9, "term": ["instance-type In large"]}]},
        {"spread": [SOFT_ZONES]},
        {"preferred_anti_affinity": [{"topology_key": "hostname"}]},
        {"preferred_affinity": [{"topology_key": "zone"}]},
        {},
    ]
    pods = [
        one
        for number, wish in enumerate(wishes * 2)
        for one in deployment(5, f"app-{number}", cpu=f"{300 + 70 * number}m", **wish)
    ]
    respected, ignored = plans(snapshot(pods))
    assert respected.cost.new_nanousd == ignored.cost.new_nanousd
    assert len(respected.launches) == len(ignored.launches)


def test_soft_spread_evens_out_zones_of_equal_price() -> None:
    """Six nodes of equal price, two in each zone; without preferences they all are in one."""
    pods = deployment(6, "web", cpu=8, spread=[SOFT_ZONES])
    respected, ignored = plans(snapshot(pods))
    assert zones(respected, "web") == {"a": 2, "b": 2, "c": 2}
    assert zones(ignored, "web") == {"a": 6}


def test_soft_spread_counts_pods_that_run() -> None:
    """Zone a has two already, so the new ones go elsewhere."""
    full = node("n1", cpu=2, zone="a")
    spread = {"spread": [SOFT_ZONES], "labels": {"app": "web"}}
    running = [pod(f"old-{n}", cpu=1, node="n1", **spread) for n in range(2)]
    respected, _ = plans(snapshot([*running, *deployment(2, "web", cpu=8, **spread)], nodes=[full]))
    assert zones(respected, "web") == {"b": 1, "c": 1}


def test_preferred_zone_affinity_gathers_pods_where_that_is_free() -> None:
    """The running pod is in zone c, and all zones cost the same."""
    full = node("n1", cpu=1, zone="c")
    running = pod("db", cpu=1, node="n1", labels={"app": "db"})
    wish = [{"weight": 3, "topology_key": "zone", "selector": {"app": "db"}}]
    new = deployment(2, "web", cpu=8, preferred_affinity=wish)
    respected, _ = plans(snapshot([running, *new], nodes=[full]))
    assert zones(respected, "web") == {"c": 2}


def test_a_pool_with_a_soft_taint_is_left_to_those_that_tolerate_it() -> None:
    """Two pools sell the same at the same price, and one carries PreferNoSchedule."""
    pools = [node_pool("a-mild", taints=["spare=true:PreferNoSchedule"]), node_pool("b-plain")]
    pods = [pod("web", cpu=8), pod("batch", cpu=8, tolerations=["spare=true:PreferNoSchedule"])]
    respected, _ = plans(snapshot(pods, node_pools=pools))
    assert "default/web" in {
        one for launch in respected.launches if launch.node_pool == "b-plain" for one in launch.pods
    }


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_the_heaviest_wish_of_a_node_wins(zone: str) -> None:
    """Pods that share a node decide on its zone together, by weight."""
    pods = [
        pod(
            f"web-{one}",
            cpu="500m",
            preferred_node_affinity=[{"weight": 10, "term": [f"zone In {one}"]}],
        )
        for one in "abc"
    ]
    heavy = [{"weight": 90, "term": [f"zone In {zone}"]}]
    pods.append(pod("heavy", cpu="500m", preferred_node_affinity=heavy))
    respected, _ = plans(snapshot(pods))
    assert [launch.zone for launch in respected.launches] == [zone]


def test_a_dearer_zone_is_not_bought_for_a_wish() -> None:
    """Not even for a tenth of a cent."""
    kind = instance_type(
        "t",
        price=None,
        zones=(),
        offerings=[{"zone": "a", "price": 0.1}, {"zone": "b", "price": 0.101}],
    )
    wish = [{"weight": 100, "term": ["zone In b"]}]
    respected, _ = plans(snapshot([pod(preferred_node_affinity=wish)], types=[kind]))
    assert [launch.zone for launch in respected.launches] == ["a"]


def test_pods_leave_a_running_node_they_dislike_for_one_with_room() -> None:
    """As many as have room there; the rest put up with the taint."""
    nodes = [
        node("mild", cpu=4, taints=["spare=true:PreferNoSchedule"]),
        node("plain", cpu=2),
    ]
    respected, ignored = plans(snapshot(deployment(3, "web", cpu=1), nodes=nodes))
    assert {one.node: len(one.pods) for one in respected.nominations} == {"mild": 1, "plain": 2}
    assert not respected.launches
    assert not ignored.launches


def test_a_pod_that_others_must_be_near_stays() -> None:
    """A required affinity of another pod weighs more than a preference of this one."""
    nodes = [node("n1", cpu=2, zone="a"), node("n2", cpu=8, zone="b")]
    follows = [{"topology_key": "hostname", "selector": {"app": "db"}}]
    wish = [{"weight": 100, "term": ["zone In b"]}]
    pods = [
        pod("db", cpu=1, labels={"app": "db"}, preferred_node_affinity=wish),
        pod("web", cpu=1, affinity=follows),
    ]
    respected, _ = plans(snapshot(pods, nodes=nodes))
    assert [(one.node, len(one.pods)) for one in respected.nominations] == [("n1", 2)]
    assert not respected.unschedulable


def test_a_wish_does_not_move_a_node_out_of_the_zone_its_pods_need() -> None:
    """A pod that must be near a running one stays in its zone, whatever it would rather have."""
    full = node("n1", cpu=1, zone="a")
    running = pod("db", cpu=1, node="n1", labels={"app": "db"})
    near = [{"topology_key": "zone", "selector": {"app": "db"}}]
    wish = [{"weight": 100, "term": ["zone In b"]}]
    new = pod("web", cpu=2, affinity=near, preferred_node_affinity=wish)
    respected, _ = plans(snapshot([running, new], nodes=[full]))
    assert [launch.zone for launch in respected.launches] == ["a"]


def test_a_pod_is_no_company_to_itself() -> None:
    """A lone pod that would rather be near its kind finds none where it is, and goes where it likes
    to be for another reason, however small.
    """
    nodes = [node("n1", cpu=2, zone="a"), node("n2", cpu=4, zone="b")]
    near = [{"weight": 100, "topology_key": "zone"}]
    wish = [{"weight": 1, "term": ["zone In b"]}]
    lone = pod("web", cpu=1, preferred_affinity=near, preferred_node_affinity=wish)
    respected, _ = plans(snapshot([lone], nodes=nodes))
    assert [one.node for one in respected.nominations] == ["n2"]


@pytest.mark.parametrize(("mine", "other", "moves"), [(10, 0, False), (0, 10, True)])
def test_a_preference_is_no_reason_for_a_lighter_pool(
    mine: int, other: int, *, moves: bool
) -> None:
    """Nor is one that was given a place late, by whichever pool still had room."""
    wish = [{"weight": 9, "term": ["nodepool In second"]}]
    worker = pod("worker", cpu="500m", preferred_node_affinity=wish)
    fixed = pod("fixed", cpu="500m", node_selector={"zone": "b"})
    pools = [node_pool("first", weight=mine), node_pool("second", weight=other)]
    sold = {"first": (SMALL,), "second": (SMALL,)}
    enc = encoded([worker, fixed], node_pools=tuple(pools), instance_types=sold)
    attempt = empty_attempt(enc)
    for number, (pool, zone) in enumerate((("first", "a"), ("second", "b"))):
        one = next(
            offer
            for offer, sold in enumerate(enc.market.offers)
            if enc.market.pools[sold.pool].name == pool and sold.offering.zone == zone
        )
        group = next(
            group
            for group, held in enumerate(enc.groups)
            if held.pods[0].name == ("worker", "fixed")[number]
        )
        unit = attempt.book.add(group, ANY_CELL, 1)
        span = attempt.bins.open(one, 1)
        attempt.bins.put(unit, attempt.units[unit], np.array([span.start]), np.array([1]))
    attempt.left_u = left_of(attempt)
    wishes = wishes_of(enc)
    assert wishes is not None
    prefer(attempt, wishes)
    assert (set(loads(attempt.bins.log)) == {1}) == moves
