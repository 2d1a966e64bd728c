from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.patterns.master import Master

DOLLAR = 10**9


def test_the_program_mixes_patterns_in_fractions() -> None:
    """Three pods, two to a node for $10: one node and a half, and a pod is worth $5."""
    master = Master(np.array([3]))
    master.add([np.array([2])], [10 * DOLLAR])
    mix = master.solve()
    assert mix.nodes_j.tolist() == pytest.approx([1.5])
    assert mix.worth_s.tolist() == pytest.approx([5.0 * DOLLAR])
    assert mix.price == pytest.approx(15.0 * DOLLAR)


def test_patterns_may_be_added_later() -> None:
    """A better one takes over; nothing at all changes nothing."""
    master = Master(np.array([4, 4]))
    master.add([np.array([1, 0]), np.array([0, 1])], [10 * DOLLAR, 20 * DOLLAR])
    assert master.solve().price == pytest.approx(120.0 * DOLLAR)
    master.add([], [])
    assert master.solve().price == pytest.approx(120.0 * DOLLAR)
    master.add([np.array([1, 1])], [15 * DOLLAR])
    mix = master.solve()
    assert mix.price == pytest.approx(60.0 * DOLLAR)
    assert mix.nodes_j.tolist() == pytest.approx([0.0, 0.0, 4.0])


def test_other_numbers_of_pods_may_be_asked_for() -> None:
    """The same patterns, more and fewer pods, and none."""
    master = Master(np.array([4]))
    master.add([np.array([2])], [10 * DOLLAR])
    for count, want in ((4, 20.0), (6, 30.0), (1, 5.0), (0, 0.0)):
        master.ask(np.array([count]), np.array([True]))
        assert master.solve().price == pytest.approx(want * DOLLAR)


def test_closed_patterns_are_not_used_until_they_are_open_again() -> None:
    """The next best takes over in the meantime."""
    master = Master(np.array([4]))
    master.add([np.array([1]), np.array([8])], [10 * DOLLAR, 16 * DOLLAR])
    for is_open, want in ((True, 8.0), (False, 40.0), (True, 8.0)):
        master.ask(np.array([4]), np.array([True, is_open]))
        assert master.solve().price == pytest.approx(want * DOLLAR)


def test_what_pods_are_worth_is_never_negative() -> None:
    """A sort that comes for nothing with another is worth nothing."""
    master = Master(np.array([4, 1]))
    master.add([np.array([1, 1])], [10 * DOLLAR])
    mix = master.solve()
    assert mix.worth_s.tolist() == pytest.approx([10.0 * DOLLAR, 0.0])
