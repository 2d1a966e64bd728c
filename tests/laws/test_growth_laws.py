"""A day of pods that come and go leaves nothing behind in memory."""

from __future__ import annotations

import pytest

from tests.laws.generations import generations

_N_PODS = 12
_WARM, _LATER = 3, 9  # generations
_SLACK = 4  # entries: less than one for each generation in any table


@pytest.mark.parametrize(
    "leads", [pytest.param(True, id="leading"), pytest.param(False, id="waiting to lead")]
)
async def test_what_is_remembered_does_not_grow_with_what_has_gone(*, leads: bool) -> None:
    """Every table of the controller ends up as large as it was several generations ago."""
    async with generations(leads=leads) as world:
        for generation in range(_WARM):
            await world.live(generation, _N_PODS)
        before = world.remembered()
        for generation in range(_WARM, _LATER):
            await world.live(generation, _N_PODS)
        after = world.remembered()
    grown = [
        f"{path}: {before[path]} -> {n}" for path, n in after.items() if n > before[path] + _SLACK
    ]
    assert "\n".join(grown) == ""
