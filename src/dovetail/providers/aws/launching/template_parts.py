"""Computes parts of a launch template: network interfaces, volumes and metadata options."""

from __future__ import annotations

from typing import Final

from dovetail.kube.seam import Json
from dovetail.providers.aws.bootstrap.families import family_of, traits
from dovetail.providers.aws.launching.marks import Request
from dovetail.providers.aws.node_class.types import (
    BlockDevice,
    BlockDeviceMapping,
    ConnectionTracking,
    EC2NodeClassSpec,
    MetadataOptions,
    NetworkInterface,
)
from dovetail.units import quantity

_GIB: Final = 2**30
_EFA: Final = "efa"
_EFA_ONLY: Final = "efa-only"
_INTERFACE: Final = "interface"
_DEFAULT_METADATA: Final = MetadataOptions(
    http_endpoint="enabled",
    http_protocol_ipv6="disabled",
    http_put_response_hop_limit=1,
    http_tokens="required",
)
# Regions whose metadata service does not know of IPv6.
_WITHOUT_IPV6_METADATA: Final = ("us-iso-", "us-isob-", "us-isof-")


def network_interfaces(
    spec: EC2NodeClassSpec, groups: tuple[str, ...], *, n_efas: int, is_ipv6: bool
) -> list[Json]:
    """The interfaces that the class states; else one for each EFA; else one."""
    listed = spec.network_interfaces
    if not listed and n_efas:
        listed = tuple(NetworkInterface(card, 1 if card else 0, _EFA) for card in range(n_efas))
    return [
        _interface(interface, spec, groups, is_ipv6=is_ipv6)
        for interface in listed or (NetworkInterface(),)
    ]


def _interface(
    interface: NetworkInterface, spec: EC2NodeClassSpec, groups: tuple[str, ...], *, is_ipv6: bool
) -> Json:
    made: Request = {
        "NetworkCardIndex": interface.network_card_index,
        "DeviceIndex": interface.device_index,
        "Groups": list(groups),
    }
    if interface.interface_type != _INTERFACE:
        made["InterfaceType"] = interface.interface_type
    if interface.interface_type == _EFA_ONLY:
        return made
    if spec.connection_tracking is not None:
        made["ConnectionTrackingSpecification"] = _tracking_json(spec.connection_tracking)
    if spec.ip_prefix_count is not None:
        made["Ipv6PrefixCount" if is_ipv6 else "Ipv4PrefixCount"] = spec.ip_prefix_count
    if is_ipv6:
        made["PrimaryIpv6"] = True
        made["Ipv6AddressCount"] = 1
    if spec.associate_public_ip_address is not None:
        made["AssociatePublicIpAddress"] = spec.associate_public_ip_address
    return made


def _tracking_json(tracking: ConnectionTracking) -> Json:
    return _without_none(
        TcpEstablishedTimeout=tracking.tcp_established_timeout,
        UdpStreamTimeout=tracking.udp_stream_timeout,
        UdpTimeout=tracking.udp_timeout,
    )


def block_devices(spec: EC2NodeClassSpec) -> list[Json]:
    """The volumes of the class, or those of its family. Sizes are rounded up to GiB."""
    mappings = spec.block_device_mappings or traits(family_of(spec)).block_devices
    return [_mapping(mapping) for mapping in mappings]


def _mapping(mapping: BlockDeviceMapping) -> Json:
    made = _without_none(DeviceName=mapping.device_name)
    if mapping.ebs is not None:
        made["Ebs"] = _volume(mapping.ebs)
    return made


def _volume(ebs: BlockDevice) -> Json:
    size = ebs.volume_size
    return _without_none(
        DeleteOnTermination=ebs.delete_on_termination,
        Encrypted=ebs.encrypted,
        Iops=ebs.iops,
        KmsKeyId=ebs.kms_key_id,
        SnapshotId=ebs.snapshot_id,
        Throughput=ebs.throughput,
        VolumeInitializationRate=ebs.volume_initialization_rate,
        VolumeSize=-(-quantity.whole(str(size)) // _GIB) if size is not None else None,
        VolumeType=ebs.volume_type,
    )


def metadata_options(spec: EC2NodeClassSpec, region: str) -> Request:
    """How instances reach the metadata service, which never tells them their tags."""
    options = spec.metadata_options or _DEFAULT_METADATA
    knows_ipv6 = not region.startswith(_WITHOUT_IPV6_METADATA)
    return {
        **_without_none(
            HttpEndpoint=options.http_endpoint,
            HttpProtocolIpv6=options.http_protocol_ipv6 if knows_ipv6 else None,
            HttpPutResponseHopLimit=options.http_put_response_hop_limit,
            HttpTokens=options.http_tokens,
        ),
        "InstanceMetadataTags": "disabled",
    }


def _without_none(**values: Json) -> Request:
    """Only what has a value."""
    return {key: value for key, value in values.items() if value is not None}
