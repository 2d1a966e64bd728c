"""How much of an EC2 machine can pods use? Capacity, and what the system keeps of it.

As the AWS provider reckons for an AL2023 node with default settings: a share of memory that the
hypervisor hides, pods limited by network interfaces, kubelet's own reservation, eviction
thresholds.
"""

from __future__ import annotations

from typing import Final

from dovetail.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from dovetail.providers.aws.table import Row

_MIB: Final = 2**20
_GIB: Final = 2**30

_ROOT_VOLUME: Final = 20 * _GIB
_ARM64_HIDDEN_MIB: Final = 64
_VM_OVERHEAD_PER_MILLE: Final = 75  # --vm-memory-overhead-percent 0.075

_POD_MIB: Final = 11  # kubelet memory per pod, and a constant part
_KUBELET_MIB: Final = 255
_EVICTION_MIB: Final = 100
_KUBELET_STORAGE: Final = _GIB
_EVICTION_STORAGE: Final = _ROOT_VOLUME // 10
# Kubelet's share of cpu: (cores in the tier, hundred-thousandths of each core in it).
_CPU_TIERS: Final = ((1, 6000), (1, 1000), (2, 500))
_CPU_REST: Final = 250

_GPU_RESOURCES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "habana": "habana.ai/gaudi",
}
_NEURON: Final = "aws.amazon.com/neuron"
_NEURON_CORE: Final = "aws.amazon.com/neuroncore"
_EFA: Final = "vpc.amazonaws.com/efa"
EBS_DRIVER: Final = "ebs.csi.aws.com"


def capacity(row: Row) -> dict[str, int]:
    """What the machine has, as its node will report it."""
    held = {
        CPU: 1000 * row.vcpus,
        MEMORY: memory_mib(row) * _MIB,
        EPHEMERAL_STORAGE: _ROOT_VOLUME,
        PODS: pods(row),
    }
    if row.gpus:
        held[_GPU_RESOURCES[row.gpu_maker.lower()]] = row.gpus
    if row.neurons:
        held[_NEURON] = row.neurons
        held[_NEURON_CORE] = row.neurons * row.neuron_cores
    if row.efas:
        held[_EFA] = row.efas
    return held


def memory_mib(row: Row) -> int:
    """Published memory less what the hypervisor hides, which is rounded up."""
    published = row.memory_mib - (_ARM64_HIDDEN_MIB if row.arch == "arm64" else 0)
    return published - -(-published * _VM_OVERHEAD_PER_MILLE // 1000)


def pods(row: Row) -> int:
    """How many pods get an address: each interface keeps one for itself, two pods need none."""
    return row.enis * (row.ipv4_per_eni - 1) + 2 if row.enis else 0


def overhead(row: Row) -> dict[str, int]:
    """What kubelet reserves, and what must stay free before it evicts."""
    return {
        CPU: _reserved_millis(row.vcpus),
        MEMORY: (_POD_MIB * pods(row) + _KUBELET_MIB + _EVICTION_MIB) * _MIB,
        EPHEMERAL_STORAGE: _KUBELET_STORAGE + _EVICTION_STORAGE,
    }


def _reserved_millis(vcpus: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    millis, left = 0, vcpus
    for cores, share in _CPU_TIERS:
        taken = min(cores, left)
        millis += taken * share // 100
        left -= taken
    return millis + left * _CPU_REST // 100


def attach_limits(row: Row) -> dict[str, int]:
    """How many EBS volumes pods may attach.

    EC2 publishes the slots left after the primary interface, local disks and accelerators. The root
    volume takes one. Where a Nitro machine shares slots between volumes and interfaces, the second
    interface, which the VPC CNI attaches as soon as pods arrive, takes another: 25 on an m5.large.
    """
    has_shared_bus = row.shares_slots and row.hypervisor != "xen"
    taken = 1 + (1 if has_shared_bus and row.enis > 1 else 0)
    return {EBS_DRIVER: max(row.volume_slots - taken, 0)}
