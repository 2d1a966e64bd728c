"""Appends decisions to the newest file of a folder, within bounds.

Each writer begins a file of its own, so that a file that somebody left torn is never touched again.
What cannot be written is cut off and a new file is begun at the next decision. A keeper writes in a
thread of its own: a full or slow disk costs recorded decisions, and never delays the controller.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.observe.journal.records import RecordWriter
from dovetail.observe.journal.segments import (
    MAGIC,
    Bounds,
    Mark,
    Segment,
    next_number,
    seal,
    segment_path,
    segments,
    surplus,
)
from dovetail.observe.logs import Log

_MOST_RECORDS: Final = 256  # of one file: whoever reads the last must read all of them
_READABLE: Final = 0o640  # snapshots hold names and labels of everything in the cluster


class _Open:
    """The file that is being written."""

    def __init__(self, directory: Path, number: int) -> None:
        self.path, self.file = _create_file(directory, number)
        self.number = int(self.path.stem)
        self.began_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.records = RecordWriter()
        self.n_records = 0
        self.n_bytes = 0

    def add(self, decision: Decision) -> None:
        """Write a decision. Raises OSError, and leaves nothing half written then."""
        mark = Mark(decision.number, decision.now)
        frame = seal(mark, self.records.write(decision))
        content = frame if self.n_records else MAGIC + frame
        try:
            self._append(content)
        except OSError:
            os.ftruncate(self.file, self.n_bytes)
            raise
        self.began_at, self.ended_at = self.began_at or decision.now, decision.now
        self.n_bytes += len(content)
        self.n_records += 1

    def _append(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self.file, left) :]

    def segment(self) -> Segment:
        """The file as it stands."""
        return Segment(self.path, self.number, self.n_bytes, self.began_at, self.ended_at)

    def close(self) -> None:
        """Let go of the file; one without a decision is removed."""
        os.close(self.file)
        if not self.n_records:
            self.path.unlink(missing_ok=True)


def _create_file(directory: Path, number: int) -> tuple[Path, int]:
    """A new file; a number that another writer has just taken is passed over."""
    while True:
        path = segment_path(directory, number)
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _READABLE)
        except FileExistsError:
            number += 1


class JournalWriter:
    """Adds decisions to a folder. Nothing is touched before the first of them."""

    def __init__(self, directory: Path, bounds: Bounds | None = None) -> None:
        self.directory = directory
        self._bounds = bounds or Bounds()
        self._open: _Open | None = None
        self._closed: tuple[Segment, ...] = ()
        self._number = 0

    def add(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """Write a decision. Raises OSError; the next one is tried afresh."""
        try:
            segment = self._open_newest()
            number = max(self._number, segment.number)
            segment.add(Decision(number, now, seconds, snapshot, plan))
            self._number = number + 1
            self._prune(segment, now)
        except BaseException:
            self.close()
            raise
        if segment.n_records >= _MOST_RECORDS or segment.n_bytes >= self._bounds.segment_bytes:
            self.close()

    def _open_newest(self) -> _Open:
        if self._open is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._number = max(self._number, next_number(self.directory))
            self._closed = segments(self.directory)
            self._open = _Open(self.directory, self._number)
        return self._open

    def _prune(self, newest: _Open, now: datetime) -> None:
        gone = surplus((*self._closed, newest.segment()), self._bounds, now)
        for segment in gone:
            segment.path.unlink(missing_ok=True)
        self._closed = self._closed[len(gone) :]

    def close(self) -> None:
        """Let go of the file; the next decision begins another."""
        newest, self._open = self._open, None
        if newest is not None:
            newest.close()


_MOST_WAITING: Final = 8  # snapshots that wait to be written are memory
_TRIED_AGAIN_AFTER: Final = timedelta(minutes=1)


class JournalKeeper:
    """Writes decisions down, one after the other. Neither waits nor raises; a journal that cannot
    be written is told once, and again when it can be.
    """

    def __init__(self, writer: JournalWriter, log: Log) -> None:
        self._writer = writer
        self._log = log.named("journal")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._room = threading.Semaphore(_MOST_WAITING)
        self._n_missed = 0
        self._try_again_at: datetime | None = None
        self._is_closed = False

    def add(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """Have a decision written."""
        if self._is_closed:
            return
        if self._room.acquire(blocking=False):
            self._thread.submit(self._write, snapshot, plan, now, seconds)
        else:
            self._n_missed += 1

    def close(self) -> None:
        """Return when everything is written."""
        self._is_closed = True
        self._thread.shutdown()
        self._writer.close()

    def _write(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        try:
            if self._try_again_at is not None and now < self._try_again_at:
                self._n_missed += 1
                return
            self._writer.add(snapshot, plan, now, seconds)
            self._tell_success()
        except (OSError, ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
            self._tell_failure(error, now)
        finally:
            self._room.release()

    def _tell_success(self) -> None:
        if self._n_missed:
            self._log.warning("journal misses decisions", missed=self._n_missed)
        self._n_missed = 0
        self._try_again_at = None

    def _tell_failure(self, error: Exception, now: datetime) -> None:
        if self._try_again_at is None:
            directory = str(self._writer.directory)
            self._log.error("journal cannot be written", directory=directory, problem=str(error))
        self._n_missed += 1
        self._try_again_at = now + _TRIED_AGAIN_AFTER
