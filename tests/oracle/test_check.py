"""The checker finds each way in which a plan can be wrong, and nothing in a plan that is right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Ledger, Refusal
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements, requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint
from dovetail.model.topology import HostPort, PodTerm, Spread, equality
from dovetail.model.verdict import Problem
from tests.oracle.build import NOW, ROOM, ask, cluster, kind, launch, offering, pick, plan, pod
from tests.oracle.check import placing

P, Q = pod("p"), pod("q")
NODE = Node("n1", labels={labels.HOSTNAME: "n1", labels.ZONE: "a"}, allocatable=ROOM)

FAR = Node("far", labels={labels.HOSTNAME: "far", labels.ZONE: "b"}, allocatable={"pods": 0})


def found(snapshot: Snapshot, candidate: Plan) -> str:
    """Everything that is wrong, in one line."""
    return "; ".join(placing(snapshot, NOW, candidate))


def test_a_plan_that_is_right_has_nothing_wrong_with_it() -> None:
    """Two pods on one new node."""
    assert found(cluster(P, Q), plan(launch(P, Q))) == ""


def test_a_nomination_that_is_right_has_nothing_wrong_with_it() -> None:
    """One pod on a node that exists."""
    assert found(cluster(P, nodes=(NODE,)), plan(nominate={"n1": [P]})) == ""


def test_an_empty_plan_is_right_for_an_empty_cluster() -> None:
    """Nothing to do."""
    assert found(Snapshot(), Plan()) == ""


# ------------------------------------------------------------------ who is where


def test_a_waiting_pod_that_the_plan_forgets_is_found() -> None:
    """Every waiting pod is somewhere in the plan."""
    assert found(cluster(P, Q), plan(launch(P))) == "default/q is not in the plan"


def test_a_pod_in_two_places_is_found() -> None:
    """Nobody is planned twice."""
    twice = plan(launch(P), launch(P, name="new-2"))
    assert "default/p is in the plan 2 times" in found(cluster(P), twice)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("q", node_name="n1"), id="bound"),
        pytest.param(pod("q", phase="Succeeded"), id="done"),
        pytest.param(pod("q", deleting_at=NOW), id="leaving"),
    ],
)
def test_a_pod_that_does_not_wait_is_not_planned(other: Pod) -> None:
    """Bound, finished and terminating pods need no node."""
    wrong = found(cluster(P, other, nodes=(NODE,)), plan(launch(P, other)))
    assert "default/q does not wait" in wrong


def test_a_pod_on_a_leaving_node_waits_for_another() -> None:
    """Its node is on the way out, so it must be planned for."""
    leaving = msgspec.structs.replace(NODE, deleting_at=NOW)
    mover = pod("p", node_name="n1", phase="Running")
    assert found(cluster(mover, nodes=(leaving,)), plan(launch(mover))) == ""
    assert "not in the plan" in found(cluster(mover, nodes=(leaving,)), Plan())


def test_an_incomplete_binding_order_is_found() -> None:
    """The order lists every placed pod."""
    short = msgspec.structs.replace(plan(launch(P, Q)), binding_order=("default/p",))
    assert "binding_order" in found(cluster(P, Q), short)


def test_a_nomination_to_a_node_that_is_not_there_is_found() -> None:
    """Only nodes of the snapshot can be nominated."""
    assert "unknown node n9" in found(cluster(P), plan(nominate={"n9": [P]}))


def test_two_nodes_of_one_name_are_found() -> None:
    """Names are unique, existing nodes included."""
    twins = plan(launch(P, name="n1"))
    assert "n1 names 2 nodes" in found(cluster(P, nodes=(NODE,)), twins)


# ------------------------------------------------------------------ pods that have a node


def test_a_pod_that_does_not_fit_is_found() -> None:
    """Five pods of 1 cpu on a node of 4."""
    pods = [pod(f"p{number}") for number in range(5)]
    wrong = found(cluster(*pods), plan(launch(*pods)))
    assert "default/p4 does not bind to new-1: cpu: wants 1000, 0 free" in wrong


def test_a_wrong_order_is_forgiven_when_another_one_works() -> None:
    """The friend is listed before its friend, but binds after it."""
    near = PodTerm(labels.HOSTNAME, equality({"app": "q"}))
    friend = pod("p", spec=ask(affinity=(near,)))
    assert found(cluster(friend, Q), plan(launch(friend, Q))) == ""


def test_pods_that_bind_in_no_order_are_found() -> None:
    """Two pods that refuse each other on one node."""
    apart = PodTerm(labels.HOSTNAME, equality({"app": "q"}))
    shy = pod("p", spec=ask(anti_affinity=(apart,)))
    assert "does not bind" in found(cluster(shy, Q), plan(launch(shy, Q)))


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(pod("p", spec=ask(is_gated=True)), id="gated"),
        pytest.param(pod("p", spec=ask(scheduler_name="mine")), id="other scheduler"),
        pytest.param(pod("p", spec=ask(uses_dynamic_resources=True)), id="devices"),
        pytest.param(pod("p", claim_names=("gone",)), id="claim missing"),
        pytest.param(pod("p", problems=(Problem("InvalidPod", "Bad."),)), id="invalid"),
    ],
)
def test_a_pod_that_cannot_be_planned_for_may_only_wait(refused: Pod) -> None:
    """Gates, other schedulers, devices, missing claims and problems keep a pod waiting."""
    assert found(cluster(refused), plan(waits=(refused,))) == ""
    assert "has a node although" in found(cluster(refused), plan(launch(refused)))


# ------------------------------------------------------------------ pods that have none


def test_a_pod_that_fits_an_existing_node_must_not_wait() -> None:
    """There was room."""
    wrong = found(cluster(P, pools=(), nodes=(NODE,)), plan(waits=(P,)))
    assert wrong == "default/p waits although it could go to n1"


def test_a_pod_that_fits_a_planned_node_must_not_wait() -> None:
    """The limit leaves no further node, but the planned one has room."""
    pools = (pick("pool", limits={"nodes": 1}),)
    assert "could go to new-1" in found(cluster(P, Q, pools=pools), plan(launch(P), waits=(Q,)))


def test_a_pod_that_could_have_a_new_node_must_not_wait() -> None:
    """Some offering would hold it."""
    assert "could go to pool m a on-demand" in found(cluster(P), plan(waits=(P,)))


def test_a_pod_that_needs_an_open_label_must_not_wait() -> None:
    """The pool leaves the label open, so the wanted value can be had."""
    pools = (pick("pool", requirements=(requirement("team", "Exists"),)),)
    wishful = pod("p", spec=ask(node_selector={"team": "red"}))
    assert "could go to pool" in found(cluster(wishful, pools=pools), plan(waits=(wishful,)))
    labelled = plan(launch(wishful, labels={"team": "red"}))
    assert found(cluster(wishful, pools=pools), labelled) == ""


@pytest.mark.parametrize(
    ("pool", "kinds", "ledger"),
    [
        pytest.param(pick("pool", is_ready=False), (), Ledger(), id="pool not ready"),
        pytest.param(pick("pool", replicas=2), (), Ledger(), id="pool is static"),
        pytest.param(pick("pool", limits={"nodes": 0}), (), Ledger(), id="no nodes allowed"),
        pytest.param(pick("pool", limits={"cpu": 3999}), (), Ledger(), id="cpu limit"),
        pytest.param(pick("pool", taints=(Taint("k"),)), (), Ledger(), id="taint"),
        pytest.param(
            pick("pool", requirements=(requirement(labels.ZONE, "In", ["b"]),)),
            (),
            Ledger(),
            id="no such zone",
        ),
        pytest.param(
            pick("pool", requirements=(requirement(labels.INSTANCE_TYPE, "Exists", (), 2),)),
            (),
            Ledger(),
            id="minValues out of reach",
        ),
        pytest.param(
            NodePool("pool"),
            (kind(offerings=(msgspec.structs.replace(offering(), is_available=False),)),),
            Ledger(),
            id="not available",
        ),
        pytest.param(NodePool("pool"), (kind(holds={"cpu": 500}),), Ledger(), id="too small"),
        pytest.param(
            NodePool("pool"),
            (),
            Ledger(refusals=(Refusal("m", "a", "on-demand", NOW + timedelta(minutes=1)),)),
            id="refused a moment ago",
        ),
    ],
)
def test_a_pod_that_nothing_can_help_may_wait(
    pool: NodePool, kinds: tuple[InstanceType, ...], ledger: Ledger
) -> None:
    """No pool could launch a node for it."""
    snapshot = cluster(P, pools=(pool,), kinds=kinds, ledger=ledger)
    assert found(snapshot, plan(waits=(P,))) == ""


def test_a_refusal_of_long_ago_is_no_excuse() -> None:
    """Once the wait is over, the offering is asked for again."""
    refusal = Ledger(refusals=(Refusal("m", "a", "on-demand", NOW - timedelta(minutes=1)),))
    assert "could go to" in found(cluster(P, ledger=refusal), plan(waits=(P,)))


def test_a_node_that_would_unsettle_others_is_no_remedy() -> None:
    """A pod may wait when a node for it would break the spread of those who have one.

    A second host makes two spread pods on the first one too many.
    """
    even = Spread(labels.HOSTNAME, equality({"app": "web"}))
    ours: dict[str, Any] = {"labels": {"app": "web"}}
    first = pod("w1", spec=ask(spread=(even,), host_ports=(HostPort(80),)), **ours)
    second = pod("w2", spec=ask(spread=(even,)), **ours)
    shut_out = pod("p", spec=ask(host_ports=(HostPort(80),)))
    snapshot = cluster(first, second, shut_out)
    assert found(snapshot, plan(launch(first, second), waits=(shut_out,))) == ""
    alone = cluster(first, shut_out)
    assert "could go to pool" in found(alone, plan(launch(first), waits=(shut_out,)))


def test_a_pod_that_waits_behind_lower_priority_is_found() -> None:
    """One place, two pods: the one of higher priority must have it."""
    first, second = pod("p", spec=ask(priority=10)), Q
    node = msgspec.structs.replace(NODE, allocatable={"cpu": 1000, "pods": 9})
    snapshot = cluster(first, second, pools=(), nodes=(node,))
    assert found(snapshot, plan(nominate={"n1": [first]}, waits=(second,))) == ""
    wrong = found(snapshot, plan(nominate={"n1": [second]}, waits=(first,)))
    assert wrong == "default/p waits while pods of lower priority have its place: n1"


def test_a_pod_of_lower_priority_that_is_not_in_the_way_has_nobodys_place() -> None:
    """The new node in zone b keeps the important pod out of zone a, not who is beside its place."""
    even = Spread(labels.ZONE, equality({"app": "web"}), node_affinity_policy="Ignore")
    old = pod("old", labels={"app": "web"}, node_name="n1")
    first = pod(
        "p",
        labels={"app": "web"},
        spec=ask(priority=10, spread=(even,), node_selector={labels.ZONE: "a"}),
    )
    abroad = pod("r", spec=ask(node_selector={labels.ZONE: "b"}))
    types = (kind(offerings=(offering("b"),)),)
    snapshot = cluster(old, first, Q, abroad, nodes=(NODE,), kinds=types)
    candidate = plan(launch(abroad, zone="b"), nominate={"n1": [Q]}, waits=(first,))
    assert found(snapshot, candidate) == ""


# ------------------------------------------------------------------ launches


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"price_nanousd": 99}, "price 99"),
        ({"zone": "b"}, "not offered as on-demand in b"),
        ({"capacity_type": "spot"}, "not offered as spot in a"),
        ({"instance_type": "x", "instance_types": ("x",)}, "no type x in pool"),
        ({"node_pool": "nowhere"}, "pool nowhere cannot launch"),
        ({"instance_types": ()}, "not first in the list"),
        ({"instance_types": ("m", "m")}, "listed twice"),
        ({"instance_types": ("m", "tiny")}, "alternative tiny would not hold"),
        ({"instance_types": ("m", "dear")}, "alternative dear is not in the pool"),
        ({"instance_types": ("m", "gone")}, "alternative gone is not to be had"),
        ({"instance_types": ("m", "m3", "m2")}, "not in order of price"),
        ({"taints": (Taint("k"),)}, "taints are not the pool's"),
        ({"startup_taints": (Taint("k"),)}, "startup taints are not the pool's"),
        ({"requests": {"cpu": 1}}, "requests"),
        ({"allocatable": {"cpu": 1}}, "allocatable is not the type's"),
        ({"labels": {labels.ZONE: "b"}}, "breaks"),
        ({"requirements": (requirement(labels.ZONE, "In", ["b"]),)}, "the launch's own"),
    ],
)
def test_a_launch_that_misstates_itself_is_found(fields: dict[str, Any], complaint: str) -> None:
    """Every field of a launch is held against the snapshot."""
    gone = msgspec.structs.replace(offering(), is_available=False)
    kinds = (
        kind(),
        kind("tiny", holds={"cpu": 1, "pods": 9}),
        kind("gone", offerings=(gone,)),
        kind("m2", offerings=(offering(price=200),)),
        kind("m3", offerings=(offering(price=300),)),
    )
    snapshot = cluster(P, kinds=kinds)
    assert found(snapshot, plan(launch(P, instance_types=("m", "m2", "m3")))) == ""
    assert complaint in found(snapshot, plan(launch(P, **fields)))


def test_a_launch_that_lists_something_cheaper_is_found() -> None:
    """Providers take the cheapest, so that is what should have been planned."""
    kinds = (kind(), kind("cheap", offerings=(offering(price=1),)))
    candidate = plan(launch(P, instance_types=("m", "cheap")))
    assert "lists cheap in a on-demand for 1" in found(cluster(P, kinds=kinds), candidate)


@pytest.mark.parametrize(
    ("n_larger", "is_right"),
    [pytest.param(1, True, id="one may be larger"), pytest.param(2, False, id="not both")],
)
def test_lists_of_types_that_might_exceed_a_limit_are_found(
    n_larger: int, *, is_right: bool
) -> None:
    """All launches count together, each with the largest type that it lists."""
    large = kind("large", holds={**ROOM, "cpu": 2 * ROOM["cpu"]}, offerings=(offering(price=900),))
    pools = (NodePool("pool", limits={"cpu": 3 * ROOM["cpu"]}),)
    apart = ask(anti_affinity=(PodTerm(labels.HOSTNAME, equality({"app": "x"})),))
    pods = [pod(name, labels={"app": "x"}, spec=apart) for name in ("p", "q")]
    lists = [("m", "large")] * n_larger + [("m",)] * (2 - n_larger)
    candidate = plan(
        *(
            launch(one, name=f"new-{one.name}", instance_types=types)
            for one, types in zip(pods, lists, strict=True)
        )
    )
    complaints = found(cluster(*pods, kinds=(kind(), large), pools=pools), candidate)
    assert complaints == "" if is_right else "may exceed cpu" in complaints


def test_a_fallback_whose_daemon_pods_would_not_have_the_pods_is_found() -> None:
    """A daemon set that runs on one type only must get on with the pods there, too."""
    apart = PodTerm(labels.HOSTNAME, equality({"app": "p"}))
    daemon = DaemonSet(
        "d",
        "default",
        ask(requests={}, node_selector={labels.INSTANCE_TYPE: "b"}, anti_affinity=(apart,)),
    )
    for pods, want in (((P,), "new-1: alternative b would not hold the pods"), ((Q,), "")):
        snapshot = cluster(*pods, kinds=(kind(), kind("b")), daemon_sets=(daemon,))
        assert found(snapshot, plan(launch(*pods, instance_types=("m", "b")))) == want


def test_a_launch_that_lets_the_provider_choose_wrongly_is_found() -> None:
    """A launch for a spread pod that any zone would satisfy may come in the wrong one."""
    even = Spread(labels.ZONE, equality({"app": "web"}))
    pods = [pod(name, labels={"app": "web"}, spec=ask(spread=(even,))) for name in ("p", "q")]
    kinds = (kind(offerings=(offering("a"), offering("b"))),)
    pinned = [(requirement(labels.ZONE, "In", [zone]),) for zone in ("a", "b")]
    first = launch(pods[0], requirements=pinned[0])
    second = launch(pods[1], name="new-2", zone="b", requirements=pinned[1])
    open_wide = msgspec.structs.replace(second, requirements=())
    with_node = cluster(*pods, kinds=kinds, nodes=(FAR,))
    assert found(with_node, plan(first, second)) == ""
    assert "new-2 comes as a/on-demand" in found(with_node, plan(first, open_wide))


def test_daemon_sets_are_part_of_the_requests() -> None:
    """What a launch asks for includes every daemon set that will run there."""
    daemon = DaemonSet("d", "kube-system", ask(requests={"cpu": 10}))
    snapshot = cluster(P, daemon_sets=(daemon,))
    assert "requests" in found(snapshot, plan(launch(P)))
    assert found(snapshot, plan(launch(P, requests={"cpu": 1010, "pods": 1}))) == ""


def test_a_label_that_the_pool_fixes_must_be_there() -> None:
    """A launch whose labels break its pool is found where a pod cares."""
    pools = (pick("pool", labels={"team": "red"}),)
    careful = pod("p", spec=ask(node_selector={"team": "red"}))
    assert "breaks" in found(cluster(careful, pools=pools), plan(launch(careful)))


def test_too_few_types_for_min_values_are_found() -> None:
    """Strict minValues count distinct types; BestEffort must say that it gave way."""
    pools = (pick("pool", requirements=(requirement(labels.INSTANCE_TYPE, "Exists", (), 2),)),)
    kinds = (kind(), kind("m2"))
    enough = plan(launch(P, instance_types=("m", "m2")))
    assert found(cluster(P, pools=pools, kinds=kinds), enough) == ""
    assert "minValues not reached" in found(cluster(P, pools=pools, kinds=kinds), plan(launch(P)))
    lenient = cluster(P, pools=pools, kinds=kinds, policy=Policy(min_values_policy="BestEffort"))
    assert "without saying so" in found(lenient, plan(launch(P)))
    assert found(lenient, plan(launch(P, is_min_values_relaxed=True))) == ""


def test_a_reservation_used_too_often_is_found() -> None:
    """A reservation of one holds one node."""
    reserved = msgspec.structs.replace(
        offering(capacity_type=labels.RESERVED), reservation_id="cr", reservation_capacity=1
    )
    fixed = Requirements([*reserved.requirements.values()])
    reserved = msgspec.structs.replace(reserved, requirements=fixed)
    snapshot = cluster(P, Q, kinds=(kind(offerings=(reserved,)),))
    fields: dict[str, Any] = {"capacity_type": labels.RESERVED, "reservation_id": "cr"}
    assert found(snapshot, plan(launch(P, Q, **fields))) == ""
    twice = plan(launch(P, **fields), launch(Q, name="new-2", **fields))
    assert "reservation cr is used 2 times, it has 1" in found(snapshot, twice)
