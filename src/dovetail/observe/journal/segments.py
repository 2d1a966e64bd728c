"""Lists the files of a journal, and those that may be deleted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from dovetail.observe.journal.frames import NoJournalError, TornError, marks

SUFFIX: Final = ".journal"
_NAME: Final = re.compile(r"([0-9]{12})\.journal")
_LEAST_SEGMENT: Final = 1 << 16
_MOST_SEGMENT: Final = 1 << 25


class Bounds(msgspec.Struct, frozen=True):
    """How much is kept, and for how long."""

    max_bytes: int = 1 << 30
    max_age: timedelta = timedelta(days=7)

    @property
    def segment_bytes(self) -> int:
        """How large a file becomes before the next begins: a small part of the whole."""
        return min(max(self.max_bytes // 16, _LEAST_SEGMENT), _MOST_SEGMENT)


class Segment(msgspec.Struct, frozen=True):
    """A file of a journal, named after its first decision."""

    path: Path
    number: int
    n_bytes: int
    began_at: datetime | None = None  # of its first decision; None if there is none to be read
    ended_at: datetime | None = None  # of its last


def segment_path(directory: Path, number: int) -> Path:
    """The file whose first decision has this number."""
    return directory / f"{number:012d}{SUFFIX}"


def segments(directory: Path) -> tuple[Segment, ...]:
    """The files that there are, oldest first. Raises OSError."""
    found = []
    for path in directory.iterdir():
        name = _NAME.fullmatch(path.name)
        if name is not None and path.is_file():
            found.append(Segment(path, int(name[1]), path.stat().st_size, *_span(path)))
    return tuple(sorted(found, key=lambda segment: segment.number))


def _span(path: Path) -> tuple[datetime | None, datetime | None]:
    """The moments of its first and last decision."""
    try:
        with path.open("rb") as file:
            moments = [mark.at for mark in marks(file)]
    except (OSError, NoJournalError, TornError):
        return None, None
    return (moments[0], moments[-1]) if moments else (None, None)


def next_number(directory: Path) -> int:
    """The first number that no decision of the journal has. Raises OSError."""
    found = segments(directory)
    if not found:
        return 1
    last = found[-1]
    number = last.number
    try:
        with last.path.open("rb") as file:
            for mark in marks(file):
                number = max(number, mark.number)
    except (NoJournalError, TornError):
        pass  # nobody can tell how many it held; its name is taken all the same
    return number + 1


def surplus(found: Sequence[Segment], bounds: Bounds, now: datetime) -> tuple[Segment, ...]:
    """The files that must go, oldest first; never the last, which is being written."""
    horizon = now - bounds.max_age
    n_bytes = sum(segment.n_bytes for segment in found)
    gone = []
    for segment in found[:-1]:
        is_old = segment.ended_at is not None and segment.ended_at < horizon
        if n_bytes <= bounds.max_bytes and not is_old:
            break
        gone.append(segment)
        n_bytes -= segment.n_bytes
    return tuple(gone)
