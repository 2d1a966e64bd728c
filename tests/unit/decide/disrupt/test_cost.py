"""What moving pods costs."""

from __future__ import annotations

import pytest

from dovetail.decide.disrupt.cost import DELETION_COST, ONE, eviction_cost, moving_cost
from dovetail.testing import pod


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
    """One, and its own word, within bounds (spec/core.md 6.2)."""
    assert eviction_cost(pod("p", **words)) == want


def test_a_node_costs_one_and_its_pods() -> None:
    """Pods that would rather go do not make it cheaper than an empty node."""
    assert moving_cost([]) == ONE
    assert moving_cost([pod("p"), pod("q", priority=-2_000_000_000)]) == 2 * ONE
