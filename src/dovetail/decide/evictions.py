"""Counts how often the pods of a workload were evicted within a day, by the hour.

An hour counts until every eviction in it is a day old, so that what is allowed a day is never
exceeded within any 24 hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.nodes import with_memory
from dovetail.model.ledger import EvictionCount, Ledger
from dovetail.model.pod import Pod

HOUR: Final = timedelta(hours=1)
_COUNTS_FOR: Final = timedelta(days=1) + HOUR
_NONE: Final[tuple[EvictionCount, ...]] = ()


def hour_of(at: datetime) -> datetime:
    """The hour in which an eviction is counted."""
    return at.replace(minute=0, second=0, microsecond=0)


def counts_until(count: EvictionCount) -> datetime:
    """When these evictions are forgotten."""
    return count.hour + _COUNTS_FOR


def with_evictions(ledger: Ledger, pods: Iterable[Pod], now: datetime) -> Ledger:
    """The ledger once these pods were evicted now."""
    hour = hour_of(now)
    added = Counter(workload for pod in pods if (workload := pod.workload))
    if not added:
        return ledger
    counts = {(count.workload, count.hour): count.n_evictions for count in ledger.evictions}
    for workload, n_evictions in added.items():
        counts[workload, hour] = counts.get((workload, hour), 0) + n_evictions
    return msgspec.structs.replace(ledger, evictions=in_order(counts))


def in_order(counts: Mapping[tuple[str, datetime], int]) -> tuple[EvictionCount, ...]:
    """Counts by workload and hour, as the ledger keeps them."""
    return tuple(EvictionCount(*key, counts[key]) for key in sorted(counts))


def free_at(
    workload: str, n_allowed: int, evictions: tuple[EvictionCount, ...], now: datetime
) -> datetime | None:
    """When there will have been at most so many evictions within a day; None if that is so now."""
    counting = [
        count for count in _by_workload(evictions).get(workload, _NONE) if counts_until(count) > now
    ]
    n_left = sum(count.n_evictions for count in counting)
    at = None
    for count in counting:  # the earliest hour first
        if n_left <= n_allowed:
            break
        n_left -= count.n_evictions
        at = counts_until(count)
    return at


@with_memory
def _by_workload(evictions: tuple[EvictionCount, ...]) -> Mapping[str, tuple[EvictionCount, ...]]:
    by_workload: dict[str, list[EvictionCount]] = {}
    for eviction in sorted(evictions, key=lambda count: (count.workload, count.hour)):
        by_workload.setdefault(eviction.workload, []).append(eviction)
    return {workload: tuple(counts) for workload, counts in by_workload.items()}
