"""Defines what DescribeInstanceTypes answers, as far as the catalogue needs it."""

from __future__ import annotations

import msgspec


class _Described(msgspec.Struct, frozen=True, rename="pascal"):
    """EC2 spells its fields in PascalCase and leaves out what does not apply."""


class _Memory(_Described, frozen=True):
    size_in_mib: int = msgspec.field(default=0, name="SizeInMiB")


class _Gpu(_Described, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: int = 0
    memory_info: _Memory = _Memory()


class _GpuInfo(_Described, frozen=True):
    gpus: tuple[_Gpu, ...] = ()


class _NeuronCores(_Described, frozen=True):
    count: int = 0


class _NeuronDevice(_Described, frozen=True):
    name: str = ""
    count: int = 0
    core_info: _NeuronCores = _NeuronCores()


class _NeuronInfo(_Described, frozen=True):
    neuron_devices: tuple[_NeuronDevice, ...] = ()


class _InferenceAccelerator(_Described, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: int = 0


class _InferenceInfo(_Described, frozen=True):
    accelerators: tuple[_InferenceAccelerator, ...] = ()


class _EbsOptimized(_Described, frozen=True):
    maximum_bandwidth_in_mbps: int = 0


class _EbsInfo(_Described, frozen=True):
    ebs_optimized_support: str = ""
    attachment_limit_type: str = ""
    maximum_ebs_attachments: int = 0
    ebs_optimized_info: _EbsOptimized = _EbsOptimized()


class _NetworkCard(_Described, frozen=True):
    network_card_index: int = 0
    maximum_network_interfaces: int = 0
    baseline_bandwidth_in_gbps: float = 0.0


class _EfaInfo(_Described, frozen=True):
    maximum_efa_interfaces: int = 0


class _NetworkInfo(_Described, frozen=True):
    default_network_card_index: int = 0
    ipv4_addresses_per_interface: int = 0
    network_cards: tuple[_NetworkCard, ...] = ()
    encryption_in_transit_supported: bool = False
    ena_support: str = "unsupported"
    efa_info: _EfaInfo = _EfaInfo()


class _InstanceStorage(_Described, frozen=True):
    total_size_in_gb: int = msgspec.field(default=0, name="TotalSizeInGB")
    nvme_support: str = "unsupported"


class _Processor(_Described, frozen=True):
    manufacturer: str = ""
    supported_architectures: tuple[str, ...] = ()
    sustained_clock_speed_in_ghz: float = 0.0
    supported_features: tuple[str, ...] = ()


class _Vcpus(_Described, frozen=True):
    default_vcpus: int = msgspec.field(default=0, name="DefaultVCpus")


class _PlacementGroupInfo(_Described, frozen=True):
    supported_strategies: tuple[str, ...] = ()


class DescribedType(_Described, frozen=True):
    """One instance type as EC2 describes it."""

    instance_type: str
    vcpu_info: _Vcpus = msgspec.field(default=_Vcpus(), name="VCpuInfo")
    memory_info: _Memory = _Memory()
    processor_info: _Processor = _Processor()
    network_info: _NetworkInfo = _NetworkInfo()
    ebs_info: _EbsInfo = _EbsInfo()
    placement_group_info: _PlacementGroupInfo = _PlacementGroupInfo()
    supported_usage_classes: tuple[str, ...] = ()
    supported_virtualization_types: tuple[str, ...] = ()
    nitro_enclaves_support: str = ""
    bare_metal: bool = False
    hypervisor: str = ""
    gpu_info: _GpuInfo = _GpuInfo()
    neuron_info: _NeuronInfo = _NeuronInfo()
    inference_accelerator_info: _InferenceInfo = _InferenceInfo()
    instance_storage_info: _InstanceStorage = _InstanceStorage()
