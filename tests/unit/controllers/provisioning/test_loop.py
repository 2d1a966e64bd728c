"""Pods that wait get their nodes ordered once, are told, and are not planned for twice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from dovetail import api
from dovetail.controllers.cache import NODE_CLAIM, POD
from dovetail.controllers.launching.claim_creation import ClaimCreation, ClaimWriter
from dovetail.controllers.pods.nominations import Nominations, NominationWriter
from dovetail.controllers.provisioning.loop import DecisionEffects, DecisionLoop, Window
from dovetail.decide import decide
from dovetail.kube.errors import ForbiddenError
from dovetail.kube.seam import Json, Patch, Ref, Scope
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker
from dovetail.observe.events import EVENT
from dovetail.state.changes import Catalogued, Touched
from tests.unit.controllers.worlds import TYPES, FlakyKube, World, at_work

UNSCHEDULABLE: Json = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class Deciding:
    """A decision loop in a world, and what it decided."""

    def __init__(self, world: World, *, steers: bool = True, acts: bool = True) -> None:
        self.world = world
        self.plans: list[Plan] = []
        self.plan: Plan | None = None  # to be made; without it, whatever is right
        self.wishes: list[Plan] = []  # of each decision carried out
        dependencies = world.dependencies
        orders = ClaimWriter(
            world.kube, mark="run", timer=dependencies.timer, chance=dependencies.chance
        )
        effects = DecisionEffects(
            claim_creation=ClaimCreation(dependencies, world.cache, orders),
            nominations=Nominations(
                dependencies, world.cache, NominationWriter(world.kube) if steers else None
            ),
            compute=self._compute,
            disrupt=self._disrupt,
            let_nodes_empty=self.wishes.append,
            witness=self._witness,
            acts=acts,
        )
        self.loop = DecisionLoop(dependencies, world.cache, effects, Window())

    async def _compute(self, snapshot: Snapshot, now: datetime) -> Plan:
        return self.plan or decide(snapshot, now)

    async def _disrupt(self, disrupt: Disrupt, _pools: tuple[NodePool, ...]) -> bool:
        raise AssertionError(disrupt)

    def _witness(self, _snapshot: Snapshot, plan: Plan, _now: datetime, _took: float) -> None:
        self.plans.append(plan)


@asynccontextmanager
async def deciding(
    world: World, *, steers: bool = True, acts: bool = True
) -> AsyncIterator[Deciding]:
    """A world with a pool, whose decision loop runs."""
    found = Deciding(world, steers=steers, acts=acts)
    await world.node_class()
    await world.pool()
    world.touch = found.loop.touch  # type: ignore[method-assign]  # what the feed tells goes on to the loop
    async with at_work(world):
        world.cache.cluster.apply(Catalogued("default", TYPES))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(found.loop.run())
            await world.pass_(2)
            yield found
            running.cancel()


async def waiting(world: World, name: str, cpu: str = "600m", **spec: Json) -> None:
    """A pod that kube-scheduler found no node for."""
    asked: Json = {"requests": {"cpu": cpu}}
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": asked}], **spec},
    }
    await world.api.create(POD, body, "default")
    patch = Patch({"status": {"conditions": [UNSCHEDULABLE]}}, subresource="status")
    await world.api.patch(Ref(POD, name, "default"), patch)


async def test_pods_that_come_together_are_planned_together() -> None:
    """A second later there are claims for them, and everybody is told."""
    world = World()
    async with deciding(world) as found:
        for name in ("a", "b", "c"):
            await waiting(world, name)
            await world.pass_(0.5)
        assert await world.names(NODE_CLAIM) == []
        await world.pass_(1)
        made = await world.names(NODE_CLAIM)
        assert made
        assert world.told.reasons("default/a") == ["Nominated"]
        planned = [pod for plan in found.plans for launch in plan.launches for pod in launch.pods]
        assert sorted(planned) == ["default/a", "default/b", "default/c"]
        await world.pass_(60)
        assert await world.names(NODE_CLAIM) == made  # nobody is planned for twice


async def test_a_claim_that_the_api_refuses_is_planned_anew() -> None:
    """Its pods wait again, and the next plan has another name for the node."""
    flaky: list[FlakyKube] = []

    def wrap(kube: object) -> FlakyKube:
        flaky.append(FlakyKube(kube))  # type: ignore[arg-type]  # it is the world's API
        return flaky[0]

    world = World(wrap=wrap)
    async with deciding(world) as found:
        flaky[0].fail("NodeClaim", "create", ForbiddenError(403, "Forbidden", "not now"))
        await waiting(world, "a")
        await world.pass_(5)
        names = [launch.name for plan in found.plans for launch in plan.launches]
        assert len(names) == 2
        assert await world.names(NODE_CLAIM) == names[1:]


async def test_who_waits_is_told_why_and_nothing_loops() -> None:
    """A pod that nothing can hold gets an event, no node, and no second plan by itself."""
    world = World()
    async with deciding(world) as found:
        await waiting(world, "giant", cpu="900")
        await world.pass_(2)
        assert world.told.reasons("default/giant") == ["FailedScheduling"]
        [said] = [one.message for one in world.told.events if one.name == "default/giant"]
        assert re.fullmatch(r"[A-Z].+\. What would help: [a-z].+[^.]\.", said)
        n_plans = len(found.plans)
        await world.pass_(600)
        assert len(found.plans) == n_plans
        assert await world.names(NODE_CLAIM) == []


async def test_a_dry_run_decides_and_changes_nothing() -> None:
    """Not even an event is written."""
    world = World()
    async with deciding(world, acts=False) as found:
        await waiting(world, "a")
        await world.pass_(5)
        assert any(plan.launches for plan in found.plans)
        assert await world.names(NODE_CLAIM) == []
        assert world.told.events == []
        assert found.wishes == []


async def test_every_decision_says_which_nodes_pods_should_keep_off() -> None:
    """Also that there are none."""
    world = World()
    async with deciding(world) as found:
        await world.pass_(5)
        found.wishes.clear()
        for names in (("a", "b"), ()):
            found.plan = Plan(discouraged=names)
            found.loop.touch(Touched.PENDING)
            await world.pass_(5)
        assert [one.discouraged for one in found.wishes] == [("a", "b"), ()]


async def test_the_scheduler_is_told_of_a_place_on_a_node_that_is_there() -> None:
    """And the word is taken back when the place is no longer meant."""
    world = World()
    async with deciding(world) as found:
        await world.api.create(api.KINDS["", "Node"], _node("free", "4"))
        await world.ready("free")
        await world.pass_(2)
        await waiting(world, "a")
        await world.pass_(2)
        assert not any(plan.launches for plan in found.plans)
        assert await _word(world, "a") == "free"
        await world.delete(api.KINDS["", "Node"], "free")
        await world.pass_(5)
        assert await _word(world, "a") != "free"
        assert await world.names(NODE_CLAIM) != []


async def test_a_node_that_stays_for_another_reason_says_so_at_once() -> None:
    """And for the same reason only now and then."""
    world = World()
    async with deciding(world) as found:
        await world.api.create(api.KINDS["", "Node"], _node("busy", "4"))
        for reason in (Blocker.NOMINATED, Blocker.POD_PROTECTED, Blocker.NOMINATED):
            blocked = Blocked("busy", reason, f"{reason}.")
            found.plan = Plan(blocked=(blocked,))
            found.loop.touch(Touched.PENDING)
            await world.pass_(5)
        assert await _messages(world, "busy") == ["Nominated.", "PodDoNotDisrupt."]


async def _messages(world: World, name: str) -> list[str]:
    """What was written about an object, each once."""
    await world.told.close()
    page = await world.api.list(Scope(EVENT))
    written = [msgspec.json.decode(raw) for raw in page.items]
    found = [one for one in written if one["involvedObject"]["name"] == name]
    return [one["message"] for one in sorted(found, key=lambda one: one["metadata"]["name"])]


async def test_without_steering_no_pod_is_touched() -> None:
    """It can be switched off."""
    world = World()
    async with deciding(world, steers=False) as found:
        await world.api.create(api.KINDS["", "Node"], _node("free", "4"))
        await world.ready("free")
        await world.pass_(2)
        await waiting(world, "a")
        await world.pass_(2)
        assert [one.node for plan in found.plans for one in plan.nominations] == ["free"]
        assert await _word(world, "a") == ""


def _node(name: str, cpu: str) -> dict[str, Json]:
    amounts: Json = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    ready: Json = {"type": "Ready", "status": "True", "reason": "Kubelet"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


async def _word(world: World, name: str) -> str:
    found = api.decode(api.Pod, await world.api.get(Ref(POD, name, "default")))
    return found.status.nominated_node_name
