"""Reads a recorded trace, a CSV file in one of two forms.

    time,workload,replicas          how many replicas a workload has from that time on
    start,duration,cpu,memory       one pod a row: when it came, how long it ran, what it asked for

Times are counted from the start (`6h`, `1d2h`, or seconds), or are moments (2026-01-05T06:00:00Z).
Further columns of the second form are other resources; `count` says how many such pods came. A bad
row is named by its line and left out; the rest is used.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from dovetail.errors import InputError
from dovetail.sim.scenario.curves import Replicas
from dovetail.units import duration, quantity

_REPLICAS: Final = ("time", "workload", "replicas")
_PODS: Final = ("start", "duration", "cpu")
_COUNT: Final = "count"
_MOST: Final = 150_000
_LARGEST: Final = 256 << 20
_LONGEST: Final = timedelta(days=366)

Tell = Callable[[str], None]


class RecordedPods(msgspec.Struct, frozen=True):
    """Pods that came at a moment, ran for a while, and asked for this."""

    at: timedelta
    runs_for: timedelta
    requests: tuple[tuple[str, str], ...]
    n_pods: int = 1


class Recorded(msgspec.Struct, frozen=True):
    """A whole trace: replicas by workload, and single pods. `bad` says what is wrong with rows."""

    replicas: Mapping[str, Replicas] = {}
    pods: tuple[RecordedPods, ...] = ()
    bad: tuple[str, ...] = ()


def read_trace(file: str, start: datetime, known: frozenset[str]) -> Recorded:
    """The trace in a file; `known` are the workloads that it may speak of. Raises InputError."""
    try:
        if Path(file).stat().st_size > _LARGEST:
            msg = f"{file}: larger than {_LARGEST >> 20} MB; expected a smaller trace"
            raise InputError(msg)
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{file}: cannot be read ({error}); expected a CSV file in UTF-8"
        raise InputError(msg) from None
    return _Reader(file, start, known).read(text)


class _Reader:
    def __init__(self, file: str, start: datetime, known: frozenset[str]) -> None:
        self._file = file
        self._start = start
        self._known = known
        self._bad: list[str] = []

    def read(self, text: str) -> Recorded:
        rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
        columns = self._columns(rows)
        if set(_REPLICAS) <= columns:
            recorded = Recorded(self._replicas(rows), bad=tuple(self._bad))
        elif set(_PODS) <= columns:
            resources = sorted(columns - {"start", "duration", _COUNT})
            recorded = Recorded(pods=tuple(self._pods(rows, resources)), bad=tuple(self._bad))
        else:
            self._refuse_row(
                f"the first line has {', '.join(sorted(columns)) or 'no columns'}; expected "
                f"{','.join(_REPLICAS)} or start,duration,cpu,memory"
            )
        if not recorded.replicas and not recorded.pods:
            first = f" ({self._bad[0]})" if self._bad else ""
            self._refuse_row(f"no row can be used{first}; expected at least one")
        return msgspec.structs.replace(recorded, bad=tuple(self._bad))

    def _columns(self, rows: csv.DictReader[str]) -> set[str]:
        try:
            return set(rows.fieldnames or ())
        except csv.Error as error:
            return self._refuse_row(f"line 1: {error}; expected CSV")

    def _refuse_row(self, problem: str) -> NoReturn:
        msg = f"{self._file}: {problem}"
        raise InputError(msg)

    def _rows(self, rows: csv.DictReader[str]) -> Iterator[dict[str, str]]:
        """Every row; one that is cut off or too long is left out."""
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                self._refuse(rows.line_num, str(error))
                continue
            if None in row or None in row.values():
                self._refuse(rows.line_num, "another number of columns than the first line")
                continue
            yield row

    def _refuse(self, line: int, why: str) -> None:
        self._bad.append(f"{self._file}: line {line}: {why}; the row is left out")

    def _replicas(self, rows: csv.DictReader[str]) -> dict[str, Replicas]:
        steps_by_name: dict[str, dict[timedelta, int]] = {}
        for row in self._rows(rows):
            try:
                name = row["workload"]
                if name not in self._known:
                    msg = f"no workload {name!r} in the scenario or the cluster"
                    raise ValueError(msg)  # noqa: TRY301  one place says what is wrong with a row
                at, n_pods = self._moment(row["time"]), _number(row["replicas"], "replicas")
            except ValueError as error:
                self._refuse(rows.line_num, str(error))
                continue
            steps_by_name.setdefault(name, {})[at] = n_pods
        return {name: tuple(sorted(steps.items())) for name, steps in sorted(steps_by_name.items())}

    def _pods(self, rows: csv.DictReader[str], resources: list[str]) -> Iterator[RecordedPods]:
        for row in self._rows(rows):
            try:
                asked = tuple((name, row[name]) for name in resources if row[name])
                for name, amount in asked:
                    quantity.amount(name, amount)
                pods = RecordedPods(
                    at=self._moment(row["start"]),
                    runs_for=_span(row["duration"]),
                    requests=asked,
                    n_pods=_number(row.get(_COUNT) or "1", _COUNT),
                )
            except ValueError as error:
                self._refuse(rows.line_num, str(error))
                continue
            yield pods

    def _moment(self, text: str) -> timedelta:
        if "T" in text or text.count("-") > 1:
            at = datetime.fromisoformat(text)
            aware = at.replace(tzinfo=UTC) if at.tzinfo is None else at
            span = aware - self._start
            if span < timedelta(0):
                msg = f"{text} is before the start, {self._start.isoformat()}"
                raise ValueError(msg)
            return span
        return _span(text)


def _span(text: str) -> timedelta:
    """Seconds, or a time with its unit."""
    if text.replace(".", "", 1).isdecimal() and len(text) < 12:
        span = timedelta(seconds=float(text))
    else:
        span = duration.parse_days(text)
    if not timedelta(0) <= span <= _LONGEST:
        msg = f"{text} is out of bounds; expected a time up to 366d"
        raise ValueError(msg)
    return span


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 7 or int(text) > _MOST:
        msg = f"{name} {text[:20]!r} is no number; expected a whole one up to {_MOST}"
        raise ValueError(msg)
    return int(text)
