"""A certificate proves what it proves: the checker accepts that, and not a nanodollar more."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.plan import Certificate, Cost, HostCap, OfferKey, Plan, WholePods
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import HostPort, PodTerm, Spread, equality
from dovetail.model.volumes import StorageClass, VolumeClaim
from tests.oracle import certificate
from tests.oracle.build import NOW, ask, cluster, kind, launch, offering, plan, pod
from tests.oracle.certificate import weight
from tests.oracle.quota import least_split

P, Q = pod("p"), pod("q")
MINE = equality({"app": "r"})
MANY = requirement(labels.INSTANCE_TYPE, "In", ["m"], min_values=1)
OFFER = OfferKey("pool", "m", "a", labels.ON_DEMAND)
# A node of 4 cpu costs 100, so a millicore is worth 25 thousandths.
CPU = Certificate(("cpu",), ((25,),), 1000, ((OFFER, 0),))


def proven(snapshot: Snapshot, stated: Certificate, candidate: Plan) -> int:
    """The highest bound that the checker lets the certificate state."""
    low, high = 0, 10_000
    while low < high:
        middle = (low + high + 1) // 2
        bound = Cost(lower_bound_nanousd=middle)
        tried = msgspec.structs.replace(
            candidate,
            certificate=msgspec.structs.replace(stated, bound_nanousd=middle),
            cost=bound,
        )
        if certificate.check(snapshot, NOW, tried):
            high = middle - 1
        else:
            low = middle
    return low


def complaint(snapshot: Snapshot, stated: Certificate, candidate: Plan) -> str:
    """What the checker says of a bound of 1."""
    tried = msgspec.structs.replace(
        candidate,
        certificate=msgspec.structs.replace(stated, bound_nanousd=1),
        cost=Cost(lower_bound_nanousd=1),
    )
    return "; ".join(certificate.check(snapshot, NOW, tried))


def test_pods_are_worth_their_share_of_a_full_node() -> None:
    """Two pods of 1 cpu on nodes of 4 cpu for 100 cost at least 50."""
    assert proven(cluster(P, Q), CPU, plan(launch(P, Q))) == 50


def test_multipliers_that_value_a_node_too_highly_are_scaled_down() -> None:
    """Stating twice the price per cpu proves nothing more."""
    double = msgspec.structs.replace(CPU, multipliers=((50,),))
    assert proven(cluster(P, Q), double, plan(launch(P, Q))) == 50


def test_room_that_daemon_sets_take_makes_the_rest_dearer() -> None:
    """With 2 cpu taken, a pod of 1 cpu is worth half a node."""
    daemon = DaemonSet("d", "kube-system", ask(requests={"cpu": 2000}))
    double = msgspec.structs.replace(CPU, multipliers=((50,),))
    assert proven(cluster(P, daemon_sets=(daemon,)), double, plan(launch(P))) == 50


def test_a_pod_is_worth_the_least_that_any_offer_makes_it_worth() -> None:
    """A cheaper offer that nobody stated counts too, with the kindest vector there is."""
    kinds = (kind(), kind("cheap", offerings=(offering(price=40),)))
    assert proven(cluster(P, kinds=kinds), CPU, plan(launch(P))) == 10


def test_an_offer_that_does_not_take_the_pod_does_not_count() -> None:
    """The cheap type is too small."""
    kinds = (kind(), kind("cheap", holds={"cpu": 900, "pods": 9}, offerings=(offering(price=4),)))
    assert proven(cluster(P, kinds=kinds), CPU, plan(launch(P))) == 25


def test_a_pod_that_waits_proves_nothing() -> None:
    """Only placed pods have to be paid for."""
    assert proven(cluster(P, Q), CPU, plan(launch(P), waits=(Q,))) == 25


def test_what_existing_nodes_could_hold_is_free() -> None:
    """A pod that fits an existing node counts as nothing, or with a vector less all free room."""
    node = Node("n1", labels={labels.ZONE: "a"}, allocatable={"cpu": 1500, "pods": 9})
    snapshot = cluster(P, Q, nodes=(node,))
    planned = plan(launch(P), nominate={"n1": [Q]})
    assert proven(snapshot, CPU, planned) == 0
    priced = msgspec.structs.replace(CPU, existing_multiplier=0)
    assert proven(snapshot, priced, planned) == 12
    full = msgspec.structs.replace(node, allocatable={"cpu": 500, "pods": 9})
    assert proven(cluster(P, Q, nodes=(full,)), CPU, plan(launch(P, Q))) == 50


# ------------------------------------------------------------------ host caps

APART = PodTerm(labels.HOSTNAME, equality({"app": "web"}))
EVEN = Spread(labels.HOSTNAME, equality({"app": "web"}))


def web(name: str, **fields: Any) -> Pod:
    """A web pod."""
    return pod(name, labels={"app": "web"}, spec=ask(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"anti_affinity": (APART,)}, id="anti-affinity"),
        pytest.param({"host_ports": (HostPort(80),)}, id="a port"),
    ],
)
def test_pods_that_exclude_each_other_need_a_node_each(fields: dict[str, Any]) -> None:
    """A place under a cap of one may be worth the whole node."""
    pods = (web("p", **fields), web("q", **fields))
    cap = HostCap(("default/p", "default/q"), 1, (100_000,))
    stated = msgspec.structs.replace(CPU, multipliers=((0,),), host_caps=(cap,))
    planned = plan(launch(pods[0]), launch(pods[1], name="new-2"))
    assert proven(cluster(*pods), stated, planned) == 200


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"spread": (EVEN,)}, id="spread"),
    ],
)
def test_a_cap_without_a_reason_is_found(fields: dict[str, Any]) -> None:
    """Pods that may share a node are under no cap of one: a lone host has the least of all hosts,
    so that a spread lets it take as many as come.
    """
    pods = (web("p", **fields), web("q", **fields))
    cap = HostCap(("default/p", "default/q"), 1, (100_000,))
    stated = msgspec.structs.replace(CPU, host_caps=(cap,))
    assert "nothing keeps a node" in complaint(cluster(*pods), stated, plan(launch(*pods)))


def test_pods_of_more_than_half_a_node_need_a_node_each() -> None:
    """Whole pods: two of 3 cpu on nodes of 4 cpu cost two nodes, though they fill only six of 8."""
    pods = tuple(pod(name, spec=ask(requests={"cpu": 3000})) for name in "pq")
    planned = plan(launch(pods[0]), launch(pods[1], name="new-2"))
    stated = msgspec.structs.replace(
        CPU, multipliers=((0,),), whole_pods=(WholePods("cpu", 1, (100_000,)),)
    )
    assert proven(cluster(*pods), stated, planned) == 200
    assert proven(cluster(*pods), CPU, planned) == 150


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12).filter(lambda sizes: sum(sizes) <= 60),
    st.integers(1, 9),
)
def test_what_fits_one_node_weighs_at_most_one(sizes: list[int], k: int) -> None:
    """The function that weighs whole pods is dual feasible."""
    assert sum(weight(Fraction(size, 60), k) for size in sizes) <= 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"multipliers": ((-1,),)}, "negative or missing"),
        ({"multipliers": ((1, 2),)}, "negative or missing"),
        ({"denominator": 0}, "denominator"),
        ({"choice": ((OFFER, 1),)}, "a multiplier that is not there"),
        ({"existing_multiplier": 1}, "existing nodes"),
        ({"host_caps": (HostCap(("default/p",), 1, ()),)}, "a host cap is malformed"),
        ({"whole_pods": (WholePods("cpu", 0, (1,)),)}, "whole pods is malformed"),
    ],
)
def test_a_malformed_certificate_is_found(fields: dict[str, Any], said: str) -> None:
    """Negative prices, missing numbers and indices out of range prove nothing."""
    stated = msgspec.structs.replace(CPU, **fields)
    assert said in complaint(cluster(P), stated, plan(launch(P)))


def test_the_plan_states_what_the_certificate_proves() -> None:
    """Two different bounds in one plan are found."""
    stated = msgspec.structs.replace(CPU, bound_nanousd=5)
    two = msgspec.structs.replace(plan(launch(P)), certificate=stated)
    assert certificate.check(cluster(P), NOW, two) == ["the certificate proves 5, the plan says 0"]


# ------------------------------------------------------------------ zones, weights, volumes


def two_zones() -> tuple[Any, ...]:
    """The same type in a cheap zone and a dear one."""
    return (kind(offerings=(offering("a", 100), offering("b", 200))),)


def test_a_spread_group_pays_for_the_dear_zone_too() -> None:
    """Two pods over two zones: one in each; without the spread both in the cheap one."""
    even = Spread(labels.ZONE, equality({"app": "web"}))
    dear = OfferKey("pool", "m", "b", labels.ON_DEMAND)
    stated = Certificate(("cpu",), ((25,), (50,)), 1000, ((OFFER, 0), (dear, 1)))
    for fields, want in (({"spread": (even,)}, 75), ({}, 50)):
        pods = (web("p", **fields), web("q", **fields))
        planned = plan(launch(pods[0]), launch(pods[1], name="new-2", zone="b"))
        assert proven(cluster(*pods, kinds=two_zones()), stated, planned) == want


@pytest.mark.parametrize(
    ("limits", "want"),
    [
        pytest.param({"nodes": 1}, 50, id="one node: the dear zone may never be opened"),
        pytest.param({"nodes": 2}, 50, id="a node for each pod uses the limit up"),
        pytest.param({"nodes": 3}, 75, id="enough for any plan, and one more"),
        pytest.param({"cpu": 8_000}, 50, id="two nodes use the limit up"),
        pytest.param({"cpu": 12_000}, 75, id="and here one more would do"),
    ],
)
def test_a_zone_that_limits_may_keep_closed_is_not_paid_for(
    limits: dict[str, int], want: int
) -> None:
    """kube-scheduler only counts domains that nodes make."""
    even = Spread(labels.ZONE, equality({"app": "web"}))
    dear = OfferKey("pool", "m", "b", labels.ON_DEMAND)
    stated = Certificate(("cpu",), ((25,), (50,)), 1000, ((OFFER, 0), (dear, 1)))
    pods = tuple(web(name, spread=(even,)) for name in "pq")
    planned = plan(launch(pods[0]), launch(pods[1], name="new-2", zone="b", price_nanousd=200))
    pools = (NodePool("pool", limits=limits),)
    assert proven(cluster(*pods, pools=pools, kinds=two_zones()), stated, planned) == want


def test_a_limit_that_money_cannot_reach_keeps_no_zone_closed() -> None:
    """With 300 nobody has more than three nodes, though there are eight pods."""
    even = Spread(labels.ZONE, equality({"app": "web"}))
    dear = OfferKey("pool", "m", "b", labels.ON_DEMAND)
    stated = Certificate(("cpu",), ((25,), (50,)), 1000, ((OFFER, 0), (dear, 1)))
    pods = tuple(web(name, spread=(even,)) for name in "pqrstuvw")
    planned = plan(launch(*pods[:4]), launch(*pods[4:], name="new-2", zone="b", price_nanousd=200))
    for limit, want in ((4, 300), (3, 200)):
        pools = (NodePool("pool", limits={"nodes": limit}),)
        snapshot = cluster(*pods, pools=pools, kinds=two_zones())
        assert proven(snapshot, stated, planned) == want


@pytest.mark.parametrize(
    ("worths", "n_pods", "skew", "min_domains", "want"),
    [
        pytest.param([1, 9], 2, 1, 1, 10, id="one each"),
        pytest.param([1, 9], 3, 1, 1, 11, id="the odd one where it is cheap"),
        pytest.param([1, 9], 2, 2, 1, 2, id="skew two allows both in one"),
        pytest.param([1, 9, 9, 9], 6, 2, 1, 30, id="a fuller minimum may be cheaper"),
        pytest.param([1], 2, 1, 2, None, id="too few domains for two"),
        pytest.param([1], 1, 1, 2, 1, id="one pod needs no second domain"),
        pytest.param([], 1, 1, 1, None, id="nowhere"),
    ],
)
def test_the_cheapest_split_is_found(
    worths: list[int], n_pods: int, skew: int, min_domains: int, want: int | None
) -> None:
    """Every emptiest domain is tried: (3, 1, 1, 1) beats (2, 2, 2, 0) when one zone is cheap."""
    exact = [Fraction(one) for one in worths]
    assert least_split(exact, n_pods, skew, min_domains) == want


def test_a_lighter_pool_does_not_lower_the_bound() -> None:
    """A pod that a heavier pool takes is worth what it is worth there, unless that has limits."""
    light = kind("light", offerings=(offering(price=40),))
    pools = (NodePool("pool", 10), NodePool("other"))
    types = {"pool": (kind(),), "other": (light,)}
    planned = plan(launch(P))
    assert proven(cluster(P, pools=pools, instance_types=types), CPU, planned) == 25
    for fields in ({"limits": {"cpu": 9000}}, {"requirements": (MANY,)}):
        may_refuse = (msgspec.structs.replace(pools[0], **fields), pools[1])
        assert proven(cluster(P, pools=may_refuse, instance_types=types), CPU, planned) == 10


@pytest.mark.parametrize(
    ("apps", "want"),
    [
        pytest.param(("p",), 15, id="the pod is company"),
        pytest.param(("p", "q"), 30, id="nobody is company for two terms"),
    ],
)
def test_company_may_draw_a_pod_to_a_lighter_pool(apps: tuple[str, ...], want: int) -> None:
    """Whom all terms of another mean might have to go where that one can."""
    light = kind("light", offerings=(offering(price=40),))
    pools = (NodePool("pool", 10), NodePool("other"))
    types = {"pool": (kind(),), "other": (light,)}
    terms = tuple(PodTerm(labels.ZONE, equality({"app": app})) for app in apps)
    friend = pod("q", spec=ask(requests={"cpu": 500, "pods": 1}, affinity=terms))
    snapshot = cluster(P, friend, pools=pools, instance_types=types)
    assert proven(snapshot, CPU, plan(launch(P, friend))) == want


def test_a_heavy_pool_with_nothing_to_sell_decides_nothing() -> None:
    """Its limits are no reason to doubt the next one."""
    light = kind("light", offerings=(offering(price=40),))
    idle = NodePool("idle", 20, limits={"cpu": 9000})
    pools = (NodePool("pool", 10), NodePool("other"), idle)
    types = {"pool": (kind(),), "other": (light,), "idle": ()}
    snapshot = cluster(P, pools=pools, instance_types=types)
    assert proven(snapshot, CPU, plan(launch(P))) == 25


def test_an_open_label_of_a_heavy_pool_may_have_the_values_of_a_light_one() -> None:
    """Pods that stand apart by rack need not go to the lighter pool for another rack."""
    light = kind("light", offerings=(offering(price=40),))
    racks = (requirement("rack", "NotIn", ["r1"]), requirement("rack", "In", ["r3"]))
    pools = (
        NodePool("pool", 10, requirements=racks[:1]),
        NodePool("other", requirements=racks[1:]),
    )
    types = {"pool": (kind(),), "other": (light,)}
    apart = web("p", anti_affinity=(PodTerm("rack", equality({"app": "web"})),))
    snapshot = cluster(apart, pools=pools, instance_types=types)
    assert proven(snapshot, CPU, plan(launch(apart))) == 25


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"affinity": (PodTerm(labels.CAPACITY_TYPE, MINE),)}, 25, id="affinity"),
        pytest.param({"spread": (Spread(labels.CAPACITY_TYPE, MINE),)}, 25, id="spread"),
        pytest.param({"anti_affinity": (PodTerm(labels.CAPACITY_TYPE, MINE),)}, 10, id="anti"),
    ],
)
def test_of_running_pods_only_anti_affinity_makes_places_differ(
    fields: dict[str, Any], want: int
) -> None:
    """What a running pod wants for itself keeps nobody from the heavier pool; whom it keeps out
    of a capacity type might have to go to the lighter one.
    """
    light = kind("light", offerings=(offering(capacity_type=labels.SPOT, price=40),))
    pools = (NodePool("pool", 10), NodePool("other"))
    types = {"pool": (kind(),), "other": (light,)}
    running = pod("r", node_name="gone", spec=ask(**fields))
    snapshot = cluster(P, running, pools=pools, instance_types=types)
    assert proven(snapshot, CPU, plan(launch(P))) == want


def test_a_shared_volume_takes_one_slot_for_all_its_pods() -> None:
    """Two pods with one claim are not worth two slots."""
    slots = msgspec.structs.replace(kind(), attach_limits={"csi": 2})
    stated = Certificate(("attach/csi",), ((50,),), 1, ((OFFER, 0),))
    claims = {f"default/{name}": VolumeClaim(name, "default", "s") for name in ("x", "y")}
    storage: dict[str, Any] = {
        "volume_claims": claims,
        "storage_classes": {"s": StorageClass("s", "csi")},
    }
    for names, want in ((("x", "y"), 100), (("x", "x"), 50)):
        pods = [pod(f"p{n}", claim_names=(name,)) for n, name in enumerate(names)]
        snapshot = cluster(*pods, kinds=(slots,), **storage)
        assert proven(snapshot, stated, plan(launch(*pods))) == want
    holder = pod("p", claim_names=("x",))
    unlimited = cluster(holder, kinds=(kind(),), **storage)
    assert proven(unlimited, stated, plan(launch(holder))) == 0
