"""The kwok provider obeys the laws of all clouds."""

from __future__ import annotations

import pytest

from dovetail.testing import cloud_conformance
from tests.conformance.cloud.pretended import pretended_cloud


@pytest.mark.parametrize("delay", ["", "20s"], ids=["at once", "after a delay"])
@pytest.mark.parametrize("law", cloud_conformance.LAWS, ids=lambda law: law.__name__)
async def test_kwok_obeys(law: cloud_conformance.Law, delay: str) -> None:
    """Whether its nodes appear at once or later."""
    async with pretended_cloud(delay) as cloud:
        await law(cloud)
