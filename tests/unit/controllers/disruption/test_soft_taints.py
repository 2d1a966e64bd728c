"""Nodes that new pods should keep off bear the mark, others do not, and nobody waits for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dovetail import labels
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.controllers.disruption.emptying import SoftTaints
from dovetail.kube.errors import ApiError, ConflictError, UnavailableError
from dovetail.kube.seam import Body, Json, Kube, Patch, Ref
from dovetail.model.plan import Disrupt
from tests.doubles.slow_kube import SlowKube
from tests.unit.controllers.leaving import CLASS_LABEL, Process, World, deaf, running

MARK: Json = {"key": labels.DISCOURAGED, "effect": "PreferNoSchedule"}
FENCE: Json = {"key": labels.DISRUPTED_TAINT, "effect": "NoSchedule"}


class Marking:
    """A process that is told which nodes pods should keep off."""

    def __init__(self, world: World, process: Process, kube: Kube | None = None) -> None:
        self.world = world
        self.process = process
        dependencies = (
            process.dependencies if kube is None else replace(process.dependencies, kube=kube)
        )
        self.loop = SoftTaints(dependencies, process.cache)

    async def decide(self, *names: str) -> list[str]:
        """A decision that wants these marked; what was asked of the API for it."""
        self.process.kube.calls.clear()
        self.loop.want(names)
        await self.world.pass_()
        return sorted(f"{verb} {name}" for _, verb, name in self.process.kube.calls)


@asynccontextmanager
async def marking(world: World, lives: int | None = None) -> AsyncIterator[Marking]:
    """Such a process at work."""
    async with running(world, lives) as process, at_it(world, process) as found:
        yield found


@asynccontextmanager
async def at_it(world: World, process: Process, kube: Kube | None = None) -> AsyncIterator[Marking]:
    """Nodes are marked in this process, by its API or another in front of that."""
    async with asyncio.TaskGroup() as group:
        found = Marking(world, process, kube)
        task = group.create_task(found.loop.run())
        yield found
        task.cancel()


async def marked(world: World, *names: str) -> list[str]:
    """Those of these Nodes that bear the mark."""
    return [
        name
        for name in names
        if (labels.DISCOURAGED, "PreferNoSchedule")
        in [(one.key, one.effect) for one in (await world.wire_node(name)).spec.taints]
    ]


async def mark(world: World, name: str, *others: Json) -> None:
    """Somebody has put the mark on a Node."""
    await world.kube.patch(Ref(NODE, name), Patch({"spec": {"taints": [*others, MARK]}}))


async def test_the_difference_is_written_and_nothing_else() -> None:
    """Nothing to write is no request."""
    world = World()
    for name in "abc":
        await world.node(name)
    async with marking(world) as found:
        assert await found.decide("a", "b") == ["patch a", "patch b"]
        assert await marked(world, *"abc") == ["a", "b"]
        assert await found.decide("b", "a") == []
        assert await found.decide("b", "c") == ["patch a", "patch c"]
        assert await marked(world, *"abc") == ["b", "c"]
        assert await found.decide() == ["patch b", "patch c"]
        assert await found.decide() == []
        assert await marked(world, *"abc") == []
        assert found.process.said("ERROR") == []


async def test_few_nodes_are_written_after_one_decision() -> None:
    """The next ones write the others; those that failed give way to them."""
    world = World()
    names = [f"n-{at:02}" for at in range(14)]
    for name in names:
        await world.node(name)
    async with marking(world) as found:

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "patch" and ref.name < "n-08":
                raise UnavailableError(503, "", "no")

        found.process.kube.refuse = refuse
        assert len(await found.decide(*names)) == 2
        assert await marked(world, *names) == ["n-08", "n-09"]
        assert len(await found.decide(*names)) == 4
        assert await marked(world, *names) == names[8:]
        found.process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        assert len(await found.decide(*names)) == 8
        assert await marked(world, *names) == names


async def test_who_leaves_starts_or_is_not_ours_is_left_alone() -> None:
    """Whether it should bear the mark or not."""
    world = World()
    for name in ("fenced", "going", "doomed", "starts"):
        await world.node(name)
    started: Body = {"metadata": {"labels": {labels.INITIALIZED: None}}}
    await world.kube.patch(Ref(NODE, "starts"), Patch(started))
    await world.kube.patch(Ref(NODE, "fenced"), Patch({"spec": {"taints": [FENCE]}}))
    theirs: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "theirs"}}
    await world.kube.create(NODE, theirs)
    async with marking(world) as found:
        await world.delete(NODE, "going")
        await world.delete(NODE_CLAIM, "doomed")
        await world.pass_()
        every = ("doomed", "fenced", "going", "starts", "theirs", "nowhere")
        assert await found.decide(*every) == []
        for name in every[:-1]:
            await mark(world, name, *([FENCE] if name == "fenced" else []))
        await world.pass_()
        assert await found.decide() == ["patch starts"]
        assert await marked(world, *every[:-1]) == ["doomed", "fenced", "going", "theirs"]


async def test_what_was_written_is_known_before_the_watch_says_so() -> None:
    """So that nothing is written twice. A Node that is being deleted is left alone, though nothing
    else says so yet.
    """
    world = World()
    for name in ("a", "going"):
        await world.node(name)
    await mark(world, "going")
    await world.delete(NODE, "going")
    async with at_it(world, await deaf(world)) as found:
        assert await found.decide("a") == ["patch a"]
        assert await found.decide("a") == []
        assert await found.decide() == ["patch a"]


async def test_a_node_that_is_put_back_loses_a_mark_that_nobody_wants() -> None:
    """With the first decision after its fence came down."""
    world = World()
    await world.node("a")
    await mark(world, "a", FENCE)
    async with marking(world) as found:
        assert await found.decide() == []
        await found.process.disruptions.tidy()
        assert await marked(world, "a") == ["a"]
        assert await found.decide() == ["patch a"]
        assert await marked(world, "a") == []


async def test_a_fence_goes_up_and_down_beside_the_mark() -> None:
    """Neither takes the other along."""
    world = World()
    await world.node("a")
    await world.pod("stays", "a")
    async with marking(world) as found:
        await found.decide("a")
        await found.process.disruptions.begin(Disrupt("Empty", ("a",)))
        assert (await world.wire_claim("a")).metadata.deletion_timestamp is None
        assert await marked(world, "a") == ["a"]


async def test_what_an_earlier_process_left_is_dealt_with_as_our_own() -> None:
    """Wanted marks stay, others go; also those of nodes whose claim is gone."""
    world = World()
    for name in "abc":
        await world.node(name)
        await mark(world, name)
    await world.kube.patch(Ref(NODE_CLAIM, "c"), Patch({"metadata": {"finalizers": None}}))
    await world.delete(NODE_CLAIM, "c")
    assert CLASS_LABEL in (await world.wire_node("c")).metadata.labels
    async with marking(world) as found:
        assert await found.decide("a") == ["patch b", "patch c"]
        assert await marked(world, *"abc") == ["a"]


async def test_a_process_that_dies_on_the_way_leaves_work_for_the_next() -> None:
    """After any number of writes."""
    for lives in (1, 2, 3):
        world = World()
        for name in "abcd":
            await world.node(name)
        await mark(world, "d")
        async with marking(world, lives) as found:
            await found.decide("a", "b", "c")
            assert found.process.kube.died.is_set()
            assert await marked(world, *"abcd") != ["a", "b", "c"]
        async with marking(world) as found:
            assert len(await found.decide("a", "b", "c")) == 4 - lives
            assert await marked(world, *"abcd") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "error", [UnavailableError(503, "", "no"), ConflictError(409, "Conflict", "again")]
)
async def test_what_fails_is_told_and_done_after_the_next_decision(error: ApiError) -> None:
    """Not before, and the others are not held up by it. A conflict that does not end is one."""
    world = World()
    for name in "abc":
        await world.node(name)
    await mark(world, "c")
    async with marking(world) as found:

        def refuse(verb: str, ref: Ref) -> None:
            if verb == "patch" and ref.name in {"a", "c"}:
                raise error

        found.process.kube.refuse = refuse
        await found.decide("a", "b")
        assert await marked(world, *"abc") == ["b", "c"]
        assert found.process.said("ERROR") == ["marking a node failed"] * 2
        found.process.kube.refuse = lambda verb, ref: None  # noqa: ARG005  refuses nothing
        found.process.kube.calls.clear()
        await world.pass_(60)
        assert found.process.kube.calls == []
        assert await found.decide("a", "b") == ["patch a", "patch c"]
        assert await marked(world, *"abc") == ["a", "b"]


async def test_what_others_write_at_the_same_time_is_kept() -> None:
    """The Node is read again, and marked then."""
    world = World()
    await world.node("a")
    async with marking(world) as found:
        other: Json = {"key": "x.com/y", "effect": "NoExecute"}
        await world.kube.patch(Ref(NODE, "a"), Patch({"spec": {"taints": [other]}}))
        assert await found.decide("a") == ["get a", "patch a", "patch a"]
        taints = [one.key for one in (await world.wire_node("a")).spec.taints]
        assert taints == ["x.com/y", labels.DISCOURAGED]


async def test_a_node_that_vanishes_is_no_failure() -> None:
    """There is nothing left to mark."""
    world = World()
    await world.node("a")
    async with marking(world) as found:
        await world.kube.patch(Ref(NODE, "a"), Patch({"metadata": {"finalizers": None}}))
        await world.delete(NODE, "a")
        await found.decide("a")
        assert found.process.said("ERROR") == []


async def test_one_round_at_a_time_and_the_latest_decision_counts() -> None:
    """Whoever decides does not wait, however long the API takes."""
    world = World()
    for name in "ab":
        await world.node(name)
    async with running(world) as process, asyncio.TaskGroup() as network:
        slow = SlowKube(process.kube, world.time, lambda: 5.0, network)
        async with at_it(world, process, slow) as found:
            assert await found.decide("a") == []
            assert await found.decide("b") == []
            assert await found.decide("a", "b") == []
            await world.pass_(30)
            calls = [f"{verb} {name}" for _, verb, name in process.kube.calls]
            assert calls == ["patch a", "patch b"]
            assert await marked(world, *"ab") == ["a", "b"]


async def test_to_finish_is_to_end_the_round_and_begin_no_other() -> None:
    """A decision that was not begun with is left to whoever comes next."""
    world = World()
    for name in "ab":
        await world.node(name)
    async with marking(world) as found:
        await found.decide("a")
        await found.loop.finish()
        assert await found.decide("a", "b") == []
        assert await marked(world, *"ab") == ["a"]
