"""Reads the decisions of a journal from its files, oldest or newest first, or keeps the last few.

What cannot be read is told in one sentence and left out; the files after it are read all the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from dovetail.errors import InputError
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.observe.journal.records import RecordError, RecordReader
from dovetail.observe.journal.segments import (
    SUFFIX,
    NoJournalError,
    Segment,
    TornError,
    frames,
    segments,
)

Tell = Callable[[str], None]
_FIRST_NUMBER: Final = 1


class JournalReader:
    """A journal: a folder, or one of its files. `tell` hears of what is lost."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path = path
        self._tell = tell

    def oldest_first(
        self, until: datetime | None = None, since: datetime | None = None
    ) -> Iterator[Decision]:
        """Every decision, or those up to a moment, one after the other. Files whose decisions were
        all before `since` are not read.
        """
        for segment in self._segments(until):
            if since is None or segment.ended_at is None or segment.ended_at >= since:
                yield from _up_to(until, self._decisions(segment))

    def newest_first(self, until: datetime | None = None) -> Iterator[Decision]:
        """The same, the last one first; a file at a time is held in memory."""
        for segment in reversed(self._segments(until)):
            yield from reversed(tuple(_up_to(until, self._decisions(segment))))

    def last(self, n_decisions: int) -> tuple[Decision, ...]:
        """So many of the newest, oldest first."""
        decisions: deque[Decision] = deque()
        for decision in self.newest_first():
            if len(decisions) == n_decisions:
                break
            decisions.appendleft(decision)
        return tuple(decisions)

    def _segments(self, until: datetime | None) -> tuple[Segment, ...]:
        """Its files that matter, oldest first. Raises InputError if there are none at all."""
        path = self._path
        try:
            if path.is_file():
                return (Segment(path, _FIRST_NUMBER, path.stat().st_size),)
            listed = segments(path)
        except OSError as error:
            msg = f"{path}: reading the journal: {error.strerror or error}"
            raise InputError(msg) from error
        if not listed:
            msg = f"{path}: expected a journal, but there are no files NUMBER{SUFFIX} in it"
            raise InputError(msg)
        return tuple(segment for segment in listed if _began_by(until, segment))

    def _decisions(self, segment: Segment) -> Iterator[Decision]:
        """The decisions of one file, as far as it can be read."""
        records = RecordReader()
        n_read = 0
        try:
            with segment.path.open("rb") as file:
                for frame in frames(file):
                    yield records.decision(frame.record)
                    n_read += 1
        except TornError as torn:
            self._tell(_loss_text(segment, n_read, str(torn)))
        except RecordError as error:
            self._tell(
                f"{segment.path}: the decisions after its first {n_read} cannot be read"
                f" and are left out; did another version of Dovetail write them? ({error})"
            )
        except NoJournalError as error:
            self._tell(f"{segment.path}: this is no file of a journal, and is left out: {error}")
        except OSError as error:
            self._tell(f"{segment.path}: reading the journal: {error.strerror or error}")


def _up_to(until: datetime | None, decisions: Iterator[Decision]) -> Iterator[Decision]:
    return (decision for decision in decisions if until is None or decision.now <= until)


def _began_by(until: datetime | None, segment: Segment) -> bool:
    return until is None or segment.began_at is None or segment.began_at <= until


def _loss_text(segment: Segment, n_read: int, why: str) -> str:
    number = segment.number + n_read
    before = f"the {n_read} before it are whole" if n_read else "it is the first of its file"
    return f"{segment.path}: decision {number} is lost, since {why}; {before}"


_HELD: Final = 256


class RecentDecisions:
    """Adds decisions as a journal does, and forgets the oldest. What did not change between two of
    them is the same object, so that many cost little more than one.
    """

    def __init__(self, n_held: int = _HELD, first_number: int = 1) -> None:
        self._held: deque[Decision] = deque(maxlen=n_held)
        self._number = first_number

    def add(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """Remember a decision."""
        self.keep(Decision(self._number, now, seconds, snapshot, plan))
        self._number += 1

    def keep(self, decision: Decision) -> None:
        """Remember a decision that has its number already."""
        self._held.append(decision)

    def with_number(self, number: int) -> Decision | None:
        """The decision of that number; None if it is forgotten."""
        return next((decision for decision in self._held if decision.number == number), None)

    def oldest_first(
        self, until: datetime | None = None, since: datetime | None = None
    ) -> Iterator[Decision]:
        """Every decision that is remembered as of now, or those up to a moment, or since one."""
        decisions = (decision for decision in self._held if until is None or decision.now <= until)
        return iter([decision for decision in decisions if since is None or decision.now >= since])

    def newest_first(self, until: datetime | None = None) -> Iterator[Decision]:
        """The same, the last one first."""
        return reversed(list(self.oldest_first(until)))

    def still(self) -> RecentDecisions:
        """What is remembered now, for somebody in another thread while more is added here."""
        copied = RecentDecisions(self._held.maxlen or _HELD, self._number)
        copied._held.extend(self._held)
        return copied
