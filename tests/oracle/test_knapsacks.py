"""The knapsacks of the checker against plain enumeration, and its last resort."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tests.oracle.knapsacks import PodKind, is_worth_more


def best(kinds: list[PodKind], room: tuple[int, ...]) -> int:
    """The most that pods in the room can be worth: every number of every kind is tried."""
    most = 0
    for counts in product(*(range(kind.count + 1) for kind in kinds)):
        held = {place for place, count in enumerate(counts) if count}
        is_apart = any(
            other in held and (other != place or counts[place] > 1)
            for place in held
            for other in kinds[place].apart
        )
        taken = (
            sum(count * kind.asked[r] for count, kind in zip(counts, kinds, strict=True))
            for r in range(len(room))
        )
        if not is_apart and all(used <= has for used, has in zip(taken, room, strict=True)):
            worth = sum(n * kind.value for n, kind in zip(counts, kinds, strict=True))
            most = max(most, worth)
    return most


def drawn(seed: int) -> tuple[list[PodKind], tuple[int, ...]]:
    """A few kinds of pods and a room, some with kinds that never share it."""
    chance = Random(seed)  # noqa: S311  seeded generators are the point
    n_kinds, n_resources = chance.randint(1, 5), chance.randint(1, 4)
    room = tuple(chance.choice((0, 7, 20, 1000)) for _ in range(n_resources))
    pairs = [(a, b) for a in range(n_kinds) for b in range(a, n_kinds) if chance.random() < 0.15]
    kinds = [
        PodKind(
            tuple(chance.choice((0, 1, 3, max(1, has // 3))) for has in room),
            chance.choice((0, 1, 5, 17, 10**6)) + chance.randint(0, 5),
            chance.randint(0, 4),
            frozenset(b if a == place else a for a, b in pairs if place in (a, b)),
        )
        for place in range(n_kinds)
    ]
    return kinds, room


@pytest.mark.parametrize("steps", [pytest.param(10**6, id="search"), pytest.param(0, id="program")])
def test_knapsacks_are_solved_exactly(steps: int) -> None:
    """Pods are worth more than a nanodollar less than the best, and not more than the best."""
    n_packed = 0
    for seed in range(400):
        kinds, room = drawn(seed)
        most = best(kinds, room)
        # The program in floating point is true to a millionth.
        slack = 0 if steps else most // 10**5
        assert not is_worth_more(kinds, room, most + slack, steps=steps), seed
        assert most == 0 or is_worth_more(kinds, room, most - 1 - slack, steps=steps), seed
        n_packed += 0 < most < sum(kind.value * kind.count for kind in kinds)
    assert n_packed > 100


def test_numbers_beyond_64_bits_are_no_trouble() -> None:
    """Values of 2^62 each, three of which fit."""
    kinds = [PodKind((1000, 1), 2**62, 9), PodKind((999, 2**40), 2**61, 9)]
    room = (3100, 2**45)
    assert is_worth_more(kinds, room, 3 * 2**62 - 1)
    assert not is_worth_more(kinds, room, 3 * 2**62)


@pytest.mark.parametrize(("n_kinds", "steps"), [(20, 2000), (6, 0)])
def test_a_mix_of_many_pods_is_proven(n_kinds: int, steps: int) -> None:
    """On a large node, with few steps: twenty kinds by search, a few by the program."""
    chance = Random(5)  # noqa: S311  seeded generators are the point
    kinds = []
    for _ in range(n_kinds):
        cpu, memory = chance.choice((250, 500, 750, 1000, 2000)), chance.randint(1, 60) << 27
        worth = cpu * 30_000 + (memory >> 20) * 4_000 + chance.randint(0, 900_000)
        kinds.append(PodKind((cpu, memory, 1), worth, 300 // n_kinds))
    room = (31_850, 121 << 30, 234)
    low, high = 0, sum(kind.value * kind.count for kind in kinds)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_worth_more(kinds, room, middle - 1) else (low, middle - 1)
    assert not is_worth_more(kinds, room, low + low // 10**5, steps=steps)
    assert is_worth_more(kinds, room, low - low // 10**5, steps=steps)
