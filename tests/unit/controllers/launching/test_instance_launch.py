"""A claim that does not become a node goes, and says why."""

from __future__ import annotations

import asyncio

import pytest

from dovetail import labels
from dovetail.cloud.provider import Instance
from dovetail.controllers.cache import NODE_CLAIM
from dovetail.kube.errors import ApiError, ConflictError, UnavailableError
from dovetail.kube.mirror import Present
from dovetail.kube.seam import Json
from dovetail.model.claim import ClaimObject
from dovetail.providers.kwok.faults import ErrorClass, FailedLaunch, NoCapacity, SlowLaunch
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import LaunchRefused
from tests.unit.controllers.claiming import CountingCloud, seeing_to_claims
from tests.unit.controllers.worlds import (
    MINUTE,
    SECOND,
    DeafKube,
    FlakyKube,
    World,
    condition,
    said,
)


async def test_a_claim_for_which_nothing_is_left_goes_and_what_was_refused_is_remembered() -> None:
    """So that the next plan asks elsewhere."""
    world = World()
    world.faults.order(NoCapacity(instance_type="c-1x-amd64-linux", zone="test-zone-a"))
    only: Json = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["c-1x-amd64-linux"]}
    zone: Json = {"key": labels.ZONE, "operator": "In", "values": ["test-zone-a"]}
    async with seeing_to_claims(world):
        await world.claim(requirements=[only, zone])
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []
        ledger = world.cache.cluster.snapshot(world.time.now()).ledger
        assert {(one.instance_type, one.zone) for one in ledger.refusals} == {
            ("c-1x-amd64-linux", "test-zone-a")
        }
        assert world.told.reasons("one") == ["InsufficientCapacityError"]
        assert LaunchRefused("one", world.time.now()) in world.cluster.outcomes


async def test_a_claim_that_we_deleted_is_let_be_until_the_watch_shows_it() -> None:
    """It is told and counted once."""
    world = World(wrap=DeafKube)
    world.faults.order(NoCapacity())
    world.faults.order(SlowLaunch(seconds=1))
    assert isinstance(world.kube, DeafKube)
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance()
        world.kube.hears.clear()
        await world.time.advance(SECOND)
        held = world.cache.claims.get("one")
        assert held is not None
        assert held.metadata.deletion_timestamp is None
        claims.loop.handle(Present(held))
        await world.time.advance(10 * SECOND)
        assert world.told.reasons("one") == ["InsufficientCapacityError"]
        world.kube.hears.set()
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []


@pytest.mark.parametrize(
    "fault", [NoCapacity(), FailedLaunch(error=ErrorClass.NODE_CLASS_NOT_READY)]
)
async def test_a_claim_that_is_to_go_is_not_launched_again(
    fault: NoCapacity | FailedLaunch,
) -> None:
    """However long it takes to delete it: its pods are being planned for elsewhere."""
    world = World(wrap=FlakyKube, cloud=CountingCloud)
    assert isinstance(world.kube, FlakyKube)
    assert isinstance(world.cloud, CountingCloud)
    world.faults.order(fault)
    async with seeing_to_claims(world):
        for _ in range(4):
            world.kube.fail("NodeClaim", "delete", UnavailableError(503, "", "not now"))
        await world.claim()
        await world.time.advance(MINUTE)
        assert world.kube.failures == []
        assert await world.names(NODE_CLAIM) == []
        assert world.cloud.n_launches == 1


async def test_what_would_have_been_cheaper_is_remembered_though_the_launch_came_off() -> None:
    """The cloud says it once."""
    world = World()
    world.faults.order(NoCapacity(instance_type="c-1x-amd64-linux", capacity_type="spot"))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        ledger = world.cache.cluster.snapshot(world.time.now()).ledger
        assert {one.capacity_type for one in ledger.refusals} == {"spot"}


async def test_a_node_class_that_is_not_ready_costs_the_claim() -> None:
    """Its pods are planned for again."""
    world = World()
    world.faults.order(FailedLaunch(error=ErrorClass.NODE_CLASS_NOT_READY))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []


async def test_a_failed_launch_says_why_and_is_tried_again() -> None:
    """After waits that double; the claim stays."""
    world = World()
    world.faults.order(
        FailedLaunch(error=ErrorClass.CREATE, reason="NoSubnet", message="none left", times=2)
    )
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        found = condition(await world.read_claim(), "Launched")
        assert (found.status, found.reason) == ("Unknown", "NoSubnet")
        assert "none left" in found.message
        await world.time.advance(SECOND)
        assert said(await world.read_claim())["Launched"] == ("Unknown", "NoSubnet")
        await world.time.advance(2 * SECOND)
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")


async def test_an_error_of_no_class_is_a_failed_launch() -> None:
    """Whatever a provider raises."""

    class BrokenCloud(KwokProvider):
        async def create(self, claim: ClaimObject) -> Instance:
            msg = f"a bug for {claim.name}"
            raise ValueError(msg)

    world = World(cloud=BrokenCloud)
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        found = condition(await world.read_claim(), "Launched")
        assert (found.status, found.reason) == ("Unknown", "LaunchFailed")
        assert found.message == "a bug for one"


async def test_a_claim_that_is_not_launched_in_time_goes() -> None:
    """Its pool hears why."""
    world = World()
    world.faults.order(FailedLaunch(error=ErrorClass.CREATE, reason="NoSubnet"))
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance(5 * MINUTE - SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(2 * SECOND)
        assert await world.names(NODE_CLAIM) == []
        assert [(one.is_success, one.reason) for one in claims.notes] == [(False, "NoSubnet")]


async def test_a_node_that_does_not_join_in_time_goes_with_its_instance() -> None:
    """Fifteen minutes after its launch."""
    world = World()
    await world.node_class(delay="1h")
    await world.pool()
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance(15 * MINUTE - SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(10 * SECOND)
        assert await world.names(NODE_CLAIM) == []
        assert await world.cloud.list() == ()
        assert [one.reason for one in claims.notes] == ["RegistrationFailed"]


async def test_a_slow_launch_says_what_it_waits_for() -> None:
    """A short one does not: it would be one write more."""
    world = World()
    world.faults.order(SlowLaunch(seconds=60))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance(SECOND)
        assert said(await world.read_claim()) == {}
        await world.time.advance(2 * SECOND)
        found = said(await world.read_claim())
        assert found["Launched"] == ("Unknown", "AwaitingReconciliation")
        await world.time.advance(MINUTE)
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")


async def test_a_claim_that_is_deleted_while_it_launches_leaves_no_instance() -> None:
    """What comes of the launch is ended too."""
    world = World()
    world.faults.order(SlowLaunch(seconds=60))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance(SECOND)
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance(SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(2 * MINUTE)
        assert await world.names(NODE_CLAIM) == []
        assert await world.cloud.list() == ()


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConflictError(409, "Conflict", "changed"), id="a conflict"),
        pytest.param(UnavailableError(503, "", "not now"), id="a server that fails"),
    ],
)
async def test_a_status_that_cannot_be_written_does_not_launch_twice(error: ApiError) -> None:
    """What the cloud said is kept until it is written down."""
    world = World(wrap=FlakyKube, cloud=CountingCloud)
    assert isinstance(world.kube, FlakyKube)
    assert isinstance(world.cloud, CountingCloud)
    async with seeing_to_claims(world):
        for where in ("status", "status"):
            world.kube.fail("NodeClaim", where, error)
        await world.claim()
        await world.time.advance(5 * SECOND)
        assert world.kube.failures == []
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert world.cloud.n_launches == 1


async def test_a_node_that_cannot_be_written_is_not_said_to_be_registered() -> None:
    """The Node comes first. Its pods were sent to it already, once."""
    world = World(wrap=FlakyKube)
    assert isinstance(world.kube, FlakyKube)
    async with seeing_to_claims(world) as claims:
        world.kube.fail("Node", "patch", UnavailableError(503, "", "not now"))
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Registered"][0] == "Unknown"
        await world.time.advance(2 * SECOND)
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert claims.steered == ["one one"]


async def test_a_launch_that_is_under_way_is_finished_and_written_down() -> None:
    """Nothing new is begun meanwhile, and an API that fails is asked once more."""
    world = World(wrap=FlakyKube, cloud=CountingCloud)
    assert isinstance(world.kube, FlakyKube)
    assert isinstance(world.cloud, CountingCloud)
    world.faults.order(SlowLaunch(seconds=10, times=1))
    async with seeing_to_claims(world) as claims, asyncio.TaskGroup() as group:
        await world.claim()
        await world.time.advance(SECOND)
        finishing = group.create_task(claims.loop.finish())
        await world.time.advance(SECOND)
        await world.claim("late")
        await world.time.advance(5 * SECOND)
        assert not finishing.done()
        world.kube.fail("NodeClaim", "status", UnavailableError(503, "", "not now"))
        await world.time.advance(10 * SECOND)
        assert finishing.done()
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")
        assert world.cloud.n_launches == 1
