"""Makes the statuses that a kubelet writes of its node and its pods."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from ipaddress import IPv6Address
from typing import Final

from dovetail import api, labels
from dovetail.kube.seam import Json
from dovetail.sim.wire import condition, stamp

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
    held = node.metadata.labels
    empty = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID")
    return {
        **dict.fromkeys(empty, ""),
        "osImage": "",
        "systemUUID": node.metadata.uid,
        "architecture": held.get(labels.ARCH, ""),
        "operatingSystem": held.get(labels.OS, ""),
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
