from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.kernel import loading
from dovetail.testing.builders import deployment
from tests.unit.solve.patterns.instances import (
    TYPES,
    all_patterns,
    cheapest_nodes,
    drawn_market,
    fits_some_node,
    generator_for,
    market_for,
    started,
)
from tests.unit.solve.puzzles import encoded


@pytest.mark.parametrize("seed", range(12))
def test_a_bound_is_below_every_plan_and_near_the_program(seed: int) -> None:
    """Every pattern that is found fits a node; the bound is no more than whole nodes cost."""
    market = drawn_market(seed)
    generator, master = generator_for(market), started(market)
    alone = list(np.eye(len(market.count_s), dtype=np.int64))
    generator.count_js += alone
    mix = generator.generate(master, market.count_s, 80)
    optimum = cheapest_nodes(market, all_patterns(market))
    # Values are cut to whole nanodollars, the bound on the way is not.
    assert generator.bound <= optimum + int(market.count_s.sum())
    assert generator.bound <= mix.price * (1 + 1e-6)
    assert mix.price <= 1.01 * generator.bound
    found = generator.count_js[len(alone) :]
    assert found
    assert all(fits_some_node(market, held) for held in found)


def test_the_same_market_gives_the_same_patterns() -> None:
    """To the last byte; with the plain twins too."""
    answers = []
    for plainly in (False, False, True):
        market = drawn_market(3)
        generator, master = generator_for(market), started(market)
        if plainly:
            with loading.plain():
                generator.generate(master, market.count_s, 30)
        else:
            generator.generate(master, market.count_s, 30)
        answers.append((generator.bound, b"".join(one.tobytes() for one in generator.count_js)))
    assert answers[0] == answers[1] == answers[2]


def test_rounds_are_counted() -> None:
    """None add nothing, one adds some, many add more."""
    n_patterns = []
    for rounds in (0, 1, 80):
        market = drawn_market(5)
        generator, master = generator_for(market), started(market)
        generator.generate(master, market.count_s, rounds)
        n_patterns.append(len(generator.count_js))
    assert n_patterns[0] == 0
    assert n_patterns[0] < n_patterns[1] < n_patterns[2]


def test_a_pattern_is_added_once() -> None:
    """Whatever it costs the second time."""
    market = drawn_market(1)
    generator, master = generator_for(market), started(market)
    held = np.ones(len(market.count_s), dtype=np.int64)
    assert generator.add(master, [(held, 5), (held, 6)]) == 1
    assert generator.add(master, [(held, 5)]) == 0
    assert len(generator.count_js) == 1
    assert generator.add(master, []) == 0


def test_worths_of_nothing_are_no_trouble() -> None:
    """Pods that seem worthless at first, or to be worth a fortune, get their patterns too."""
    market = drawn_market(2)
    want = started(market), generator_for(market)
    price = want[1].generate(want[0], market.count_s, 80).price
    for first in (0.0, 1e15):
        generator = generator_for(market, np.full(len(market.count_s), first))
        found = generator.generate(started(market), market.count_s, 80)
        assert found.price == pytest.approx(price, rel=2e-3)


def test_what_pods_ask_for_may_be_at_odds() -> None:
    """Pods with much CPU and no memory beside pods with memory and no CPU: a price that explains
    both is never negative.
    """
    pods = [
        *deployment(4, "a", cpu="1900m", memory="1Mi"),
        *deployment(4, "b", cpu="1m", memory="3Gi"),
        *deployment(4, "c", cpu="1m", memory="1Mi"),
    ]
    market = market_for(encoded(pods, *TYPES))
    generator, master = generator_for(market, np.array([1e9, 1.0, 1e9])), started(market)
    generator.generate(master, market.count_s, 80)
    assert 0 < generator.bound <= cheapest_nodes(market, all_patterns(market)) + 12
