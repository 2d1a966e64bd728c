"""How do pods come that run for a while and succeed? Again and again, as a CronJob makes them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import count

from dovetail.model.pod import Owner, Pod, PodKey
from dovetail.sim.demand import CronWork
from dovetail.sim.fast.cluster import Cluster


class CronCrew:
    """The pods of one CronJob."""

    def __init__(self, work: CronWork, cluster: Cluster) -> None:
        self._work = work
        self._cluster = cluster
        self._numbers = count(1)
        self._labels = {"job": work.name}
        self._done: set[PodKey] = set()

    @property
    def ends_after(self) -> timedelta:
        """How long its pods take to end."""
        return self._work.ends_after

    def begin(self) -> None:
        """Plan the first run."""
        self._cluster.agenda.since_start(self._work.first_after, self._run)

    def _run(self) -> None:
        for _ in range(self._work.n_pods):
            self._make()
        self._cluster.agenda.after(self._work.every, self._run)

    def _make(self) -> None:
        work, number = self._work, next(self._numbers)
        name = f"{work.name}-{number}"
        pod = Pod(
            name=name,
            namespace=work.namespace,
            spec=work.spec,
            uid=name,
            labels=self._labels,
            owner=Owner("Job", name, uid=name, api_version="batch/v1"),
            created_at=self._cluster.now,
            is_ready=False,
        )
        self._cluster.make(pod, self)

    # ---- what is heard

    def was_bound(self, pod: Pod) -> None:
        """It runs, and succeeds in time."""
        agenda, cluster = self._cluster.agenda, self._cluster
        agenda.after(timedelta(0), partial(cluster.mark_ready, pod.key, pod.uid))
        agenda.after(self._work.runs_for, partial(self._succeed, pod.key))

    def _succeed(self, key: PodKey) -> None:
        pod = self._cluster.pods.get(key)
        if pod is not None and pod.deleting_at is None:
            self._done.add(key)
            self._cluster.part(key, pod.uid)

    def became_ready(self, pod: Pod) -> None:
        """It runs."""

    def is_leaving(self, pod: Pod) -> None:
        """It was sent away before it was done: another begins anew."""
        del pod
        self._make()

    def is_gone(self, pod: Pod) -> None:
        """It is no more."""
        self._done.discard(pod.key)

    def lets_go(self, pod: Pod) -> bool:
        """Nothing guards it."""
        del pod
        return True
