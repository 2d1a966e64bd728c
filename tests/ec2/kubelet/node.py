"""The Node that a kubelet registers: capacity of the machine, reservations of the user data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from dovetail.units import quantity
from tests.ec2.kubelet.join_request import JoinRequest, Tree

MI = 2**20
GI = 2**30
# What bootstrap programs reserve where user data names nothing, and kubelet's own thresholds.
_EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%"}
_CPU_TIERS = ((1000, 60), (1000, 10), (2000, 5))  # millicores of each tier, reserved per mille
_REST_PER_10000 = 25


@dataclass(frozen=True)
class Machine:
    """An instance as its operating system sees it."""

    instance_id: str
    host: str
    zone: str
    region: str
    instance_type: str
    arch: str
    os: str
    image_name: str
    millicores: int
    memory_bytes: int
    disk_bytes: int
    instance_store_bytes: int
    eni_limited_pods: int
    gpus: int = 0

    @property
    def provider_id(self) -> str:
        """What the Node is known by in AWS."""
        return f"aws:///{self.zone}/{self.instance_id}"


def node(machine: Machine, request: JoinRequest) -> Tree:
    """The whole object, as kubelet creates it."""
    labels = {
        "beta.kubernetes.io/arch": machine.arch,
        "beta.kubernetes.io/os": machine.os,
        "kubernetes.io/arch": machine.arch,
        "kubernetes.io/os": machine.os,
        "kubernetes.io/hostname": machine.host,
        "node.kubernetes.io/instance-type": machine.instance_type,
        "topology.kubernetes.io/region": machine.region,
        "topology.kubernetes.io/zone": machine.zone,
    }
    capacity = _capacity(machine, request)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.host, "labels": {**request.labels, **labels}},
        "spec": {
            "providerID": machine.provider_id,
            "taints": [dict(taint) for taint in request.taints],
        },
        "status": {
            "capacity": _rendered(capacity),
            "allocatable": _rendered(_allocatable(capacity, request)),
        },
    }


def _capacity(machine: Machine, request: JoinRequest) -> dict[str, int]:
    uses_store = request.uses_instance_store and machine.instance_store_bytes
    amounts = {
        "cpu": machine.millicores,
        "memory": machine.memory_bytes,
        "ephemeral-storage": machine.instance_store_bytes if uses_store else machine.disk_bytes,
        "pods": _pods(machine, request),
    }
    return amounts | ({"nvidia.com/gpu": machine.gpus} if machine.gpus else {})


def _pods(machine: Machine, request: JoinRequest) -> int:
    usual = 110 if machine.os == "windows" else machine.eni_limited_pods
    most = usual if request.max_pods is None else request.max_pods
    if request.pods_per_core:
        return min(most, request.pods_per_core * machine.millicores // 1000)
    return most


def _allocatable(capacity: dict[str, int], request: JoinRequest) -> dict[str, int]:
    reserved = _usually_reserved(capacity) | _amounts(request.kube_reserved)
    for name, amount in _amounts(request.system_reserved).items():
        reserved[name] = reserved.get(name, 0) + amount
    thresholds = {**_EVICTION, **request.eviction_hard}
    evicted = {
        "memory": _threshold(thresholds["memory.available"], capacity["memory"]),
        "ephemeral-storage": _threshold(
            thresholds["nodefs.available"], capacity["ephemeral-storage"]
        ),
    }
    return {
        name: max(amount - reserved.get(name, 0) - evicted.get(name, 0), 0)
        for name, amount in capacity.items()
    }


def _usually_reserved(capacity: dict[str, int]) -> dict[str, int]:
    left, cpu = capacity["cpu"], 0
    for size, per_mille in _CPU_TIERS:
        cpu += min(left, size) * per_mille // 1000
        left = max(left - size, 0)
    return {
        "cpu": cpu + left * _REST_PER_10000 // 10_000,
        "memory": (255 + 11 * capacity["pods"]) * MI,
        "ephemeral-storage": GI,
    }


def _amounts(texts: dict[str, str]) -> dict[str, int]:
    return {
        name: ceil(quantity.parse(text) * (1000 if name == "cpu" else 1))
        for name, text in texts.items()
    }


def _threshold(text: str, capacity: int) -> int:
    if not text.endswith("%"):
        return ceil(quantity.parse(text))
    share = Fraction(text.removesuffix("%")) / 100
    return 0 if share == 1 else ceil(share * capacity)


def _rendered(amounts: dict[str, int]) -> dict[str, Any]:
    return {name: quantity.render(name, amount) for name, amount in sorted(amounts.items())}
