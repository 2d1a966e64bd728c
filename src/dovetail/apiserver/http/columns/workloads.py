"""Defines the columns of workloads: replicas wanted, present and ready."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.apiserver.http.columns.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Column,
    at,
    count,
    first,
    found,
    joined_at,
    labels,
    number,
    said,
    selector,
    since,
    span,
    wide,
    word,
)
from dovetail.apiserver.trees import Obj

_CONTAINERS: Final = (
    wide("Containers", joined_at(".spec.template.spec.containers[*].name", "")),
    wide("Images", joined_at(".spec.template.spec.containers[*].image", "")),
)
_WIDE: Final = (*_CONTAINERS, wide("Selector", selector(".spec.selector")))
_READY: Final = Column(
    "Ready",
    lambda tree, _: f"{number(tree, '.status.readyReplicas')}/{number(tree, '.spec.replicas')}",
)
_COUNTED: Final = (
    count("Desired", ".spec.replicas"),
    count("Current", ".status.replicas"),
    count("Ready", ".status.readyReplicas"),
)
_JOB_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job_status(tree: Obj, _: datetime) -> str:
    holding = found(tree, '.status.conditions[?(@.status=="True")].type')
    for end in ("Complete", "Failed"):
        if end in holding:
            return end
    if found(tree, ".metadata.deletionTimestamp"):
        return "Terminating"
    return next((state for state in _JOB_STATES if state in holding), "Running")


def _completions(tree: Obj, _: datetime) -> str:
    n_done = number(tree, ".status.succeeded")
    wanted = first(tree, ".spec.completions", None)
    if wanted is not None:
        return f"{n_done}/{wanted}"
    n_at_once = number(tree, ".spec.parallelism")
    return f"{n_done}/1 of {n_at_once}" if n_at_once > 1 else f"{n_done}/1"


def _duration(tree: Obj, now: datetime) -> str:
    began, ended = word(tree, ".status.startTime"), word(tree, ".status.completionTime")
    if not began:
        return ""
    if not ended:
        return since(began, now)
    lasted = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return span(lasted.total_seconds())


def _last_schedule(tree: Obj, now: datetime) -> str:
    last = word(tree, ".status.lastScheduleTime")
    return since(last, now) if last else NONE


def _suspended(tree: Obj, _: datetime) -> str:
    said = first(tree, ".spec.suspend", None)
    return UNSET if said is None else str(said)


def _target(tree: Obj, _: datetime) -> str:
    kind, name = word(tree, ".spec.scaleTargetRef.kind"), word(tree, ".spec.scaleTargetRef.name")
    return f"{kind}/{name}"


def _targets(tree: Obj, _: datetime) -> str:
    """What is measured, and what is wanted of it; nobody measures here."""
    shown = []
    for metric in found(tree, ".spec.metrics[*]"):
        name = word(metric, ".resource.name")
        wanted = first(metric, ".resource.target.averageUtilization", None)
        shown.append(f"{name}: {UNKNOWN}/{wanted}%" if wanted is not None else UNKNOWN)
    return ", ".join(shown) or NONE


DEPLOYMENTS: Final = (
    NAME,
    _READY,
    count("Up-to-date", ".status.updatedReplicas"),
    count("Available", ".status.availableReplicas"),
    AGE,
    *_WIDE,
)
REPLICA_SETS: Final = (NAME, *_COUNTED, AGE, *_WIDE)
REPLICATION_CONTROLLERS: Final = (
    NAME, *_COUNTED, AGE, *_CONTAINERS, wide("Selector", labels(".spec.selector")),
)  # fmt: skip
STATEFUL_SETS: Final = (NAME, _READY, AGE, *_CONTAINERS)
DAEMON_SETS: Final = (
    NAME,
    count("Desired", ".status.desiredNumberScheduled"),
    count("Current", ".status.currentNumberScheduled"),
    count("Ready", ".status.numberReady"),
    count("Up-to-date", ".status.updatedNumberScheduled"),
    count("Available", ".status.numberAvailable"),
    Column("Node Selector", labels(".spec.template.spec.nodeSelector")),
    AGE,
    *_WIDE,
)
JOBS: Final = (
    NAME,
    Column("Status", _job_status),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *_WIDE,
)
CRON_JOBS: Final = (
    NAME,
    Column("Schedule", at(".spec.schedule")),
    Column("Timezone", said(".spec.timeZone")),
    Column("Suspend", _suspended),
    Column("Active", lambda tree, _: len(found(tree, ".status.active[*]")), "integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    wide("Containers", joined_at(".spec.jobTemplate.spec.template.spec.containers[*].name", "")),
    wide("Images", joined_at(".spec.jobTemplate.spec.template.spec.containers[*].image", "")),
    wide("Selector", selector(".spec.jobTemplate.spec.selector")),
)
AUTOSCALERS: Final = (
    NAME,
    Column("Reference", _target),
    Column("Targets", _targets),
    Column("MinPods", at(".spec.minReplicas", UNSET)),
    count("MaxPods", ".spec.maxReplicas"),
    count("Replicas", ".status.currentReplicas"),
    AGE,
)
