"""Computes what differs between two lists of lines: removed, added, and where.

Lines that are the very same object need no look; others are compared by how they are written. The
rest stays in its order: a line that moved past another is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final, TypeVar

import msgspec

_NOWHERE: Final = -1
LineT = TypeVar("LineT")
Write = Callable[[object], bytes]


class Edit(msgspec.Struct, frozen=True, array_like=True):
    """Lines that left, by where they stood, and lines that came, with where they stand. Places are
    written as the distance from the one before, which for neighbours is nothing.
    """

    gone: tuple[int, ...] = ()
    placed: tuple[int, ...] = ()
    lines: tuple[msgspec.Raw, ...] = ()


def edit(before: Sequence[object], after: Sequence[object], write: Write) -> Edit | None:
    """What makes the one list of the other; None if they are the same."""
    origins, written = _origins(before, after, write)
    stayed = set()
    placed = []
    last = _NOWHERE
    for place, origin in enumerate(origins):
        if origin > last:
            stayed.add(origin)
            last = origin
        else:
            placed.append(place)
    gone = [place for place in range(len(before)) if place not in stayed]
    if not gone and not placed:
        return None
    lines = (written[place] if place in written else write(after[place]) for place in placed)
    return Edit(_distances(gone), _distances(placed), tuple(msgspec.Raw(line) for line in lines))


def _origins(
    before: Sequence[object], after: Sequence[object], write: Write
) -> tuple[list[int], dict[int, bytes]]:
    """Where each line stood before, and how those are written that are not the same object."""
    place_by_id = {id(line): place for place, line in enumerate(before)}
    origins = [place_by_id.get(id(line), _NOWHERE) for line in after]
    origin_set = set(origins)
    written = {
        place: write(after[place]) for place, origin in enumerate(origins) if origin == _NOWHERE
    }
    if written:
        equal = {write(line): place for place, line in enumerate(before) if place not in origin_set}
        for place, line in written.items():
            origins[place] = equal.pop(line, _NOWHERE)
    return origins, written


def apply_edit(
    before: Sequence[LineT], made: Edit, read: Callable[[msgspec.Raw], LineT]
) -> tuple[LineT, ...]:
    """The list after an edit. Raises ValueError for the edit of some other list."""
    result = list(before)
    gone, placed = _places(made.gone), _places(made.placed)
    n_lines = len(result) - len(gone) + len(placed)
    if max(gone, default=_NOWHERE) >= len(result) or max(placed, default=_NOWHERE) >= n_lines:
        msg = "an edit does not belong to what it is to change"
        raise ValueError(msg)
    for place in reversed(gone):
        del result[place]
    for place, line in zip(placed, made.lines, strict=True):
        result.insert(place, read(line))
    return tuple(result)


def _distances(places: Sequence[int]) -> tuple[int, ...]:
    """Each place as so many past the one before it."""
    earlier = (_NOWHERE, *places)
    return tuple(place - last - 1 for place, last in zip(places, earlier, strict=False))


def _places(distances: Iterable[int]) -> list[int]:
    """The places again. Raises ValueError if any goes backwards."""
    places = list(accumulate((distance + 1 for distance in distances), initial=_NOWHERE))[1:]
    if any(place <= last for place, last in zip(places, (_NOWHERE, *places), strict=False)):
        msg = "an edit names places that do not rise"
        raise ValueError(msg)
    return places
