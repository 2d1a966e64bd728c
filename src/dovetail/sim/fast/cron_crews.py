"""How do pods come that run for a while and succeed? Again and again, as a CronJob makes them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import count

from dovetail.model.pod import Owner, Pod, PodKey
from dovetail.sim.demand import CronWork
from dovetail.sim.fast.cluster import FastCluster

_N_KEPT = 3  # runs that are over and still listed
_MINUTE = 60


class CronCrew:
    """The pods of one CronJob."""

    def __init__(self, work: CronWork, cluster: FastCluster) -> None:
        self._work = work
        self._cluster = cluster
        self._numbers = count(1)
        self._labels = {"job": work.name}
        self._over: dict[str, list[PodKey]] = {}  # pods that have succeeded, by job

    @property
    def ends_after(self) -> timedelta:
        """How long its pods take to end."""
        return self._work.ends_after

    def begin(self) -> None:
        """Plan the first run."""
        self._cluster.agenda.since_start(self._work.first_after, self._run)

    def _run(self) -> None:
        """Make a job, named by the minute as a CronJob names it."""
        job = f"{self._work.name}-{int(self._cluster.now.timestamp()) // _MINUTE}"
        for _ in range(self._work.n_pods):
            self._make(job)
        if self._work.every is not None:
            self._cluster.agenda.after(self._work.every, self._run)

    def _make(self, job: str) -> None:
        work = self._work
        name = f"{job}-{next(self._numbers)}"
        pod = Pod(
            name=name,
            namespace=work.namespace,
            spec=work.spec,
            uid=name,
            labels=self._labels,
            annotations=work.annotations,
            owner=Owner("Job", job, uid=job, api_version="batch/v1"),
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
        if pod is None or pod.deleting_at is not None or pod.owner is None:
            return
        self._cluster.finish(key)
        self._over.setdefault(pod.owner.name, []).append(key)
        while len(self._over) > _N_KEPT:
            for old in self._over.pop(min(self._over)):
                self._forget(old)

    def _forget(self, key: PodKey) -> None:
        pod = self._cluster.pods.get(key)
        if pod is not None:
            self._cluster.part(key, pod.uid)

    def became_ready(self, pod: Pod) -> None:
        """It runs."""

    def is_leaving(self, pod: Pod) -> None:
        """It was sent away before it was done: another begins anew."""
        if pod.owner is not None:
            self._make(pod.owner.name)

    def is_gone(self, pod: Pod) -> None:
        """It is no more."""

    def lets_go(self, pod: Pod) -> bool:
        """Nothing guards it."""
        del pod
        return True
