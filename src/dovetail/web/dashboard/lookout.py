"""Holds what the page shows: the cluster as last seen, recent changes and decisions.

The whole is told to whoever comes; after that only what changes. A node whose parts are the same
objects as before looks as before, so that a look at a large cluster costs what has changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import is_
from typing import Final

import msgspec

from dovetail.decide.nodes import census, leaving_nodes
from dovetail.decide.pools import Prices, prices
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.present.board import (
    NodeBox,
    Totals,
    TypeInUse,
    WaitingPod,
    node_box,
    totals,
    types_in_use,
    waiting_pods,
)
from dovetail.present.explanation import Explanation
from dovetail.present.timeline import Deed, DeedKind, deeds, explain_change, news

_LINES: Final = 300
_DECISIONS: Final = 120  # each with the snapshot that it was made from
_SAMPLES: Final = 1500
_WAITING: Final = 500  # more than anybody reads
_SAMPLES_EVERY: Final = timedelta(minutes=5)


class TimelineEntry(msgspec.Struct, frozen=True, rename="camel"):
    """A line of the timeline: one deed of one decision."""

    number: int
    at: datetime
    deed: Deed


class TotalsSample(msgspec.Struct, frozen=True, array_like=True):
    """How things stood at a moment."""

    at: datetime
    totals: Totals


class PageUpdate(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is new. `waiting` and `types` are told whole or not at all."""

    now: datetime
    totals: Totals
    is_whole: bool = False
    nodes: tuple[NodeBox, ...] = ()
    gone: tuple[str, ...] = ()
    waiting: tuple[WaitingPod, ...] | None = None
    types: tuple[TypeInUse, ...] | None = None
    entries: tuple[TimelineEntry, ...] = ()
    samples: tuple[TotalsSample, ...] = ()
    tempo: float | None = None


class _Seen(msgspec.Struct, frozen=True):
    node: Node
    pods: tuple[Pod, ...]
    is_leaving: bool
    known: Prices
    box: NodeBox

    def is_same(self, node: Node, pods: tuple[Pod, ...], known: Prices, *, gone: bool) -> bool:
        parts = (self.node is node, self.known is known, self.is_leaving == gone)
        return all(parts) and len(pods) == len(self.pods) and all(map(is_, pods, self.pods))


class Lookout:
    """Looks at the cluster for the page, and remembers what was decided."""

    def __init__(self, tempo: Callable[[], float] | None = None) -> None:
        self._tempo = tempo
        self._seen: dict[str, _Seen] = {}
        self._decisions = RecentDecisions(_DECISIONS)
        self._entries: deque[TimelineEntry] = deque(maxlen=_LINES)
        self._fresh: list[TimelineEntry] = []
        self._samples: deque[TotalsSample] = deque(maxlen=_SAMPLES)
        self._n_decisions = 0
        self._latest: PageUpdate | None = None
        self._stuck: frozenset[str] = frozenset()
        self.snapshot = Snapshot()
        self.plan = Plan()

    # ---- what it is shown

    def note_plan(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """A decision was made. Pods that cannot be placed are told when there are new ones."""
        self._n_decisions += 1
        self.plan = plan
        fresh = list(deeds(plan))
        stuck = frozenset(verdict.pod for verdict in plan.unschedulable)
        if stuck <= self._stuck:
            fresh = [item for item in fresh if item.kind != DeedKind.STUCK]
        self._stuck = stuck
        if not fresh:
            return
        number = self._n_decisions
        self._decisions.keep(Decision(number, now, seconds, snapshot, plan))
        entries = [TimelineEntry(number, now, item) for item in fresh]
        self._entries.extend(entries)
        self._fresh += entries

    def note(self, at: datetime, title: str) -> None:
        """Something happened that nobody here decided."""
        entry = TimelineEntry(0, at, news(title))
        self._entries.append(entry)
        self._fresh.append(entry)

    def look(self, snapshot: Snapshot, now: datetime) -> PageUpdate:
        """What has changed since the last look."""
        self.snapshot = snapshot
        changed, gone = self._compare(snapshot)
        boxes = [seen.box for seen in self._seen.values()]
        waiting = waiting_pods(snapshot, self.plan)
        sums = totals(boxes, len(waiting), self.plan.cost.cluster_target_nanousd)
        before, fresh = self._latest, tuple(self._fresh)
        self._fresh = []
        whole = PageUpdate(
            now=now,
            totals=sums,
            waiting=waiting[:_WAITING],
            types=types_in_use(boxes),
            tempo=None if self._tempo is None else self._tempo(),
        )
        self._latest = whole
        return msgspec.structs.replace(
            whole,
            nodes=tuple(changed),
            gone=tuple(gone),
            waiting=whole.waiting if before is None or before.waiting != whole.waiting else None,
            types=whole.types if before is None or before.types != whole.types else None,
            entries=fresh,
            samples=self._add_sample(sums, now),
        )

    def _compare(self, snapshot: Snapshot) -> tuple[list[NodeBox], list[str]]:
        where: Mapping[str, tuple[Pod, ...]] = census(snapshot.pods).by_node
        known, leavers = prices(snapshot), leaving_nodes(snapshot)
        seen: dict[str, _Seen] = {}
        changed: list[NodeBox] = []
        for node in snapshot.nodes:
            pods, gone = where.get(node.name, ()), node.name in leavers
            before = self._seen.get(node.name)
            if before is None or not before.is_same(node, pods, known, gone=gone):
                box = node_box(node, pods, known, is_leaving=gone)
                if before is None or before.box != box:
                    changed.append(box)
                before = _Seen(node, pods, gone, known, box)
            seen[node.name] = before
        vanished = [name for name in self._seen if name not in seen]
        self._seen = seen
        return changed, vanished

    def _add_sample(self, sums: Totals, now: datetime) -> tuple[TotalsSample, ...]:
        if self._samples and now - self._samples[-1].at < _SAMPLES_EVERY:
            return ()
        sample = TotalsSample(now, sums)
        self._samples.append(sample)
        return (sample,)

    # ---- what it tells

    @property
    def now(self) -> datetime | None:
        """When it looked last."""
        return None if self._latest is None else self._latest.now

    def whole(self) -> PageUpdate | None:
        """Everything up to the last look, for somebody who has just come; None before that."""
        if self._latest is None:
            return None
        told = list(self._entries)[: max(0, len(self._entries) - len(self._fresh))]
        return msgspec.structs.replace(
            self._latest,
            is_whole=True,
            nodes=tuple(seen.box for seen in self._seen.values()),
            entries=tuple(told),
            samples=tuple(self._samples),
        )

    def decision_of(self, number: int) -> Decision | None:
        """The decision of a line of the timeline; None if it is forgotten."""
        return self._decisions.with_number(number)


def explain_deed(decision: Decision, place: int) -> Explanation | None:
    """One thing that a decision did, with all that bears it out; `place` counts them."""
    done = list(deeds(decision.plan))
    if not 0 <= place < len(done):
        return None
    return explain_change(done[place], decision.snapshot, decision.plan, decision.now)
