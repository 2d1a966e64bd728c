"""Kubelets for the instances of an EC2: each reads its user data, and joins if that is right.

Joining is done here; what kubelets do afterwards (Ready, leases, pods) is that of the simulation
(`dovetail.sim.kubelets`).
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from dovetail.kube.seam import Deletion, Json, Kube, Patch, PatchType, Ref, Scope
from dovetail.model.backoff import Chance
from dovetail.sim import wire
from dovetail.sim.kubelets import Habits, Kubelets, OwnNodes
from tests.ec2.kubelet.join_request import ClusterFacts, NotJoinedError
from tests.ec2.kubelet.machines import Described, Machines
from tests.ec2.kubelet.node import node
from tests.ec2.kubelet.readers import join_request

if TYPE_CHECKING:
    from types_aiobotocore_ec2 import EC2Client

_HABITS = Habits()
ALIVE = ("pending", "running")


@dataclass(frozen=True)
class World:
    """The time and chance of a test."""

    clock: Clock
    timer: Timer
    chance: Chance


@dataclass(frozen=True)
class Manner:
    """How instances come and go.

    `deletes_nodes`: the Node of a terminated instance is deleted, as the cloud controller manager
    of a cluster does; otherwise it stays and becomes NotReady. `memory_percent` is what the
    operating system sees of the memory that EC2 names.
    """

    poll_seconds: float = 0.5
    deletes_nodes: bool = True
    memory_percent: int = 95
    habits: Habits = _HABITS


_USUAL = Manner()


@dataclass
class Ec2Kubelets:
    """The kubelets of all instances. `refused` has the reason for each that did not join."""

    kube: Kube
    ec2: EC2Client
    cluster: ClusterFacts
    world: World
    manner: Manner = _USUAL
    refused: dict[str, str] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)  # Node by instance
    _alive: set[str] = field(default_factory=set)  # provider ids

    def __post_init__(self) -> None:
        self._machines = Machines(self.ec2, self.manner.memory_percent)

    async def run(self) -> None:
        """Let instances join and leave, and tend their nodes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.tending().run())
            while True:
                with suppress(ApiError, BotoCoreError, ClientError):
                    await self.step()  # what fails now, by order of a test perhaps, is done later
                await self.world.timer.sleep(self.manner.poll_seconds)

    def tending(self) -> Kubelets:
        """What kubelets do once they have joined."""
        own = OwnNodes(selector="", is_ours=lambda one: one.spec.provider_id in self._alive)
        habits = msgspec.structs.replace(self.manner.habits, nodes=own)
        world = self.world
        return Kubelets(self.kube, world.clock, world.timer, chance=world.chance, habits=habits)

    async def step(self) -> None:
        """Look at the instances once: new ones join, terminated ones leave."""
        described = {one["InstanceId"]: one async for one in self._machines.instances()}
        for instance_id, instance in described.items():
            state = instance["State"]["Name"]
            is_new = instance_id not in self.joined and instance_id not in self.refused
            if state == "running" and is_new:
                await self._join(instance)
        for instance_id in sorted(self.joined):
            gone = described.get(instance_id)
            if gone is None or gone["State"]["Name"] not in ALIVE:
                await self._leave(instance_id)

    async def _join(self, instance: Described) -> None:
        instance_id = instance["InstanceId"]
        machine = await self._machines.machine(instance)
        try:
            user_data = await self._user_data(instance_id)
            request = join_request(user_data, machine.image_name, self.cluster)
        except NotJoinedError as error:
            self.refused[instance_id] = str(error)
            return
        self._alive.add(machine.provider_id)
        try:
            await self.kube.create(wire.NODE, node(machine, request))
        except AlreadyExistsError:
            if await self._provider_id(machine.host) != machine.provider_id:
                self._alive.discard(machine.provider_id)
                return  # the Node of an earlier instance with this address has to go first
        self.joined[instance_id] = machine.host

    async def _user_data(self, instance_id: str) -> bytes:
        answer = await self.ec2.describe_instance_attribute(
            InstanceId=instance_id, Attribute="userData"
        )
        text = answer.get("UserData", {}).get("Value", "")
        try:
            return b64decode(text, validate=True)
        except ValueError:
            msg = "user data is not base64"
            raise NotJoinedError(msg) from None

    async def _provider_id(self, name: str) -> str:
        with suppress(NotFoundError):
            found = api.decode(api.Node, await self.kube.get(Ref(wire.NODE, name)))
            return found.spec.provider_id
        return ""

    async def _leave(self, instance_id: str) -> None:
        name = self.joined.pop(instance_id)
        self.refused[instance_id] = "the instance is terminated"
        found = await self._found(name, instance_id)
        if found is None:
            return
        self._alive.discard(found.spec.provider_id)
        with suppress(NotFoundError):
            if self.manner.deletes_nodes:
                await self.kube.delete(Ref(wire.NODE, name), Deletion(uid=found.metadata.uid))
            else:
                body = _silent(self.world.clock)
                patch = Patch(body, PatchType.STRATEGIC, "status")
                await self.kube.patch(Ref(wire.NODE, name), patch)

    async def _found(self, name: str, instance_id: str) -> api.Node | None:
        """The Node of the instance, if it is still there."""
        page = await self.kube.list(Scope(wire.NODE, fields=f"metadata.name={name}"))
        nodes = (api.decode(api.Node, raw) for raw in page.items)
        return next((one for one in nodes if one.spec.provider_id.endswith(instance_id)), None)


def _silent(clock: Clock) -> dict[str, Json]:
    """The status that the node lifecycle controller writes when a kubelet is no longer heard of."""
    unknown: dict[str, Any] = {
        **wire.condition("Ready", holds=False, now=clock.now(), reason="NodeStatusUnknown"),
        "status": "Unknown",
        "message": "Kubelet stopped posting node status.",
    }
    return {"status": {"conditions": [unknown]}}
