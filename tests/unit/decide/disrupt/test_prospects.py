"""Which nodes are worth a closer look."""

from __future__ import annotations

import pytest

from dovetail.decide.disrupt.savings import Candidate
from dovetail.decide.disrupt.walk import Prospect, keepers
from dovetail.testing import instance_type, node

TYPES = (instance_type("small", cpu=2, price=0.1), instance_type("large", cpu=8, price=0.4))


def prospect(name: str, worth: int, kind: str = "small", price: int = 100) -> Prospect:
    """A node that costs so much, and whose pods are worth so much."""
    made = node(name, pool="default", type=kind, types=TYPES, zone="a")
    return Prospect(Candidate(made, price, 1), worth)


@pytest.mark.parametrize(
    ("worths", "want"),
    [
        pytest.param([20, 80, 80, 20], {"n1", "n2"}, id="as many as their pods are worth"),
        pytest.param([50, 50], {"n0"}, id="of equally full ones the first"),
        pytest.param([65, 65, 65], {"n0", "n1"}, id="nearly as much as another counts as it"),
        pytest.param([60, 60, 60], {"n0"}, id="what is worth less is no node"),
        pytest.param([40], set(), id="a node by itself is no better than another"),
    ],
)
def test_of_equals_the_fullest_are_kept(worths: list[int], want: set[str]) -> None:
    """All their pods fill so many nodes, and cost as much anywhere else."""
    poor = [prospect(f"n{number}", worth) for number, worth in enumerate(worths)]
    assert keepers(poor) == want
    assert keepers(poor[::-1]) == want


def test_nodes_of_different_kinds_are_no_equals() -> None:
    """Together they are worth a node, but each kind by itself is not."""
    assert keepers([prospect("a", 60), prospect("b", 240, "large", 400)]) == frozenset()


def test_what_has_no_price_is_worth_nothing() -> None:
    """Nobody knows what it would be kept for."""
    assert keepers([prospect("a", 0, price=0)]) == frozenset()
