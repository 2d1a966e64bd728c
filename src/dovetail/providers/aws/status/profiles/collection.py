"""Deletes instance profiles that nothing uses any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from dovetail.clock import Clock
from dovetail.providers.aws.settings import AwsSettings
from dovetail.providers.aws.status.profiles.instance_profiles import InstanceProfiles, Profile
from dovetail.providers.aws.status.profiles.names import cluster_path

PROTECTED_FOR: Final = timedelta(hours=1)


class ProfileProtection:
    """Since when each profile is known to be unused. Instances that were just launched need theirs
    for an hour; after a restart the hour begins when the profile is first seen unused.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._unused_since: dict[str, datetime] = {}

    def protect(self, name: str) -> None:
        """The profile was in use until now."""
        self._unused_since[name] = self._clock.now()

    def collectable(
        self, profiles: Sequence[Profile], in_use: Collection[str]
    ) -> tuple[Profile, ...]:
        """The profiles that have been unused for an hour."""
        now = self._clock.now()
        unused = [profile for profile in profiles if profile.name not in in_use]
        self._unused_since = {
            profile.name: self._unused_since.get(profile.name, now) for profile in unused
        }
        return tuple(
            profile for profile in unused if now - self._unused_since[profile.name] >= PROTECTED_FOR
        )


class ProfileCollector:
    """Deletes unused profiles of the cluster; called every half hour."""

    def __init__(
        self, profiles: InstanceProfiles, settings: AwsSettings, protection: ProfileProtection
    ) -> None:
        self._profiles = profiles
        self._settings = settings
        self._protection = protection

    async def collect(self, in_use: Collection[str]) -> tuple[str, ...]:
        """Delete what neither a class nor a NodeClaim uses; the names. An isolated VPC does not
        reach IAM, so nothing is done there.
        """
        if self._settings.isolated_vpc:
            return ()
        profiles = await self._profiles.under(cluster_path(self._settings))
        unused = self._protection.collectable(profiles, in_use)
        for profile in unused:
            await self._profiles.delete(profile)
        return tuple(profile.name for profile in unused)
