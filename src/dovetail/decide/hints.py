"""Suggests what was meant by a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MOST_EDITS: Final = 2
_SHORTEST: Final = 4  # shorter words are too close to each other


def edits(left: str, right: str, most: int = _MOST_EDITS) -> int:
    """How many letters to add, drop, change or swap with the next; `most` + 1 if more."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        previous, row = row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = previous
    return min(row[-1], most + 1)


def closest_key(key: str, known: Iterable[str]) -> str:
    """The label that was probably meant: close in letters, or the same behind the slash."""
    others = sorted(set(known) - {key})
    if len(key) >= _SHORTEST:
        near = [(edits(key, item), item) for item in others]
        best = min(near, default=(_MOST_EDITS + 1, ""))
        if best[0] <= _MOST_EDITS:
            return best[1]
    name = key.rpartition("/")[2]
    return next((item for item in others if item.rpartition("/")[2] == name), "")


def closest_value(value: str, known: Iterable[str]) -> str:
    """The value that was probably meant.

    One letter for another is a different value (zone a and zone b), not a slip; other case, a
    letter too many or too few, and swapped letters are slips. Names with dots in them (instance
    types) are too alike to guess.
    """
    others = sorted(set(known) - {value})
    for result in others:
        if result.casefold() == value.casefold():
            return result
    if len(value) < _SHORTEST or "." in value:
        return ""
    slips = [
        item
        for item in others
        if (len(item) != len(value) or sorted(item) == sorted(value)) and edits(value, item, 1) <= 1
    ]
    return slips[0] if slips else ""
