"""Binds pods as kube-scheduler's queue does, with the filters and scores of `sim/placing`.

By priority, then by age. A pod that fits nowhere is tried again when the cluster changes, after a
wait that doubles from 1 to 10 seconds; one just like it is not even tried in the same round.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush

import msgspec

from dovetail.decide.spread import Steerable
from dovetail.model.pod import Pod, PodKey
from dovetail.sim.fast.cluster import FastCluster

_SHORTEST = timedelta(seconds=1)
_LONGEST = timedelta(seconds=10)


class _Tried(msgspec.Struct, frozen=True):
    n_times: int
    revision: int
    next_at: datetime


class Binder:
    """Binds pods that wait."""

    def __init__(self, cluster: FastCluster) -> None:
        self._cluster = cluster
        self._placing = cluster.placing
        self._waiting: dict[PodKey, Pod] = {}
        self._due: dict[PodKey, None] = {}  # to be tried as soon as something has changed
        self._tried: dict[PodKey, _Tried] = {}
        self._asleep: list[tuple[datetime, PodKey]] = []  # a heap
        self._revision = 0
        self._round_at: datetime | None = None

    def add(self, pod: Pod) -> None:
        """A pod waits."""
        self._waiting[pod.key] = pod
        self._due[pod.key] = None
        self._plan_round(self._cluster.now)

    def note_change(self) -> None:
        """The cluster is another now."""
        self._revision += 1
        if self._due:
            self._plan_round(self._cluster.now)
        elif self._asleep:
            self._plan_round(self._asleep[0][0])

    def pending_pods(self) -> tuple[Pod, ...]:
        """The pods that wait."""
        for pod in [item for item in self._waiting.values() if self._is_over(item)]:
            self._leave(pod)
        return tuple(self._waiting.values())

    def steer(self, node: str, keys: Iterable[PodKey]) -> None:
        """These pods, as far as they wait, are meant for that node."""
        meant = [self._waiting[key] for key in keys if key in self._waiting]
        if not meant:
            return
        told = [pod for pod in meant if pod.nominated_node_name == node]
        others = [pod for pod in meant if pod.nominated_node_name != node]
        for pod in Steerable(self._waiting.values()).choose(others, told):
            self._placing.take_back(pod)
            nominated = msgspec.structs.replace(pod, nominated_node_name=node)
            self._waiting[pod.key] = nominated
            self._placing.promise(nominated)
            self._tried.pop(pod.key, None)
            self._due[pod.key] = None
        self._plan_round(self._cluster.now)

    # ---- rounds

    def _plan_round(self, at: datetime) -> None:
        at = max(at, self._cluster.now)
        if self._round_at is None or at < self._round_at:
            self._round_at = at
            self._cluster.agenda.at(at, partial(self._round, at))

    def _round(self, at: datetime) -> None:
        if self._round_at != at:
            return  # an earlier one came instead
        self._round_at = None
        self._wake()
        hopeless: set[tuple[int, int, str, str]] = set()
        pods = [self._waiting[key] for key in self._due if key in self._waiting]
        for pod in sorted(pods, key=_sort_key):
            if self._is_over(pod):
                self._leave(pod)
            elif self._may_try(pod.key):
                self._try(pod, hopeless)
        if self._asleep and any(item.revision < self._revision for item in self._tried.values()):
            self._plan_round(self._asleep[0][0])

    def _wake(self) -> None:
        """Those whose wait is over are due."""
        now = self._cluster.now
        while self._asleep and self._asleep[0][0] <= now:
            until, key = heappop(self._asleep)
            tried = self._tried.get(key)
            if tried is not None and tried.next_at == until:
                self._due[key] = None

    def _is_over(self, waiting: Pod) -> bool:
        """Whether the pod is gone, or another of its name has come."""
        now = self._cluster.pods.get(waiting.key)
        return now is None or now.uid != waiting.uid or bool(now.node_name)

    def _leave(self, pod: Pod) -> None:
        self._placing.take_back(pod)
        self._waiting.pop(pod.key, None)
        self._tried.pop(pod.key, None)
        self._due.pop(pod.key, None)

    def _may_try(self, key: PodKey) -> bool:
        tried = self._tried.get(key)
        return tried is None or tried.revision < self._revision

    def _try(self, pod: Pod, hopeless: set[tuple[int, int, str, str]]) -> None:
        likeness = (id(pod.spec), id(pod.labels), pod.namespace, pod.nominated_node_name)
        chosen = "" if likeness in hopeless else self._placing.choose(pod)
        if chosen:
            self._leave(pod)
            self._cluster.bind(pod.key, chosen)
            return
        hopeless.add(likeness)
        tried = self._tried.get(pod.key)
        n_times = tried.n_times + 1 if tried is not None else 1
        wait = min(_SHORTEST * 2 ** min(n_times - 1, 10), _LONGEST)
        until = self._cluster.now + wait
        self._tried[pod.key] = _Tried(n_times, self._revision, until)
        self._due.pop(pod.key, None)
        heappush(self._asleep, (until, pod.key))


def _sort_key(pod: Pod) -> tuple[int, float, str]:
    since = pod.created_at.timestamp() if pod.created_at is not None else 0.0
    return (-pod.spec.priority, since, pod.key)
