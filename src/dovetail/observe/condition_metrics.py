"""Renders the conditions of claims, pools and Nodes, with their age, and reports changes.

The class is shown every object as it changes, and told when one is gone. It counts what turned,
tells an event for it, and writes the gauges at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail.decide.lifecycle.conditions import Status
from dovetail.decide.lifecycle.pool import PoolView
from dovetail.decide.lifecycle.step import Event
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.node import Condition
from dovetail.observe.cluster_metrics import escape, gauge, label_text, series
from dovetail.observe.meters import ConditionMeters, Meters, metric_label

_COUNT: Final = "status_condition_count"
_CURRENT: Final = "status_condition_current_status_seconds"
_GOING: Final = "termination_current_time_seconds"
_HELP: Final = {
    _COUNT: "1 for each condition of each object, with its status.",
    _CURRENT: "Time that a condition has had its current status.",
    _GOING: "Time that an object has been terminating.",
}


FINALIZED: Final = "Finalized"


class Watched(msgspec.Struct, frozen=True, gc=False):
    """An object with conditions, as far as they are counted."""

    subject: Subject
    labels: Mapping[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    deleting_at: datetime | None = None


class ConditionMetrics:
    """What is known of the conditions of all objects. `tell` takes the events."""

    def __init__(self, meters: Meters, tell: Callable[[Event], None]) -> None:
        self._meters = meters
        self._tell = tell
        self._held: dict[str, dict[str, Watched]] = {kind: {} for kind in meters.conditions}

    def see_claim(self, claim: ClaimObject) -> None:
        """A claim as it is now."""
        subject = Subject("NodeClaim", claim.name, claim.uid)
        self._see(Watched(subject, claim.labels, claim.conditions, claim.deleting_at))

    def see_node(self, node: NodeObject) -> None:
        """A Node as it is now."""
        subject = Subject("Node", node.name, node.uid)
        self._see(Watched(subject, node.labels, node.conditions, node.deleting_at))

    def see_pool(self, view: PoolView, deleting_at: datetime | None = None) -> None:
        """A NodePool as it is now."""
        subject = Subject("NodePool", view.pool.name, view.pool.uid)
        self._see(Watched(subject, {}, view.conditions, deleting_at))

    def forget(self, kind: str, name: str, now: datetime) -> None:
        """An object is there no more."""
        last = self._held[kind].pop(name, None)
        if last is None or last.deleting_at is None:
            return
        seconds = (now - last.deleting_at).total_seconds()
        counted = self._meters.conditions[kind]
        own = _own_labels(counted, last)
        timed = counted.termination_duration_seconds
        (timed.labels(**own) if own else timed).observe(seconds)
        if counted.kind.has_deprecated:
            generic = self._meters.operator_termination_duration_seconds
            generic.labels(group=counted.kind.group, kind=kind).observe(seconds)
        self._tell(finalized_event(last.subject))

    def text(self, now: datetime) -> Iterator[str]:
        """Every gauge as a scrape reads it, in parts."""
        for kind, counted in self._meters.conditions.items():
            yield from _gauges(counted.kind.prefix, self._series(kind, deprecated=False), now)
        kinds = [kind for kind, item in self._meters.conditions.items() if item.kind.has_deprecated]
        every = [sery for kind in kinds for sery in self._series(kind, deprecated=True)]
        yield from _gauges("operator", every, now)

    def _series(self, kind: str, *, deprecated: bool) -> list[tuple[str, Watched]]:
        """Each object with the labels that all of its series have."""
        counted = self._meters.conditions[kind]
        generic = {"group": counted.kind.group, "kind": kind}
        return [
            (
                label_text(
                    {
                        "namespace": "",
                        "name": name,
                        **(generic if deprecated else _own_labels(counted, item)),
                    }
                ),
                item,
            )
            for name, item in self._held[kind].items()
        ]

    def _see(self, seen: Watched) -> None:
        kind, name = seen.subject.kind, seen.subject.name
        last = self._held[kind].get(name)
        self._held[kind][name] = seen
        if last is not None and last.subject.uid != seen.subject.uid:
            last = None  # another object of the same name
        before = {} if last is None else {item.type: item for item in last.conditions}
        for condition in seen.conditions:
            old = before.get(condition.type)
            known = Status.UNKNOWN if old is None else old.status
            if condition.status != known:
                self._count(seen, old, condition)
        if last is not None:
            for event in transition_events(seen.subject, last.conditions, seen.conditions):
                self._tell(event)

    def _count(self, seen: Watched, old: Condition | None, new: Condition) -> None:
        counted = self._meters.conditions[seen.subject.kind]
        turned = {"type": new.type, "status": new.status, "reason": new.reason}
        own = _own_labels(counted, seen)
        generic = {"group": counted.kind.group, "kind": counted.kind.kind}
        counted.transitions_total.labels(**turned, **own).inc()
        if counted.kind.has_deprecated:
            total = self._meters.operator_status_condition_transitions_total
            total.labels(**turned, **generic).inc()
        if old is None or old.changed_at is None or new.changed_at is None:
            return
        left = {"type": old.type, "status": old.status}
        seconds = (new.changed_at - old.changed_at).total_seconds()
        counted.transition_seconds.labels(**left, **own).observe(seconds)
        if counted.kind.has_deprecated:
            timed = self._meters.operator_status_condition_transition_seconds
            timed.labels(**left, **generic).observe(seconds)


def _own_labels(counted: ConditionMeters, seen: Watched) -> dict[str, str]:
    return {metric_label(key): seen.labels.get(key, "") for key in counted.kind.labels}


def _gauges(prefix: str, items: list[tuple[str, Watched]], now: datetime) -> Iterator[str]:
    for metric, lines in (
        (_COUNT, _counts(f"{prefix}_{_COUNT}", items)),
        (_CURRENT, _ages(f"{prefix}_{_CURRENT}", items, now)),
        (_GOING, _departures(f"{prefix}_{_GOING}", items, now)),
    ):
        yield from gauge(f"{prefix}_{metric}", _HELP[metric], lines)


def _counts(name: str, items: Iterable[tuple[str, Watched]]) -> Iterator[str]:
    for labelled, seen in items:
        for condition in seen.conditions:
            yield series(name, f"{labelled},{_condition_text(condition)}", 1)


def _ages(name: str, items: Iterable[tuple[str, Watched]], now: datetime) -> Iterator[str]:
    for labelled, seen in items:
        for condition in seen.conditions:
            if condition.changed_at is not None:
                seconds = (now - condition.changed_at).total_seconds()
                yield series(name, f"{labelled},{_condition_text(condition)}", seconds)


def _departures(name: str, items: Iterable[tuple[str, Watched]], now: datetime) -> Iterator[str]:
    for labelled, seen in items:
        if seen.deleting_at is not None:
            yield series(name, labelled, (now - seen.deleting_at).total_seconds())


def _condition_text(condition: Condition) -> str:
    kind, status = escape(condition.type), escape(condition.status)
    return f'type="{kind}",status="{status}",reason="{escape(condition.reason)}"'


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The object that is spoken of."""

    kind: str
    name: str
    uid: str = ""


def transition_events(
    subject: Subject, before: Iterable[Condition], after: Iterable[Condition]
) -> Iterator[Event]:
    """An event for each condition whose status changed. What is said for the first time is none."""
    status_by_type = {condition.type: condition.status for condition in before}
    for item in after:
        known = status_by_type.get(item.type)
        if known is None or known == item.status:
            continue
        why = f" ({item.reason}: {item.message})" if item.message else f" ({item.reason})"
        message = f"{item.type} changed from {known} to {item.status}{why}"
        yield _event(subject, item.type, message, item.status)


def finalized_event(subject: Subject) -> Event:
    """The object is gone."""
    return _event(subject, FINALIZED, f"{subject.kind} {subject.name} was deleted", "")


def _event(subject: Subject, reason: str, message: str, value: str) -> Event:
    return Event(
        subject.kind,
        subject.name,
        reason,
        message,
        uid=subject.uid,
        dedupe=(value,) if value else (),
    )
