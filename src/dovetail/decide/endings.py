"""Says when something is done about an instance that will be gone, and for whom.

From `replaced_at` on its node counts as leaving: its pods are planned for, those of all nodes that
are due in one plan, and nobody else is sent there. From `drained_at` on its node is drained. An
ending without an instant is due at once; one that is far away is only known.

The pods go with their instance whatever protects them. They are planned for all the same, so that
what replaces them is there when they have to go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.model.ending import InstanceEnding, KnownEnding
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.snapshot import Snapshot

# Before the drain: about what a decision and a node take to start.
REPLACED_BEFORE: Final = timedelta(minutes=5)
# A drain waits so long for a decision that plans for its pods, if there is time.
PLANNED_WITHIN: Final = timedelta(seconds=15)
# With less left there is no time to wait for a plan.
_NO_TIME: Final = timedelta(seconds=60)


def replaced_at(ending: InstanceEnding) -> datetime | None:
    """From when on its node counts as leaving; None: at once."""
    return None if ending.at is None else ending.at - ending.drains_for - REPLACED_BEFORE


def is_due(ending: InstanceEnding, now: datetime) -> bool:
    """Whether its node counts as leaving."""
    moment = replaced_at(ending)
    return moment is None or moment <= now


def drained_at(known: KnownEnding) -> datetime:
    """From when on its node is drained. A decision goes first, if there is time for one."""
    ending, announced_at = known.ending, known.announced_at
    if ending.at is None or ending.is_forced:
        return announced_at
    begins_at = max(ending.at - ending.drains_for, announced_at)
    if known.is_planned or ending.at - announced_at < _NO_TIME:
        return begins_at
    return max(begins_at, announced_at + PLANNED_WITHIN)


def precedes(earlier: InstanceEnding, later: InstanceEnding) -> bool:
    """Whether the first still stands when the second is announced: it is another matter, and the
    instance goes no sooner for it.
    """
    if earlier.reason == later.reason or (later.is_forced and not earlier.is_forced):
        return False
    due_at, later_due_at = replaced_at(earlier), replaced_at(later)
    if due_at is None or earlier.is_forced:
        return True
    return later_due_at is not None and due_at <= later_due_at


def with_due_endings(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster in which endings that are due by now are; the very same if none became so."""
    ledger = snapshot.ledger
    due = [ending for ending in ledger.later_endings if is_due(ending, now)]
    if not due:
        return snapshot
    later = tuple(ending for ending in ledger.later_endings if not is_due(ending, now))
    endings = tuple(sorted((*ledger.endings, *due), key=lambda ending: ending.provider_id))
    changed = msgspec.structs.replace(ledger, endings=endings, later_endings=later)
    return msgspec.structs.replace(snapshot, ledger=changed)


def due_moments(snapshot: Snapshot) -> Iterator[datetime]:
    """When endings that are far away become due."""
    for ending in snapshot.ledger.later_endings:
        moment = replaced_at(ending)
        if moment is not None:
            yield moment


def ending_nodes(endings: Iterable[InstanceEnding], nodes: Iterable[Node]) -> frozenset[str]:
    """The nodes, by name, that go at an instant that is known, whatever protects their pods."""
    ending = {ending.provider_id for ending in endings if ending.at is not None or ending.is_forced}
    if not ending:
        return frozenset()
    return frozenset(node.name for node in nodes if node.provider_id in ending)


def losing_their_node(pods: Iterable[Pod], snapshot: Snapshot) -> frozenset[PodKey]:
    """Those of the pods whose instances are about to end."""
    ending = {ending.provider_id for ending in snapshot.ledger.endings}
    if not ending:
        return frozenset()
    names = {node.name for node in snapshot.nodes if node.provider_id in ending}
    return frozenset(pod.key for pod in pods if pod.node_name in names)
