"""Computes names, paths and tags of the instance profiles that are managed for node classes."""

from __future__ import annotations

from typing import Final

import msgspec

from dovetail import labels
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.units.structure_hash import text

PROFILE_ANNOTATION: Final = keys.INSTANCE_PROFILE
_OWNED: Final = "owned"


class ProfileOrder(msgspec.Struct, frozen=True):
    """The instance profile that a node class needs; everything in it follows from the class."""

    name: str
    path: str
    role: str  # without a path
    tags: tuple[tuple[str, str], ...]


def cluster_path(settings: AwsSettings) -> str:
    """The IAM path of all profiles of the cluster."""
    return f"/karpenter/{settings.region}/{settings.cluster_name}/"


def class_path(settings: AwsSettings, class_uid: str) -> str:
    """The IAM path of the profiles of one node class."""
    return f"{cluster_path(settings)}{class_uid}/"


def role_name(role: str) -> str:
    """The role without its path, as IAM takes it."""
    return role.rpartition("/")[2]


def legacy_profile_name(settings: AwsSettings, class_name: str) -> str:
    """The name that older releases of the reference gave to the one profile of a class."""
    return f"{settings.cluster_name}_{text(settings.region + class_name)}"


def profile_order(node_class: EC2NodeClass, settings: AwsSettings) -> ProfileOrder:
    """The profile for the role of the class. A class and a role always give the same name, so that
    a creation that was cut short is taken up instead of made twice.
    """
    meta, role = node_class.metadata, role_name(node_class.spec.role)
    hashed = text(f"{settings.region}\n{meta.name}\n{meta.uid}\n{role}")
    tags = {
        **node_class.spec.tags,
        keys.cluster_owned(settings.cluster_name): _OWNED,
        keys.CLUSTER_TAG: settings.cluster_name,
        keys.NODE_CLASS_TAG: meta.name,
        labels.REGION: settings.region,
    }
    return ProfileOrder(
        name=f"{settings.cluster_name}_{hashed}",
        path=class_path(settings, meta.uid),
        role=role,
        tags=tuple(sorted(tags.items())),
    )
