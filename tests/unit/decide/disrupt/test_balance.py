"""What Balanced pools approve of."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dovetail.decide.disrupt.probe import Ground, ground_of
from dovetail.decide.disrupt.savings import Stake, is_approved, score, scores, stakes
from dovetail.model.verdict import Score
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small", price=0.1),)
TENTH = 100_000_000


def ground() -> Ground:
    """Two nodes of a Balanced pool, one of another; a pod on each."""
    pools = {"a": "even", "b": "even", "c": "plain"}
    return ground_of(
        snapshot(
            nodes=[node(name, pool=of, type="small", types=TYPES) for name, of in pools.items()],
            node_pools=[node_pool("even", consolidation_policy="Balanced"), node_pool("plain")],
            types=TYPES,
            pods=[pod(f"on-{name}", node=name) for name in pools],
        ),
        NOW,
        is_saving=True,
    )


@pytest.mark.parametrize(
    ("saving", "cost", "held", "want"),
    [
        pytest.param(1, 1, Stake(10, 10), Fraction(1), id="as much as it disturbs"),
        pytest.param(1, 4, Stake(10, 10), Fraction(1, 4), id="less"),
        pytest.param(1, 0, Stake(10, 10), Fraction(0), id="nobody is disturbed"),
        pytest.param(1, 1, Stake(0, 10), Fraction(0), id="a pool that costs nothing"),
    ],
)
def test_the_score_compares_shares(saving: int, cost: int, held: Stake, want: Fraction) -> None:
    """Of cost and of disturbance."""
    assert score(Fraction(saving), cost, held) == want


def test_half_is_enough() -> None:
    """A node is half of its pool: a quarter of what the pool costs must be saved."""
    there = ground()
    held, a = stakes(there), there.nodes[:1]
    assert held.keys() == {"even"}
    assert is_approved(scores(a, TENTH // 2, held, there))
    assert not is_approved(scores(a, TENTH // 2 - 1, held, there))


def test_each_balanced_pool_counts_its_own_part() -> None:
    """Savings are shared out by price; other pools ask for nothing."""
    there = ground()
    held, (a, _, c) = stakes(there), there.nodes
    assert is_approved(scores([c], 1, held, there))
    assert is_approved(scores([a, c], TENTH, held, there))
    assert not is_approved(scores([a, c], TENTH - 2, held, there))


def test_a_score_is_told_in_thousandths_and_never_flattered() -> None:
    """Of each Balanced pool that loses nodes, rounded down."""
    there = ground()
    held, (a, b, c) = stakes(there), there.nodes
    assert scores([a], TENTH // 2, held, there) == (Score("even", 500),)
    assert scores([a], TENTH // 2 - 1, held, there) == (Score("even", 499),)
    assert scores([a, b], 2 * TENTH, held, there) == (Score("even", 1000),)
    assert scores([c], TENTH, held, there) == ()
