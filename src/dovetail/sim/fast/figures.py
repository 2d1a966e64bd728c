"""Counts what a simulation costs and how many pods it evicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.model.resources import CPU, MEMORY

_HOUR: Final = 3600.0
_NANOUSD: Final = 1e9
_MEASURED: Final = (CPU, MEMORY)


class FigureRow(msgspec.Struct, frozen=True):
    """How things stood at one moment."""

    at: datetime
    n_nodes: int
    n_pods: int
    n_waiting: int
    price_per_hour: float
    cpu_utilisation: float
    n_evictions: int


class Report(msgspec.Struct, frozen=True):
    """What came of it all. Waiting is in minutes, from a pod's making to its binding; utilisation
    is what pods ask for of what nodes offer.
    """

    price: float
    evictions: Mapping[str, int]
    n_launched: int
    n_removed: int
    n_bound: int
    n_unbound: int
    waiting_median: float
    waiting_99th: float
    waiting_total: float
    cpu_utilisation: float
    memory_utilisation: float
    n_decisions: int
    n_failed: int = 0  # launches that came to nothing, each time they were tried
    n_interrupted: int = 0  # instances that the cloud took back
    samples: tuple[FigureRow, ...] = ()

    @property
    def n_evictions(self) -> int:
        """How many pods were sent away, whatever the reason."""
        return sum(self.evictions.values())


class Figures:
    """The counters. What happened before `begins_at` does not count."""

    def __init__(self, start: datetime, begins_at: datetime) -> None:
        self._begins_at = begins_at
        self._last_at = start
        self.rate_nanousd = 0
        self.n_waiting = 0
        self.n_pods = 0
        self.n_nodes = 0
        self.asked: Counter[str] = Counter()
        self.offered: Counter[str] = Counter()
        self.evictions: Counter[str] = Counter()
        self._paid = 0.0
        self._asked = dict.fromkeys(_MEASURED, 0.0)  # times hours
        self._offered = dict.fromkeys(_MEASURED, 0.0)
        self._waits: list[float] = []
        self._n: Counter[str] = Counter()
        self._samples: list[FigureRow] = []

    def pass_to(self, now: datetime) -> None:
        """Nothing has changed up to now: count that time. To be called before any change."""
        since = max(self._last_at, self._begins_at)
        if now > since:
            hours = (now - since).total_seconds() / _HOUR
            self._paid += self.rate_nanousd / _NANOUSD * hours
            for name in _MEASURED:
                self._asked[name] += self.asked[name] * hours
                self._offered[name] += self.offered[name] * hours
        self._last_at = max(now, self._last_at)

    def count(self, figure: str, now: datetime) -> None:
        """One more of these."""
        if now >= self._begins_at:
            self._n[figure] += 1

    def count_eviction(self, reason: str, now: datetime) -> None:
        """A pod was sent away."""
        if now >= self._begins_at:
            self.evictions[str(reason)] += 1

    def count_wait(self, span: timedelta, now: datetime) -> None:
        """A pod was bound after so long, or still waits."""
        if now >= self._begins_at:
            self._waits.append(span.total_seconds() / 60)

    def sample(self, now: datetime) -> None:
        """Write down how things stand."""
        self._samples.append(
            FigureRow(
                at=now,
                n_nodes=self.n_nodes,
                n_pods=self.n_pods,
                n_waiting=self.n_waiting,
                price_per_hour=self.rate_nanousd / _NANOUSD,
                cpu_utilisation=_share(self.asked[CPU], self.offered[CPU]),
                n_evictions=sum(self.evictions.values()),
            )
        )

    def report(self) -> Report:
        """All of it."""
        waits = sorted(self._waits)
        return Report(
            price=self._paid,
            evictions=dict(sorted(self.evictions.items())),
            n_launched=self._n["launched"],
            n_removed=self._n["removed"],
            n_bound=self._n["bound"],
            n_unbound=self.n_waiting,
            waiting_median=_quantile(waits, 0.5),
            waiting_99th=_quantile(waits, 0.99),
            waiting_total=sum(waits),
            cpu_utilisation=_share(self._asked[CPU], self._offered[CPU]),
            memory_utilisation=_share(self._asked[MEMORY], self._offered[MEMORY]),
            n_decisions=self._n["decisions"],
            n_failed=self._n["failed"],
            n_interrupted=self._n["interrupted"],
            samples=tuple(self._samples),
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _quantile(values: list[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)] if values else 0.0
