from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np
import pytest

from dovetail.solve.kernel import loading
from dovetail.solve.patterns.recreate import RebuildTask
from tests.unit.solve.patterns.instances import (
    drawn_loads,
    drawn_task,
    offer_of,
    price_of,
    rebuilt,
    truths,
    whole,
)
from tests.unit.solve.puzzles import lottery

# Pods of 1 CPU; nodes of 1 for 10, of 2 for 18 and of 4 for 25.
YARD = RebuildTask(
    whole([1, 1]),
    truths([[1, 1, 1]]),
    truths([[0]]),
    whole([1, 4], [2, 8], [4, 16]),
    np.array([10, 18, 25]),
)
FOUR = [np.array([1])] * 4


def test_the_same_pods_get_cheaper_nodes() -> None:
    """Pods are moved, never lost; every node can be bought; and nothing gets dearer."""
    n_cheaper = 0
    for seed in range(150):
        chance = lottery(seed)
        task = drawn_task(chance)
        loads = [held for held in drawn_loads(task, chance) if offer_of(task, held) is not None]
        after = rebuilt(task, loads)
        assert np.sum(loads, axis=0).tolist() == np.sum(after, axis=0).tolist(), seed
        assert all(held.any() for held in after), seed
        assert price_of(task, after) <= price_of(task, loads), seed
        n_cheaper += price_of(task, after) < price_of(task, loads)
    assert n_cheaper > 100


@pytest.mark.parametrize("looks", [30, 10**6])
def test_the_compiled_loops_and_their_plain_twin_agree(looks: int) -> None:
    """On every node, with limits and without, however little may be looked at."""
    n_changed = 0
    for seed in range(120):
        chance = lottery(seed)
        limits = {"cpu": chance.randint(20, 60)} if seed % 3 == 0 else {}
        task = drawn_task(chance, **limits)
        loads = drawn_loads(task, chance)
        first = rebuilt(task, loads, looks, 120)
        with loading.plain():
            second = rebuilt(task, loads, looks, 120)
        assert [one.tolist() for one in first] == [one.tolist() for one in second], seed
        n_changed += len(first) < len(loads)
    assert n_changed > 50


def test_the_same_question_has_the_same_answer() -> None:
    """What is drawn by lot is drawn from a counter."""
    task, chance = drawn_task(lottery(7)), lottery(8)
    loads = drawn_loads(task, chance)
    first, second = (rebuilt(task, loads) for _ in range(2))
    assert b"".join(one.tobytes() for one in first) == b"".join(one.tobytes() for one in second)


def test_one_large_node_replaces_small_ones() -> None:
    """Four pods of 1 CPU share a node of 4, which costs less than four of 1."""
    assert [held.tolist() for held in rebuilt(YARD, FOUR)] == [[4]]


@pytest.mark.parametrize("ways", [nullcontext, loading.plain])
@pytest.mark.parametrize(
    ("left", "want"),
    [
        pytest.param(9, [[4]], id="a large node uses nine"),
        pytest.param(8, [[2], [2]], id="two of two use four"),
    ],
)
def test_a_node_that_uses_too_much_of_a_limit_is_not_bought(
    left: int, want: list[list[int]], ways: Callable[[], AbstractContextManager[None]]
) -> None:
    """However cheap it is."""
    task = replace(YARD, limits=((np.array([1, 2, 9]), left),))
    with ways():
        assert [held.tolist() for held in rebuilt(task, FOUR)] == want


def test_random_limits_are_respected() -> None:
    """Whoever starts within limits stays within them."""
    for seed in range(80):
        chance = lottery(seed)
        task = drawn_task(chance)
        loads = drawn_loads(task, chance)
        start = [offer_of(task, held) for held in loads]
        use = task.cap_or[:, 0]
        left = sum(int(use[offer]) for offer in start if offer is not None)
        after = rebuilt(replace(task, limits=((use, left),)), loads)
        ends = [offer_of(task, held) for held in after]
        assert sum(int(use[offer]) for offer in ends if offer is not None) <= left, seed


def test_pods_that_keep_apart_stay_apart() -> None:
    """Two sorts, however much cheaper one node would be."""
    task = RebuildTask(
        whole([1, 1], [1, 1]),
        truths([[1, 1, 1]] * 2),
        truths([[0, 1], [1, 0]]),
        YARD.cap_or,
        YARD.price_o,
    )
    loads = [np.array([1, 0]), np.array([0, 1])] * 2
    assert sorted(held.tolist() for held in rebuilt(task, loads)) == [[0, 2], [2, 0]]


def test_loads_that_nothing_holds_are_left_as_they_are() -> None:
    """Somebody else knows why."""
    loads = [np.array([5]), np.array([1])]
    assert [held.tolist() for held in rebuilt(YARD, loads)] == [[5], [1]]


@pytest.mark.parametrize("ways", [nullcontext, loading.plain])
def test_without_tries_or_pods_nothing_changes(
    ways: Callable[[], AbstractContextManager[None]],
) -> None:
    """Work is counted."""
    with ways():
        answers = [rebuilt(YARD, FOUR, tries=0), rebuilt(YARD, FOUR, looks=0)]
        assert rebuilt(YARD, []) == []
    assert [[held.tolist() for held in one] for one in answers] == [[[1]] * 4] * 2


def test_hundreds_of_sorts_and_offers_fill_several_words() -> None:
    """Sorts and offers are bits of words of 64: those beyond the first word count as well."""
    n = 130
    requests = np.ones((n, 2), dtype=np.int64)
    price_o = np.arange(100, 100 + n)
    accept = np.ones((n, n), dtype=bool)
    accept[:, : n - 2] = False  # only the last two offers take anything
    task = RebuildTask(requests, accept, np.zeros((n, n), dtype=bool), np.full((n, 2), n), price_o)
    loads = list(np.eye(n, dtype=np.int64))
    after = rebuilt(task, loads, tries=600)
    assert np.sum(after, axis=0).tolist() == [1] * n
    assert len(after) < n // 2
    with loading.plain():
        small = rebuilt(task, loads[:70], tries=40)
    assert [one.tolist() for one in small] == [
        one.tolist() for one in rebuilt(task, loads[:70], tries=40)
    ]
