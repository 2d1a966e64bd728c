"""Computes the resources of a node: its capacity, and what the system keeps of it.

The same figures are given to kubelet by user data, so that a plan and the node agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from dovetail.cloud.declare import allocatable
from dovetail.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from dovetail.providers.aws.catalogue.class_facts import CapacityFacts
from dovetail.providers.aws.catalogue.machines import MachineType, vpc_limits
from dovetail.providers.aws.node_class.kubelet import (
    Kubelet,
    KubeletError,
    KubeletFacts,
    ResolvedKubelet,
    parse_kubelet,
    resolve_kubelet,
)
from dovetail.units import quantity

_MIB: Final = 2**20
_GIB: Final = 2**30
_GB: Final = 10**9

_ARM64_HIDDEN_MIB: Final = 64
_DEFAULT_PODS: Final = 110
_POD_MIB: Final = 11  # kubelet memory per pod, and a constant part
_KUBELET_MIB: Final = 255
_EVICTION_MEMORY: Final = "100Mi"
_EVICTION_STORAGE: Final = "10%"
_KUBELET_STORAGE: Final = _GIB
# Kubelet's share of cpu: (cores in the tier, hundred-thousandths of each core in it).
_CPU_TIERS: Final = ((1, 6000), (1, 1000), (2, 500))
_CPU_REST: Final = 250
_WHOLE: Final = 100  # per cent; as an eviction threshold it means: never

_GPU_RESOURCES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "habana": "habana.ai/gaudi",
}
_NEURON: Final = "aws.amazon.com/neuron"
_NEURON_CORE: Final = "aws.amazon.com/neuroncore"
_POD_ENI: Final = "vpc.amazonaws.com/pod-eni"
_PRIVATE_IPV4: Final = "vpc.amazonaws.com/PrivateIPv4Address"
EFA: Final = "vpc.amazonaws.com/efa"  # on a node only if its claim asked for it
EBS_DRIVER: Final = "ebs.csi.aws.com"
NO_KUBELET: Final = ResolvedKubelet()


class NodeResources(msgspec.Struct, frozen=True, gc=False):
    """The resources of a node; `error` is why the kubelet settings do not fit its type."""

    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    attach_limits: Mapping[str, int]
    error: str = ""


@lru_cache(maxsize=1 << 15)
def node_resources(
    machine: MachineType, facts: CapacityFacts, memory_bytes: int = 0
) -> NodeResources:
    """The resources of a node. `memory_bytes` is what nodes of the type have reported; 0 where
    none has yet.
    """
    error = ""
    try:
        kubelet = kubelet_for(machine, facts)
    except KubeletError as problem:
        kubelet, error = NO_KUBELET, str(problem)
    amounts = _capacity(machine, facts, kubelet)
    if memory_bytes:
        amounts[MEMORY] = memory_bytes
    return NodeResources(
        capacity=amounts,
        allocatable=allocatable(amounts, overhead(machine, facts, kubelet, amounts)),
        attach_limits=_attach_limits(machine, facts),
        error=error,
    )


def kubelet_for(machine: MachineType, facts: CapacityFacts) -> ResolvedKubelet:
    """The kubelet settings of a node of this type. Raises KubeletError if an expression fails."""
    if not facts.kubelet:
        return NO_KUBELET
    kubelet, same_for_all = _kubelet(facts.kubelet)
    if same_for_all is not None:
        return same_for_all
    pods = _family_pods(machine, facts)
    return resolve_kubelet(kubelet, _kubelet_facts(machine, pods))


def _kubelet_facts(machine: MachineType, pods: int) -> KubeletFacts:
    return KubeletFacts(
        instance_type=machine.name,
        vcpus=machine.vcpus,
        memory_mib=machine.memory_mib,
        default_enis=machine.enis,
        ips_per_eni=machine.ipv4_per_eni,
        max_pods=pods,
    )


@lru_cache(maxsize=256)
def _kubelet(text: str) -> tuple[Kubelet, ResolvedKubelet | None]:
    """The settings; resolved already if no expression makes them differ from type to type."""
    kubelet = parse_kubelet(msgspec.json.decode(text, type=dict[str, object]))
    if kubelet.expressions:
        return kubelet, None
    return kubelet, resolve_kubelet(kubelet, _kubelet_facts(MachineType("", "", 0, 0), 0))


def _capacity(
    machine: MachineType, facts: CapacityFacts, kubelet: ResolvedKubelet
) -> dict[str, int]:
    """What the machine has, as its node will report it."""
    amounts = {
        CPU: 1000 * machine.vcpus,
        MEMORY: _memory_mib(machine, facts) * _MIB,
        EPHEMERAL_STORAGE: _ephemeral_bytes(machine, facts),
        PODS: _pods(machine, facts, kubelet),
    }
    devices = _devices(machine) | _addresses(machine, facts)
    return amounts | {name: count for name, count in devices.items() if count}


def _memory_mib(machine: MachineType, facts: CapacityFacts) -> int:
    """Published memory less what the hypervisor hides, which is rounded up."""
    published = machine.memory_mib - (_ARM64_HIDDEN_MIB if machine.arch == "arm64" else 0)
    numerator, denominator = facts.vm_memory_overhead.as_integer_ratio()
    return published - -(-published * numerator // denominator)


def _ephemeral_bytes(machine: MachineType, facts: CapacityFacts) -> int:
    if facts.uses_raid0 and machine.instance_store_gb:
        return machine.instance_store_gb * _GB
    return facts.ephemeral_bytes


def _pods(machine: MachineType, facts: CapacityFacts, kubelet: ResolvedKubelet) -> int:
    pods = kubelet.max_pods
    if pods is None:
        pods = _family_pods(machine, facts)
    if facts.has_pods_per_core and kubelet.pods_per_core:
        pods = min(pods, kubelet.pods_per_core * machine.vcpus)
    return pods


def _family_pods(machine: MachineType, facts: CapacityFacts) -> int:
    if not facts.has_eni_limited_pods:
        return _DEFAULT_PODS
    taken = facts.reserved_enis + facts.n_efa_only_on_first_card
    return eni_limited_pods(machine, taken)


def eni_limited_pods(machine: MachineType, n_taken: int = 0) -> int:
    """How many pods get an address: each interface keeps one for itself, two pods need none."""
    usable = max(machine.enis - n_taken, 0)
    return usable * (machine.ipv4_per_eni - 1) + 2 if usable else 0


def _devices(machine: MachineType) -> dict[str, int]:
    devices: dict[str, int] = {}
    if gpu := _GPU_RESOURCES.get(machine.gpu_maker.lower()):
        devices[gpu] = machine.gpus
    devices[_NEURON] = machine.neurons
    devices[_NEURON_CORE] = machine.neurons * machine.neuron_cores
    return devices


def _addresses(machine: MachineType, facts: CapacityFacts) -> dict[str, int]:
    limits = vpc_limits().get(machine.name)
    devices = {EFA: facts.n_efa_only if facts.n_interfaces else machine.efas}
    if facts.has_class:
        devices[_POD_ENI] = limits.branch_interfaces if limits else 0
    if facts.os == "windows" and machine.arch == "amd64":
        devices[_PRIVATE_IPV4] = limits.ipv4_per_eni - 1 if limits else 0
    return devices


def overhead(
    machine: MachineType,
    facts: CapacityFacts,
    kubelet: ResolvedKubelet,
    capacity: Mapping[str, int],
) -> dict[str, int]:
    """What kubelet reserves, and what must stay free before it evicts."""
    reserved = _kube_reserved(machine, facts, capacity[PODS])
    for name, text in kubelet.kube_reserved.items():
        if name in reserved:
            reserved[name] = quantity.amount(name, text)
    for name, text in kubelet.system_reserved.items():
        if name in reserved:
            reserved[name] += quantity.amount(name, text)
    hard = kubelet.eviction_hard
    memory = hard.get("memory.available", _EVICTION_MEMORY)
    storage = hard.get("nodefs.available", _EVICTION_STORAGE)
    reserved[MEMORY] += _threshold(memory, capacity[MEMORY])
    reserved[EPHEMERAL_STORAGE] += _threshold(storage, capacity[EPHEMERAL_STORAGE])
    return reserved


def _kube_reserved(machine: MachineType, facts: CapacityFacts, pods: int) -> dict[str, int]:
    # EKS images count the pods of reserved interfaces too.
    taken = facts.n_efa_only_on_first_card
    counted = eni_limited_pods(machine, taken) if facts.has_eni_limited_memory else pods
    return {
        CPU: _reserved_millis(machine.vcpus),
        MEMORY: (_POD_MIB * counted + _KUBELET_MIB) * _MIB,
        EPHEMERAL_STORAGE: _KUBELET_STORAGE,
    }


def _threshold(text: str, capacity: int) -> int:
    """An eviction threshold: a share of the capacity, rounded up, or an amount."""
    if not text.endswith("%"):
        return quantity.whole(text)
    share = quantity.parse(text[:-1])
    return 0 if share >= _WHOLE else -int(-capacity * share // _WHOLE)


@lru_cache(maxsize=1024)
def _reserved_millis(vcpus: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    millis, left = 0, vcpus
    for cores, share in _CPU_TIERS:
        taken = min(cores, left)
        millis += taken * share // 100
        left -= taken
    return millis + left * _CPU_REST // 100


def _attach_limits(machine: MachineType, facts: CapacityFacts) -> dict[str, int]:
    """How many EBS volumes pods may attach.

    EC2 publishes the slots left after the primary interface, local disks and accelerators. The
    volumes of the node itself take some. Where a Nitro machine shares slots between volumes and
    interfaces, the second interface, which the VPC CNI attaches as soon as pods arrive, takes
    another: 25 on an m5.large. So do further interfaces that the class asks for.
    """
    has_shared_bus = machine.shares_slots and machine.hypervisor != "xen"
    usual = 2 if machine.enis > 1 else 1
    interfaces = max(facts.n_interfaces, usual) - 1 if has_shared_bus else 0
    return {EBS_DRIVER: max(machine.volume_slots - facts.n_volumes - interfaces, 0)}
