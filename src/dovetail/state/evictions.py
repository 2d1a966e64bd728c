"""Counts the evictions of each workload hour by hour, and writes the counts as text.

What is kept outlives the process (`controllers/pods/eviction_counts.py`), as text that a ConfigMap
can hold: by hour, then by workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from dovetail.decide.evictions import counts_until, hour_of, in_order
from dovetail.model.ledger import EvictionCount

Counts = Mapping[tuple[str, datetime], int]  # by workload and hour

MOST_BYTES: Final = 900_000  # a ConfigMap holds a mebibyte
_HOUR: Final = "%Y-%m-%dT%HZ"
_N_REMEMBERED: Final = 10_000  # pods of which it is known that they were counted
_texts: Final = msgspec.json.Decoder(dict[str, dict[str, int]])


class Tally:
    """Evictions by workload and hour. `heard` is called when there is one more."""

    def __init__(self) -> None:
        self.heard: Callable[[], None] = _ignore
        self._counts: dict[tuple[str, datetime], int] = {}
        self._counted: dict[str, None] = {}  # uids, the latest last
        self._in_order: tuple[EvictionCount, ...] | None = ()

    def add(self, workload: str, pod_uid: str, at: datetime) -> None:
        """A pod was evicted; once for each pod, and not one that nobody makes again."""
        if not workload or pod_uid in self._counted:
            return
        self._counted[pod_uid] = None
        if len(self._counted) > _N_REMEMBERED:
            del self._counted[next(iter(self._counted))]
        self.learn({(workload, hour_of(at)): 1})
        self.heard()

    def learn(self, more: Counts) -> None:
        """Evictions that were counted elsewhere."""
        for key, n_evictions in more.items():
            self._counts[key] = self._counts.get(key, 0) + n_evictions
        self._in_order = None if more else self._in_order

    def replace(self, counts: Counts) -> None:
        """Know this and nothing else."""
        self._counts, self._in_order = dict(counts), None

    def counts(self, now: datetime) -> Counts:
        """What counts at this moment."""
        return {(count.workload, count.hour): count.n_evictions for count in self.in_order(now)}

    def in_order(self, now: datetime) -> tuple[EvictionCount, ...]:
        """The same as the ledger keeps it: the same tuple while nothing changes."""
        counts = in_order(self._counts) if self._in_order is None else self._in_order
        kept = tuple(count for count in counts if counts_until(count) > now)
        if len(kept) < len(counts):
            self._counts = {(count.workload, count.hour): count.n_evictions for count in kept}
        self._in_order = counts if len(kept) == len(counts) else kept
        return self._in_order


def _ignore() -> None:
    """Nobody listens."""


def to_text(counts: Counts) -> str:
    """As text."""
    by_hour: dict[str, dict[str, int]] = {}
    for workload, hour in sorted(counts, key=lambda key: (key[1], key[0])):
        by_hour.setdefault(hour.strftime(_HOUR), {})[workload] = counts[workload, hour]
    return msgspec.json.encode(by_hour).decode()


def read(text: str) -> dict[tuple[str, datetime], int]:
    """From text. Raises ValueError for what was never written by us."""
    result = {}
    for hour_text, by_workload in _texts.decode(text).items():
        hour = datetime.strptime(hour_text, _HOUR).replace(tzinfo=UTC)
        for workload, n_evictions in by_workload.items():
            if n_evictions < 1:
                msg = f"{workload} was evicted {n_evictions} times; expected 1 or more"
                raise ValueError(msg)
            result[workload, hour] = n_evictions
    return result


def fit(counts: Counts, most_bytes: int = MOST_BYTES) -> Counts:
    """As much of it as can be kept. Where that is not all, what happened to a workload counts as if
    it all was in its latest hour; and if there are still too many, those that were evicted least
    are left out.
    """
    if len(to_text(counts).encode()) <= most_bytes:
        return counts
    latest: dict[str, datetime] = {}
    total: dict[str, int] = {}
    for (workload, hour), n_evictions in counts.items():
        latest[workload] = max(latest.get(workload, hour), hour)
        total[workload] = total.get(workload, 0) + n_evictions
    most_evicted = sorted(total, key=lambda workload: (-total[workload], workload))
    while True:
        kept = {(workload, latest[workload]): total[workload] for workload in most_evicted}
        if len(to_text(kept).encode()) <= most_bytes:
            return kept
        most_evicted = most_evicted[: len(most_evicted) * 9 // 10]
