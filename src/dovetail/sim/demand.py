"""Defines demand over time: workloads that grow, shrink, change and end.

Moments are counted from the beginning of a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from dovetail.model.pod import PodSpec

_AT_ONCE = timedelta(0)


class AppDemand(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are kept at a number: a Deployment, or a StatefulSet where each has its own name.

    `replicas` says how many there are to be from each moment on; at each of `rollouts` the template
    changes. `max_surge` and `max_unavailable` are percentages of a rollout. `guard` is the
    maxUnavailable of its disruption budget, `least` the minAvailable, if it has one; that is named
    as the workload unless `guard_name` says otherwise. A pod is ready so long after it was bound,
    and gone so long after it was told to end.
    """

    name: str
    spec: PodSpec
    replicas: tuple[tuple[timedelta, int], ...]
    namespace: str = "default"
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    rollouts: tuple[timedelta, ...] = ()
    is_stateful: bool = False
    max_surge: int = 25
    max_unavailable: int = 25
    guard: str = ""
    least: str = ""
    guard_name: str = ""
    ready_after: timedelta = timedelta(seconds=10)
    ends_after: timedelta = timedelta(seconds=5)

    @property
    def pod_labels(self) -> Mapping[str, str]:
        """What its pods are found by."""
        return self.labels or {"app": self.name}


class CronWork(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that come again and again, run for a while and succeed. One that is evicted begins
    anew. Without `every` they come once.
    """

    name: str
    spec: PodSpec
    every: timedelta | None
    runs_for: timedelta
    namespace: str = "default"
    annotations: Mapping[str, str] = {}
    first_after: timedelta = _AT_ONCE
    n_pods: int = 1
    ends_after: timedelta = timedelta(seconds=5)


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, and for how long. At each of `drifts` every node is found to be out of date."""

    lasts_for: timedelta
    workloads: tuple[AppDemand, ...] = ()
    cron_works: tuple[CronWork, ...] = ()
    drifts: tuple[timedelta, ...] = ()
