"""Measures how long pods take until a decision, until a node, and until they run.

Only pods that were seen waiting are timed, and each only until it is ready: memory grows with the
pods that wait, not with those that run. The moments of binding and readiness are the API's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from dovetail import api
from dovetail.model.pod import TERMINAL_PHASES, Pod
from dovetail.observe.cluster_metrics import gauge, label_text, series
from dovetail.observe.meters import Meters
from dovetail.observe.pod_limits import pod_key
from dovetail.state.conversions import instant

_PENDING: Final = frozenset({"", "Pending"})


class _Wait(msgspec.Struct):
    """One pod that waits. `seen_at` is None for one that had a node when it was first seen."""

    uid: str
    created_at: datetime | None
    seen_at: datetime | None
    decided_at: datetime | None = None
    placed_at: datetime | None = None  # since when a plan has had a place for it
    is_bound: bool = False


_Since = Callable[[_Wait], datetime | None]


def _waiting_since(wait: _Wait) -> datetime | None:
    return wait.created_at


def _unbound(wait: _Wait) -> datetime | None:
    return None if wait.is_bound else wait.created_at


_GAUGES: Final[tuple[tuple[str, str, _Since], ...]] = (
    ("unstarted_time_seconds", "Time since creation of pods that are not running.", _waiting_since),
    ("unbound_time_seconds", "Time since creation of pods without a node.", _unbound),
    (
        "provisioning_unstarted_time_seconds",
        "Time since planning of pods that are not running.",
        lambda wait: wait.placed_at,
    ),
    (
        "provisioning_unbound_time_seconds",
        "Time since planning of pods without a node.",
        lambda wait: None if wait.is_bound else wait.placed_at,
    ),
    (
        "provisioning_scheduling_undecided_time_seconds",
        "Time since pods without a decision were first seen.",
        lambda wait: None if wait.is_bound or wait.decided_at is not None else wait.seen_at,
    ),
)


class PodTimes:
    """The pods that wait."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._waits: dict[str, _Wait] = {}

    def see(self, pod: api.Pod, now: datetime) -> None:
        """A pod as it is now."""
        key = pod_key(pod)
        wait = self._waits.get(key)
        if wait is not None and wait.uid != pod.metadata.uid:
            del self._waits[key]
            wait = None
        if wait is None:
            if pod.status.phase not in _PENDING:
                return
            wait = self._waits[key] = _first_seen(pod, now)
        if pod.spec.node_name and not wait.is_bound:
            wait.is_bound = True
            self._note_binding(wait, _turned_at(pod, "PodScheduled") or now)
        if pod.status.phase in TERMINAL_PHASES:
            del self._waits[key]
        elif (ready_at := _turned_at(pod, "Ready")) is not None:
            self._note_start(wait, ready_at)
            del self._waits[key]

    def meet(self, pods: Iterable[Pod], now: datetime) -> None:
        """Pods that waited before anybody looked."""
        for pod in pods:
            is_waiting = not pod.node_name and not pod.is_terminal and not pod.is_virtual
            if is_waiting and pod.key not in self._waits:
                self._waits[pod.key] = _Wait(pod.uid, pod.created_at, now)

    def forget(self, key: str) -> None:
        """A pod is there no more."""
        self._waits.pop(key, None)

    def note_plan(self, placed: Iterable[str], refused: Iterable[str], now: datetime) -> None:
        """A plan has a place for these pods, and none for those."""
        for key in placed:
            wait = self._note_decision(key, now)
            if wait is not None and wait.placed_at is None:
                wait.placed_at = now
        for key in refused:
            wait = self._note_decision(key, now)
            if wait is not None:
                wait.placed_at = None

    def text(self, now: datetime) -> Iterator[str]:
        """Every gauge as a scrape reads it, in parts."""
        waits = [(_label_text(key), wait) for key, wait in self._waits.items()]
        for suffix, help_text, since in _GAUGES:
            name = f"karpenter_pods_{suffix}"
            yield from gauge(name, help_text, _lines(name, waits, since, now))

    def _note_decision(self, key: str, now: datetime) -> _Wait | None:
        wait = self._waits.get(key)
        if wait is None or wait.is_bound:
            return None
        if wait.decided_at is None:
            wait.decided_at = now
            if wait.seen_at is not None:
                seconds = (now - wait.seen_at).total_seconds()
                self._meters.pods_scheduling_decision_duration_seconds.observe(seconds)
        return wait

    def _note_binding(self, wait: _Wait, at: datetime) -> None:
        if wait.seen_at is None:
            return  # it was bound before anybody looked
        if wait.created_at is not None:
            self._meters.pods_bound_duration_seconds.observe(_span(wait.created_at, at))
        if wait.placed_at is not None:
            timed = self._meters.pods_provisioning_bound_duration_seconds
            timed.observe(_span(wait.placed_at, at))

    def _note_start(self, wait: _Wait, at: datetime) -> None:
        if wait.created_at is not None:
            self._meters.pods_startup_duration_seconds.observe(_span(wait.created_at, at))
        if wait.placed_at is not None:
            timed = self._meters.pods_provisioning_startup_duration_seconds
            timed.observe(_span(wait.placed_at, at))


def _first_seen(pod: api.Pod, now: datetime) -> _Wait:
    is_bound = bool(pod.spec.node_name)
    return _Wait(
        uid=pod.metadata.uid,
        created_at=instant(pod.metadata.creation_timestamp),
        seen_at=None if is_bound else now,
        is_bound=is_bound,
    )


def _turned_at(pod: api.Pod, condition: str) -> datetime | None:
    """Since when this has been true of the pod."""
    for item in pod.status.conditions:
        if item.type == condition and item.status == "True":
            return instant(item.last_transition_time)
    return None


def _span(begin: datetime, end: datetime) -> float:
    """Seconds between; the API's moments are whole seconds, and may lie before ours."""
    return max((end - begin).total_seconds(), 0.0)


def _label_text(key: str) -> str:
    namespace, _, name = key.rpartition("/")
    return label_text({"name": name, "namespace": namespace})


def _lines(
    name: str, waits: Iterable[tuple[str, _Wait]], since: _Since, now: datetime
) -> Iterator[str]:
    for labelled, wait in waits:
        began = since(wait)
        if began is not None:
            yield series(name, labelled, (now - began).total_seconds())
