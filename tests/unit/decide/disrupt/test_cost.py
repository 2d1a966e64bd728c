"""What moving pods costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.decide.disrupt.cost import (
    ONE,
    ages_at,
    eviction_cost,
    moving_cost,
    remaining_parts,
)
from dovetail.labels import DELETION_COST
from dovetail.model.node import Node
from dovetail.model.pool import NodePool
from dovetail.testing import node_pool, pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param({}, ONE, id="an ordinary pod"),
        pytest.param({"priority": 2**25}, 2 * ONE, id="priority counts"),
        pytest.param({"annotations": {DELETION_COST: str(2**27)}}, 2 * ONE, id="so does its word"),
        pytest.param({"annotations": {DELETION_COST: "much"}}, ONE, id="if it makes sense"),
        pytest.param({"annotations": {DELETION_COST: str(2**40)}}, ONE, id="and is an int32"),
        pytest.param({"priority": 2_000_000_000}, 10 * ONE, id="at most ten pods"),
        pytest.param({"priority": -2_000_000_000}, -10 * ONE, id="at least minus ten"),
    ],
)
def test_a_pod_costs_by_priority_and_deletion_cost(words: dict[str, object], want: int) -> None:
    """One, and its own word, within bounds."""
    assert eviction_cost(pod("p", **words)) == want


def test_a_node_costs_one_and_its_pods() -> None:
    """Pods that would rather go do not make it cheaper than an empty node."""
    assert moving_cost([]) == ONE
    assert moving_cost([pod("p"), pod("q", priority=-2_000_000_000)]) == 2 * ONE


@pytest.mark.parametrize(
    ("age", "want", "older_in"),
    [
        pytest.param(0, 4, 1, id="just made"),
        pytest.param(0.9, 4, 0.1, id="a part that has begun counts"),
        pytest.param(1, 3, 1, id="a part is over"),
        pytest.param(3.5, 1, 0.5, id="nearly at its end"),
        pytest.param(4, 0, None, id="at its end"),
        pytest.param(9, 0, None, id="past it"),
    ],
)
def test_a_node_has_parts_of_its_life_left(age: float, want: int, older_in: float | None) -> None:
    """Four; and it is known when the next is over."""
    node, pool = Node("n", created_at=NOW - age * DAY), node_pool("p", expire_after="96h")
    assert remaining_parts(node, pool, NOW) == want
    ages = ages_at(node, pool, NOW)
    assert ages == (None if older_in is None else NOW + older_in * DAY)
    if ages is not None:
        assert remaining_parts(node, pool, ages) == want - 1
        assert remaining_parts(node, pool, ages - timedelta(microseconds=1)) == want


@pytest.mark.parametrize(
    ("node", "pool"),
    [
        (Node("n", created_at=NOW), node_pool("p", expire_after="Never")),
        (Node("n"), node_pool("p", expire_after="24h")),
        (Node("n", created_at=NOW), None),
    ],
)
def test_a_node_that_never_expires_does_not_grow_old(node: Node, pool: NodePool | None) -> None:
    """Nor one of which it is not known."""
    assert remaining_parts(node, pool, NOW + 400 * DAY) == 4
    assert ages_at(node, pool, NOW) is None


def test_moving_pods_costs_less_near_the_end_of_their_node() -> None:
    """They would have to move anyway; the node itself counts as ever."""
    pods = [pod("p"), pod("q")]
    assert [moving_cost(pods, parts) for parts in (4, 2, 0)] == [3 * ONE, 2 * ONE, ONE]
