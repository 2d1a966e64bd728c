"""What kube-scheduler was told of a pod it is told again when it has struck it out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api
from dovetail.controllers.cache import POD
from dovetail.controllers.pods.nominations import Nominations, NominationWriter
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.sim.wire import BINDING
from dovetail.state.changes import Nominated, Withdrawn
from tests.unit.controllers.worlds import World, at_work

KEY = "default/a"
REF = Ref(POD, "a", "default")
BODY: dict[str, Json] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@asynccontextmanager
async def steering(world: World, *, is_on: bool = True) -> AsyncIterator[Nominations]:
    """A pod that is promised a node, and somebody who sends it there."""
    steers = Nominations(
        world.dependencies, world.cache, NominationWriter(world.kube) if is_on else None
    )
    await world.node_class()
    await world.pool()
    await world.claim("one")
    async with at_work(world):
        await waiting(world)
        world.subscribe(steers.handle)
        await world.pass_(0.1)
        world.cluster.apply(Nominated("one", (KEY,), world.time.now()))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(steers.run())
            yield steers
            running.cancel()


async def waiting(world: World) -> None:
    """The pod, for which kube-scheduler found no node."""
    await world.api.create(POD, BODY, "default")
    await without_a_node(world, "a")


async def without_a_node(world: World, name: str) -> None:
    """As kube-scheduler says that it has found none."""
    said: Json = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    patch = Patch({"status": {"conditions": [said]}}, subresource="status")
    await world.api.patch(Ref(POD, name, "default"), patch)


async def strike_out(world: World) -> None:
    """As kube-scheduler does when it finds no node for the pod."""
    body: dict[str, Json] = {"status": {"nominatedNodeName": None}}
    await world.api.patch(REF, Patch(body, subresource="status"))
    await world.pass_(0.1)


async def word(world: World, name: str = "a") -> str:
    """The node that the pod's status names."""
    found = api.decode(api.Pod, await world.api.get(Ref(POD, name, "default")))
    return found.status.nominated_node_name


async def test_a_nomination_that_was_struck_out_is_made_again() -> None:
    """As often as that happens."""
    world = World()
    async with steering(world) as steers:
        assert await steers.steer("one", (KEY,)) == 1
        await world.pass_(0.1)
        for _ in range(3):
            assert await word(world) == "one"
            await strike_out(world)
        assert await word(world) == "one"


async def test_what_is_no_longer_promised_is_not_said_again() -> None:
    """The pod may be meant for another node by now, or for none."""
    world = World()
    async with steering(world) as steers:
        assert await steers.steer("one", (KEY,)) == 1
        await world.pass_(0.1)
        world.cluster.apply(Withdrawn((KEY,)))
        await strike_out(world)
        assert await word(world) == ""


async def test_a_pod_that_was_told_nothing_is_left_alone() -> None:
    """Its node is not there yet, or steering is off."""
    for is_on in (True, False):
        world = World()
        async with steering(world, is_on=is_on) as steers:
            if not is_on:
                assert await steers.steer("one", (KEY,)) == 0
            await strike_out(world)
            assert await word(world) == ""


async def test_a_pod_made_anew_is_another_pod() -> None:
    """What was said to the first is not said to the second, nor to one that is bound."""
    world = World()
    async with steering(world) as steers:
        assert await steers.steer("one", (KEY,)) == 1
        await world.delete(POD, "a", "default")
        await waiting(world)
        await world.pass_(1)
        assert await word(world) == ""


async def test_of_pods_that_a_hard_spread_counts_one_follows_the_other() -> None:
    """As many at a time as its maxSkew allows, the next when one is bound."""
    world = World()
    spread: dict[str, Json] = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    keys = ("default/w-0", "default/w-1")
    async with steering(world) as steers:
        for key in keys:
            name = key.partition("/")[2]
            meta: Json = {"name": name, "namespace": "default", "labels": {"app": "web"}}
            spec: Json = {
                "containers": [{"name": "c", "image": "i"}],
                "topologySpreadConstraints": [spread],
            }
            await world.api.create(POD, {**BODY, "metadata": meta, "spec": spec}, "default")
            await without_a_node(world, name)
        await world.pass_(0.1)
        world.cluster.apply(Nominated("one", keys, world.time.now()))
        steers.consider(
            found for key in keys if (found := world.cache.cluster.pod(key)) is not None
        )
        assert await steers.steer("one", keys) == 1
        assert [await word(world, name) for name in ("w-0", "w-1")] == ["one", ""]
        await world.api.create(
            BINDING, {"metadata": {"name": "w-0"}, "target": {"name": "n"}}, "default"
        )
        await world.pass_(0.1)
        assert await word(world, "w-1") == "one"
