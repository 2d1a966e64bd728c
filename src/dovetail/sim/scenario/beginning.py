"""Chooses when a simulation begins: by its file, when the cluster was seen, or on a Monday.

A cluster that began before its own pods were made would take them all for new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from dovetail.model.snapshot import Snapshot
from dovetail.sim.scenario.written import WrittenScenario

MONDAY: Final = datetime(2026, 1, 5, tzinfo=UTC)


def begins_at(written: WrittenScenario, cluster: Snapshot) -> datetime:
    """The moment from which all others are counted."""
    if written.start is not None:
        return written.start
    seen = latest(cluster)
    if seen is None:
        return MONDAY
    return seen.replace(second=0, microsecond=0) + timedelta(minutes=1)


def latest(cluster: Snapshot) -> datetime | None:
    """The last moment that the cluster speaks of, if it speaks of any."""
    return max(_moments(cluster), default=None)


def _moments(cluster: Snapshot) -> Iterator[datetime]:
    for pod in cluster.pods:
        yield from (moment for moment in (pod.created_at, pod.started_at) if moment is not None)
    for node in cluster.nodes:
        yield from (item for item in (node.created_at, node.last_pod_event_at) if item is not None)
