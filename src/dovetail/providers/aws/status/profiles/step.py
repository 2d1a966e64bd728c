"""Resolves `spec.role` and `spec.instanceProfile` to the instance profile of new instances."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from dovetail.providers.aws.calls import CallFailedError
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.conditions import ClassCondition, fails, holds
from dovetail.providers.aws.status.profiles.collection import ProfileProtection
from dovetail.providers.aws.status.profiles.instance_profiles import (
    InstanceProfiles,
    RoleNotFoundError,
)
from dovetail.providers.aws.status.profiles.names import profile_order, role_name
from dovetail.providers.aws.status.step import StepResult

NOT_FOUND: Final = "InstanceProfileNotFound"
ROLE_NOT_FOUND: Final = "RoleNotFound"
ROLE_NEEDS_IAM: Final = "RoleNotSupported"
_AGAIN_AFTER: Final = timedelta(minutes=1)


class ProfileStep:
    """Evaluates `InstanceProfileReady`."""

    condition = ClassCondition.INSTANCE_PROFILE

    def __init__(
        self, profiles: InstanceProfiles, settings: AwsSettings, protection: ProfileProtection
    ) -> None:
        self._profiles = profiles
        self._settings = settings
        self._protection = protection

    async def evaluate(self, node_class: EC2NodeClass) -> StepResult:
        """The profile now: the user's own, or one that is managed for the role."""
        if node_class.spec.instance_profile:
            return await self._use_given(node_class, node_class.spec.instance_profile)
        if self._settings.isolated_vpc:
            message = (
                "spec.role needs the IAM API, which an isolated VPC does not reach "
                "(--isolated-vpc): create an instance profile and set spec.instanceProfile"
            )
            return self._failure(node_class, ROLE_NEEDS_IAM, message)
        return await self._use_managed(node_class)

    async def _use_given(self, node_class: EC2NodeClass, name: str) -> StepResult:
        if not self._settings.isolated_vpc and await self._profiles.find(name) is None:
            message = (
                f"spec.instanceProfile: iam:GetInstanceProfile finds no instance profile {name}: "
                "create it, or set spec.role instead"
            )
            return self._failure(node_class, NOT_FOUND, message)
        return self._ready(node_class, name)

    async def _use_managed(self, node_class: EC2NodeClass) -> StepResult:
        current = node_class.status.instance_profile
        role = role_name(node_class.spec.role)
        profile = await self._profiles.find(current) if current else None
        if profile is not None and profile.role == role:
            return self._ready(node_class, current)
        try:
            made = await self._profiles.ensure(profile_order(node_class, self._settings))
        except RoleNotFoundError as error:
            message = f"spec.role: {error}: create the role, or correct its name"
            return self._failure(node_class, ROLE_NOT_FOUND, message, error)
        return self._ready(node_class, made.name)

    def _ready(self, node_class: EC2NodeClass, name: str) -> StepResult:
        before = node_class.status.instance_profile
        if before and before != name:
            self._protection.protect(before)
        status = msgspec.structs.replace(node_class.status, instance_profile=name)
        return StepResult(holds(self.condition), status)

    def _failure(
        self,
        node_class: EC2NodeClass,
        reason: str,
        message: str,
        fault: CallFailedError | None = None,
    ) -> StepResult:
        update = fails(self.condition, reason, message)
        return StepResult(update, node_class.status, _AGAIN_AFTER, fault)
