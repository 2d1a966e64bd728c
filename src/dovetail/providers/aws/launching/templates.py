"""Computes launch templates: their content, and the name that follows from it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from dovetail import labels
from dovetail.kube.seam import Json
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.launching.fleet_request import tag_list
from dovetail.providers.aws.launching.marks import Request
from dovetail.providers.aws.launching.template_parts import (
    block_devices,
    metadata_options,
    network_interfaces,
)
from dovetail.providers.aws.node_class.types import EC2NodeClassSpec

_BITS: Final = 64
DEDICATED: Final = "dedicated"
INTERRUPTIBLE: Final = "interruptible-capacity-reservation"


class TemplateInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the content of a launch template depends on.

    `knows_reservations` is the gate ReservedCapacity: with it, instances use a reservation only if
    they were launched for it. `market_type` is for capacity blocks and interruptible reservations.
    """

    spec: EC2NodeClassSpec
    image_id: str
    user_data: str
    instance_profile: str
    security_groups: tuple[str, ...]
    region: str
    capacity_type: str
    tags: Mapping[str, str]
    n_efas: int = 0
    is_ipv6: bool = False
    has_enclave: bool = False
    tenancy: str = "default"
    placement_group: str = ""
    partition: str = ""
    reservation_id: str = ""
    market_type: str = ""
    knows_reservations: bool = True


class LaunchTemplate(msgspec.Struct, frozen=True):
    """A launch template as it is made in EC2."""

    name: str
    data: Request
    tags: Mapping[str, str]


def static_tags(
    *, cluster_name: str, node_pool: str, node_class: str, own: Mapping[str, str]
) -> dict[str, str]:
    """The tags of everything that is launched, with those that the node class adds."""
    tags = {
        keys.cluster_owned(cluster_name): "owned",
        labels.NODE_POOL: node_pool,
        keys.CLUSTER_TAG: cluster_name,
        keys.NODE_CLASS_TAG: node_class,
    }
    return {**own, **tags}


def launch_template(inputs: TemplateInputs) -> LaunchTemplate:
    """The template; what has the same content has the same name."""
    data = _data(inputs)
    content = msgspec.json.encode((data, dict(inputs.tags)), order="sorted")
    number = int.from_bytes(sha256(content).digest()[: _BITS // 8])
    return LaunchTemplate(f"{labels.AWS_GROUP}/{number}", data, dict(inputs.tags))


def _data(inputs: TemplateInputs) -> Request:
    spec = inputs.spec
    data: Request = {
        "ImageId": inputs.image_id,
        "UserData": b64encode(inputs.user_data.encode()).decode(),
        "IamInstanceProfile": {"Name": inputs.instance_profile},
        "Monitoring": {"Enabled": bool(spec.detailed_monitoring)},
        "MetadataOptions": metadata_options(spec, inputs.region),
        "NetworkInterfaces": network_interfaces(
            spec, inputs.security_groups, n_efas=inputs.n_efas, is_ipv6=inputs.is_ipv6
        ),
        "TagSpecifications": _tag_specifications(inputs),
    }
    if volumes := block_devices(spec):
        data["BlockDeviceMappings"] = volumes
    if inputs.has_enclave:
        data["EnclaveOptions"] = {"Enabled": True}
    if spec.cpu_options is not None and spec.cpu_options.nested_virtualization:
        data["CpuOptions"] = {"NestedVirtualization": spec.cpu_options.nested_virtualization}
    if placement := _placement(inputs):
        data["Placement"] = placement
    if inputs.knows_reservations:
        data["CapacityReservationSpecification"] = _reservation(inputs)
    if inputs.market_type:
        data["InstanceMarketOptions"] = {"MarketType": inputs.market_type}
    return data


def _tag_specifications(inputs: TemplateInputs) -> list[Json]:
    resources = ["network-interface"]
    if inputs.capacity_type == labels.SPOT:
        resources.append("spot-instances-request")
    return [{"ResourceType": resource, "Tags": tag_list(inputs.tags)} for resource in resources]


def _placement(inputs: TemplateInputs) -> Request:
    placement: Request = {}
    if inputs.tenancy == DEDICATED:
        placement["Tenancy"] = DEDICATED
    if inputs.placement_group:
        placement["GroupId"] = inputs.placement_group
    if inputs.partition:
        placement["PartitionNumber"] = int(inputs.partition)
    return placement


def _reservation(inputs: TemplateInputs) -> Json:
    if not inputs.reservation_id:
        return {"CapacityReservationPreference": "none"}
    return {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": inputs.reservation_id},
    }
