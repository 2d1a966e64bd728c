"""Computes the static drift hash of an EC2NodeClass, equal to that of the reference 1.14.1.

Nodes that Karpenter launched keep their hash, so they do not drift when Dovetail takes over. The
rules are those of `units/structure_hash.py`, over the structs of the reference: their names, the
names and order of their fields and the width of their integers count. Selectors, `ipPrefixCount`
and `amiFamily` do not; the resolved family does.

The reference 1.14.1 knows twelve keys of `spec.kubelet` and numbers for `maxPods`. Other keys, and
expressions for `maxPods`, are hashed beside its structs, as one text of canonical JSON; a class
without them has the hash of the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from dovetail.api.meta import Quantity
from dovetail.providers.aws.node_class.types import (
    ABSENT_LIST,
    NO_TAGS,
    BlockDevice,
    BlockDeviceMapping,
    ConnectionTracking,
    CpuOptions,
    EC2NodeClass,
    EC2NodeClassSpec,
    MetadataOptions,
    NetworkInterface,
    PlacementGroupSelector,
)
from dovetail.units import duration, quantity
from dovetail.units.structure_hash import integer, mapping, members, struct, text, texts, truth

HASH_VERSION: Final = "v5"

_INT32: Final = 4
_MICROSECOND: Final = timedelta(microseconds=1)
_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# The fields of spec.kubelet in the order of the reference, and what each holds.
_KUBELET: Final = {
    "clusterDNS": "list",
    "maxPods": "int",
    "podsPerCore": "int",
    "systemReserved": "texts",
    "kubeReserved": "texts",
    "evictionHard": "texts",
    "evictionSoft": "texts",
    "evictionSoftGracePeriod": "spans",
    "evictionMaxPodGracePeriod": "int",
    "imageGCHighThresholdPercent": "int",
    "imageGCLowThresholdPercent": "int",
    "cpuCFSQuota": "bool",
}
_GO_NAMES: Final = {"clusterDNS": "ClusterDNS", "cpuCFSQuota": "CPUCFSQuota"}


def node_class_hash(node_class: EC2NodeClass, *, family: str, ca_bundle: str) -> str:
    """The hash of the static part of a class, with its resolved AMI family and the cluster's CA.

    `ca_bundle` is base64. The reference takes `--cluster-ca-bundle`, else the very bytes with which
    it verifies the API server; another encoding of the same certificate is another hash.
    """
    spec = node_class.spec
    own = _more_kubelet(spec.kubelet)
    parts = [_spec(spec), text(family), text(ca_bundle)]
    if own:
        parts.append(text(msgspec.json.encode(own, order="deterministic").decode()))
    return str(members(parts))


def _spec(spec: EC2NodeClassSpec) -> int:
    devices, interfaces = spec.block_device_mappings, spec.network_interfaces
    return struct(
        "EC2NodeClassSpec",
        ("PlacementGroupSelector", _placement_group(spec.placement_group_selector)),
        ("AssociatePublicIPAddress", _truth(spec.associate_public_ip_address)),
        ("UserData", _text(spec.user_data)),
        ("Role", _seconds_of(spec.role)),
        ("InstanceProfile", _text(spec.instance_profile)),
        ("Tags", None if spec.tags is NO_TAGS else texts(spec.tags)),
        ("Kubelet", None if spec.kubelet is None else _kubelet(spec.kubelet)),
        ("BlockDeviceMappings", _list(devices, members(map(_block_device_mapping, devices)))),
        ("InstanceStorePolicy", _text(spec.instance_store_policy)),
        ("NetworkInterfaces", _list(interfaces, members(map(_network_interface, interfaces)))),
        ("DetailedMonitoring", _truth(spec.detailed_monitoring)),
        ("MetadataOptions", _metadata(spec.metadata_options)),
        ("ConnectionTracking", _connection_tracking(spec.connection_tracking)),
        ("Context", _text(spec.context)),
        ("CPUOptions", _cpu_options(spec.cpu_options)),
    )


def _placement_group(selector: PlacementGroupSelector | None) -> int | None:
    if selector is None:
        return None
    return struct(
        "PlacementGroupSelector",
        ("Name", _seconds_of(selector.name)),
        ("ID", _seconds_of(selector.id)),
    )


def _block_device_mapping(device: BlockDeviceMapping) -> int:
    return struct(
        "BlockDeviceMapping",
        ("DeviceName", _text(device.device_name)),
        ("EBS", None if device.ebs is None else _ebs(device.ebs)),
        ("RootVolume", truth(True) if device.root_volume else None),
    )


def _ebs(volume: BlockDevice) -> int:
    size = volume.volume_size
    return struct(
        "BlockDevice",
        ("DeleteOnTermination", _truth(volume.delete_on_termination)),
        ("Encrypted", _truth(volume.encrypted)),
        ("IOPS", _number(volume.iops, 8)),
        ("KMSKeyID", _text(volume.kms_key_id)),
        ("SnapshotID", _text(volume.snapshot_id)),
        ("Throughput", _number(volume.throughput, 8)),
        ("VolumeInitializationRate", _number(volume.volume_initialization_rate)),
        ("VolumeSize", None if size is None else text(_canonical(size))),
        ("VolumeType", _text(volume.volume_type)),
    )


def _network_interface(interface: NetworkInterface) -> int:
    card, device = interface.network_card_index, interface.device_index
    return struct(
        "NetworkInterface",
        ("NetworkCardIndex", integer(card, _INT32) if card else None),
        ("DeviceIndex", integer(device, _INT32) if device else None),
        ("InterfaceType", _seconds_of(interface.interface_type)),
    )


def _metadata(options: MetadataOptions | None) -> int | None:
    if options is None:
        return None
    return struct(
        "MetadataOptions",
        ("HTTPEndpoint", _text(options.http_endpoint)),
        ("HTTPProtocolIPv6", _text(options.http_protocol_ipv6)),
        ("HTTPPutResponseHopLimit", _number(options.http_put_response_hop_limit, 8)),
        ("HTTPTokens", _text(options.http_tokens)),
    )


def _connection_tracking(tracking: ConnectionTracking | None) -> int | None:
    if tracking is None:
        return None
    return struct(
        "ConnectionTracking",
        ("TCPEstablishedTimeout", _number(tracking.tcp_established_timeout)),
        ("UDPStreamTimeout", _number(tracking.udp_stream_timeout)),
        ("UDPTimeout", _number(tracking.udp_timeout)),
    )


def _cpu_options(options: CpuOptions | None) -> int | None:
    if options is None:
        return None
    return struct(
        "CPUOptions", ("NestedVirtualization", _seconds_of(options.nested_virtualization))
    )


# ---- kubelet


def _kubelet(tree: Mapping[str, object]) -> int:
    fields = (
        (_GO_NAMES.get(key, key[0].upper() + key[1:]), _kubelet_value(tree.get(key), shape))
        for key, shape in _KUBELET.items()
    )
    return struct("KubeletConfiguration", *fields)


def _kubelet_value(value: object, shape: str) -> int | None:
    match shape, value:
        case "bool", bool():
            return truth(value)
        case "int", int():
            return integer(value, _INT32)
        case "list", list() | tuple():
            return members(text(str(item)) for item in value)
        case "texts", dict():
            return texts({str(key): str(item) for key, item in value.items()})
        case "spans", dict():
            return mapping({str(key): _span(str(item)) for key, item in value.items()})
        case _:
            return None


def _more_kubelet(tree: Mapping[str, object] | None) -> dict[str, object]:
    """What the reference 1.14.1 cannot store."""
    return {
        key: value
        for key, value in (tree or {}).items()
        if key not in _KUBELET or (key == "maxPods" and isinstance(value, str))
    }


def _span(written: str) -> int:
    try:
        span = duration.parse(written)
    except ValueError:  # the class is not valid, and launches nothing
        return text(written)
    nanos = integer(span // _MICROSECOND * 1000) if span else None
    return struct("Duration", ("Duration", nanos))


# ---- single values


def _list(items: tuple[object, ...], hashed: int) -> int | None:
    """An empty list that was written down counts; a list that is absent does not."""
    return None if items is ABSENT_LIST else hashed


def _text(value: str | None) -> int | None:
    return None if value is None else text(value)


def _seconds_of(value: str) -> int | None:
    return text(value) if value else None


def _truth(value: bool | None) -> int | None:  # noqa: FBT001  the value itself
    return None if value is None else truth(value)


def _number(value: int | None, n_bytes: int = _INT32) -> int | None:
    return None if value is None else integer(value, n_bytes)


def _canonical(size: Quantity) -> str:
    """A quantity with the largest suffix of its kind that leaves a whole number."""
    is_binary = str(size).endswith("i")
    base, suffixes = (1024, _BINARY) if is_binary else (1000, _DECIMAL)
    amount, power = quantity.whole(size), 0
    while amount and amount % base == 0 and power < len(suffixes) - 1:
        amount, power = amount // base, power + 1
    return f"{amount}{suffixes[power]}"
