"""A claim is made once, whatever the API says or fails to say."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.controllers.launching.claim_creation import ClaimWriter, TakenNameError
from dovetail.kube.errors import InvalidError, UnavailableError
from dovetail.kube.seam import Json, Scope
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube, When

BODY: dict[str, Json] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "a", "annotations": {"team": "blue"}},
    "spec": {
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [],
    },
}
BROKEN = UnavailableError(0, "", "the connection broke")


def orders(kube: TroubledKube, time: VirtualTime, mark: str = "run-1") -> ClaimWriter:
    """Somebody who makes claims."""
    return ClaimWriter(kube, mark=mark, timer=time, chance=lambda: 0.5)


async def names(kube: TroubledKube) -> list[str]:
    """Which claims there are."""
    page = await kube.list(Scope(NODE_CLAIM))
    return [api.read(NODE_CLAIM, raw).metadata.name for raw in page.items]


@pytest.mark.parametrize("when", list(When))
async def test_a_connection_that_breaks_leaves_one_claim(when: When) -> None:
    """Whether the API had taken it or not."""
    time = VirtualTime()

    def trouble(call: ApiCall) -> Trouble | None:
        return Trouble(BROKEN, when) if call.verb == "create" and call.n <= 2 else None

    kube = TroubledKube(MemoryKube(time), trouble)
    async with asyncio.TaskGroup() as group:
        placing = group.create_task(orders(kube, time).write(BODY))
        await time.advance(timedelta(minutes=1))
    made = api.read(NODE_CLAIM, placing.result())
    assert made.metadata.name == "a"
    assert made.metadata.annotations["team"] == "blue"
    assert await names(kube) == ["a"]


async def test_somebody_elses_claim_of_that_name_is_not_ours() -> None:
    """Two runs may have thought of the same name."""
    time = VirtualTime()
    kube = TroubledKube(MemoryKube(time))
    await orders(kube, time, "run-1").write(BODY)
    with pytest.raises(TakenNameError, match="another NodeClaim a"):
        await orders(kube, time, "run-2").write(BODY)


async def test_a_claim_that_the_api_refuses_is_not_asked_for_again() -> None:
    """It would be refused for ever."""
    time = VirtualTime()
    kube = TroubledKube(MemoryKube(time))
    with pytest.raises(InvalidError):
        await orders(kube, time).write({**BODY, "spec": {}})
    assert kube.n_calls == 1
