"""What the API refuses is not lost, and not asked for in a frenzy."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from dovetail.controllers.cache import NODE_CLAIM
from dovetail.kube.errors import ConflictError, UnavailableError
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube
from tests.unit.controllers.claiming import initialized, seeing_to_claims
from tests.unit.controllers.worlds import HOUR, MINUTE, SECOND, FlakyKube, World

_ENOUGH = 500  # calls, after which a test gives up


class SlowToDie(KwokProvider):
    """A cloud whose instances end when they are told to for the third time."""

    n_deletions = 0

    async def delete(self, provider_id: str) -> None:
        """Not at once."""
        self.n_deletions += 1
        if self.n_deletions > 2:
            await super().delete(provider_id)


class Adjusted:
    """A clock that somebody sets."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self.by = timedelta(0)

    def now(self) -> datetime:
        """What it shows."""
        return self._time.now() + self.by


async def test_a_clock_that_is_set_back_keeps_no_instance_alive() -> None:
    """The cloud is asked again though by the clock it was asked in the future."""
    world = World(cloud=SlowToDie)
    clock = Adjusted(world.time)
    world.dependencies = msgspec.structs.replace(world.dependencies, clock=clock)
    await world.node_class(delay="1h")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance()
        clock.by = -HOUR
        await world.time.advance(MINUTE)
        assert await world.names(NODE_CLAIM) == []


async def test_what_pods_did_is_written_down_though_the_api_failed() -> None:
    """A node where a pod has come must not look quiet because a write was lost."""
    world = World(wrap=FlakyKube)
    assert isinstance(world.kube, FlakyKube)
    async with seeing_to_claims(world, disruption={"consolidateAfter": "30s"}):
        await initialized(world)
        await world.time.advance(MINUTE)
        world.kube.fail("NodeClaim", "status", UnavailableError(503, "", "not now"))
        began_at = world.time.now()
        await world.pod("a", "one")
        await world.time.advance(5 * SECOND)
        assert world.kube.failures == []
        written = (await world.read_claim()).status.last_pod_event_time
        assert written is not None
        assert written >= began_at


async def test_a_claim_that_always_conflicts_is_tried_ever_more_slowly() -> None:
    """At once the first time: somebody else has written, and it was read again."""
    conflicts: list[ApiCall] = []

    def always(call: ApiCall) -> Trouble | None:
        is_meant = call.kind == "NodeClaim" and call.verb == "patch" and call.is_write
        if not is_meant or len(conflicts) >= _ENOUGH:
            return None
        conflicts.append(call)
        return Trouble(ConflictError(409, "Conflict", "changed"))

    world = World(wrap=lambda kube: TroubledKube(kube, always))
    async with seeing_to_claims(world):
        await world.claim()
        for _ in range(5):
            await world.time.advance()  # no time passes
        assert len(conflicts) == 2
        await world.time.advance(MINUTE)
        assert 5 <= len(conflicts) <= 30
