"""Every call to a cloud is timed and its errors counted; the caller notices nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dovetail.cloud.errors import (
    CloudError,
    CreateError,
    InsufficientCapacityError,
    NodeClaimNotFoundError,
    NodeClassNotReadyError,
)
from dovetail.cloud.provider import (
    CloudProvider,
    Instance,
    NodeClassKind,
    NodeLifecycleHook,
)
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node, RepairPolicy
from dovetail.model.pool import NodePool
from dovetail.observe.cloud import measure, on_behalf_of
from dovetail.observe.meters import Meters
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.observe.scraped import metered


class Slow:
    """A cloud that takes two seconds for everything, and then fails if it is told to."""

    name = "slow"
    supported_node_classes = (NodeClassKind("g", "K"),)
    repair_policies = (RepairPolicy("Ready", "False", timedelta(minutes=30)),)

    def __init__(self, time: VirtualTime, error: Exception | None = None) -> None:
        self._time = time
        self._error = error

    async def _wait(self) -> None:
        await self._time.sleep(2)
        if self._error is not None:
            raise self._error

    async def create(self, claim: ClaimObject) -> Instance:
        """An instance for it."""
        await self._wait()
        return Instance(claim.name)

    async def delete(self, provider_id: str) -> None:
        """Gone."""
        del provider_id
        await self._wait()

    async def get(self, provider_id: str) -> Instance:
        """The instance."""
        await self._wait()
        return Instance(provider_id)

    async def list(self) -> tuple[Instance, ...]:
        """One instance."""
        await self._wait()
        return (Instance("p1"),)

    async def instance_types(self, pool: NodePool) -> tuple[InstanceType, ...]:
        """None."""
        del pool
        await self._wait()
        return ()

    async def drift_reason(self, node: Node) -> str:
        """As the node is called."""
        await self._wait()
        return node.name


class Particular(Slow):
    """A cloud with a hook."""

    async def registered(self, node: Node) -> timedelta | None:
        """Not yet."""
        del node
        return timedelta(seconds=3)


async def test_every_call_is_timed_by_its_method_and_passed_on() -> None:
    """Under the reference's names for them, and the controller on whose behalf it was made."""
    time, meters = VirtualTime(), Meters()
    cloud = measure(Slow(time), meters, time)
    assert isinstance(cloud, CloudProvider)
    with on_behalf_of("provisioner"):
        async with asyncio.TaskGroup() as tasks:
            calls = [
                tasks.create_task(cloud.create(ClaimObject("c1", "u1"))),
                tasks.create_task(cloud.get("p1")),
                tasks.create_task(cloud.list()),
                tasks.create_task(cloud.drift_reason(Node("n1"))),
                tasks.create_task(cloud.instance_types(NodePool("a"))),
                tasks.create_task(cloud.delete("p1")),
            ]
            await time.advance(timedelta(seconds=2))
    assert [call.result() for call in calls] == [
        Instance("c1"),
        Instance("p1"),
        (Instance("p1"),),
        "n1",
        (),
        None,
    ]
    for method in ("Create", "Get", "List", "IsDrifted", "GetInstanceTypes", "Delete"):
        name = "karpenter_cloudprovider_duration_seconds_sum"
        called = {"method": method, "provider": "slow", "controller": "provisioner"}
        assert metered(meters, name, **called) == [2]
    assert metered(meters, "karpenter_cloudprovider_errors_total") == []
    assert (cloud.name, cloud.supported_node_classes) == ("slow", Slow.supported_node_classes)
    assert cloud.repair_policies == Slow.repair_policies


@pytest.mark.parametrize(
    ("error", "label"),
    [
        (InsufficientCapacityError("none left"), "InsufficientCapacityError"),
        (NodeClaimNotFoundError("gone"), "NodeClaimNotFoundError"),
        (NodeClassNotReadyError("wait"), "NodeClassNotReadyError"),
        (CreateError("odd", condition_reason="Odd"), ""),
        (CloudError("down"), ""),
    ],
)
async def test_errors_are_counted_by_kind_and_reach_the_caller(
    error: CloudError, label: str
) -> None:
    """A call that failed is timed all the same."""
    time, meters = VirtualTime(), Meters()
    cloud = measure(Slow(time, error), meters, time)
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(_failing(cloud))
        await time.advance(timedelta(seconds=2))
    assert call.result() is error
    name = "karpenter_cloudprovider_errors_total"
    assert metered(meters, name, method="Create", error=label) == [1]
    assert metered(meters, "karpenter_cloudprovider_duration_seconds_count") == [1]


async def _failing(cloud: CloudProvider) -> CloudError:
    with pytest.raises(CloudError) as caught:
        await cloud.create(ClaimObject("c1", "u1"))
    return caught.value


@pytest.mark.parametrize(("kind", "is_hook"), [(Slow, False), (Particular, True)])
async def test_a_cloud_with_a_hook_still_has_it(kind: type[Slow], *, is_hook: bool) -> None:
    """And one without has none."""
    time = VirtualTime()
    cloud = measure(kind(time), Meters(), time)
    assert isinstance(cloud, NodeLifecycleHook) is is_hook
    if isinstance(cloud, NodeLifecycleHook):
        assert await cloud.registered(Node("n1")) == timedelta(seconds=3)
