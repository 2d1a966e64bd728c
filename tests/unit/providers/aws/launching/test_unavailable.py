"""Tests of the memory of insufficient capacity."""

from __future__ import annotations

from datetime import timedelta

from dovetail import labels
from dovetail.providers.aws.catalogue.inputs import UnavailableOffering
from dovetail.providers.aws.launching.unavailable import KEPT_FOR, UnavailableOfferings
from dovetail.testing.virtual_time import VirtualTime

ICE = UnavailableOffering("m5.large", "us-west-2a", labels.SPOT)


async def test_what_has_no_capacity_is_left_out_for_three_minutes() -> None:
    """Offerings, capacity types and subnets."""
    time = VirtualTime()
    known = UnavailableOfferings(time)
    known.mark(ICE)
    known.mark_capacity_type(labels.SPOT)
    known.mark_subnet("subnet-1")
    await time.advance(KEPT_FOR - timedelta(seconds=1))
    assert known.offerings() == {ICE}
    assert known.capacity_types() == {labels.SPOT}
    assert known.subnets() == {"subnet-1"}
    await time.advance(timedelta(seconds=1))
    assert not known.offerings()
    assert not known.capacity_types()
    assert not known.subnets()


async def test_a_second_mark_prolongs_the_time() -> None:
    """And whatever is left out is in the answer to what is left out at all."""
    time = VirtualTime()
    known = UnavailableOfferings(time)
    known.mark_subnet("subnet-1")
    for _ in range(2):
        known.mark(ICE)
        await time.advance(timedelta(minutes=2))
    assert known.offerings() == {ICE}
    assert known.all_unavailable() == {ICE}
    await time.advance(timedelta(minutes=1))
    assert known.all_unavailable() == frozenset()
