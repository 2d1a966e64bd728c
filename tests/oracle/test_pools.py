"""The checker adds up limits, weighs pools and counts money."""

from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.plan import Cost, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Taint, Toleration
from dovetail.model.topology import PodTerm, equality
from tests.oracle.build import NOW, ROOM, ask, cluster, launch, pick, plan, pod
from tests.oracle.check import placing
from tests.oracle.launchable import mentioned

P = pod("p")
NODE = Node("n1", labels={labels.HOSTNAME: "n1", labels.ZONE: "a"}, allocatable=ROOM)


def found(snapshot: Snapshot, candidate: Plan) -> str:
    """Everything that is wrong, in one line."""
    return "; ".join(placing(snapshot, NOW, candidate))


def test_a_pool_beyond_its_limits_is_found() -> None:
    """Existing nodes count, in capacity, and so does the number of nodes."""
    ours = msgspec.structs.replace(NODE, node_pool="pool", capacity=ROOM, is_unschedulable=True)
    nodes = (ours,)
    pools = (pick("pool", limits={"cpu": 7999}),)
    assert "exceeds cpu: 8000 of 7999" in found(
        cluster(P, pools=pools, nodes=nodes), plan(launch(P))
    )
    pools = (pick("pool", limits={"nodes": 1}),)
    assert "exceeds nodes: 2 of 1" in found(cluster(P, pools=pools, nodes=nodes), plan(launch(P)))
    pools = (pick("pool", limits={"nodes": 2, "cpu": 8000}),)
    assert found(cluster(P, pools=pools, nodes=nodes), plan(launch(P))) == ""


def test_a_pod_in_a_light_pool_that_a_heavier_one_would_take_is_found() -> None:
    """Weight goes before price."""
    pools = (pick("pool"), pick("heavy", weight=10))
    assert "heavy weighs more" in found(cluster(P, pools=pools), plan(launch(P)))
    right = plan(launch(P, node_pool="heavy"))
    assert found(cluster(P, pools=pools), right) == ""


@pytest.mark.parametrize(
    "heavy",
    [
        pytest.param(pick("heavy", weight=10, limits={"cpu": 1}), id="its limit is reached"),
        pytest.param(pick("heavy", weight=10, taints=(Taint("k"),)), id="its taint repels"),
        pytest.param(pick("heavy", weight=10, is_ready=False), id="it is not ready"),
    ],
)
def test_a_heavier_pool_that_cannot_help_is_no_reproach(heavy: NodePool) -> None:
    """A lighter pool is right when the heavier one could not take the pod."""
    assert found(cluster(P, pools=(NodePool("pool"), heavy)), plan(launch(P))) == ""


def test_a_pod_that_another_one_needs_may_stay_in_the_light_pool() -> None:
    """Moving it would leave its friend, who does not tolerate the heavy pool, without company."""
    heavy = pick("heavy", weight=10, taints=(Taint("k"),))
    tolerant = pod("q", spec=ask(tolerations=(Toleration("k", "Exists"),)))
    near = PodTerm(labels.HOSTNAME, equality({"app": "q"}))
    friend = pod("p", spec=ask(affinity=(near,)))
    snapshot = cluster(friend, tolerant, pools=(NodePool("pool"), heavy))
    assert found(snapshot, plan(launch(tolerant, friend))) == ""


def test_a_starting_node_of_unknown_type_has_what_it_is_said_to_have() -> None:
    """Its device plugin has not reported yet, and no catalogue lists its type any more."""
    fields = {"node_pool": "gone", "capacity": {**ROOM, "gpu": 2}, "is_initialized": False}
    starting = msgspec.structs.replace(NODE, **fields)
    training = pod("q", spec=ask(requests={"pods": 1, "gpu": 2}))
    candidate = plan(nominate={"n1": [training]})
    assert found(cluster(training, nodes=(starting,)), candidate) == ""
    up = msgspec.structs.replace(starting, is_initialized=True)
    assert "gpu: wants 2, 0 free" in found(cluster(training, nodes=(up,)), candidate)


def test_what_only_a_bound_pod_asks_for_is_no_value_to_launch() -> None:
    """A waiting pod's selector is worth trying, that of a pod whose node lacks the label is not."""
    asks = pod("q", spec=ask(node_selector={"rack": "r3"}))
    bound = msgspec.structs.replace(asks, node_name="n1")
    assert "r3" in mentioned(cluster(asks, nodes=(NODE,)), ())["rack"]
    assert "rack" not in mentioned(cluster(bound, nodes=(NODE,)), ())


def test_a_price_that_does_not_add_up_is_found() -> None:
    """cost.new is the sum of the launches, and the bound is no more than that."""
    wrong = msgspec.structs.replace(plan(launch(P)), cost=Cost(new_nanousd=99))
    assert "launches add up to 100" in found(cluster(P), wrong)
    boast = Cost(new_nanousd=100, lower_bound_nanousd=101)
    wrong = msgspec.structs.replace(plan(launch(P)), cost=boast)
    assert "bound 101 is not within 0..100" in found(cluster(P), wrong)
