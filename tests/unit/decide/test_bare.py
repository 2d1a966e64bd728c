"""A node of a pool's template alone: the cheapest that is allowed, in the pool's own words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.static import bare_launches
from dovetail.model.ledger import Ledger, Refusal
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.testing import instance_type, node_pool, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RESERVED = {"zone": "b", "price": 0.01, "capacity_type": "reserved", "reservation_id": "r1"}


def bare(pool: NodePool, n_nodes: int = 1, held: Snapshot | None = None) -> tuple[Launch, ...]:
    """So many nodes of the pool."""
    return bare_launches(pool, n_nodes, held or snapshot(node_pools=[pool]), NOW, ())


def test_the_cheapest_comes_and_all_that_would_do_is_named() -> None:
    """The claim asks for nothing besides what the pool asks."""
    one, two = bare(node_pool(requirements=["node.kubernetes.io/instance-type NotIn small"]), 2)
    assert (one.instance_type, one.zone, one.capacity_type) == ("medium", "a", "on-demand")
    assert one.instance_types == ("medium", "large")
    assert (one.requirements, one.requests, one.pods) == ((), {}, ())
    assert (one.name, two.name) == ("default-1-1", "default-1-2")


def test_names_go_on_from_those_that_the_plan_has() -> None:
    """Of the same pool."""
    pool = node_pool()
    (first,) = bare(pool)
    (second,) = bare_launches(pool, 1, snapshot(node_pools=[pool]), NOW, (first,))
    assert second.name == "default-1-2"


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        pytest.param("team In b, a", "a", id="one of several: the first"),
        pytest.param("team Exists", "other", id="it must be there"),
        pytest.param("team NotIn x", None, id="it need not be there"),
        pytest.param("team Gt 5", "6", id="a number above"),
        pytest.param("team Lt 5", "4", id="a number below"),
        pytest.param("team Gt 5; team NotIn 6, 7", "8", id="a number that is not ruled out"),
        pytest.param("team Gt 5; team Lt 9; team NotIn 6", "7", id="a number in between"),
        pytest.param("team In only", "only", id="no choice"),
    ],
)
def test_labels_that_the_pool_leaves_open_get_a_value(requirement: str, want: str | None) -> None:
    """Or else the node would not be what its pool asks for, and drift at once."""
    (one,) = bare(node_pool(requirements=requirement.split("; ")))
    assert one.labels.get("team") == want


def test_a_reservation_is_used_up_and_then_something_else_comes() -> None:
    """What launches under way count on is not there any more."""
    kind = instance_type("small", price=0.1, offerings=[{**RESERVED, "reservation_capacity": 3}])
    pool = node_pool()
    held = snapshot(node_pools=[pool], types=[kind])
    held = msgspec.structs.replace(held, ledger=Ledger(reserved_by_id={"r1": 1}))
    found = bare(pool, 3, held)
    assert sorted(one.reservation_id for one in found) == ["", "r1", "r1"]
    assert sorted(one.capacity_type for one in found) == ["on-demand", "reserved", "reserved"]


def test_nothing_comes_where_nothing_is_to_be_had() -> None:
    """It was refused, it is not allowed, or nobody wants any."""
    pool = node_pool(requirements=["node.kubernetes.io/instance-type In small", "zone In a"])
    held = snapshot(node_pools=[pool])
    assert bare(pool, 0, held) == ()
    refusal = Refusal("small", "a", labels.ON_DEMAND, NOW + timedelta(minutes=1))
    refused = msgspec.structs.replace(held, ledger=Ledger(refusals=(refusal,)))
    assert bare(pool, 1, refused) == ()
    assert bare(node_pool(requirements=["zone In nowhere"])) == ()
