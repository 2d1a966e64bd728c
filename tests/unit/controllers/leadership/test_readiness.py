"""A replica that cannot work says why."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from dovetail.apiserver.server import MemoryKube
from dovetail.controllers.leadership.readiness import Readiness
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Page, Scope
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.controllers.replicas import Notes, Process


class WithoutClaims(MemoryKube):
    """A server that was never told of NodeClaims."""

    async def list(self, scope: Scope, *, limit: int = 0, token: str = "") -> Page:
        """A page of objects."""
        if scope.kind.name == "NodeClaim":
            raise NotFoundError(404, "NotFound", "the server could not find the requested resource")
        return await super().list(scope, limit=limit, token=token)


async def test_until_the_api_has_answered_nothing_is_ready() -> None:
    """The server is named."""
    time = VirtualTime()
    readiness = Readiness(MemoryKube(time), time, Notes(), "https://there")
    assert readiness.problems() == ("https://there has not answered yet",)
    await readiness.run()
    assert readiness.problems() == ()


async def test_missing_definitions_are_named_with_their_repair() -> None:
    """Each kind that we cannot do without, and no other."""
    time = VirtualTime()
    kube = WithoutClaims(time)
    readiness = Readiness(kube, time, Notes(), "https://there")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(readiness.run())
        await time.advance(timedelta(seconds=5))
        (problem,) = readiness.problems()
        assert "nodeclaims.karpenter.sh is not installed" in problem
        assert "dovetail crds" in problem
        task.cancel()


async def test_an_api_that_cannot_be_reached_is_asked_again() -> None:
    """Until it answers."""
    time = VirtualTime()
    async with asyncio.TaskGroup() as group:
        process = Process(time, MemoryKube(time), group)
        process.is_cut = True
        notes = Notes()
        readiness = Readiness(process, time, notes, "https://there")
        task = group.create_task(readiness.run())
        await time.advance(timedelta(seconds=5))
        assert "the network is cut" in readiness.problems()[0]
        process.is_cut = False
        await time.advance(timedelta(seconds=1))
        assert readiness.problems() == ()
        assert task.done()
        assert notes.messages == ["not ready"] * 2  # once for each kind, not once for each try
