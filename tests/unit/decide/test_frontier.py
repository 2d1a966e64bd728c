"""Which choices there are between few nodes and a low price."""

from __future__ import annotations

import msgspec

from dovetail.decide.frontier import MOST_PLANS, Sample, frontier, sample_plans
from dovetail.model.plan import FrontierPoint
from tests.fuzz import tiny
from tests.laws.strategies import NOW

CENT = 10**7


def test_what_another_beats_in_both_is_no_choice() -> None:
    """More nodes for more money is nobody's wish; nor are plans that leave out more pods."""
    found = [Sample(0, 4, 100), Sample(0, 5, 120), Sample(0, 2, 160), Sample(1, 1, 10)]
    assert frontier(found) == (FrontierPoint(4, 100, 0), FrontierPoint(2, 160, 30))


def test_a_choice_says_from_which_node_price_on_it_is_the_best() -> None:
    """Where the sums are equal; a choice that no price per node favours says so."""
    found = [Sample(0, 12, 100 * CENT), Sample(0, 5, 110 * CENT), Sample(0, 2, 150 * CENT)]
    [cheapest, middle, fewest] = frontier(found)
    assert cheapest == FrontierPoint(12, 100 * CENT, 0)
    assert middle.best_from_nanousd == -(-10 * CENT // 7)
    assert fewest.best_from_nanousd == -(-40 * CENT // 3)
    [_, never, _] = frontier([found[0], Sample(0, 5, 149 * CENT), found[2]])
    assert never.best_from_nanousd is None


def test_nothing_to_buy_is_the_only_choice() -> None:
    """Pods that fit nodes that are there need no frontier."""
    empty = msgspec.structs.replace(tiny.built(tiny.words_of(0)), pods=())
    assert frontier(list(sample_plans(empty, NOW))) == (FrontierPoint(0, 0, 0),)
    assert frontier([]) == ()


def test_fewer_nodes_cost_more_on_every_frontier() -> None:
    """The first choice is the cheapest, and each costs more and has fewer nodes than the last."""
    for seed in range(40):
        found = list(sample_plans(tiny.built(tiny.words_of(seed)), NOW))
        assert 1 <= len(found) <= MOST_PLANS
        choices = frontier(found)
        nodes = [one.n_nodes for one in choices]
        prices = [one.price_nanousd for one in choices]
        assert nodes == sorted(set(nodes), reverse=True), seed
        assert prices == sorted(set(prices)), seed
