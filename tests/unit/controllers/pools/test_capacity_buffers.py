"""Capacity buffers say in their status what they come to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api
from dovetail.controllers.pools.capacity_buffers import CAPACITY_BUFFER, BufferLoop
from dovetail.decide import decide
from dovetail.kube.errors import ConflictError
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.state.changes import Catalogued
from tests.unit.controllers.worlds import TYPES, FlakyKube, World, at_work

POD_TEMPLATE = api.KINDS["", "PodTemplate"]
READY = ("True", "Resolved")


class Keeper:
    """A world with a loop that is shown decisions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.loop = BufferLoop(world.dependencies, world.cache)

    async def decide(self) -> None:
        """A decision is made and shown, not carried out."""
        now = self.world.time.now()
        snapshot = self.world.cluster.snapshot(now)
        self.loop.note_plan(snapshot, decide(snapshot, now), now)
        await self.world.time.advance()

    async def template(self, cpu: str = "500m") -> None:
        """A template to refer to."""
        requests: Json = {"requests": {"cpu": cpu}}
        container: Json = {"name": "c", "image": "i", "resources": requests}
        body: dict[str, Json] = {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": "t", "namespace": "default"},
            "template": {"spec": {"containers": [container]}},
        }
        await self.world.api.create(POD_TEMPLATE, body, "default")
        await self.world.time.advance()

    async def buffer(self, **spec: Json) -> None:
        """A buffer of two such pods."""
        body: dict[str, Json] = {
            "apiVersion": CAPACITY_BUFFER.api_version,
            "kind": CAPACITY_BUFFER.name,
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"podTemplateRef": {"name": "t"}, "replicas": 2, **spec},
        }
        await self.world.api.create(CAPACITY_BUFFER, body, "default")
        await self.world.time.advance()

    async def change(self, **spec: Json) -> None:
        """The buffer is to be another."""
        await self.world.api.patch(Ref(CAPACITY_BUFFER, "b", "default"), Patch({"spec": spec}))
        await self.world.time.advance()

    async def node(self) -> None:
        """A node that is there, with room for two pods or so."""
        body: dict[str, Json] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
            "status": {
                "allocatable": {"cpu": "1", "memory": "4Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        await self.world.api.create(api.KINDS["", "Node"], body)
        await self.world.ready("n")
        await self.world.time.advance()

    async def status(self) -> api.autoscaling.CapacityBufferStatus:
        """What the buffer says."""
        raw = await self.world.api.get(Ref(CAPACITY_BUFFER, "b", "default"))
        return api.decode(api.CapacityBuffer, raw).status

    async def said(self) -> dict[str, tuple[str, str]]:
        """Status and reason of each condition."""
        held = (await self.status()).conditions
        return {one.type: (one.status, one.reason) for one in held}


@asynccontextmanager
async def keeping(world: World | None = None) -> AsyncIterator[Keeper]:
    """A world that buffers are seen to in, with a pool to buy from."""
    keeper = Keeper(world or World(gates={"CapacityBuffer": True}))
    keeper.world.subscribe(keeper.loop.handle)
    await keeper.world.node_class()
    await keeper.world.pool()
    async with at_work(keeper.world, keeper.loop.run):
        keeper.world.cluster.apply(Catalogued("default", TYPES))
        yield keeper


async def test_a_buffer_says_what_it_comes_to() -> None:
    """How many pods, of which template, and that their nodes are yet to be bought."""
    async with keeping() as keeper:
        await keeper.template()
        await keeper.buffer()
        await keeper.decide()
        status = await keeper.status()
        assert status.replicas == 2
        assert status.pod_template_ref == api.autoscaling.LocalObjectRef("t")
        assert status.provisioning_strategy == "buffer.x-k8s.io/active-capacity"
        said = {one.type: one for one in status.conditions}
        assert said.keys() == {"ReadyForProvisioning", "Provisioning"}
        assert said["Provisioning"].reason == "RequiresNewCapacity"
        assert said["Provisioning"].message == (
            "running nodes have room for 0 of 2 pods; nodes for 2 are being launched"
        )


async def test_room_that_is_there_is_said_to_be() -> None:
    """On nodes that run, whoever made them."""
    async with keeping() as keeper:
        await keeper.template()
        await keeper.buffer()
        await keeper.decide()
        assert await keeper.said() == {
            "ReadyForProvisioning": READY,
            "Provisioning": ("False", "RequiresNewCapacity"),
        }
        await keeper.node()
        await keeper.decide()
        assert await keeper.said() == {
            "ReadyForProvisioning": READY,
            "Provisioning": ("True", "FitsExistingCapacity"),
        }


async def test_a_buffer_whose_template_is_missing_says_so_until_it_is_there() -> None:
    """And forgets how many pods it was for."""
    async with keeping() as keeper:
        await keeper.buffer()
        await keeper.decide()
        assert await keeper.said() == {
            "ReadyForProvisioning": ("False", "PodTemplateNotFound"),
            "Provisioning": ("False", "NotReadyForProvisioning"),
        }
        assert (await keeper.status()).replicas is None
        await keeper.template()
        await keeper.decide()
        assert (await keeper.said())["ReadyForProvisioning"] == READY
        await keeper.world.delete(POD_TEMPLATE, "t", "default")
        await keeper.world.time.advance()
        await keeper.decide()
        assert (await keeper.said())["ReadyForProvisioning"] == ("False", "PodTemplateNotFound")
        assert (await keeper.status()).replicas is None
        assert (await keeper.status()).pod_template_ref is None


async def test_a_buffer_of_a_workload_says_whether_that_is_there() -> None:
    """Or that it is none that could be scaled."""
    async with keeping() as keeper:
        deployment: Json = {"apiGroup": "apps", "kind": "Deployment", "name": "w"}
        await keeper.buffer(podTemplateRef=None, scalableRef=deployment)
        await keeper.decide()
        assert (await keeper.said())["ReadyForProvisioning"] == ("False", "ScalableRefNotFound")
        await keeper.change(scalableRef={"apiGroup": "batch", "kind": "Job", "name": "w"})
        await keeper.decide()
        assert (await keeper.said())["ReadyForProvisioning"] == ("False", "ResolutionFailed")


async def test_a_buffer_for_nobody_says_so() -> None:
    """It is ready, and keeps no room."""
    async with keeping() as keeper:
        await keeper.template()
        await keeper.buffer(replicas=0)
        await keeper.decide()
        assert await keeper.said() == {
            "ReadyForProvisioning": READY,
            "Provisioning": ("False", "BufferEmpty"),
        }


async def test_room_that_nobody_can_buy_is_said_to_be_missing() -> None:
    """With how much of it."""
    async with keeping() as keeper:
        await keeper.template(cpu="1k")
        await keeper.buffer()
        await keeper.decide()
        message = {one.type: one.message for one in (await keeper.status()).conditions}
        assert message["Provisioning"].endswith("no node can be launched for 2")


async def test_what_is_said_already_is_not_written_again() -> None:
    """And what we say ourselves leads to no decision."""
    async with keeping() as keeper:
        await keeper.template()
        await keeper.buffer()
        await keeper.decide()
        held = await keeper.world.api.get(Ref(CAPACITY_BUFFER, "b", "default"))
        keeper.world.touched ^= keeper.world.touched
        await keeper.world.pass_(60)
        await keeper.decide()
        assert await keeper.world.api.get(Ref(CAPACITY_BUFFER, "b", "default")) == held
        assert not keeper.world.touched


async def test_a_buffer_that_others_keep_is_left_alone() -> None:
    """Whoever knows its strategy says what it comes to."""
    async with keeping() as keeper:
        await keeper.template()
        await keeper.buffer(provisioningStrategy="example.com/other")
        await keeper.decide()
        assert await keeper.status() == api.autoscaling.CapacityBufferStatus()


async def test_a_write_that_comes_too_late_is_made_again() -> None:
    """The buffer was changed meanwhile."""
    flaky: list[FlakyKube] = []

    def wrap(kube: Kube) -> Kube:
        flaky.append(FlakyKube(kube))
        return flaky[0]

    async with keeping(World(gates={"CapacityBuffer": True}, wrap=wrap)) as keeper:
        flaky[0].fail("CapacityBuffer", "status", ConflictError(409, "Conflict", "late"))
        await keeper.template()
        await keeper.buffer()
        await keeper.decide()
        assert await keeper.said() == {}
        await keeper.world.pass_(2)
        assert (await keeper.said())["ReadyForProvisioning"] == READY
