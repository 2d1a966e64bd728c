from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from dovetail import labels
from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.policy import MinValuesPolicy, Policy
from dovetail.model.snapshot import Snapshot
from dovetail.testing.builders import deployment, instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def only_launch(
    pods: Iterable[Pod], *types: InstanceType, nodes: Iterable[Node] = (), **changes: object
) -> Launch:
    """The one node that is planned for these pods."""
    cluster: Snapshot = snapshot(pods, types=types or None, nodes=nodes)
    (launch,) = decide(msgspec.structs.replace(cluster, **changes), NOW).launches
    return launch


def named(launch: Launch, key: str) -> list[str]:
    """The values of a label that the launch leaves to its provider."""
    (said,) = [one for one in launch.requirements if one.key == key]
    return sorted(said.values)


def test_a_launch_may_come_in_any_zone_that_its_pods_accept() -> None:
    """A pod that says nothing of zones can be launched in all of them."""
    assert named(only_launch([pod()]), labels.ZONE) == ["a", "b", "c"]


def test_a_launch_stays_in_the_zones_that_its_pods_name() -> None:
    """One pod rules out a zone, and its neighbour another."""
    pods = [
        pod("one", cpu=1, node_affinity=[["zone In a, b"]]),
        pod("two", cpu=1, node_affinity=[["zone In b, c"]]),
    ]
    assert named(only_launch(pods), labels.ZONE) == ["b"]


def test_a_launch_stays_where_a_spread_put_it() -> None:
    """Its pods count in the zone that was planned, and in no other."""
    launch = only_launch([pod("web", spread=[{"topology_key": "zone"}])])
    assert named(launch, labels.ZONE) == [launch.zone]


def test_a_launch_does_not_add_a_zone_to_what_others_are_spread_over() -> None:
    """A node with pods of its own in a new zone would make the others' spread uneven."""
    running = node("n1", zone="b", cpu=1)
    held = pod("old", node="n1", spread=[{"topology_key": "zone"}], labels={"app": "old"})
    spread = pod("new", cpu=1, spread=[{"topology_key": "zone"}], labels={"app": "old"})
    cluster = snapshot([held, spread, pod("big", cpu=8)], nodes=[running])
    for launch in decide(cluster, NOW).launches:
        assert named(launch, labels.ZONE) == [launch.zone]


def test_spot_may_fall_back_on_demand_but_not_the_other_way() -> None:
    """Providers take spot wherever it is named, so it is named only where it was planned."""
    kind = instance_type("t", price=0.1, spot=0.03)
    assert named(only_launch([pod()], kind), labels.CAPACITY_TYPE) == ["on-demand", "spot"]
    dear = instance_type("t", price=0.1, spot=0.2)
    assert named(only_launch([pod()], dear), labels.CAPACITY_TYPE) == ["on-demand"]


def test_types_are_named_cheapest_first_and_only_if_they_hold_the_pods() -> None:
    """The chosen type, then by the cheapest way to get each."""
    types = (
        instance_type("too-small", cpu=1, price=0.01),
        instance_type("dear", cpu=4, price=0.5),
        instance_type("cheap", cpu=2, price=0.1),
        instance_type("middle", cpu=3, price=0.2),
    )
    assert only_launch([pod(cpu=2)], *types).instance_types == ("cheap", "middle", "dear")


def test_every_combination_that_is_sold_under_the_names_would_do() -> None:
    """A daemon set that runs in one zone only leaves the small type too little room there. So that
    zone is not named.
    """
    types = (
        instance_type("small", cpu=2, price=0.1),
        instance_type("large", cpu=4, price=0.2),
    )
    heavy = pod("heavy", cpu=1, node_selector={"zone": "b"})
    daemon = DaemonSet("heavy", "default", heavy.spec)
    launch = only_launch([pod(cpu=2)], *types, daemon_sets=(daemon,))
    assert (launch.instance_type, launch.instance_types) == ("small", ("small", "large"))
    assert named(launch, labels.ZONE) == ["a", "c"]


def test_no_more_types_are_named_than_a_launch_may_have() -> None:
    """The cheapest ones are kept."""
    types = [instance_type(f"t{n}", price=0.1 + n / 100) for n in range(5)]
    launch = only_launch([pod()], *types, policy=Policy(max_instance_types=3))
    assert launch.instance_types == ("t0", "t1", "t2")


def test_types_that_min_values_need_are_named_though_others_are_cheaper() -> None:
    """Of the three that may be named, one has to be of the other family."""
    types = [instance_type(f"a{n}", price=0.1 + n / 100, labels={"family": "a"}) for n in range(4)]
    types.append(instance_type("b", price=0.9, labels={"family": "b"}))
    pool = node_pool(requirements=[{"requirement": "family Exists", "min_values": 2}])
    launch = only_launch([pod()], *types, node_pools=(pool,), policy=Policy(max_instance_types=3))
    assert launch.instance_types == ("a0", "a1", "b")
    assert not launch.is_min_values_relaxed


def test_a_preferred_zone_is_the_only_one_named() -> None:
    """A provider does not know preferences: zones that are liked less are left out."""
    wish = [{"weight": 1, "term": ["zone In b, c"]}]
    assert named(only_launch([pod(preferred_node_affinity=wish)]), labels.ZONE) == ["b", "c"]


def test_nodes_alike_have_fallbacks_alike() -> None:
    """What is worked out once for many nodes is right for each of them."""
    cluster = snapshot(deployment(6, cpu=8))
    launches = decide(cluster, NOW).launches
    assert len(launches) == 6
    assert {one.instance_types for one in launches} == {("large",)}
    assert {tuple(named(one, labels.ZONE)) for one in launches} == {("a", "b", "c")}


def test_types_of_other_zones_are_named_with_their_zones() -> None:
    """Where minValues need them, all that the names stand for is sold and would do."""
    types = [
        instance_type("a1", price=0.1, zones=("a",)),
        instance_type("b1", price=0.2, zones=("b",)),
        instance_type("c1", price=0.3, zones=("c",)),
    ]
    pool = node_pool(requirements=[{"requirement": "instance-type Exists", "min_values": 2}])
    chosen = pod(node_affinity=[["zone In a, c"]])
    launch = only_launch([chosen], *types, node_pools=(pool,))
    assert launch.instance_types == ("a1", "c1")
    assert named(launch, labels.ZONE) == ["a", "c"]


def test_a_type_that_is_wrong_on_demand_has_no_fallback_there() -> None:
    """The pod takes the large type only as a reservation, so on demand is not named at all, and by
    best effort minValues give way.
    """
    reserved = {
        "zone": "a",
        "price": 0.001,
        "capacity_type": "reserved",
        "reservation_id": "cr-1",
        "reservation_capacity": 1,
    }
    types = [
        instance_type("small", cpu=2, price=0.1, zones=("a",)),
        instance_type("large", cpu=8, price=0.4, zones=("a",), offerings=[reserved]),
    ]
    pool = node_pool(requirements=[{"requirement": "instance-type Exists", "min_values": 2}])
    picky = pod(node_affinity=[["instance-type In small"], ["capacity-type In reserved"]])
    policy = Policy(min_values_policy=MinValuesPolicy.BEST_EFFORT)
    launch = only_launch([picky], *types, node_pools=(pool,), policy=policy)
    assert (launch.instance_type, launch.is_min_values_relaxed) == ("large", True)
    assert named(launch, labels.CAPACITY_TYPE) == ["reserved"]
