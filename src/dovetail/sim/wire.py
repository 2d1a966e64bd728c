"""Writes conditions, timestamps, owners and statuses as kubelets and controllers do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Final

from dovetail import api, labels
from dovetail.clock import Timer
from dovetail.controllers.workqueue import QueueSettings
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json
from dovetail.model.backoff import Backoff, Chance

POD: Final = api.KINDS["", "Pod"]
NODE: Final = api.KINDS["", "Node"]
LEASE: Final = api.Kind("coordination.k8s.io", "v1", "Lease", "leases", api.Object)
BINDING: Final = api.Kind("", "v1", "Binding", "bindings", api.Object)
_BACKOFF: Final = Backoff(0.1, 10.0)


def stamp(moment: datetime) -> str:
    """A moment in whole seconds, as most fields have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fine_stamp(moment: datetime) -> str:
    """A moment in microseconds, as leases have it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def condition(
    name: str, *, holds: bool, now: datetime, reason: str = "", message: str = ""
) -> dict[str, Json]:
    """One status condition that has just come to be so."""
    texts: dict[str, Json] = {"reason": reason, "message": message}
    return {
        "type": name,
        "status": "True" if holds else "False",
        "lastTransitionTime": stamp(now),
        **{key: value for key, value in texts.items() if value},
    }


def owner(wire: api.Object, kind: api.Kind, *, controls: bool = True) -> dict[str, Json]:
    """A reference to an object as the owner of another."""
    reference: dict[str, Json] = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": wire.metadata.name,
        "uid": wire.metadata.uid,
    }
    if controls:
        reference |= {"controller": True, "blockOwnerDeletion": True}
    return reference


def is_true(conditions: tuple[api.Condition, ...], name: str) -> bool:
    """Whether that condition is said to hold."""
    return any(item.type == name and item.status == "True" for item in conditions)


def patient(timer: Timer, chance: Chance, n_workers: int) -> QueueSettings:
    """How stand-ins work off what there is to do."""
    return QueueSettings(timer, chance, _BACKOFF, n_workers)


def tolerate(_key: Hashable, error: Exception) -> None:
    """What the API refuses is tried again in silence; whatever else goes wrong is raised."""
    if not isinstance(error, ApiError):
        raise error


_VERSION: Final = "v1.36.0-stand-in"
_LOCAL: Final = 0xFD00 << 112  # addresses that nobody routes
_ADDRESS_BYTES: Final = 14
_SIDECAR: Final = "Always"
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory"),
    ("DiskPressure", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "KubeletHasSufficientPID"),
)
_POD_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def address(uid: str) -> str:
    """An address that nobody else has, the same at every start: it follows from the uid."""
    digest = blake2b(uid.encode(), digest_size=_ADDRESS_BYTES).digest()
    return str(IPv6Address(_LOCAL | int.from_bytes(digest)))


def ready_node(node: api.Node, now: datetime) -> dict[str, Json]:
    """The status of a node that works."""
    beat: dict[str, Json] = {"lastHeartbeatTime": stamp(now)}
    conditions: list[Json] = [
        {**condition(name, holds=False, now=now, reason=reason), **beat}
        for name, reason in _PRESSURES
    ]
    ready = condition(
        "Ready",
        holds=True,
        now=now,
        reason="KubeletReady",
        message="kubelet is posting ready status",
    )
    name = node.metadata.name
    return {
        "metadata": {"uid": node.metadata.uid},
        "status": {
            "phase": "Running",
            "conditions": [*conditions, {**ready, **beat}],
            "addresses": [
                {"type": "InternalIP", "address": address(node.metadata.uid)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": _node_info(node),
        },
    }


def _node_info(node: api.Node) -> dict[str, Json]:
    own_labels = node.metadata.labels
    empty = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID")
    return {
        **dict.fromkeys(empty, ""),
        "osImage": "",
        "systemUUID": node.metadata.uid,
        "architecture": own_labels.get(labels.ARCH, ""),
        "operatingSystem": own_labels.get(labels.OS, ""),
        "kubeletVersion": _VERSION,
    }


def running_pod(pod: api.Pod, node: api.Node, now: datetime) -> dict[str, Json]:
    """The status of a pod whose containers all run."""
    host, own = address(node.metadata.uid), address(pod.metadata.uid)
    if pod.spec.host_network:
        own = host
    running: Json = {"running": {"startedAt": stamp(now)}}
    done: Json = _terminated_state(now, now)
    sidecars = {item.name for item in pod.spec.init_containers if item.restart_policy == _SIDECAR}
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {
            "phase": "Running",
            "conditions": [condition(name, holds=True, now=now) for name in _POD_CONDITIONS],
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": own,
            "podIPs": [{"ip": own}],
            "startTime": stamp(now),
            "containerStatuses": _statuses(pod.spec.containers, running, runs=True),
            "initContainerStatuses": [
                _status(item, running if item.name in sidecars else done, item.name in sidecars)
                for item in pod.spec.init_containers
            ],
        },
    }


def succeeded_pod(pod: api.Pod, now: datetime) -> dict[str, Json]:
    """The status of a pod whose containers have all done what they were for."""
    ended = _terminated_state(pod.status.start_time or now, now)
    over: list[Json] = [
        condition(name, holds=False, now=now, reason="PodCompleted")
        for name in ("ContainersReady", "Ready")
    ]
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {
            "phase": "Succeeded",
            "conditions": over,
            "containerStatuses": _statuses(pod.spec.containers, ended, runs=False),
        },
    }


def _terminated_state(began: datetime, now: datetime) -> Json:
    return {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": stamp(began),
            "finishedAt": stamp(now),
        }
    }


def _statuses(
    containers: Iterable[api.core.RawContainer], state: Json, *, runs: bool
) -> list[Json]:
    return [_status(container, state, runs) for container in containers]


def _status(container: api.core.RawContainer, state: Json, runs: bool) -> dict[str, Json]:  # noqa: FBT001  passed on by name
    return {
        "name": container.name,
        "image": "",
        "imageID": "",
        "lastState": {},
        "ready": runs,
        "started": runs,
        "restartCount": 0,
        "state": state,
    }
