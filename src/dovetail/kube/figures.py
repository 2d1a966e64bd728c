"""Rejects objects whose numbers are beyond any cluster, which are typing mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dovetail import api
from dovetail.api.checks import quantity_problems

MOST_PODS: Final = 1_000_000


def figure_problems(found: api.Object) -> Iterator[api.FieldProblem]:
    """Every number of pods that is out of reach, and every bad amount in a claim's status."""
    for field, stated in _pod_counts(found):
        if stated is not None and stated > MOST_PODS:
            yield api.FieldProblem(field, f"{stated} is too large; expected at most {MOST_PODS}")
    if isinstance(found, api.NodeClaim):
        held = (("capacity", found.status.capacity), ("allocatable", found.status.allocatable))
        for field, amounts in held:
            for name, amount in sorted(amounts.items()):
                yield from quantity_problems(amount, f"status.{field}.{name}")


def _pod_counts(found: api.Object) -> Iterator[tuple[str, int | None]]:
    match found:
        case api.Deployment() | api.ReplicaSet() | api.StatefulSet() | api.ReplicationController():
            yield "spec.replicas", found.spec.replicas
        case api.Job():
            yield "spec.parallelism", found.spec.parallelism
        case api.CronJob():
            yield "spec.jobTemplate.spec.parallelism", found.spec.job_template.spec.parallelism
        case api.CapacityBuffer():
            yield "spec.replicas", found.spec.replicas
            yield "spec.percentage", found.spec.percentage
        case _:
            return
