from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.solve.encoding.encode import encode
from dovetail.solve.finishing.ranking import rank
from dovetail.solve.finishing.rescue import rescue
from dovetail.solve.packing.attempt import Attempt, PackingResult, left_of, new_attempt
from dovetail.solve.packing.bulk import run_attempt
from dovetail.solve.program.pod_worth import priceless, rough
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.solve.search.portfolio import cheaper_plan, plan_for_few
from dovetail.solve.zones.settle import settle_all
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = instance_type("large", cpu=4, price=1.0)


def planned(pods: Iterable[Pod], *types: InstanceType, effort: int = 1) -> Plan:
    """The plan for these pods with so much effort."""
    cluster = snapshot(pods, types=types or (LARGE,))
    return decide(msgspec.structs.replace(cluster, policy=Policy(effort=effort)), NOW)


def attempted(
    pods: Iterable[Pod],
    *types: InstanceType,
    pools: tuple[NodePool, ...] = (),
    **changes: object,
) -> Attempt:
    """A first plan for these pods."""
    pools = pools or (node_pool(),)
    puzzle = Puzzle(
        tuple(pods),
        node_pools=pools,
        instance_types={pool.name: types or (LARGE,) for pool in pools},
    )
    enc = encode(canonical(msgspec.structs.replace(puzzle, **changes)))
    offers = np.arange(enc.n_offers)
    return run_attempt(enc, offers, priceless(enc, offers))


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_pods_that_keep_together_go_where_a_node_is_needed_anyway(zone: str) -> None:
    """One pod is tied to a zone; those that may share any zone join it there."""
    pods = [
        pod("pinned", cpu=1, node_selector={"zone": zone}),
        *deployment(3, "together", cpu=1, affinity=[{"topology_key": "zone"}]),
    ]
    (launch,) = planned(pods).launches
    assert launch.zone == zone


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_what_a_spread_leaves_over_goes_where_there_is_room(zone: str) -> None:
    """Four pods over three zones: the zone with the large node takes two of them."""
    small = instance_type("small", cpu=1, price=0.3)
    pods = [
        pod("pinned", cpu=2, node_selector={"zone": zone}),
        *deployment(4, "spread", cpu=1, spread=[{"topology_key": "zone"}]),
    ]
    plan = planned(pods, LARGE, small)
    assert sorted(len(launch.pods) for launch in plan.launches) == [1, 1, 3]
    assert plan.cost.new_nanousd == 1_600_000_000


@pytest.mark.parametrize("zone", ["a", "b", "c"])
def test_a_spread_stays_out_of_the_zone_that_is_dear(zone: str) -> None:
    """Two of three zones take one pod more; the third has no cheap node for two."""
    double = instance_type("double", cpu=2, price=0.3, zones=sorted({"a", "b", "c"} - {zone}))
    single = instance_type("single", cpu=1, price=0.25)
    plan = planned(deployment(5, cpu=1, spread=[{"topology_key": "zone"}]), double, single)
    assert [one.zone for one in plan.launches if len(one.pods) == 1] == [zone]
    assert plan.cost.new_nanousd == 850_000_000


def test_without_effort_nothing_is_improved() -> None:
    """Effort counts improvements; none are made without."""
    base = attempted([pod(cpu=1)], policy=Policy(effort=0))
    assert cheaper_plan(base) is None


def test_a_puzzle_that_is_not_small_is_left_as_it_is() -> None:
    """A thousand pods are few, one more is many, and twice the effort makes them few again."""
    many = deployment(1001, cpu="1m")
    assert cheaper_plan(attempted(many)) is None
    assert cheaper_plan(attempted(many[:1000])) is not None
    assert cheaper_plan(attempted(many, policy=Policy(effort=2))) is not None


def test_no_small_plan_is_dearer_than_the_plain_way() -> None:
    """Forty odd pods just fill one node of sixteen cpu, which no half measure leads to."""
    pods = [
        pod(
            f"odd-{n}",
            cpu=f"{100 + (917 * n * n + 37 * n) % 500}m",
            memory=f"{64 + 497 * n * n % 700}Mi",
        )
        for n in range(40)
    ]
    types = [
        instance_type(
            f"t{cpu}-{ratio}",
            cpu=cpu,
            memory=f"{ratio * cpu}Gi",
            price=round(0.1 * cpu**0.93 * (1 + ratio / 8), 6),
        )
        for cpu in (1, 2, 4, 8, 16, 32)
        for ratio in (1, 2)
    ]
    (launch,) = planned(pods, *types).launches
    assert launch.instance_type == "t16-1"


def test_a_small_puzzle_is_planned_alike_every_time() -> None:
    """Nothing is drawn by true chance, and no clock is asked."""
    pods = [
        *deployment(5, "spread", cpu=1, spread=[{"topology_key": "zone"}]),
        *deployment(3, "lonely", cpu="700m", anti_affinity=[{}]),
        *deployment(4, "plain", cpu="1300m"),
    ]
    small = instance_type("small", cpu=2, price=0.4)
    assert planned(pods, small, LARGE) == planned(pods, small, LARGE)


def test_nodes_from_a_reservation_stay_while_the_rest_is_improved() -> None:
    """A free node is used up first, and the plan is not made dearer by looking for a better one."""
    reserved = instance_type(
        "reserved",
        cpu=2,
        offerings=[
            {
                "zone": "a",
                "price": 0.0,
                "capacity_type": "reserved",
                "reservation_id": "cr-1",
                "reservation_capacity": 1,
            }
        ],
    )
    plan = planned(deployment(3, cpu=1), reserved, instance_type("small", cpu=1, price=0.2))
    assert sorted(len(launch.pods) for launch in plan.launches) == [1, 2]
    assert plan.cost.new_nanousd == 200_000_000


def test_improvement_keeps_to_the_limits_of_a_pool() -> None:
    """A large node would be cheaper than two small ones, but has more cpu than is allowed."""
    pools = (node_pool(limits={"cpu": 4}),)
    types = (instance_type("s", cpu=2, price=0.6), instance_type("xl", cpu=8, price=1.0))
    cluster = snapshot(deployment(2, cpu=2), node_pools=pools, types=types)
    plan = decide(cluster, NOW)
    assert [launch.instance_type for launch in plan.launches] == ["s", "s"]


def test_a_plan_whose_cheapest_nodes_break_a_limit_is_left_as_it_is() -> None:
    """The cheapest node for each pod has more cpu than the pool may add."""
    types = (instance_type("s", cpu=2, price=0.6), instance_type("xl", cpu=8, price=0.5))
    base = attempted(deployment(2, cpu=2), *types, limits={"default": {"cpu": 4000}})
    assert cheaper_plan(base) is None


def test_limits_of_pools_of_different_weight_leave_the_plan_alone() -> None:
    """Who was pushed to a lighter pool by a limit must not come to be there without need."""
    pools = (node_pool("heavy", weight=2), node_pool("light", weight=1))
    base = attempted([pod(cpu=1)], pools=pools, limits={"heavy": {"cpu": 8000}})
    assert cheaper_plan(base) is None


def test_pods_that_existing_nodes_take_leave_nothing_to_improve() -> None:
    """No new node, no other plan."""
    base = attempted([pod(cpu=1)], nodes=(node("n1", cpu=4),))
    assert cheaper_plan(base) is None


def test_a_pod_that_fits_nothing_does_not_keep_others_from_a_better_plan() -> None:
    """One pod waits in any case; the others still share a node in the zone that is needed."""
    pods = [
        pod("huge", cpu=99),
        pod("pinned", cpu=1, node_selector={"zone": "c"}),
        *deployment(3, "together", cpu=1, affinity=[{"topology_key": "zone"}]),
    ]
    plan = planned(pods)
    assert [one.pod for one in plan.unschedulable] == ["default/huge"]
    assert [launch.zone for launch in plan.launches] == ["c"]


def test_plans_rank_by_who_is_left_out_then_by_price() -> None:
    """A pod of high priority without a node outweighs any price."""
    placed = attempted([pod("one", cpu=1), pod("two", cpu=1)])
    dearer = attempted([pod("one", cpu=3), pod("two", cpu=3)])
    assert not rescue(placed)
    assert not rescue(dearer)
    results = [PackingResult(placed, {}), PackingResult(dearer, {}), PackingResult(placed, {0: 1})]
    cheap, dear, short = map(rank, results)
    assert cheap < dear < short


def test_a_pod_joins_a_node_from_a_reservation_in_another_domain() -> None:
    """Its spread allows any capacity type, and the reserved node has room for next to nothing."""
    reserved = instance_type(
        "reserved",
        cpu=4,
        offerings=[
            {
                "zone": "a",
                "price": 0.001,
                "capacity_type": "reserved",
                "reservation_id": "cr-1",
                "reservation_capacity": 1,
            }
        ],
    )
    pods = [
        *deployment(2, "plain", cpu=1),
        pod("spread", cpu=1, spread=[{"topology_key": "capacity-type", "max_skew": 2}]),
    ]
    (launch,) = planned(pods, reserved, instance_type("small", cpu=2, spot=0.2)).launches
    assert launch.instance_type == "reserved"


def test_a_variant_may_be_as_uneven_as_a_spread_allows() -> None:
    """One pod runs in zone a; with a skew of two, the next may join it there for less."""
    cheap = instance_type("cheap", cpu=1, price=0.1, zones=("a",))
    dear = instance_type("dear", cpu=1, price=0.9, zones=("b",))
    spread = [{"topology_key": "zone", "max_skew": 2}]
    running = pod("old", cpu=1, labels={"app": "web"}, spread=spread, node="n1")
    waiting = pod("new", cpu=1, labels={"app": "web"}, spread=spread)
    cluster = snapshot([running, waiting], nodes=[node("n1", cpu=1, zone="a")], types=[cheap, dear])
    assert [launch.zone for launch in decide(cluster, NOW).launches] == ["a"]


def test_pods_that_share_a_node_are_tried_in_other_domains_too() -> None:
    """Whoever wants company gets a node before prices are compared; the cheapest domain wins."""
    dear = instance_type("dear", cpu=4, price=0.9, zones=("a",))
    cheap = instance_type("cheap", cpu=8, price=0.5, zones=("b",))
    terms = [{"topology_key": "hostname"}, {"topology_key": "zone"}]
    (launch,) = planned(deployment(2, cpu=1, affinity=terms), dear, cheap).launches
    assert launch.instance_type == "cheap"


def settled(pods: Iterable[Pod], pools: tuple[NodePool, ...] = (), **changes: object) -> Attempt:
    """Pods that need new nodes, before anything is bought."""
    attempt = attempted([], pools=pools, **changes)
    puzzle = msgspec.structs.replace(attempt.enc.problem, pods=tuple(pods))
    enc = encode(puzzle)
    offers = np.arange(enc.n_offers)
    start = new_attempt(enc, offers, rough(enc, offers))
    settle_all(start, range(len(enc.groups)))
    start.left_u = left_of(start)
    return start


def test_a_few_pods_need_no_program() -> None:
    """The search alone finds the nodes that hold them for least."""
    pods = deployment(7, "web", cpu=1)
    found = plan_for_few(settled(pods))
    assert found is not None
    assert found.price() == planned(pods).cost.new_nanousd
    assert not found.left_u.any()


def test_many_pods_are_left_to_the_program() -> None:
    """And everything is, where no effort is wanted."""
    assert plan_for_few(settled(deployment(21, "web", cpu=1))) is None
    lazy = settled(deployment(1, "web", cpu=1), policy=Policy(effort=0))
    assert plan_for_few(lazy) is None


def test_limits_of_weighed_pools_are_left_to_the_program() -> None:
    """It knows when to turn to the next pool; without weights, limits are simply kept."""
    pools = (node_pool(weight=5), node_pool("light"))
    limits = {"default": {"cpu": 4000}}
    pods = deployment(1, "web", cpu=1)
    assert plan_for_few(settled(pods, pools=pools, limits=limits)) is None
    assert plan_for_few(settled(pods, limits=limits)) is not None


def test_reservations_are_left_to_the_program() -> None:
    """What a load costs does not know how many are left."""
    one = {"zone": "a", "price": 0.1, "capacity_type": "reserved", "reservation_id": "r"}
    kept = instance_type("kept", cpu=4, offerings=[{**one, "reservation_capacity": 1}])
    start = settled(deployment(1, "web", cpu=1), instance_types={"default": (kept,)})
    assert plan_for_few(start) is None
