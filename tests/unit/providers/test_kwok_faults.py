"""Faults that tests and demos order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from dovetail import labels
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    SoldOut,
)
from dovetail.errors import InputError
from dovetail.kube.seam import Deletion, Patch, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.requirements import requirement
from dovetail.providers.kwok import faults
from dovetail.providers.kwok import plugin as kwok
from dovetail.providers.kwok.faults import (
    AnyFault,
    Call,
    ErrorClass,
    FailedLaunch,
    Faults,
    LostInstance,
    NoCapacity,
    SlowLaunch,
    Throttling,
)
from dovetail.providers.kwok.plugin import KwokSettings
from dovetail.testing.cloud_conformance import ERRORS
from dovetail.testing.virtual_time import START
from tests.conformance.cloud.pretended import NODE, NODE_CLAIM, pretended_cloud

LINUX = (requirement(labels.OS, "In", ["linux"]), requirement(labels.ARCH, "In", ["amd64"]))
CHEAPEST = "c-1x-amd64-linux"


async def test_a_zone_without_capacity_is_passed_over_and_told() -> None:
    """For one type; the next zone costs the same."""
    async with pretended_cloud() as cloud:
        cloud.faults.order(NoCapacity(instance_type=CHEAPEST, zone="test-zone-a"))
        made = await cloud.provider.create(await cloud.claim("c", *LINUX))
        assert made.labels[labels.INSTANCE_TYPE] == CHEAPEST
        assert made.labels[labels.ZONE] == "test-zone-b"
        assert made.sold_out == (SoldOut(CHEAPEST, "test-zone-a", "spot"),)
        assert (await cloud.provider.get(made.provider_id)).sold_out == ()


async def test_no_capacity_at_all_names_what_was_tried() -> None:
    """The first few of it in the message, all of it as data."""
    async with pretended_cloud() as cloud:
        cloud.faults.order(NoCapacity(ends_at=START + timedelta(minutes=1)))
        claim = await cloud.claim("c", *LINUX, requirement(labels.ZONE, "In", ["test-zone-c"]))
        with pytest.raises(
            InsufficientCapacityError,
            match=rf"launching node claim c: sold out: {CHEAPEST} spot in test-zone-c, .*67 more",
        ) as caught:
            await cloud.provider.create(claim)
        assert len(caught.value.sold_out) == 36 * 2
        await cloud.settle()
        await cloud.provider.create(claim)
        assert await cloud.node_names() == ["c"]


@pytest.mark.parametrize("error", ErrorClass)
async def test_a_launch_ends_in_the_error_that_was_ordered(error: ErrorClass) -> None:
    """So often, and then no more; nothing was launched."""
    async with pretended_cloud() as cloud:
        cloud.faults.order(FailedLaunch(error=error, reason="Odd", message="a bad day", times=2))
        claim = await cloud.claim("c", *LINUX)
        for _ in range(2):
            with pytest.raises(ERRORS) as caught:
                await cloud.provider.create(claim)
            assert type(caught.value).__name__ == error
            if isinstance(caught.value, CreateError):
                assert caught.value.condition_reason == "Odd"
                assert caught.value.condition_message.endswith("a bad day")
        assert await cloud.provider.list() == ()
        await cloud.provider.create(claim)
        assert await cloud.node_names() == ["c"]


async def test_a_slow_launch_takes_its_time() -> None:
    """Nothing is there before."""
    async with pretended_cloud() as cloud, asyncio.TaskGroup() as group:
        cloud.faults.order(SlowLaunch(seconds=40, times=1))
        launch = group.create_task(cloud.provider.create(await cloud.claim("c", *LINUX)))
        await cloud.time.advance(timedelta(seconds=39))
        assert (launch.done(), await cloud.provider.list()) == (False, ())
        await cloud.time.advance(timedelta(seconds=1))
        assert launch.done()


@pytest.mark.parametrize("delay", ["", "20s"], ids=["at once", "after a delay"])
async def test_a_lost_instance_vanishes_with_its_node(delay: str) -> None:
    """Whatever holds the Node, so long after it has appeared."""
    async with pretended_cloud(delay) as cloud:
        cloud.faults.order(LostInstance(after_seconds=300, times=1))
        made = await cloud.provider.create(await cloud.claim("doomed", *LINUX))
        await cloud.provider.create(await cloud.claim("spared", *LINUX))
        await cloud.settle()
        finalizers = ["karpenter.sh/termination"]
        await cloud.kube.patch(
            Ref(NODE, "doomed"), Patch({"metadata": {"finalizers": [*finalizers]}})
        )
        await cloud.time.advance(timedelta(minutes=3))
        assert await cloud.node_names() == ["doomed", "spared"]
        await cloud.time.advance(timedelta(minutes=2))
        assert await cloud.node_names() == ["spared"]
        with pytest.raises(NodeClaimNotFoundError):
            await cloud.provider.get(made.provider_id)


async def test_a_machine_is_lost_though_the_provider_restarts() -> None:
    """Its end is part of its record."""
    async with pretended_cloud() as cloud:
        cloud.faults.order(LostInstance(after_seconds=300))
        await cloud.restarted().create(await cloud.claim("doomed", *LINUX))
        async with asyncio.TaskGroup() as group:
            working = group.create_task(cloud.restarted().run())
            await cloud.time.advance(timedelta(minutes=5))
            assert await cloud.node_names() == []
            working.cancel()


async def test_only_the_machine_that_was_doomed_is_lost() -> None:
    """Not another one that bears its name by then."""
    async with pretended_cloud() as cloud:
        cloud.faults.order(LostInstance(after_seconds=90, times=1))
        made = await cloud.provider.create(await cloud.claim("c", *LINUX))
        await cloud.provider.delete(made.provider_id)
        await cloud.kube.delete(Ref(NODE_CLAIM, "c"), Deletion())
        await cloud.provider.create(await cloud.claim("c", *LINUX))
        await cloud.time.advance(timedelta(minutes=2))
        assert await cloud.node_names() == ["c"]


async def test_a_throttled_call_can_be_made_again() -> None:
    """A launch says so in its condition; the others fail without a word on the instance."""
    async with pretended_cloud() as cloud:
        made = await cloud.provider.create(await cloud.claim("c", *LINUX))
        cloud.faults.order(Throttling(times=5))
        with pytest.raises(CreateError, match="too many requests") as caught:
            await cloud.provider.create(await cloud.claim("d", *LINUX))
        assert caught.value.condition_reason == "Throttled"
        for call in (
            cloud.provider.get(made.provider_id),
            cloud.provider.delete(made.provider_id),
            cloud.provider.list(),
            cloud.provider.instance_types(cloud.pool),
        ):
            with pytest.raises(CloudError, match="too many requests") as refused:
                await call
            assert type(refused.value) is CloudError
        assert [one.provider_id for one in await cloud.provider.list()] == [made.provider_id]


def test_a_fault_strikes_the_pool_and_the_calls_it_names() -> None:
    """And within its time."""
    later = START + timedelta(seconds=5)
    ordered = Faults(
        [
            SlowLaunch(seconds=2, node_pool="slow", starts_at=START),
            SlowLaunch(seconds=3, node_pool="slow", ends_at=later),
            Throttling(calls=(Call.LIST,)),
        ]
    )
    slow = ClaimObject("c", "u", node_pool="slow")
    assert ordered.slowness(slow, START) == timedelta(seconds=5)
    assert ordered.slowness(slow, later) == timedelta(seconds=2)
    assert ordered.slowness(ClaimObject("c", "u"), START) == timedelta(0)
    assert ordered.slowness(slow, START - timedelta(seconds=1)) == timedelta(seconds=3)
    assert ordered.is_throttled(Call.LIST, START)
    assert not ordered.is_throttled(Call.GET, START)


def test_faults_are_read_from_a_file(tmp_path: Path) -> None:
    """The example in the module's own words."""
    (_, text, *_) = (faults.__doc__ or "").split("\n\n")
    path = tmp_path / "faults.json"
    path.write_text(text)
    want: tuple[AnyFault, ...] = (
        NoCapacity(instance_type=CHEAPEST, zone="test-zone-a"),
        FailedLaunch(error=ErrorClass.CREATE, node_pool="default", times=2),
        SlowLaunch(seconds=20),
        LostInstance(after_seconds=300),
        Throttling(calls=(Call.LIST,), times=3),
    )
    assert faults.read(str(path)) == want


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[", "expected a JSON list of faults", id="no JSON"),
        pytest.param('[{"type": "Flood"}]', "Flood", id="no such fault"),
        pytest.param('[{"type": "SlowLaunch", "second": 1}]', "second", id="a slip of the hand"),
    ],
)
async def test_a_bad_file_of_faults_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """With its name; also when the settings name it."""
    path = tmp_path / "faults.json"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        faults.read(str(path))
    async with pretended_cloud() as cloud:
        surroundings = ProviderContext(kube=cloud.kube, clock=cloud.time, timer=cloud.time)
        with pytest.raises(InputError, match=r"faults\.json: "):
            kwok.make(surroundings, KwokSettings(kwok_faults_file_path=str(path)))
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        faults.read(str(path))
