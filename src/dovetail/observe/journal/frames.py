"""Frames records in a file so that a torn one is noticed.

A line that says what the file is, then frame after frame: length and checksum, then number and
moment of the decision, then its record. A frame is written in one go. Whoever is killed in the
middle leaves a last frame that is too short, and nothing else is harmed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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


def sealed(mark: Mark, record: bytes) -> bytes:
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
