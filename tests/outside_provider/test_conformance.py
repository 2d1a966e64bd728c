"""The provider of another package obeys the laws of all clouds."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from dovetail.testing import cloud_conformance

_NUMBERS = count()


@pytest.mark.parametrize("law", cloud_conformance.LAWS, ids=lambda law: law.__name__)
async def test_the_meadow_obeys(law: cloud_conformance.Law) -> None:
    """Each law in a region of its own."""
    from tests.outside_provider.meadow import MeadowUnderTest

    cloud = MeadowUnderTest(f"conformance-{next(_NUMBERS)}")
    await cloud.set_up()
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(worker) for worker in cloud.work()]
        await law(cloud)
        for task in running:
            task.cancel()
