"""Writes the journal in a thread of its own. A full or slow disk costs recorded decisions, and
never delays the controller.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.journal.writer import JournalWriter
from dovetail.observe.logs import Log

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
