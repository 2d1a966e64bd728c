"""Computes the status of PodDisruptionBudgets, as the disruption controller does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from dovetail import api
from dovetail.kube.seam import Json, Ref
from dovetail.sim.controller_manager.pod_control import (
    Obj,
    PodControl,
    WorkloadObject,
    is_ready,
    mapping,
)
from dovetail.state.conversions import label_selector

BUDGET: Final = api.KINDS["policy", "PodDisruptionBudget"]
_FORGETS_AFTER: Final = timedelta(minutes=2)
_SCALED: Final = {
    name: api.KINDS[group, name]
    for group, name in (
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("apps", "Deployment"),
        ("", "ReplicationController"),
    )
}


async def count_budget(control: PodControl, workload: WorkloadObject) -> float | None:
    """Write what a budget allows; after how many seconds that is to be looked at again."""
    budget = api.read(BUDGET, await control.kube.get(workload.ref))
    if not isinstance(budget, api.PodDisruptionBudget):
        return None
    selector = label_selector(budget.spec.selector)
    pods = [
        pod
        for pod in await control.pods(workload.ref.namespace)
        if selector.matches(pod.metadata.labels)
    ]
    noted = mapping(mapping(workload.tree.get("status")).get("disruptedPods"))
    disrupted = _disrupted_pods(noted, pods, control.clock.now())
    n_healthy = sum(
        is_ready(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.metadata.name not in disrupted
        for pod in pods
    )
    n_expected, n_desired = await _wanted_counts(control, budget, pods)
    n_allowed = max(n_healthy - n_desired, 0) if n_expected > 0 else 0
    status: Obj = {
        "disruptionsAllowed": n_allowed,
        "currentHealthy": n_healthy,
        "desiredHealthy": n_desired,
        "expectedPods": n_expected,
    }
    forgotten: Obj = {name: None for name in noted if name not in disrupted}
    if forgotten:
        status["disruptedPods"] = forgotten
    await control.report(workload, status)
    return _FORGETS_AFTER.total_seconds() if disrupted else None


def _disrupted_pods(
    noted: Mapping[str, Json], pods: list[api.Pod], now: datetime
) -> frozenset[str]:
    """Pods that an eviction was granted for and that have yet to go."""
    staying = {pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None}
    return frozenset(
        name
        for name, since in noted.items()
        if name in staying
        and isinstance(since, str)
        and now - datetime.fromisoformat(since) < _FORGETS_AFTER
    )


async def _wanted_counts(
    control: PodControl, budget: api.PodDisruptionBudget, pods: list[api.Pod]
) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if isinstance(least, int):
        return len(pods), least
    n_expected = await _n_scaled(control, pods)
    if most is not None:
        return n_expected, max(n_expected - _share(most, n_expected), 0)
    return n_expected, _share(least or 0, n_expected)


def _share(amount: int | str, total: int) -> int:
    if isinstance(amount, int):
        return amount
    return math.ceil(int(amount.removesuffix("%")) * total / 100)


async def _n_scaled(control: PodControl, pods: list[api.Pod]) -> int:
    """How many pods their controllers want, each controller counted once."""
    owners = {
        owner_reference.uid: (owner_reference.kind, owner_reference.name, pod.metadata.namespace)
        for pod in pods
        for owner_reference in pod.metadata.owner_references
        if owner_reference.controller
    }
    n_wanted = 0
    for kind, name, namespace in owners.values():
        known = _SCALED.get(kind)
        workload = await control.read(Ref(known, name, namespace)) if known is not None else None
        n_wanted += workload.number("replicas", 1) if workload is not None else 0
    return n_wanted
