"""A static pool has as many nodes as it says; what it does is settled before pods are planned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.static import OVERPROVISIONED, static
from dovetail.model.ledger import Departure, Ledger
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.testing import deployment, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEEPS = Policy(keeps_replicas=True)


def cluster(pool: NodePool, *nodes: Node, pods: tuple[Pod, ...] = ()) -> Snapshot:
    """A cluster whose static pools are kept."""
    pools = (pool, node_pool("dynamic"))
    found = snapshot(pods, nodes=nodes, node_pools=pools)
    return msgspec.structs.replace(found, policy=KEEPS)


def going(plan: Plan) -> tuple[str, ...]:
    """The nodes that a pool does not want any more."""
    return tuple(
        name for one in plan.disruptions if one.reason == OVERPROVISIONED for name in one.nodes
    )


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(node_pool(replicas=1, is_deleting=True), id="it is being deleted"),
        pytest.param(
            node_pool(replicas=1, problems={"NodePoolNotReady": "broken"}), id="it makes no sense"
        ),
        pytest.param(node_pool(), id="it says no number"),
    ],
)
def test_some_pools_are_not_kept_at_any_number(pool: NodePool) -> None:
    """Neither more nodes come, nor do those go that there are."""
    assert static(cluster(pool), NOW) == Plan()
    assert (
        static(cluster(pool, node("a", pool="default"), node("b", pool="default")), NOW) == Plan()
    )


def test_nodes_without_a_claim_are_not_counted() -> None:
    """A label makes no node ours."""
    stray = msgspec.structs.replace(node("a", pool="default"), node_claim="")
    assert len(static(cluster(node_pool(replicas=1), stray), NOW).launches) == 1


def test_what_is_being_given_up_is_not_counted_as_being_replaced() -> None:
    """If replicas are raised meanwhile, somebody must come for it."""
    found = cluster(node_pool(replicas=2), node("a", pool="default"), node("b", pool="default"))
    marked = Ledger(disrupting=(Departure("b", OVERPROVISIONED, NOW),))
    assert len(static(msgspec.structs.replace(found, ledger=marked), NOW).launches) == 1


def test_of_equals_the_drifted_and_the_dear_go_first() -> None:
    """They would be replaced, or save most."""
    nodes = [
        node("a", pool="default", type="small"),
        node("b", pool="default", type="large"),
        node("c", pool="default", type="small", drifted_at="2025-12-31T00:00:00Z"),
    ]
    for replicas, want in ((2, ("c",)), (1, ("c", "b")), (0, ("c", "b", "a"))):
        assert going(static(cluster(node_pool(replicas=replicas), *nodes), NOW)) == want


def test_a_node_that_pods_are_meant_for_is_not_empty() -> None:
    """Another goes, though it costs as much."""
    nodes = (node("a", pool="default"), node("b", pool="default"))
    waiting = msgspec.structs.replace(pod("web"), nominated_node_name="a")
    assert going(static(cluster(node_pool(replicas=1), *nodes, pods=(waiting,)), NOW)) == ("b",)


@pytest.mark.parametrize(
    ("born", "want"),
    [
        pytest.param(NOW - timedelta(days=100), "b", id="past its end"),
        pytest.param(NOW + timedelta(days=1), "a", id="from the future: as if just born"),
        pytest.param(None, "a", id="nobody knows"),
    ],
)
def test_the_life_that_is_left_weighs_what_is_on_a_node(born: datetime | None, want: str) -> None:
    """A node at its end is the first to go, though more pods run there."""
    nodes = (
        node("a", pool="default"),
        msgspec.structs.replace(node("b", pool="default"), created_at=born),
    )
    pods = (*deployment(1, "one", node="a"), *deployment(2, "two", node="b"))
    assert going(static(cluster(node_pool(replicas=1), *nodes, pods=pods), NOW)) == (want,)


def test_a_pool_that_never_expires_counts_its_pods_alone() -> None:
    """However old a node is."""
    pool = msgspec.structs.replace(node_pool(replicas=1), expire_after=None)
    old = msgspec.structs.replace(node("b", pool="default"), created_at=NOW - timedelta(days=999))
    pods = (*deployment(1, "one", node="a"), *deployment(2, "two", node="b"))
    assert going(static(cluster(pool, node("a", pool="default"), old, pods=pods), NOW)) == ("a",)


def test_money_adds_up() -> None:
    """What comes, what goes, and what it all costs before and after; the bound holds for both."""
    nodes = (node("a", pool="default", type="large"), node("b", pool="other", type="small"))
    pools = (node_pool(replicas=0), node_pool("other", replicas=2), node_pool("dynamic"))
    held = snapshot(deployment(3, cpu=2), nodes=nodes, node_pools=pools)
    plan = decide(msgspec.structs.replace(held, policy=KEEPS), NOW)
    cost = plan.cost
    assert going(plan) == ("a",)
    assert cost.new_nanousd == sum(one.price_nanousd for one in plan.launches)
    assert 0 < cost.lower_bound_nanousd <= cost.new_nanousd
    saved = sum(one.saving_nanousd for one in plan.disruptions)
    assert cost.cluster_after_nanousd == cost.cluster_before_nanousd + cost.new_nanousd - saved
    assert not any(one.node == "a" for one in plan.nominations)
