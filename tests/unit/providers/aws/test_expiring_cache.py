"""A cache that forgets."""

from __future__ import annotations

from datetime import timedelta

from dovetail.providers.aws.expiring_cache import ExpiringCache
from dovetail.testing.virtual_time import VirtualTime

MINUTE = timedelta(minutes=1)


async def test_a_value_is_kept_until_its_time_is_up() -> None:
    """And not a moment longer."""
    time = VirtualTime()
    cache: ExpiringCache[str, int] = ExpiringCache(time)
    cache.put("a", 1, keep_for=MINUTE)
    await time.advance(MINUTE - timedelta(microseconds=1))
    assert cache.get("a") == 1
    await time.advance(timedelta(microseconds=1))
    assert cache.get("a") is None


async def test_what_has_expired_takes_no_room() -> None:
    """It goes when something else comes."""
    time = VirtualTime()
    cache: ExpiringCache[int, int] = ExpiringCache(time)
    for number in range(100):
        cache.put(number, number, keep_for=MINUTE)
        await time.advance(timedelta(seconds=30))
    assert len(cache) == 2
    assert cache.current() == {99: 99}


def test_chosen_values_are_forgotten() -> None:
    """The others stay."""
    cache: ExpiringCache[str, int] = ExpiringCache(VirtualTime())
    cache.put("a", 1, keep_for=MINUTE)
    cache.put("b", 2, keep_for=MINUTE)
    cache.drop(lambda key: key == "a")
    assert cache.current() == {"b": 2}
