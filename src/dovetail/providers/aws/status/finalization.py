"""Removes what belongs to a node class that is being deleted, and lets the class go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from dovetail import api
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.launching import keys
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.profiles.instance_profiles import InstanceProfiles
from dovetail.providers.aws.status.profiles.names import class_path, legacy_profile_name

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

WAITING: Final = "WaitingOnNodeClaimTermination"
AGAIN_AFTER: Final = timedelta(minutes=10)
_SHOWN: Final = 5
_DESCRIBE: Final = "ec2:DescribeLaunchTemplates"


def waiting_message(claims: Sequence[api.NodeClaim]) -> str:
    """Which NodeClaims keep a class from going."""
    names = sorted(claim.metadata.name for claim in claims)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    shown = ", ".join(names[:_SHOWN])
    return f"waiting for NodeClaims that were launched with this class to end: {shown}{more}"


class Finalizer:
    """Deletes the instance profiles and launch templates of a class."""

    def __init__(self, ec2: EC2Client, profiles: InstanceProfiles, settings: AwsSettings) -> None:
        self._ec2 = ec2
        self._profiles = profiles
        self._settings = settings

    async def clean_up(self, node_class: EC2NodeClass) -> None:
        """Delete everything. Raises CallFailedError; to begin again does no harm."""
        if not self._settings.isolated_vpc:  # which does not reach IAM
            await self._delete_profiles(node_class)
        await self._delete_templates(node_class)

    async def _delete_profiles(self, node_class: EC2NodeClass) -> None:
        meta = node_class.metadata
        for profile in await self._profiles.under(class_path(self._settings, meta.uid)):
            await self._profiles.delete(profile)
        legacy = legacy_profile_name(self._settings, meta.name)
        if legacy != node_class.spec.instance_profile:
            legacy_profile = await self._profiles.find(legacy)
            if legacy_profile is not None:
                await self._profiles.delete(legacy_profile)

    async def _delete_templates(self, node_class: EC2NodeClass) -> None:
        names: list[str] = []
        with calling(_DESCRIBE):
            pages = self._ec2.get_paginator("describe_launch_templates").paginate(
                Filters=[
                    {"Name": f"tag:{keys.CLUSTER_TAG}", "Values": [self._settings.cluster_name]},
                    {"Name": f"tag:{keys.NODE_CLASS_TAG}", "Values": [node_class.metadata.name]},
                ]
            )
            async for page in pages:
                described = required(page.get("LaunchTemplates"), _DESCRIBE)
                names += [template.get("LaunchTemplateName", "") for template in described]
        for name in sorted(names):
            try:
                with calling("ec2:DeleteLaunchTemplate"):
                    await self._ec2.delete_launch_template(LaunchTemplateName=name)
            except CallFailedError as error:
                if error.failure is not Failure.NOT_FOUND:
                    raise
