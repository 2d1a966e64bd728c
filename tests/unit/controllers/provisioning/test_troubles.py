"""Decisions come when it is time, and one that goes wrong neither stops nor repeats for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from dovetail.controllers.cache import NODE_CLAIM, POD
from dovetail.controllers.launching.claim_creation import ClaimCreation, ClaimWriter
from dovetail.controllers.leadership.supervisor import Loop, Supervisor
from dovetail.controllers.pods.nominations import Nominations
from dovetail.controllers.pools.loop import PoolLoop
from dovetail.controllers.provisioning.loop import DecisionEffects, DecisionLoop, Window
from dovetail.decide import decide
from dovetail.kube.errors import ApiError, InvalidError
from dovetail.kube.seam import Json, Patch, Ref
from dovetail.model.plan import Disrupt, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import Catalogued, Touched
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube
from tests.unit.controllers.replicas import Notes
from tests.unit.controllers.worlds import HOUR, MINUTE, SECOND, TYPES, World, at_work


class Deciding:
    """A decision loop, kept up by a supervisor; every decision is noted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.decided_at: list[float] = []
        self.plan: Plan | None = None  # to be made; without it, whatever is right
        self.bugs: list[Exception] = []  # each raised once
        self.n_failing = 0  # disruptions that will fail
        self.disrupted: list[Disrupt] = []
        self.notes = Notes()
        dependencies = world.dependencies
        orders = ClaimWriter(
            dependencies.kube, mark="m", timer=dependencies.timer, chance=dependencies.chance
        )
        effects = DecisionEffects(
            claim_creation=ClaimCreation(dependencies, world.cache, orders),
            nominations=Nominations(dependencies, world.cache, None),
            compute=self.compute,
            disrupt=self.disrupt,
            let_nodes_empty=lambda _: None,
            witness=lambda *_: None,
        )
        self.loop = DecisionLoop(dependencies, world.cache, effects, Window())
        world.feed._touched = self.touched  # noqa: SLF001  as a whole controller would have it
        self.supervisor = Supervisor(
            [Loop("decisions", self.loop.run)],
            timer=dependencies.timer,
            chance=dependencies.chance,
            log=self.notes,
        )

    def touched(self, what: Touched) -> None:
        """Something could matter."""
        self.loop.touch(what)

    async def compute(self, snapshot: Snapshot, now: datetime) -> Plan:
        """Decide, or fail."""
        self.decided_at.append(self.world.time.elapsed_seconds())
        if self.bugs:
            raise self.bugs.pop()
        return self.plan if self.plan is not None else decide(snapshot, now)

    async def disrupt(self, disrupt: Disrupt, _pools: tuple[NodePool, ...]) -> bool:
        """Note it; whether it did not fail."""
        self.disrupted.append(disrupt)
        self.n_failing -= 1
        return self.n_failing < 0


@asynccontextmanager
async def deciding(world: World) -> AsyncIterator[Deciding]:
    """A world with a pool whose types are known, and its decisions."""
    await world.node_class()
    await world.pool()
    world.cluster.apply(Catalogued("default", TYPES))
    loop, pools = Deciding(world), PoolLoop(world.dependencies, world.cache)
    world.subscribe(pools.handle)
    async with at_work(world, loop.supervisor.run, pools.run):
        yield loop


async def waiting(world: World, name: str) -> None:
    """A pod that waits."""
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]
        },
    }
    await world.api.create(POD, body, "default")
    said: Json = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    patch = Patch({"status": {"phase": "Pending", "conditions": [said]}}, subresource="status")
    await world.api.patch(Ref(POD, name, "default"), patch)


class Refusing(TroubledKube):
    """An API that refuses claims, with these errors one after the other."""

    def fail(self, *errors: Exception) -> None:
        """The next claims are refused."""
        self.errors = list(errors)
        self.trouble = self._next

    def _next(self, call: ApiCall) -> Trouble | None:
        if call.verb != "create" or call.kind != "NodeClaim" or not self.errors:
            return None
        self.n_refused = getattr(self, "n_refused", 0) + 1
        return Trouble(self.errors.pop(0))


async def test_a_pod_gets_its_claim() -> None:
    """The ring, once round."""
    world = World()
    async with deciding(world):
        await waiting(world, "a")
        await world.time.advance(3 * SECOND)
        assert len(await world.names(NODE_CLAIM)) == 1


async def test_a_bug_on_the_way_to_a_claim_leaves_no_node_that_never_comes() -> None:
    """What nobody knows to have come about is forgotten when the watch does not show it; the
    claims that were being made beside it too.
    """
    world = World(wrap=Refusing)
    assert isinstance(world.kube, Refusing)
    async with deciding(world):
        world.kube.fail(RuntimeError("a bug"))
        await waiting(world, "a")
        await world.time.advance(3 * SECOND)
        assert await world.names(NODE_CLAIM) == []
        await world.time.advance(MINUTE)
        assert len(await world.names(NODE_CLAIM)) == 1


async def test_claims_that_the_api_refuses_are_tried_ever_more_slowly() -> None:
    """A webhook that says no is not asked every second."""
    world = World(wrap=Refusing)
    assert isinstance(world.kube, Refusing)
    async with deciding(world):
        refusal: ApiError = InvalidError(422, "Invalid", "no")
        world.kube.fail(*[refusal] * 500)
        await waiting(world, "a")
        await world.time.advance(10 * MINUTE)
        assert 5 <= world.kube.n_refused <= 25
        world.kube.fail()
        await world.time.advance(MINUTE)
        assert len(await world.names(NODE_CLAIM)) == 1


async def test_a_disruption_that_fails_is_tried_again_though_nothing_happens() -> None:
    """Ever more slowly, until it comes through."""
    world = World()
    async with deciding(world) as loop:
        await world.time.advance(MINUTE)
        loop.plan, loop.n_failing = Plan(disruptions=(Disrupt("Empty", ("a",)),)), 3
        loop.touched(Touched.NODES)
        await world.time.advance(10 * MINUTE)
        assert len(loop.disrupted) == 4


async def test_a_bug_in_a_decision_is_told_and_the_next_one_is_made() -> None:
    """With the revision of what it was about."""
    world = World()
    async with deciding(world) as loop:
        loop.bugs.append(ZeroDivisionError("a bug"))
        await waiting(world, "a")
        await world.time.advance(5 * SECOND)
        assert len(await world.names(NODE_CLAIM)) == 1
        told = next(fields for _, text, fields in loop.notes.lines if "starts again" in text)
        assert "ZeroDivisionError: a bug" in str(told["problem"])
        assert "test_troubles.py" in str(told["problem"])


async def test_no_decision_begins_once_it_is_to_end() -> None:
    """Though a window was open."""
    world = World()
    async with deciding(world) as loop:
        await world.time.advance(5 * SECOND)
        before = len(loop.decided_at)
        await waiting(world, "a")
        await world.time.advance()
        await loop.loop.finish()
        await world.time.advance(MINUTE)
        assert len(loop.decided_at) == before


async def test_a_moment_that_has_passed_does_not_spin_the_loop() -> None:
    """Whatever a plan says, there is a rest between decisions."""
    world = World()
    async with deciding(world) as loop:
        loop.plan = Plan(wake_at=world.time.now() - timedelta(hours=1))
        await world.time.advance(20 * SECOND)
        assert len(loop.decided_at) <= 22


async def test_a_far_moment_is_looked_for_now_and_then() -> None:
    """The clock may be set meanwhile, which no sleeper notices."""
    world = World()
    async with deciding(world) as loop:
        loop.plan = Plan(wake_at=world.time.now() + 24 * HOUR)
        await world.time.advance(HOUR)
        assert 5 <= len(loop.decided_at) <= 8
