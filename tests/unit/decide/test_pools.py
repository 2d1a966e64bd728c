from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dovetail.decide.pools import eligible_pools, remaining_limits
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Problem, Reason

KIND = InstanceType("t", Requirements(), {}, {}, ())


def snapshot(*pools: NodePool) -> Snapshot:
    """A cluster in which every pool has a type to launch."""
    return Snapshot(node_pools=pools, instance_types={pool.name: (KIND,) for pool in pools})


def test_heavier_pools_come_first_then_names() -> None:
    """Weight descending, names ascending, whatever the input order."""
    got, refused = eligible_pools(
        snapshot(NodePool("b"), NodePool("a"), NodePool("z", weight=10), NodePool("y", weight=10))
    )
    assert [pool.name for pool in got] == ["y", "z", "a", "b"]
    assert refused == ()


@pytest.mark.parametrize(
    ("pool", "want", "said"),
    [
        pytest.param(
            NodePool("p", is_ready=False), Reason.NODE_POOL_NOT_READY, "Ready", id="unready"
        ),
        pytest.param(
            NodePool("p", is_deleting=True), Reason.NODE_POOL_NOT_READY, "deleted", id="deleting"
        ),
        pytest.param(NodePool("p", replicas=3), Reason.NODE_POOL_STATIC, "3", id="static"),
        pytest.param(
            NodePool("p", problems=(Problem("NodePoolValidationFailed", "key is restricted."),)),
            Reason.NODE_POOL_NOT_READY,
            "key is restricted",
            id="invalid",
        ),
    ],
)
def test_a_pool_that_may_not_grow_says_why(pool: NodePool, want: Reason, said: str) -> None:
    """Static, unready, deleting and invalid pools launch nothing for pods."""
    got, ((refused, problem),) = eligible_pools(snapshot(pool))
    assert got == ()
    assert refused == pool
    assert problem.reason == want
    assert said in problem.message
    assert problem.fix


def test_a_pool_without_instance_types_may_not_grow() -> None:
    """Its provider has nothing to launch."""
    _, ((_, problem),) = eligible_pools(Snapshot(node_pools=(NodePool("p"),)))
    assert problem.reason == Reason.NO_INSTANCE_TYPES


def test_limits_are_reduced_by_the_capacity_of_the_pools_own_nodes() -> None:
    """Leaving nodes and nodes of others do not count; `nodes` counts nodes."""
    pool = NodePool("p", limits={"cpu": 10_000, "gpu": 2, "nodes": 3})
    nodes = (
        Node("a", node_pool="p", capacity={"cpu": 4000, "memory": 1}),
        Node("b", node_pool="p", capacity={"cpu": 8000}),
        Node("c", node_pool="q", capacity={"cpu": 4000}),
        Node("d", node_pool="p", capacity={"cpu": 1}, deleting_at=datetime(2026, 1, 1, tzinfo=UTC)),
    )
    assert remaining_limits(pool, nodes) == {"cpu": -2000, "gpu": 2, "nodes": 1}


def test_a_pool_without_limits_has_none_left_over() -> None:
    """Nothing limited, nothing to count."""
    assert remaining_limits(NodePool("p"), (Node("a", node_pool="p", capacity={"cpu": 1}),)) == {}
