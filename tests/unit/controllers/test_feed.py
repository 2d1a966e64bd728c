"""What happens in the cluster is known, and what we did ourselves is known at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.controllers.cache import NODE_CLAIM, WatchCache
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.kube.mirror import Absent, Notice, Pace, Present
from dovetail.kube.seam import Deletion, Json, Patch, Ref
from dovetail.model.pool import NodeClassRef
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.state.changes import NOTHING, Touched
from dovetail.state.cluster import Cluster
from dovetail.testing.virtual_time import VirtualTime

KWOK = kwok_node_class.KIND
NODE = api.KINDS["", "Node"]
POD = api.KINDS["", "Pod"]


class World:
    """A feed over an API in the process."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.kube = MemoryKube(self.time)
        self.cache = WatchCache(Cluster(), (KWOK,))
        self.touched = NOTHING
        self.notices: list[Notice] = []
        self.feed = Feed(
            self.kube,
            self.cache,
            watched_kinds((KWOK,), {}),
            pace=Pace(self.time, lambda: 0.5),
            touched=self._touch,
        )
        self.feed.subscribe(self.notices.append)

    def _touch(self, what: Touched) -> None:
        self.touched |= what


@asynccontextmanager
async def following() -> AsyncIterator[World]:
    """A world whose feed runs and is in sync."""
    world = World()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.feed.run())
        await world.time.advance()
        await world.feed.wait_in_sync()
        yield world
        task.cancel()


def claim(
    name: str, kind: str = "KWOKNodeClass", group: str = "karpenter.kwok.sh"
) -> dict[str, Json]:
    """A NodeClaim of some cloud."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name},
        "spec": {
            "nodeClassRef": {"group": group, "kind": kind, "name": "default"},
            "requirements": [],
        },
    }


def pod(name: str, node: str = "") -> dict[str, Json]:
    """A pod, bound or waiting."""
    spec: dict[str, Json] = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    meta: Json = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def test_what_is_made_and_deleted_is_known() -> None:
    """And everybody who listens hears of it after it is known."""
    async with following() as world:
        await world.kube.create(NODE_CLAIM, claim("a"))
        await world.time.advance()
        assert world.cache.claims.get("a") is not None
        assert any(
            isinstance(one, Present) and one.object.metadata.name == "a" for one in world.notices
        )
        await world.kube.delete(Ref(NODE_CLAIM, "a"), Deletion())
        await world.time.advance()
        assert world.cache.claims.all() == ()
        assert isinstance(world.notices[-1], Absent)


async def test_claims_of_another_cloud_are_not_ours() -> None:
    """Nor are its pools."""
    async with following() as world:
        await world.kube.create(NODE_CLAIM, claim("theirs", "EC2NodeClass", "karpenter.k8s.aws"))
        await world.time.advance()
        assert world.cache.claims.get("theirs") is None
        assert not world.cache.cluster.keys(NODE_CLAIM)


async def test_a_write_of_ours_is_known_before_the_watch_shows_it() -> None:
    """And what the watch shows late does not undo it."""
    async with following() as world:
        made = await world.kube.create(NODE_CLAIM, claim("a"))
        world.cache.put(NODE_CLAIM, made)
        found = world.cache.claims.get("a")
        assert found is not None
        patch = Patch({"status": {"providerID": "kwok://a"}}, subresource="status")
        later = await world.kube.patch(Ref(NODE_CLAIM, "a"), patch)
        world.cache.put(NODE_CLAIM, later)
        world.cache.put(NODE_CLAIM, made)
        assert [one.metadata.name for one in world.cache.claims.under("kwok://a")] == ["a"]
        await world.time.advance()
        assert [one.metadata.name for one in world.cache.claims.under("kwok://a")] == ["a"]


async def test_the_answer_to_a_write_does_not_bring_back_what_is_gone() -> None:
    """The watch may have shown the end before the answer is read."""
    async with following() as world:
        made = await world.kube.create(NODE_CLAIM, claim("a"))
        await world.time.advance()
        await world.kube.delete(Ref(NODE_CLAIM, "a"), Deletion())
        await world.time.advance()
        world.cache.put(NODE_CLAIM, made)
        assert world.cache.claims.get("a") is None


async def test_pods_are_found_by_their_node() -> None:
    """Until they are gone."""
    async with following() as world:
        await world.kube.create(
            NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        )
        await world.kube.create(POD, pod("one", "n"), "default")
        await world.kube.create(POD, pod("two"), "default")
        await world.time.advance()
        assert [one.name for one in world.cache.cluster.pods_on("n")] == ["one"]
        assert world.touched & Touched.NODES
        await world.kube.delete(Ref(POD, "one", "default"), Deletion(grace_seconds=0))
        await world.time.advance()
        assert world.cache.cluster.pods_on("n") == ()
        assert world.cache.cluster.pod("default/one") is None


async def test_a_node_class_is_found_by_reference() -> None:
    """Of a kind that our cloud knows."""
    async with following() as world:
        body: dict[str, Json] = {
            "apiVersion": KWOK.api_version,
            "kind": KWOK.name,
            "metadata": {"name": "default"},
        }
        await world.kube.create(KWOK, body)
        await world.time.advance()
        assert world.cache.node_class(NodeClassRef(KWOK.group, KWOK.name, "default")) is not None
        assert world.cache.node_class(NodeClassRef(KWOK.group, KWOK.name, "other")) is None
        assert world.cache.node_class(NodeClassRef("x", "Y", "default")) is None
        assert world.cache.pools() == ()


async def test_a_bug_of_one_listener_does_not_make_the_others_deaf() -> None:
    """It is told, and the feed goes on."""
    async with following() as world:
        told: list[str] = []
        world.feed.failed = lambda about, error: told.append(f"{about}: {error}")

        def fail(_: Notice) -> None:
            msg = "a bug"
            raise RuntimeError(msg)

        later: list[Notice] = []
        world.feed.subscribe(fail)
        world.feed.subscribe(later.append)
        for name in ("one", "two"):
            body: dict[str, Json] = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name},
            }
            await world.kube.create(NODE, body)
        await world.time.advance()
        names = [one.object.metadata.name for one in later if isinstance(one, Present)]
        assert names[-2:] == ["one", "two"]
        assert [one.split()[1] for one in told][-2:] == ["/one", "/two"]
