"""When is which pod bound? kube-scheduler's queue, over the stand-in that knows its rules.

By priority, then by age. A pod that fits nowhere is tried again when the cluster changes, after a
wait that doubles from 1 to 10 seconds; one just like it is not even tried in the same round.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

import msgspec

from dovetail.decide.steering import Steerable
from dovetail.model.pod import Pod, PodKey
from dovetail.sim.fast.cluster import Cluster

_SHORTEST = timedelta(seconds=1)
_LONGEST = timedelta(seconds=10)


class _Tried(msgspec.Struct, frozen=True):
    n_times: int
    revision: int
    next_at: datetime


class Binder:
    """Binds pods that wait."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._placing = cluster.placing
        self._waiting: dict[PodKey, Pod] = {}
        self._tried: dict[PodKey, _Tried] = {}
        self._revision = 0
        self._round_at: datetime | None = None

    def add(self, pod: Pod) -> None:
        """A pod waits."""
        self._waiting[pod.key] = pod
        self._plan_round(self._cluster.now)

    def changed(self) -> None:
        """The cluster is another now."""
        self._revision += 1
        if self._waiting:
            self._plan_round(self._cluster.now)

    def waiting(self) -> tuple[Pod, ...]:
        """The pods that wait."""
        self._tidy()
        return tuple(self._waiting.values())

    def steer(self, node: str, keys: Iterable[PodKey]) -> None:
        """These pods, as far as they wait, are meant for that node."""
        steerable = Steerable(self.waiting())
        for key in keys:
            pod = self._waiting.get(key)
            if pod is not None and pod.nominated_node_name != node and steerable.admits(pod):
                self._placing.take_back(pod)
                meant = msgspec.structs.replace(pod, nominated_node_name=node)
                self._waiting[key] = meant
                self._placing.promise(meant)
                self._tried.pop(key, None)
        self._plan_round(self._cluster.now)

    # ---- rounds

    def _plan_round(self, at: datetime) -> None:
        if self._round_at is None or at < self._round_at:
            self._round_at = at
            self._cluster.agenda.at(at, partial(self._round, at))

    def _round(self, at: datetime) -> None:
        if self._round_at != at:
            return  # an earlier one came instead
        self._round_at = None
        self._tidy()
        hopeless: set[tuple[int, int, str, str]] = set()
        for pod in sorted(self._waiting.values(), key=_turn):
            if self._may_try(pod.key):
                self._try(pod, hopeless)
        self._plan_next()

    def _plan_next(self) -> None:
        soonest = [one.next_at for one in self._tried.values() if one.revision < self._revision]
        if soonest:
            self._plan_round(max(min(soonest), self._cluster.now))

    def _tidy(self) -> None:
        """Forget pods that are gone."""
        pods = self._cluster.pods
        gone = [one for one in self._waiting.values() if _is_over(pods.get(one.key), one)]
        for pod in gone:
            self._leave(pod)

    def _leave(self, pod: Pod) -> None:
        self._placing.take_back(pod)
        self._waiting.pop(pod.key, None)
        self._tried.pop(pod.key, None)

    def _may_try(self, key: PodKey) -> bool:
        tried = self._tried.get(key)
        if tried is None:
            return True
        return tried.revision < self._revision and self._cluster.now >= tried.next_at

    def _try(self, pod: Pod, hopeless: set[tuple[int, int, str, str]]) -> None:
        likeness = (id(pod.spec), id(pod.labels), pod.namespace, pod.nominated_node_name)
        chosen = "" if likeness in hopeless else self._placing.chosen(pod)
        if chosen:
            self._leave(pod)
            self._cluster.bind(pod.key, chosen)
            return
        hopeless.add(likeness)
        held = self._tried.get(pod.key)
        n_times = held.n_times + 1 if held is not None else 1
        wait = min(_SHORTEST * 2 ** min(n_times - 1, 10), _LONGEST)
        self._tried[pod.key] = _Tried(n_times, self._revision, self._cluster.now + wait)


def _turn(pod: Pod) -> tuple[int, str, str]:
    return (-pod.spec.priority, str(pod.created_at), pod.key)


def _is_over(now: Pod | None, waiting: Pod) -> bool:
    return now is None or now.uid != waiting.uid or bool(now.node_name)
