"""Defines the columns of pods, nodes and workloads, with the statuses that kubectl shows."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dovetail.apiserver.http.columns.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    Column,
    at,
    count,
    first,
    joined_at,
    labels,
    number,
    selector,
    since,
    span,
    text_cell,
    values_at,
    wide,
    word,
)
from dovetail.apiserver.trees import Obj, items, mapping

_ENDED: Final = ("Succeeded", "Failed")
_INIT: Final = "Init:"
_ROLE: Final = "node-role.kubernetes.io/"


def _is_sidecar(tree: Obj, name: str) -> bool:
    path = f'.spec.initContainers[?(@.name=="{name}")].restartPolicy'
    return values_at(tree, path) == ["Always"]


def _reason(status: Obj) -> str:
    """Why a container does not run, in one word."""
    state = mapping(status.get("state"))
    waits, ended = mapping(state.get("waiting")), mapping(state.get("terminated"))
    if word(waits, ".reason"):
        return word(waits, ".reason")
    if not ended:
        return ""
    if word(ended, ".reason"):
        return word(ended, ".reason")
    signal = number(ended, ".signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, '.exitCode')}"


def _init_progress(tree: Obj) -> str:
    """How far the init containers are, while they are not through."""
    statuses = [
        mapping(item) for item in items(mapping(tree.get("status")).get("initContainerStatuses"))
    ]
    n_all = len(values_at(tree, ".spec.initContainers[*].name"))
    for place, item in enumerate(statuses):
        ended = values_at(item, ".state.terminated.exitCode")
        is_up = _is_sidecar(tree, word(item, ".name")) and item.get("started") is True
        if ended == [0] or is_up:
            continue
        reason = _reason(item)
        if reason and reason != "PodInitializing":
            return _INIT + reason
        return f"{_INIT}{place}/{n_all}"
    return ""


def status(tree: Obj, _: datetime) -> str:
    """The pod's state in one word, as kubectl users know it."""
    reason = word(tree, ".status.reason") or word(tree, ".status.phase")
    gated = values_at(tree, '.status.conditions[?(@.type=="PodScheduled")].reason')
    if gated == ["SchedulingGated"]:
        reason = "SchedulingGated"
    reason = _init_progress(tree) or _container_state(tree, reason)
    if not values_at(tree, ".metadata.deletionTimestamp"):
        return reason
    if word(tree, ".status.reason") == "NodeLost":
        return "Unknown"
    return reason if word(tree, ".status.phase") in _ENDED else "Terminating"


def _container_state(tree: Obj, reason: str) -> str:
    has_running = False
    for item in reversed(values_at(tree, ".status.containerStatuses[*]")):
        container = mapping(item)
        reason = _reason(container) or reason
        is_running = bool(values_at(container, ".state.running"))
        has_running = has_running or (container.get("ready") is True and is_running)
    if reason == "Completed" and has_running:
        is_ready = values_at(tree, '.status.conditions[?(@.type=="Ready")].status') == ["True"]
        return "Running" if is_ready else "NotReady"
    return reason


def _ready(tree: Obj, _: datetime) -> str:
    running = [
        mapping(item).get("ready") is True and bool(values_at(item, ".state.running"))
        for item in values_at(tree, ".status.containerStatuses[*]")
    ]
    names = [str(item) for item in values_at(tree, ".spec.initContainers[*].name")]
    sidecars = [name for name in names if _is_sidecar(tree, name)]
    up = [
        sidecar
        for sidecar in sidecars
        if values_at(tree, f'.status.initContainerStatuses[?(@.name=="{sidecar}")].ready') == [True]
    ]
    n_ready = (0 if _init_progress(tree) else sum(running)) + len(up)
    return f"{n_ready}/{len(values_at(tree, '.spec.containers[*].name')) + len(sidecars)}"


def _restarts(tree: Obj, now: datetime) -> str:
    statuses = values_at(tree, ".status.containerStatuses[*]")
    n_restarts = sum(number(item, ".restartCount") for item in statuses)
    ends = [word(item, ".lastState.terminated.finishedAt") for item in statuses]
    last = max(ends, default="")
    return f"{n_restarts} ({since(last, now)} ago)" if n_restarts and last else str(n_restarts)


def _gates(tree: Obj, _: datetime) -> str:
    gates = values_at(tree, ".spec.readinessGates[*].conditionType")
    if not gates:
        return NONE
    met = [
        gate
        for gate in gates
        if values_at(tree, f'.status.conditions[?(@.type=="{gate}")].status') == ["True"]
    ]
    return f"{len(met)}/{len(gates)}"


PODS: Final = (
    NAME,
    Column("Ready", _ready),
    Column("Status", status),
    Column("Restarts", _restarts),
    AGE,
    wide("IP", text_cell(".status.podIPs[*].ip")),
    wide("Node", text_cell(".spec.nodeName")),
    wide("Nominated Node", text_cell(".status.nominatedNodeName")),
    wide("Readiness Gates", _gates),
)


def _node_status(tree: Obj, _: datetime) -> str:
    ready = values_at(tree, '.status.conditions[?(@.type=="Ready")].status')
    words = ["Ready" if status == "True" else "NotReady" for status in ready] or ["Unknown"]
    if values_at(tree, ".spec.unschedulable") == [True]:
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(tree: Obj, _: datetime) -> str:
    labels = mapping(first(tree, ".metadata.labels", None))
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    if labels.get("kubernetes.io/role"):
        roles.add(str(labels["kubernetes.io/role"]))
    return ",".join(sorted(role for role in roles if role)) or NONE


def _kernel(tree: Obj, _: datetime) -> str:
    kernel = word(tree, ".status.nodeInfo.kernelVersion", UNKNOWN)
    architecture = word(tree, ".status.nodeInfo.architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


def _address(kind: str) -> Cell:
    return text_cell(f'.status.addresses[?(@.type=="{kind}")].address')


NODES: Final = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _roles),
    AGE,
    Column("Version", at(".status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", _address("InternalIP")),
    wide("External-IP", _address("ExternalIP")),
    wide("OS-Image", text_cell(".status.nodeInfo.osImage", UNKNOWN)),
    wide("Kernel-Version", _kernel),
    wide("Container-Runtime", text_cell(".status.nodeInfo.containerRuntimeVersion", UNKNOWN)),
)


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
    holding = values_at(tree, '.status.conditions[?(@.status=="True")].type')
    for end in ("Complete", "Failed"):
        if end in holding:
            return end
    if values_at(tree, ".metadata.deletionTimestamp"):
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


def _suspend_text(tree: Obj, _: datetime) -> str:
    value = first(tree, ".spec.suspend", None)
    return UNSET if value is None else str(value)


def _target(tree: Obj, _: datetime) -> str:
    kind, name = word(tree, ".spec.scaleTargetRef.kind"), word(tree, ".spec.scaleTargetRef.name")
    return f"{kind}/{name}"


def _targets(tree: Obj, _: datetime) -> str:
    """What is measured, and what is wanted of it; nobody measures here."""
    shown = []
    for metric in values_at(tree, ".spec.metrics[*]"):
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
    Column("Timezone", text_cell(".spec.timeZone")),
    Column("Suspend", _suspend_text),
    Column("Active", lambda tree, _: len(values_at(tree, ".status.active[*]")), "integer"),
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
