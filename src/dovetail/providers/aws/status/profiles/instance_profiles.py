"""Creates, reads and deletes instance profiles in IAM."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from dovetail.clock import Clock
from dovetail.providers.aws.calls import CallFailedError, Failure, calling, required
from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.providers.aws.status.profiles.names import ProfileOrder

if TYPE_CHECKING:
    from types_aiobotocore_iam import IAMClient
    from types_aiobotocore_iam.type_defs import InstanceProfileTypeDef

_KEPT_FOR: Final = timedelta(minutes=15)  # IAM itself shows a new profile only after a while
_MISSING_KEPT_FOR: Final = timedelta(minutes=1)
_ROLE_MISSING_KEPT_FOR: Final = timedelta(minutes=1)
_EXISTS: Final = "EntityAlreadyExists"
_LIST: Final = "iam:ListInstanceProfiles"
_GET: Final = "iam:GetInstanceProfile"


class Profile(msgspec.Struct, frozen=True, gc=False):
    """An instance profile with the role that is in it; empty if there is none."""

    name: str
    role: str = ""
    path: str = "/"


class RoleNotFoundError(CallFailedError):
    """IAM has no such role."""

    def __init__(self, role: str) -> None:
        message = f"there is no role {role}"
        super().__init__("iam:AddRoleToInstanceProfile", "NoSuchEntity", message, Failure.NOT_FOUND)
        self.role = role


class InstanceProfiles:
    """Instance profiles. What IAM answered is kept for a while."""

    def __init__(self, iam: IAMClient, clock: Clock) -> None:
        self._iam = iam
        self._existing: ExpiringCache[str, Profile] = ExpiringCache(clock)
        self._missing: ExpiringCache[str, bool] = ExpiringCache(clock)
        self._missing_roles: ExpiringCache[str, bool] = ExpiringCache(clock)

    async def find(self, name: str) -> Profile | None:
        """The profile of this name, if there is one. Raises CallFailedError."""
        kept = self._existing.get(name)
        if kept is not None:
            return kept
        if self._missing.get(name):
            return None
        profile = await self._get(name)
        if profile is None:
            self._missing.put(name, True, keep_for=_MISSING_KEPT_FOR)
        else:
            self._existing.put(name, profile, keep_for=_KEPT_FOR)
        return profile

    async def ensure(self, order: ProfileOrder) -> Profile:
        """The profile with its role in it, created if need be; a creation that was cut short is
        completed. Raises RoleNotFoundError, CallFailedError.
        """
        kept = await self.find(order.name)
        if kept is not None and kept.role == order.role:
            return kept
        if self._missing_roles.get(order.role):
            raise RoleNotFoundError(order.role)
        is_new = await self._create(order)
        present = Profile(order.name) if is_new else await self._get(order.name)
        if present is not None and present.role not in ("", order.role):
            await self._remove_role(present)
        if present is None or present.role != order.role:
            await self._add_role(order, is_new=is_new)
        made = Profile(order.name, order.role, order.path)
        self._missing.drop(lambda name: name == order.name)
        self._existing.put(order.name, made, keep_for=_KEPT_FOR)
        return made

    async def delete(self, profile: Profile) -> None:
        """Take the role out and delete the profile; one that is gone is fine."""
        if profile.role:
            await self._remove_role(profile)
        await self._delete(profile.name)

    async def under(self, path: str) -> tuple[Profile, ...]:
        """All profiles below an IAM path, by name."""
        profiles: list[Profile] = []
        with calling(_LIST):
            pages = self._iam.get_paginator("list_instance_profiles")
            async for page in pages.paginate(PathPrefix=path):
                listed = required(page.get("InstanceProfiles"), _LIST)
                profiles += [_profile(tree) for tree in listed]
        # Checked once more, since what is found here may be deleted.
        below = [profile for profile in profiles if profile.path.startswith(path)]
        return tuple(sorted(below, key=lambda profile: profile.name))

    async def _get(self, name: str) -> Profile | None:
        try:
            with calling(_GET):
                answer = await self._iam.get_instance_profile(InstanceProfileName=name)
        except CallFailedError as error:
            if error.failure is Failure.NOT_FOUND:
                return None
            raise
        return _profile(required(answer.get("InstanceProfile"), _GET))

    async def _create(self, order: ProfileOrder) -> bool:
        """Whether it was created now; False if there is one of that name."""
        try:
            with calling("iam:CreateInstanceProfile"):
                await self._iam.create_instance_profile(
                    InstanceProfileName=order.name,
                    Path=order.path,
                    Tags=[{"Key": key, "Value": value} for key, value in order.tags],
                )
        except CallFailedError as error:
            if error.code != _EXISTS:
                raise
            return False
        return True

    async def _add_role(self, order: ProfileOrder, *, is_new: bool) -> None:
        try:
            with calling("iam:AddRoleToInstanceProfile"):
                await self._iam.add_role_to_instance_profile(
                    InstanceProfileName=order.name, RoleName=order.role
                )
        except CallFailedError as error:
            if is_new:
                await self._delete(order.name)
            if error.failure is Failure.NOT_FOUND:
                self._missing_roles.put(order.role, True, keep_for=_ROLE_MISSING_KEPT_FOR)
                raise RoleNotFoundError(order.role) from error
            raise

    async def _remove_role(self, profile: Profile) -> None:
        try:
            with calling("iam:RemoveRoleFromInstanceProfile"):
                await self._iam.remove_role_from_instance_profile(
                    InstanceProfileName=profile.name, RoleName=profile.role
                )
        except CallFailedError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise

    async def _delete(self, name: str) -> None:
        self._existing.drop(lambda known: known == name)
        try:
            with calling("iam:DeleteInstanceProfile"):
                await self._iam.delete_instance_profile(InstanceProfileName=name)
        except CallFailedError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise


def _profile(described: InstanceProfileTypeDef) -> Profile:
    roles = [role["RoleName"] for role in described["Roles"]]
    return Profile(described["InstanceProfileName"], next(iter(roles), ""), described["Path"])
