"""What is said of a pool, and that nobody waits for another's mistakes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail import api, labels
from dovetail.controllers.cache import NODE_CLAIM, NODE_POOL
from dovetail.controllers.pools.loop import PoolLoop
from dovetail.decide.lifecycle.pool import HASH_VERSION
from dovetail.decide.lifecycle.step import NoteRegistration
from dovetail.kube.errors import ConflictError
from dovetail.kube.seam import Body, Json, Patch, Ref
from tests.unit.controllers.worlds import (
    KWOK,
    SECOND,
    FlakyKube,
    World,
    at_work,
    condition,
    said,
)

HASHES = (labels.NODE_POOL_HASH, labels.NODE_POOL_HASH_VERSION)


@asynccontextmanager
async def seeing_to_pools(world: World) -> AsyncIterator[PoolLoop]:
    """A world with a pool loop."""
    loop = PoolLoop(world.dependencies, world.cache)
    world.subscribe(loop.handle)
    async with at_work(world, loop.run):
        yield loop


def note(pool: api.NodePool, *, is_success: bool) -> NoteRegistration:
    """A node of the pool came up, or did not."""
    return NoteRegistration(
        pool.metadata.name, pool.metadata.uid, is_success=is_success, message="no Node joined"
    )


async def test_a_pool_with_a_ready_node_class_is_ready() -> None:
    """And says from what its claims are made."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool()
        await world.time.advance()
        pool = await world.read_pool()
        assert said(pool) == {
            "ValidationSucceeded": ("True", "ValidationSucceeded"),
            "NodeClassReady": ("True", "NodeClassReady"),
            "NodeRegistrationHealthy": ("Unknown", "AwaitingReconciliation"),
            "Ready": ("True", "Ready"),
        }
        assert pool.metadata.annotations[labels.NODE_POOL_HASH_VERSION] == HASH_VERSION
        assert pool.metadata.annotations[labels.NODE_POOL_HASH].isdecimal()
        assert pool.status.node_class_observed_generation == 1
        assert pool.status.resources == dict.fromkeys(
            ("cpu", "ephemeral-storage", "memory", "nodes", "pods"), "0"
        )


async def test_a_missing_node_class_stops_its_pool_and_no_other() -> None:
    """Until it is there."""
    world = World()
    async with seeing_to_pools(world):
        await world.pool("early")
        await world.time.advance()
        early = await world.read_pool("early")
        assert said(early)["NodeClassReady"] == ("False", "NodeClassNotFound")
        assert said(early)["Ready"] == ("False", "UnhealthyDependents")
        other: Json = {"group": labels.KWOK_GROUP, "kind": KWOK.name, "name": "other"}
        await world.node_class()
        await world.pool("lost", template={"nodeClassRef": other})
        await world.time.advance()
        assert said(await world.read_pool("early"))["Ready"] == ("True", "Ready")
        lost = condition(await world.read_pool("lost"), "NodeClassReady")
        assert (lost.status, lost.message) == ("False", "KWOKNodeClass other does not exist")


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param("False", ("False", "NoSubnets"), id="its own reason"),
        pytest.param("Unknown", ("False", "NodeClassReadinessUnknown"), id="it does not know"),
    ],
)
async def test_a_node_class_that_is_not_ready_says_why(status: str, want: tuple[str, str]) -> None:
    """The pool repeats it."""
    world = World()
    await world.node_class()
    said_of: Json = {
        "type": "Ready",
        "status": status,
        "reason": "NoSubnets",
        "message": "none",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body: Body = {"status": {"conditions": [said_of]}}
    await world.api.patch(Ref(KWOK, "default"), Patch(body, subresource="status"))
    async with seeing_to_pools(world):
        await world.pool()
        await world.time.advance()
        assert said(await world.read_pool())["NodeClassReady"] == want


async def test_a_node_class_that_goes_takes_its_pools_readiness_along() -> None:
    """While something still holds it."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool()
        await world.time.advance()
        await world.api.patch(Ref(KWOK, "default"), Patch({"metadata": {"finalizers": ["x/y"]}}))
        await world.delete(KWOK, "default")
        await world.time.advance()
        found = said(await world.read_pool())["NodeClassReady"]
        assert found == ("False", "NodeClassTerminating")


async def test_an_invalid_pool_names_the_field_and_others_go_on() -> None:
    """What no schema can state is found here; mended, it is well again."""
    world = World()
    await world.node_class()
    twice: Json = {"key": "a", "effect": "NoSchedule"}
    async with seeing_to_pools(world):
        await world.pool("wrong", template={"taints": [twice, twice]})
        await world.pool("right")
        await world.time.advance()
        wrong = condition(await world.read_pool("wrong"), "ValidationSucceeded")
        assert (wrong.status, wrong.reason) == ("False", "NodePoolValidationFailed")
        assert wrong.message.startswith("spec.template.spec.taints[1]: ")
        assert said(await world.read_pool("right"))["Ready"] == ("True", "Ready")
        body: Body = {"spec": {"template": {"spec": {"taints": [twice]}}}}
        await world.api.patch(Ref(NODE_POOL, "wrong"), Patch(body))
        await world.time.advance()
        assert said(await world.read_pool("wrong"))["Ready"] == ("True", "Ready")


async def test_an_annotation_that_makes_no_sense_is_named_until_it_is_mended() -> None:
    """Though annotations make no new generation."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool("calm")
        await world.time.advance()
        for value, want in (("often", "False"), ("2", "True")):
            meta: Json = {"annotations": {"dovetail.sh/most-evictions-per-day": value}}
            await world.api.patch(Ref(NODE_POOL, "calm"), Patch({"metadata": meta}))
            await world.time.advance()
            found = condition(await world.read_pool("calm"), "ValidationSucceeded")
            assert found.status == want
            is_named = "metadata.annotations.dovetail.sh/most-evictions-per-day" in found.message
            assert is_named == (want == "False")


async def test_a_span_that_nobody_can_read_does_not_stop_the_loop() -> None:
    """Its pool is not used, and its hash not made."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool("wrong", template={"expireAfter": "9999999999h"})
        await world.pool("right")
        await world.time.advance()
        pool = await world.read_pool("wrong")
        wrong = condition(pool, "ValidationSucceeded")
        assert wrong.message.startswith("spec.template.spec.expireAfter: ")
        assert labels.NODE_POOL_HASH not in pool.metadata.annotations
        assert said(await world.read_pool("right"))["Ready"] == ("True", "Ready")


async def test_a_pool_counts_what_its_nodes_have() -> None:
    """Every five seconds, and only written when it has changed."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool()
        await world.pool("other")
        await world.time.advance()
        held = await world.read_pool("other")
        for name in ("a", "b"):
            await world.claim(name)
            body: Body = {"status": {"providerID": name, "capacity": {"cpu": "2", "x/gpu": "1"}}}
            await world.api.patch(Ref(NODE_CLAIM, name), Patch(body, subresource="status"))
        await world.claim("not-launched")
        await world.time.advance(5 * SECOND)
        counted = (await world.read_pool()).status
        assert (counted.nodes, counted.resources["nodes"]) == (2, "2")
        assert (counted.resources["cpu"], counted.resources["x/gpu"]) == ("4", "2")
        await world.delete(NODE_CLAIM, "a")
        await world.delete(NODE_CLAIM, "b")
        await world.time.advance(5 * SECOND)
        counted = (await world.read_pool()).status
        assert (counted.nodes, counted.resources["cpu"]) == (0, "0")
        assert "x/gpu" not in counted.resources
        assert await world.read_pool("other") == held


async def test_claims_of_older_rules_are_brought_over_unless_they_have_drifted() -> None:
    """Lest a fleet drifts because we count otherwise."""
    world = World()
    await world.node_class()
    async with seeing_to_pools(world):
        await world.pool()
        await world.time.advance()
        old: Json = dict(zip(HASHES, ("old", "v1"), strict=True))
        for name in ("plain", "drifted"):
            await world.claim(name)
            body: Body = {"metadata": {"annotations": old}}
            await world.api.patch(Ref(NODE_CLAIM, name), Patch(body))
        drifted: Json = {
            "type": "Drifted",
            "status": "True",
            "reason": "NodePoolDrifted",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status: Body = {"status": {"conditions": [drifted]}}
        await world.api.patch(Ref(NODE_CLAIM, "drifted"), Patch(status, subresource="status"))
        await world.time.advance()
        await world.api.patch(Ref(NODE_POOL, "default"), Patch({"metadata": {"annotations": old}}))
        await world.time.advance()
        ours = (await world.read_pool()).metadata.annotations
        assert ours[labels.NODE_POOL_HASH] != "old"
        plain = (await world.read_claim("plain")).metadata.annotations
        assert [plain[key] for key in HASHES] == [ours[key] for key in HASHES]
        kept = (await world.read_claim("drifted")).metadata.annotations
        assert [kept[key] for key in HASHES] == ["old", HASH_VERSION]


async def test_a_pool_whose_nodes_do_not_come_up_says_so() -> None:
    """Two of the last four; it is still used."""
    world = World(wrap=FlakyKube)
    assert isinstance(world.kube, FlakyKube)
    await world.node_class()
    async with seeing_to_pools(world) as loop:
        pool = await world.pool()
        await world.time.advance()
        loop.note(note(pool, is_success=True))
        await world.time.advance()
        assert said(await world.read_pool())["NodeRegistrationHealthy"][0] == "True"
        world.kube.fail("NodePool", "status", ConflictError(409, "Conflict", "changed"))
        for _ in range(2):
            loop.note(note(pool, is_success=False))
            await world.time.advance(SECOND)
        found = condition(await world.read_pool(), "NodeRegistrationHealthy")
        assert (found.status, found.reason) == ("False", "RegistrationFailed")
        assert said(await world.read_pool())["Ready"] == ("True", "Ready")
        # A change of the pool begins anew, as nobody knows what it does.
        await world.api.patch(Ref(NODE_POOL, "default"), Patch({"spec": {"weight": 7}}))
        await world.time.advance()
        assert said(await world.read_pool())["NodeRegistrationHealthy"][0] == "Unknown"
        assert world.kube.failures == []
