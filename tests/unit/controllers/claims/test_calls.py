"""Whichever call fails, a claim comes to its node and to its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.kube.errors import ApiError, ConflictError, TooManyRequestsError, UnavailableError
from dovetail.kube.seam import Kube, Patch, Ref
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube, When
from tests.unit.controllers.claiming import CountingCloud, seeing_to_claims
from tests.unit.controllers.worlds import (
    SECOND,
    World,
    said,
)


async def whole_life(trouble: Callable[[ApiCall], Trouble | None]) -> tuple[int, list[str]]:
    """A claim from its order to its end under trouble: how many calls it took, what is left."""
    kubes: list[TroubledKube] = []

    def wrap(kube: Kube) -> Kube:
        kubes.append(TroubledKube(kube))
        return kubes[0]

    world = World(wrap=wrap, cloud=CountingCloud)
    assert isinstance(world.cloud, CountingCloud)
    async with seeing_to_claims(world):
        kubes[0].n_calls, kubes[0].trouble = 0, trouble
        await world.claim()
        await world.time.advance(10 * SECOND)
        await world.ready()
        await world.time.advance(10 * SECOND)
        assert said(await world.read_claim())["Ready"] == ("True", "Ready")
        assert world.cloud.n_launches == 1
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance(10 * SECOND)
        await world.api.patch(Ref(NODE, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.time.advance(20 * SECOND)
        left = [*await world.names(NODE_CLAIM), *await world.names(NODE)]
        assert await world.cloud.list() == ()
        return kubes[0].n_calls, left


@pytest.mark.parametrize("when", [pytest.param(one, id=f"{one} it is done") for one in When])
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(UnavailableError(503, "", "not now"), id="unavailable"),
        pytest.param(ConflictError(409, "Conflict", "changed"), id="conflict"),
        pytest.param(TooManyRequestsError(429, "", "slowly"), id="too many requests"),
    ],
)
async def test_whichever_call_fails_a_claim_comes_to_its_node_and_to_its_end(
    error: ApiError, when: When
) -> None:
    """With one launch, and nothing left behind."""
    n_calls, left = await whole_life(lambda _: None)
    assert left == []
    for n in range(1, n_calls + 1):

        def trouble(call: ApiCall, n: int = n) -> Trouble | None:
            return Trouble(error, when) if call.n == n and call.verb != "watch" else None

        assert (n, (await whole_life(trouble))[1]) == (n, [])
