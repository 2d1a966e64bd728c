"""Which instance profiles may be deleted."""

from __future__ import annotations

from datetime import timedelta

from dovetail.providers.aws.status.profiles.collection import ProfileProtection
from dovetail.providers.aws.status.profiles.instance_profiles import Profile
from dovetail.testing.virtual_time import VirtualTime

HOUR = timedelta(hours=1)
BOTH = (Profile("a"), Profile("b"))


async def test_a_profile_is_collectable_an_hour_after_it_was_last_used() -> None:
    """One that is used again begins its hour anew."""
    time = VirtualTime()
    protection = ProfileProtection(time)
    assert protection.collectable(BOTH, {"b"}) == ()
    await time.advance(HOUR)
    assert protection.collectable(BOTH, {"b"}) == (Profile("a"),)
    assert protection.collectable(BOTH, {"a"}) == ()
    await time.advance(HOUR)
    assert protection.collectable(BOTH, set()) == (Profile("b"),)


async def test_protection_begins_with_the_change_of_the_role() -> None:
    """Not only when it is first seen to be unused."""
    time = VirtualTime()
    protection = ProfileProtection(time)
    protection.protect("a")
    await time.advance(HOUR)
    assert protection.collectable(BOTH, {"b"}) == (Profile("a"),)
