from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import msgspec
import pytest

from benchmarks import scenarios
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.sim.reference.policy import provision_plan
from dovetail.sim.reference.standing import Occupancy
from dovetail.testing import deployment, instance_type, node, node_pool, pod, snapshot
from tests.oracle.check import Case, binding

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def planned(cluster: Snapshot) -> Plan:
    """What the reference would do for the pods that wait."""
    standing = Occupancy()
    standing.look(cluster, NOW)
    return provision_plan(standing, cluster, NOW)


@pytest.mark.parametrize("seed", range(1, 9))
def test_kube_scheduler_binds_every_pod_where_the_reference_puts_it(seed: int) -> None:
    """First fit is dear, not wrong: the independent checker binds its plans."""
    cluster = scenarios.fleet(250, seed)
    plan = planned(cluster)
    assert binding(Case(cluster, NOW, plan)) == []
    assert len(plan.binding_order) + len(plan.unschedulable) == len(cluster.pods)


@pytest.mark.parametrize("seed", range(20))
def test_tiny_clusters_of_every_constraint_are_bound_too(seed: int) -> None:
    """Affinity, spread, taints and selectors of all sorts."""
    cluster = scenarios.tiny(seed)
    plan = planned(cluster)
    assert binding(Case(cluster, NOW, plan)) == []


def test_nodes_there_are_come_before_claims_and_claims_before_new_ones() -> None:
    """Pods take free capacity first, then claims that the same plan makes."""
    cluster = snapshot(
        deployment(5, cpu="1500m"),
        nodes=[node("old", pool="default", cpu=2)],
        types=[instance_type("only", cpu=4, memory="16Gi")],
    )
    plan = planned(cluster)
    assert [one.node for one in plan.nominations] == ["old"]
    assert sorted(len(one.pods) for one in plan.launches) == [2, 2]


def test_a_claim_grows_for_as_long_as_any_type_holds_it() -> None:
    """It drifts to the largest machine even where two small ones cost less (11.1)."""
    types = [
        instance_type("small", cpu=4, memory="16Gi", price=0.1),
        instance_type("large", cpu=16, memory="64Gi", price=1.0),
    ]
    plan = planned(snapshot(deployment(3, cpu="3"), types=types))
    assert [one.instance_type for one in plan.launches] == ["large"]


def test_the_cheapest_offering_of_all_that_would_do_is_ordered() -> None:
    """Spot where it is cheaper, and every type that would do as a fallback."""
    types = [
        instance_type("a", cpu=4, memory="16Gi", price=0.2, spot=0.1),
        instance_type("b", cpu=8, memory="32Gi", price=0.4, spot=0.05),
    ]
    (launch,) = planned(snapshot([pod(cpu="2")], types=types)).launches
    assert (launch.instance_type, launch.capacity_type) == ("b", "spot")
    assert launch.instance_types == ("b", "a")


def test_pools_are_tried_by_weight_and_then_from_the_last_name() -> None:
    """Price is no question between pools."""
    pools = [node_pool("a"), node_pool("c"), node_pool("b")]
    (launch,) = planned(snapshot([pod()], node_pools=pools)).launches
    assert launch.node_pool == "c"
    heavier = [node_pool("a", weight=5), *pools[1:]]
    (launch,) = planned(snapshot([pod()], node_pools=heavier)).launches
    assert launch.node_pool == "a"


def test_a_wish_is_a_demand_until_a_pod_would_have_no_place() -> None:
    """An extra node for a soft spread, but not for what cannot be had."""
    soft = [{"topology_key": "hostname", "when_unsatisfiable": "ScheduleAnyway"}]
    plan = planned(snapshot(deployment(3, cpu="100m", spread=soft)))
    assert len(plan.launches) == 3
    wish = [{"term": ["zone In nowhere"]}]
    plan = planned(snapshot(deployment(3, cpu="100m", preferred_node_affinity=wish)))
    assert len(plan.launches) == 1


def test_limits_hold_and_are_used_up_by_the_largest_type_that_a_claim_may_be() -> None:
    """What a claim might have been is not given back."""
    types = [
        instance_type("small", cpu=2, memory="8Gi", price=0.1),
        instance_type("large", cpu=8, memory="32Gi", price=0.4),
    ]
    cluster = snapshot(
        deployment(2, cpu="1500m", anti_affinity=[{"topology_key": "hostname"}]),
        node_pools=[node_pool(limits={"cpu": 9})],
        types=types,
    )
    plan = planned(cluster)
    assert len(plan.launches) == 1
    assert len(plan.unschedulable) == 1


def test_a_second_look_at_a_changed_cluster_answers_as_a_first_look_would() -> None:
    """What is kept from one look to the next is kept right."""
    chance = Random(4)  # noqa: S311  repeatable
    kept = Occupancy()
    cluster = scenarios.fleet(120, 3)
    for _ in range(6):
        kept.look(cluster, NOW)
        plan = provision_plan(kept, cluster, NOW)
        assert plan == planned(cluster)
        places = {key: one.name for one in plan.launches for key in one.pods}
        names = sorted(set(places.values()))
        cluster = msgspec.structs.replace(
            cluster,
            pods=tuple(
                msgspec.structs.replace(one, node_name=places[one.key])
                if one.key in places and chance.random() < 0.7
                else msgspec.structs.replace(one, node_name="")
                if chance.random() < 0.2
                else one
                for one in cluster.pods
            ),
            nodes=(
                *cluster.nodes,
                *(
                    node(name, pool="default", cpu=16, memory="64Gi", zone="us-west-2a")
                    for name in names
                    if name not in {one.name for one in cluster.nodes}
                ),
            ),
            revision=cluster.revision + 1,
        )
