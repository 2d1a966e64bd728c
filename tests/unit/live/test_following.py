"""A cluster that is followed by somebody who only reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.apiserver.http.server import serve
from dovetail.cli import main
from dovetail.clock import LoopTimer, SystemClock
from dovetail.errors import InputError
from dovetail.kube.errors import ForbiddenError, UnavailableError
from dovetail.kube.mirror import Pace
from dovetail.kube.seam import Deletion, Json, Patch, Ref
from dovetail.live.following import Following
from dovetail.present.node_list import NodeList, node_list
from dovetail.testing.virtual_time import VirtualTime
from tests.doubles.troubled_kube import ApiCall, Trouble, TroubledKube

NODE = api.KINDS["", "Node"]
POOL = api.KINDS["karpenter.sh", "NodePool"]
OVERLAY = api.KINDS["karpenter.sh", "NodeOverlay"]


class World:
    """An API, somebody who follows it, and what may go wrong."""

    def __init__(self, catalogue: str = "") -> None:
        self.time = VirtualTime()
        self.api = MemoryKube(self.time)
        self.refuses: dict[str, Exception] = {}
        self.calls: list[ApiCall] = []
        self.n_touched = 0
        kube = TroubledKube(self.api, self._trouble)
        pace = Pace(self.time, lambda: 0.5)
        self.following = Following(kube, pace, catalogue=catalogue, touched=self._touch)

    def _trouble(self, call: ApiCall) -> Trouble | None:
        self.calls.append(call)
        error = self.refuses.get(call.kind)
        return None if error is None else Trouble(error)

    def _touch(self) -> None:
        self.n_touched += 1

    async def pool(self, name: str = "default", kind: str = "KWOKNodeClass") -> None:
        """A NodePool of some cloud."""
        group = "karpenter.kwok.sh" if kind.startswith("KWOK") else "example.com"
        ref: Json = {"group": group, "kind": kind, "name": "default"}
        spec: Json = {"template": {"spec": {"nodeClassRef": ref, "requirements": []}}}
        await self.make(POOL, name, spec=spec)

    async def make(self, kind: api.Kind, name: str, **parts: Json) -> None:
        """An object."""
        said: dict[str, Json] = {"apiVersion": kind.api_version, "kind": kind.name}
        await self.api.create(kind, {**said, "metadata": {"name": name}, **parts})

    async def node(self, name: str, kind: str, zone: str, pool: str = "default") -> None:
        """A node that is ready."""
        held: Json = {
            labels.NODE_POOL: pool,
            labels.INSTANCE_TYPE: kind,
            labels.ZONE: zone,
            labels.CAPACITY_TYPE: "on-demand",
            labels.INITIALIZED: "true",
        }
        await self.make(NODE, name)
        await self.api.patch(Ref(NODE, name), Patch({"metadata": {"labels": held}}))
        size: Json = {"cpu": "2", "memory": "8Gi", "pods": "110"}
        ready: Json = [{"type": "Ready", "status": "True"}]
        status: Json = {"capacity": size, "allocatable": size, "conditions": ready}
        await self.api.patch(Ref(NODE, name), Patch({"status": status}, subresource="status"))

    async def listed(self) -> NodeList:
        """The nodes as they are known once everything was heard."""
        await self.time.advance()
        now = self.time.now()
        return node_list(self.following.snapshot(now), now)


@asynccontextmanager
async def running(world: World) -> AsyncIterator[Following]:
    """Somebody follows for as long as the block lasts."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.following.run())
        await world.time.advance()
        yield world.following
        task.cancel()


async def test_nodes_of_every_pool_are_priced_by_the_catalogue_that_knows_them() -> None:
    """Whoever's pool it is, and without a word of which catalogue that is."""
    world = World()
    await world.pool("ours")
    await world.pool("theirs", kind="GKENodeClass")
    await world.node("a", "c-2x-amd64-linux", "test-zone-a", "ours")
    await world.node("b", "m5.large", "us-west-2a", "theirs")
    async with running(world) as following:
        await following.ready()
        prices = {one.name: one.price_per_hour for one in (await world.listed()).nodes}
        assert set(following.catalogues()) == {"aws", "generic"}
    assert prices["a"] > 0
    assert prices["b"] > 0
    assert not [call for call in world.calls if call.is_write]


async def test_a_pool_without_nodes_buys_where_its_like_do() -> None:
    """Or else the cluster would have the zones of two clouds."""
    world = World()
    await world.pool("first")
    await world.pool("second")
    await world.node("a", "m5.large", "us-west-2a", "first")
    async with running(world) as following:
        await following.ready()
        await world.listed()
        assert following.catalogues() == ("aws",)


async def test_what_changes_is_heard_and_seen() -> None:
    """A node that comes, one that goes, and an overlay that makes them dearer."""
    world = World()
    await world.pool()
    await world.node("a", "c-2x-amd64-linux", "test-zone-a")
    async with running(world) as following:
        await following.ready()
        (before,) = (await world.listed()).nodes
        heard = world.n_touched
        await world.node("b", "c-2x-amd64-linux", "test-zone-a")
        assert [one.name for one in (await world.listed()).nodes] == ["a", "b"]
        assert world.n_touched > heard
        await world.api.delete(Ref(NODE, "a"), Deletion())
        spec: Json = {"requirements": [], "priceAdjustment": "+100%"}
        await world.make(OVERLAY, "dear", spec=spec)
        (after,) = (await world.listed()).nodes
        assert after.price_per_hour == pytest.approx(2 * before.price_per_hour)
        await world.api.delete(Ref(OVERLAY, "dear"), Deletion())
        (again,) = (await world.listed()).nodes
    assert (again.name, again.price_per_hour) == ("b", before.price_per_hour)


async def test_a_catalogue_that_is_named_is_used_for_all() -> None:
    """Also where it does not know the nodes."""
    world = World("aws")
    await world.pool()
    await world.node("a", "c-2x-amd64-linux", "test-zone-a")
    async with running(world) as following:
        await following.ready()
        assert [one.price_per_hour for one in (await world.listed()).nodes] == [0.0]


async def test_a_kind_that_may_not_be_read_counts_as_empty() -> None:
    """And is named."""
    world = World()
    world.refuses["PersistentVolume"] = ForbiddenError(403, "Forbidden", "not yours")
    async with running(world) as following:
        await following.ready()
        assert following.hidden_kinds() == ("PersistentVolume",)
        assert following.trouble() == ""


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param("Pod", ForbiddenError(403, "Forbidden", "not yours"), id="no rights"),
        pytest.param("Service", UnavailableError(0, "", "nobody answers"), id="nobody there"),
    ],
)
async def test_without_what_is_needed_it_says_so_and_gives_up(kind: str, error: Exception) -> None:
    """A cluster without pods, or one that does not answer, is not shown half."""
    world = World()
    world.refuses[kind] = error
    async with running(world) as following:
        with pytest.raises(InputError, match=f"cannot read {kind}s: {error}"):
            await following.ready()


async def test_trouble_later_on_is_told_for_as_long_as_it_lasts() -> None:
    """What is known stays as it was."""
    world = World()
    await world.pool()
    await world.node("a", "c-2x-amd64-linux", "test-zone-a")
    async with running(world) as following:
        await following.ready()
        world.refuses["Node"] = UnavailableError(0, "", "nobody answers")
        world.api.cut_watches()
        await world.time.advance(timedelta(minutes=1))
        assert following.trouble() == "Nodes cannot be followed: nobody answers"
        assert len((await world.listed()).nodes) == 1
        del world.refuses["Node"]
        await world.time.advance(timedelta(minutes=2))
        assert following.trouble() == ""


async def test_explain_answers_from_a_live_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is now, without a file."""
    kube = MemoryKube(SystemClock())
    await kube.create(NODE, {"metadata": {"name": "n1"}, "spec": {}})
    async with serve(kube, clock=SystemClock(), timer=LoopTimer()) as served:
        config = tmp_path / "kubeconfig"
        config.write_text(served.kubeconfig())
        words = ["explain", "node/n1", "--kubeconfig", str(config)]
        assert await asyncio.to_thread(main, words) == 0
    assert "It has no NodeClaim, so Dovetail does not manage it." in capsys.readouterr().out
