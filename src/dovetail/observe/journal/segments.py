"""Lists the files of a journal, those that may be deleted, and frames the records in them.

A file begins with a line that says what it is, then frame after frame: length and checksum, then
number and moment of the decision, then its record. A frame is written in one go. Whoever is killed
in the middle leaves a last frame that is too short, which is noticed, and nothing else is harmed.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

MAGIC: Final = b"dovetail journal 1\n"
_SEAL: Final = struct.Struct(">II")  # length and checksum of what follows
_MARK: Final = struct.Struct(">QQ")  # number, and moment in microseconds
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)


class TornError(Exception):
    """A frame that is not whole; the message says what is wrong with it."""


class NoJournalError(Exception):
    """A file that is something else."""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """Which decision a frame holds, and of when."""

    number: int
    at: datetime


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A record with its mark."""

    mark: Mark
    record: bytes


def seal(mark: Mark, record: bytes) -> bytes:
    """A frame as it stands in the file."""
    content = _MARK.pack(mark.number, (mark.at - _BEGINNING) // _TICK) + record
    return _SEAL.pack(len(content), zlib.crc32(content)) + content


def frames(file: BinaryIO) -> Iterator[Frame]:
    """Every whole frame. Raises TornError at the first that is not, NoJournalError at once."""
    _require_journal(file)
    while head := file.read(_SEAL.size):
        length, checksum = _seal(head)
        content = _content(file, length)
        if zlib.crc32(content) != checksum:
            msg = "its checksum is wrong"
            raise TornError(msg)
        yield Frame(_mark(content), content[_MARK.size :])


def marks(file: BinaryIO) -> Iterator[Mark]:
    """Which decisions a file holds, without reading them; it ends at a torn one."""
    _require_journal(file)
    size = file.seek(0, 2)
    place = len(MAGIC)
    while place + _SEAL.size + _MARK.size <= size:
        file.seek(place)
        length, _ = _SEAL.unpack(file.read(_SEAL.size))
        place += _SEAL.size + length
        if place > size or length < _MARK.size:
            return
        yield _mark(file.read(_MARK.size))


def _require_journal(file: BinaryIO) -> None:
    if file.read(len(MAGIC)) != MAGIC:
        msg = "it does not begin as a journal does"
        raise NoJournalError(msg)


def _seal(head: bytes) -> tuple[int, int]:
    if len(head) < _SEAL.size:
        raise TornError(_CUT_OFF)
    length, checksum = _SEAL.unpack(head)
    if length < _MARK.size:
        msg = "its length makes no sense"
        raise TornError(msg)
    return length, checksum


_CUT_OFF: Final = "it is cut off in the middle"
_PIECE: Final = 1 << 20


def _content(file: BinaryIO, length: int) -> bytes:
    """So many bytes; a length that makes no sense takes no memory."""
    pieces = []
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        pieces.append(piece)
        length -= len(piece)
    if length > 0:
        raise TornError(_CUT_OFF)
    return b"".join(pieces)


def _mark(content: bytes) -> Mark:
    number, ticks = _MARK.unpack(content[: _MARK.size])
    try:
        return Mark(number, _BEGINNING + ticks * _TICK)
    except OverflowError:
        msg = "its moment makes no sense"
        raise TornError(msg) from None


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
    found_segments = []
    for path in directory.iterdir():
        name = _NAME.fullmatch(path.name)
        if name is not None and path.is_file():
            found_segments.append(Segment(path, int(name[1]), path.stat().st_size, *_span(path)))
    return tuple(sorted(found_segments, key=lambda segment: segment.number))


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
    existing = segments(directory)
    if not existing:
        return 1
    last = existing[-1]
    number = last.number
    try:
        with last.path.open("rb") as file:
            for mark in marks(file):
                number = max(number, mark.number)
    except (NoJournalError, TornError):
        pass  # nobody can tell how many it held; its name is taken all the same
    return number + 1


def surplus(closed: Sequence[Segment], bounds: Bounds, now: datetime) -> tuple[Segment, ...]:
    """The files that must go, oldest first; never the last, which is being written."""
    horizon = now - bounds.max_age
    n_bytes = sum(segment.n_bytes for segment in closed)
    gone = []
    for segment in closed[:-1]:
        is_old = segment.ended_at is not None and segment.ended_at < horizon
        if n_bytes <= bounds.max_bytes and not is_old:
            break
        gone.append(segment)
        n_bytes -= segment.n_bytes
    return tuple(gone)
