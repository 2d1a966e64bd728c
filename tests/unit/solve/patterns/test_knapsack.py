from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from random import Random

import numpy as np
import pytest

from dovetail.solve.kernel import loading
from dovetail.solve.patterns.knapsack import CPU, MEMORY, Items, as_numbers, simple_bounds
from tests.unit.solve.patterns.instances import (
    best_worth,
    drawn_items,
    drawn_ways,
    fill,
    is_allowed,
    truths,
    whole,
)
from tests.unit.solve.puzzles import lottery

NOTHING = np.zeros(3, dtype=np.int64)


def cases(n_seeds: int = 150) -> list[Random]:
    """Chances to draw from."""
    return [lottery(seed) for seed in range(n_seeds)]


def test_the_best_pods_are_found() -> None:
    """As many as plain enumeration finds, they fit, and the bound says the same."""
    n_full = 0
    for seed, chance in enumerate(cases()):
        items, value_i, cap_or = drawn_items(chance)
        ways = drawn_ways(chance, cap_or.shape[1])
        found = fill(items, value_i, ways, (cap_or, NOTHING))
        for place, cap in enumerate(cap_or):
            want = best_worth(items, value_i, cap)
            assert found.worth_o[place] == found.bound_o[place] == want, seed
            assert is_allowed(items, found.count_oi[place], cap), seed
            assert found.count_oi[place] @ value_i == want, seed
            n_full += 0 < want < int(value_i @ items.most_i)
    assert n_full > 100


@pytest.mark.parametrize("steps", [0, 1, 2, 7])
def test_a_bound_is_never_too_low_however_short_the_search(steps: int) -> None:
    """It says that pods may be worth at least what the best are, and what is found fits."""
    n_short = 0
    for seed, chance in enumerate(cases()):
        items, value_i, cap_or = drawn_items(chance)
        ways = drawn_ways(chance, cap_or.shape[1])
        found = fill(items, value_i, ways, (cap_or, NOTHING), steps)
        for place, cap in enumerate(cap_or):
            want = best_worth(items, value_i, cap)
            assert found.worth_o[place] <= want <= found.bound_o[place], seed
            assert is_allowed(items, found.count_oi[place], cap), seed
            n_short += int(found.worth_o[place]) < want
    assert n_short > 0


def test_prices_alone_bound_what_pods_are_worth() -> None:
    """Whatever the prices are; and the lowest of several bounds is taken."""
    n_near = 0
    for seed, chance in enumerate(cases()):
        items, value_i, cap_or = drawn_items(chance)
        vectors = [vector for _, vector in drawn_ways(chance, cap_or.shape[1])]
        bound_o = simple_bounds(items, value_i, np.array(vectors).T, as_numbers(cap_or))
        for vector in vectors:
            alone_o = simple_bounds(items, value_i, vector[:, None], as_numbers(cap_or))
            assert (bound_o <= alone_o).all(), seed
        for place, cap in enumerate(cap_or):
            want = best_worth(items, value_i, cap)
            assert want <= bound_o[place], seed
            n_near += want + 2 >= bound_o[place]
    assert n_near > 10


def test_prices_so_high_that_products_exceed_64_bits_prove_nothing_false() -> None:
    """A bound that cannot be stated is as large as any number."""
    items = Items(whole([1, 1]), np.array([3]), truths([[0]]))
    vectors = [np.array([1e9, 1e15]), np.array([1e300, 0.0])]
    cap_or = as_numbers(whole([9, 2**62]))
    bound_o = simple_bounds(items, np.array([2**50]), np.array(vectors).T, cap_or)
    assert (bound_o >= 3 * 2**50).all()


@pytest.mark.parametrize("steps", [1, 5, 10**6])
def test_the_compiled_search_and_its_plain_twin_agree(steps: int) -> None:
    """To the last number, whatever the floors and however short the search."""
    for seed, chance in enumerate(cases()):
        items, value_i, cap_or = drawn_items(chance)
        ways = drawn_ways(chance, cap_or.shape[1])
        floor_o = np.array([chance.choice((0, 5, 10**9)) for _ in cap_or], dtype=np.int64)
        first = fill(items, value_i, ways, (cap_or, floor_o), steps)
        with loading.plain():
            second = fill(items, value_i, ways, (cap_or, floor_o), steps)
        assert first.worth_o.tolist() == second.worth_o.tolist(), seed
        assert first.count_oi.tolist() == second.count_oi.tolist(), seed
        assert first.bound_o.tolist() == second.bound_o.tolist(), seed


def test_pods_that_are_not_worth_more_than_the_floor_are_not_looked_for() -> None:
    """The answer is the floor, without any pods."""
    items = Items(whole([1, 1]), np.array([3]), truths([[0]]))
    ways = [(CPU, np.zeros(2))]
    floor_o = np.array([20, 19], dtype=np.int64)
    found = fill(items, np.array([10]), ways, (whole([2, 9], [2, 9]), floor_o))
    assert found.worth_o.tolist() == [20, 20]
    assert found.count_oi.tolist() == [[0], [2]]
    assert found.bound_o.tolist() == [20, 20]


def test_pods_that_ask_for_nothing_all_fit() -> None:
    """Whatever resource is to be exact: none of it is asked for."""
    items = Items(whole([0, 0], [0, 0]), np.array([3, 4]), truths([[0, 0], [0, 0]]))
    ways = [(CPU, np.zeros(2)), (MEMORY, np.zeros(2))]
    found = fill(items, np.array([5, 7]), ways, (whole([0, 0]), NOTHING[:1]))
    assert (found.worth_o.tolist(), found.count_oi.tolist()) == ([43], [[3, 4]])


@pytest.mark.parametrize("ways", [nullcontext, loading.plain])
@pytest.mark.parametrize(
    ("request_ir", "cap", "value", "want"),
    [
        pytest.param([[1, 0], [3, 0]], [900, 9], 2**50, 900, id="2^50 nanodollars, 900 pods"),
        pytest.param([[1, 1], [1, 3]], [900, 2**45], 10**9, 900, id="bytes of 2^45"),
        pytest.param([[1, 2**44], [1, 1]], [9, 2**45], 10**9, 2, id="a byte beside 2^44"),
        pytest.param([[2**40, 1], [2**41, 1]], [2**45, 2**45], 2**50, 32, id="all are large"),
    ],
)
def test_large_numbers_do_not_overflow(
    request_ir: list[list[int]],
    cap: list[int],
    value: int,
    want: int,
    ways: Callable[[], AbstractContextManager[None]],
) -> None:
    """A thousand pods that are worth much, and one that is worth nothing: as many of the first as
    fit are found, and the bound is exact.
    """
    items = Items(whole(*request_ir), np.array([1000, 1]), truths([[0, 0], [0, 0]]))
    about = [(CPU, np.array([0.0, value / 2**44])), (MEMORY, np.array([value / 2**40, 0.0]))]
    with ways():
        found = fill(items, np.array([value, 0]), about, (whole(cap), NOTHING[:1]))
    assert found.worth_o.tolist() == found.bound_o.tolist() == [want * value]
    assert found.count_oi[0, 0] == want


def test_sixty_resources_are_no_trouble() -> None:
    """Each sort fills another one; all of them share a node."""
    n = 60
    items = Items(np.eye(n, dtype=np.int64), np.full(n, 2), np.zeros((n, n), dtype=bool))
    value_i = np.arange(1, n + 1, dtype=np.int64)
    ways = [(CPU, np.ones(n)), (MEMORY, np.zeros(n))]
    cap_or = np.ones((1, n), dtype=np.int64)
    found = fill(items, value_i, ways, (cap_or, NOTHING[:1]), 5000)
    assert found.bound_o[0] >= n * (n + 1) // 2 >= found.worth_o[0]
    with loading.plain():
        again = fill(items, value_i, ways, (cap_or, NOTHING[:1]), 5000)
    assert again.count_oi.tolist() == found.count_oi.tolist()
