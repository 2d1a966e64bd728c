"""Finds out whether an instance is still what its node class asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.providers.aws.images.resolution import image_for
from dovetail.providers.aws.instances.described import Ec2Instance
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.hashing import HASH_VERSION
from dovetail.providers.aws.node_class.types import EC2NodeClass

NODE_CLASS_DRIFT: Final = "NodeClassDrift"
AMI_DRIFT: Final = "AMIDrift"
SECURITY_GROUP_DRIFT: Final = "SecurityGroupDrift"
SUBNET_DRIFT: Final = "SubnetDrift"
CAPACITY_RESERVATION_DRIFT: Final = "CapacityReservationDrift"
PLACEMENT_GROUP_DRIFT: Final = "PlacementGroupDrift"


class InstanceDriftView(msgspec.Struct, frozen=True, kw_only=True):
    """What drift is judged by. `labels` and `annotations` are those of the node or its claim,
    `class_hash` is the hash of the class as it is now, `placement_group` the id that it selects.
    """

    node_class: EC2NodeClass
    class_hash: str
    instance: Ec2Instance
    held: InstanceType | None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    placement_group: str = ""


def drift_reason(view: InstanceDriftView) -> str:
    """Why the instance has drifted; empty if it has not. The first reason counts."""
    checks = (
        (_has_other_hash(view), NODE_CLASS_DRIFT),
        (_has_other_image(view), AMI_DRIFT),
        (_has_other_groups(view), SECURITY_GROUP_DRIFT),
        (_is_in_other_subnet(view), SUBNET_DRIFT),
        (_has_other_reservation(view), CAPACITY_RESERVATION_DRIFT),
        (_is_in_other_placement_group(view), PLACEMENT_GROUP_DRIFT),
    )
    return next((reason for is_drifted, reason in checks if is_drifted), "")


def _has_other_hash(view: InstanceDriftView) -> bool:
    """Whether the hashes of class and claim differ; one of another version says nothing."""
    version = view.annotations.get(keys.NODE_CLASS_HASH_VERSION, "")
    stamped = view.annotations.get(keys.NODE_CLASS_HASH, "")
    return version == HASH_VERSION and stamped not in ("", view.class_hash)


def _has_other_image(view: InstanceDriftView) -> bool:
    if view.held is None or not view.node_class.status.amis:
        return False
    image = image_for(view.held.requirements, view.node_class.status.amis)
    return image is None or image.id != view.instance.image_id


def _has_other_groups(view: InstanceDriftView) -> bool:
    wanted = {group.id for group in view.node_class.status.security_groups}
    return bool(wanted) and view.instance.security_groups != wanted


def _is_in_other_subnet(view: InstanceDriftView) -> bool:
    known = {subnet.id for subnet in view.node_class.status.subnets}
    return bool(known) and view.instance.subnet_id not in known


def _has_other_reservation(view: InstanceDriftView) -> bool:
    """Whether the node is labelled with a reservation that the class does not select any more, and
    the instance still runs in it.
    """
    labelled = view.labels.get(labels.RESERVATION_ID, "")
    selected = {item.id for item in view.node_class.status.capacity_reservations}
    return bool(labelled) and labelled not in selected and view.instance.reservation_id != ""


def _is_in_other_placement_group(view: InstanceDriftView) -> bool:
    return view.labels.get(keys.PLACEMENT_GROUP, "") != view.placement_group
