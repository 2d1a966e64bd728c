"""Pods that come and go keep a node from being consolidated."""

from __future__ import annotations

import asyncio

from dovetail.controllers.cache import POD
from dovetail.kube.seam import Body, Json, Patch, Ref
from tests.unit.controllers.claiming import Claims, initialized, seeing_to_claims
from tests.unit.controllers.worlds import (
    MINUTE,
    SECOND,
    World,
    at_work,
    said,
)


async def test_pods_that_come_and_go_keep_a_node_from_being_consolidated() -> None:
    """For consolidateAfter; written at most once in ten seconds."""
    world = World()
    async with seeing_to_claims(world, disruption={"consolidateAfter": "30s"}):
        await initialized(world)
        await world.time.advance(30 * SECOND)
        assert said(await world.read_claim())["Consolidatable"] == ("True", "Consolidatable")
        await world.pod("a", "one")
        await world.time.advance()
        first = await world.read_claim()
        assert first.status.last_pod_event_time == world.time.now()
        assert "Consolidatable" not in said(first)
        await world.time.advance(5 * SECOND)
        await world.pod("b", "one")
        await world.time.advance()
        again = await world.read_claim()
        assert again.status.last_pod_event_time == first.status.last_pod_event_time
        await world.time.advance(10 * SECOND)
        await world.delete(POD, "a", "default")
        await world.time.advance()
        last = await world.read_claim()
        assert last.status.last_pod_event_time == world.time.now()
        await world.time.advance(30 * SECOND)
        assert said(await world.read_claim())["Consolidatable"] == ("True", "Consolidatable")


async def test_daemons_and_changes_of_no_account_are_no_traffic() -> None:
    """A label does not keep a node."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        owner: dict[str, Json] = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": "d",
            "uid": "u",
        }
        await world.pod("daemon", "one", ownerReferences=[{**owner, "controller": True}])
        await world.time.advance()
        assert (await world.read_claim()).status.last_pod_event_time is None
        await world.pod("a", "one")
        await world.time.advance()
        came_at = (await world.read_claim()).status.last_pod_event_time
        await world.time.advance(MINUTE)
        await world.api.patch(Ref(POD, "a", "default"), Patch({"metadata": {"labels": {"x": "y"}}}))
        await world.time.advance()
        assert (await world.read_claim()).status.last_pod_event_time == came_at
        body: Body = {"status": {"phase": "Succeeded"}}
        await world.api.patch(Ref(POD, "a", "default"), Patch(body, subresource="status"))
        await world.time.advance()
        ended_at = (await world.read_claim()).status.last_pod_event_time
        assert ended_at == world.time.now()


async def test_a_restart_does_not_begin_the_wait_anew() -> None:
    """What was there before is no news."""
    world = World()
    async with seeing_to_claims(world, disruption={"consolidateAfter": "30s"}):
        await initialized(world)
        await world.pod("a", "one")
        await world.time.advance()
        came_at = (await world.read_claim()).status.last_pod_event_time
        assert came_at == world.time.now()
        await world.time.advance(20 * SECOND)
    later = world.again()
    async with seeing_to_claims(later):
        await later.time.advance(SECOND)
        assert (await later.read_claim()).status.last_pod_event_time == came_at
        await later.time.advance(9 * SECOND)
        assert said(await later.read_claim())["Consolidatable"] == ("True", "Consolidatable")


async def test_what_pods_do_before_we_lead_is_no_news() -> None:
    """Whoever led then has written it down."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        await world.pod("a", "one")
        await world.time.advance()
        came_at = (await world.read_claim()).status.last_pod_event_time
    later = world.again()
    claims = Claims(later)

    async def lead() -> None:
        await later.time.sleep(MINUTE.total_seconds())
        await claims.loop.run()

    async with at_work(later, lead):
        await later.delete(POD, "a", "default")
        await later.time.advance(2 * MINUTE)
        assert (await later.read_claim()).status.last_pod_event_time == came_at


async def test_pods_that_were_there_before_we_listened_are_told_apart_from_news() -> None:
    """A change of no account is none, though we never heard of them; their end is news."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        await world.pod("a", "one")
        await world.time.advance()
        came_at = (await world.read_claim()).status.last_pod_event_time
        await world.time.advance(MINUTE)
    later = world.again()
    async with at_work(later):
        claims = Claims(later)  # who begins to listen only now
        async with asyncio.TaskGroup() as group:
            running = group.create_task(claims.loop.run())
            await later.time.advance()
            body: Body = {"metadata": {"labels": {"x": "y"}}}
            await later.api.patch(Ref(POD, "a", "default"), Patch(body))
            await later.time.advance()
            assert (await later.read_claim()).status.last_pod_event_time == came_at
            await later.delete(POD, "a", "default")
            await later.time.advance()
            assert (await later.read_claim()).status.last_pod_event_time == later.time.now()
            running.cancel()


async def test_a_claim_that_makes_no_sense_is_told_of_and_others_go_on() -> None:
    """It is not seen to, and nothing stops for it."""
    world = World()
    async with seeing_to_claims(world):
        await world.claim("strange", expireAfter="9999999999h")
        await world.claim("one")
        await world.time.advance()
        assert world.told.reasons("strange") == ["UnreadableObject"]
        assert said(await world.read_claim("one"))["Registered"] == ("True", "Registered")
