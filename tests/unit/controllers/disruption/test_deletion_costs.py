"""Pods of nodes that are to empty say that they may go first, others say nothing of the kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from dovetail import labels
from dovetail.controllers.cache import NODE, POD
from dovetail.controllers.disruption.emptying import DeletionCosts
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Deletion, Json, Kube, Patch, Ref
from dovetail.model.plan import Yield
from dovetail.model.policy import Policy
from dovetail.sim.controller_manager.replicas import REPLICA_SET
from tests.doubles.troubled_kube import TroubledKube
from tests.unit.controllers.living import Leader, living
from tests.unit.controllers.worlds import World, at_work


def said(cost: int) -> dict[str, str]:
    """What a marked pod says."""
    return {labels.DELETION_COST: str(cost), labels.YIELDS: str(cost)}


class CountedKube(TroubledKube):
    """Counts what is written, and may refuse it."""

    def __init__(self, kube: Kube) -> None:
        super().__init__(kube)
        self.written: list[str] = []
        self.refused: frozenset[str] = frozenset()

    async def patch(self, ref: Ref, patch: Patch) -> msgspec.Raw:
        """As the API behind it, if it is not refused."""
        self.written.append(ref.name)
        if ref.name in self.refused:
            raise UnavailableError(503, "", "no")
        return await super().patch(ref, patch)


class Marking:
    """A process that is told whose pods may go first."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kube = CountedKube(world.api)
        self.loop = DeletionCosts(replace(world.dependencies, kube=self.kube), world.cache)
        world.feed.subscribe(self.loop.handle)

    async def decide(self, **costs: int) -> list[str]:
        """A decision that wants these nodes to empty; the pods that were written for it."""
        self.kube.written.clear()
        self.loop.want(Yield(node, cost) for node, cost in costs.items())
        await self.world.pass_(1)
        return sorted(self.kube.written)


@asynccontextmanager
async def marking(world: World) -> AsyncIterator[Marking]:
    """Such a process at work."""
    found = Marking(world)
    async with at_work(world, found.loop.run):
        yield found


async def pod(
    world: World, name: str, node: str, owner: str = "ReplicaSet", uid: str = "u", **more: Json
) -> None:
    """A pod of a workload, which runs. What has a `/` in its name is an annotation."""
    whose: dict[str, Json] = {"apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": uid}
    body: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [{**whose, "controller": True}],
            "annotations": {key: value for key, value in more.items() if "/" in key},
            "labels": {"app": "web"},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "i"}],
            **{key: value for key, value in more.items() if "/" not in key},
        },
    }
    await world.api.create(POD, body, "default")


async def says(world: World, *names: str) -> list[dict[str, str]]:
    """What pods say of themselves."""
    return [dict((await world.read_pod(name)).metadata.annotations) for name in names]


async def test_marks_come_change_and_go_with_decisions() -> None:
    """Only ReplicaSets ask. What is said already is not written again."""
    world = World()
    async with marking(world) as found:
        await pod(world, "a", "n1")
        await pod(world, "db-0", "n1", "StatefulSet")
        await pod(world, "b", "n2")
        await world.pass_(1)
        assert await found.decide(n1=-7) == ["a"]
        assert await says(world, "a", "db-0", "b") == [said(-7), {}, {}]
        assert await found.decide(n1=-7) == []
        assert await found.decide(n1=-8, n2=-1) == ["a", "b"]
        assert await says(world, "a", "db-0", "b") == [said(-8), {}, said(-1)]
        assert await found.decide() == ["a", "b"]
        assert await says(world, "a", "db-0", "b") == [{}, {}, {}]
        assert await found.decide() == []


async def test_what_we_say_is_no_news_to_decisions() -> None:
    """It follows from them."""
    world = World()
    async with marking(world) as found:
        await pod(world, "a", "n1")
        await world.pass_(1)
        before = world.cache.cluster.pod("default/a")
        assert await found.decide(n1=-7) == ["a"]
        assert world.cache.cluster.pod("default/a") == before


async def test_owners_who_say_what_a_pod_costs_keep_all_of_its_kind() -> None:
    """Who marks some pods of a ReplicaSet means something by leaving out the others."""
    world = World()
    async with marking(world) as found:
        await pod(world, "busy", "n1", uid="web")
        await pod(world, "idle", "n2", uid="web", **{labels.DELETION_COST: "-1"})
        await pod(world, "other", "n1", uid="other")
        await world.pass_(1)
        assert await found.decide(n1=-7, n2=-7) == ["other"]


async def test_an_owner_who_speaks_later_has_the_last_word() -> None:
    """Our mark goes, and what the owner says stays, and is read."""
    world = World()
    async with marking(world) as found:
        await pod(world, "a", "n1")
        await world.pass_(1)
        await found.decide(n1=-7)
        later: dict[str, Json] = {"metadata": {"annotations": {labels.DELETION_COST: "100"}}}
        await world.api.patch(Ref(POD, "a", "default"), Patch(later))
        await world.pass_(1)
        assert await found.decide(n1=-7) == ["a"]
        assert await says(world, "a") == [{labels.DELETION_COST: "100"}]
        assert await found.decide(n1=-7) == []
        cache = world.cache.cluster.pod("default/a")
        assert cache is not None
        assert cache.annotations == {labels.DELETION_COST: "100"}


async def test_pods_that_are_to_be_spread_over_nodes_are_left_alone() -> None:
    """A ReplicaSet that follows our word would leave them all on one; zones it never looks at."""
    world = World()
    app: dict[str, Json] = {"labelSelector": {"matchLabels": {"app": "web"}}}
    host: dict[str, Json] = {**app, "topologyKey": labels.HOSTNAME}
    spread: Json = [{**host, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]
    over_zones: Json = [
        {**app, "topologyKey": labels.ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    ]
    apart: Json = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [host]}}
    async with marking(world) as found:
        await pod(world, "spread", "n1", topologySpreadConstraints=spread)
        await pod(world, "apart", "n1", affinity=apart)
        await pod(world, "plain", "n1")
        await pod(world, "zones", "n1", topologySpreadConstraints=over_zones)
        await world.pass_(1)
        assert await found.decide(n1=-7) == ["plain", "zones"]


async def test_who_leaves_is_left_alone() -> None:
    """Neither is it marked, nor is its mark taken off; nor that of a pod whose node leaves."""
    world = World()
    node = "n1"
    named: Body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
    await world.api.create(NODE, named)
    async with marking(world) as found:
        for name in ("leaves", "stays", "late"):
            await pod(world, name, node)
        await world.pass_(1)
        assert await found.decide(**{node: -7}) == ["late", "leaves", "stays"]
        await world.api.delete(Ref(POD, "leaves", "default"), Deletion(grace_seconds=300))
        await world.pass_(1)
        assert await found.decide(**{node: -8}) == ["late", "stays"]
        assert await found.decide() == ["late", "stays"]
        assert await found.decide(**{node: -9}) == ["late", "stays"]
        fence: Json = {"key": labels.DISRUPTED_TAINT, "effect": "NoSchedule"}
        await world.api.patch(Ref(NODE, node), Patch({"spec": {"taints": [fence]}}))
        await world.pass_(1)
        assert await found.decide() == []
        assert await says(world, "leaves", "stays") == [said(-7), said(-9)]


async def test_marks_of_an_earlier_process_are_dealt_with_as_our_own() -> None:
    """Those that still hold stay, and the others go."""
    world = World()
    await pod(world, "a", "n1", **said(-7))
    await pod(world, "b", "n2", **said(-7))
    async with marking(world) as found:
        assert await found.decide(n1=-7) == ["b"]
        assert await says(world, "a", "b") == [said(-7), {}]


async def test_few_pods_are_written_after_one_decision() -> None:
    """First who should say nothing, then those of the emptiest node; who fails comes last."""
    world = World()
    full, empty = ([f"{name}-{at:02}" for at in range(40)] for name in ("full", "empty"))
    await pod(world, "stale", "n3", **said(-7))
    async with marking(world) as found:
        for name in full:
            await pod(world, name, "n1")
        for name in empty:
            await pod(world, name, "n2")
        await world.pass_(1)
        found.kube.refused = frozenset(empty[:5])
        first = await found.decide(n1=-1, n2=-9)
        assert first[:40] == empty
        assert set(first[40:49]) < set(full)
        assert first[49:] == ["stale"]
        second = await found.decide(n1=-1, n2=-9)
        assert second == [*empty[:5], *sorted(set(full) - set(first))]
        found.kube.refused = frozenset()
        assert await found.decide(n1=-1, n2=-9) == empty[:5]
        assert await found.decide(n1=-1, n2=-9) == []


async def test_the_whole_controller_says_what_plans_say() -> None:
    """And a workload that shrinks gives those pods up."""
    world = World()
    await world.node_class()
    await world.pool(replicas=2)
    policy = Policy(effort=0, keeps_replicas=True, disrupts_for=())
    async with living(world, policy, Leader(yielding=())) as leader:
        await world.pass_(30)
        kept, emptied = await world.names(NODE)
        await world.api.create(REPLICA_SET, _replica_set(4), "default")
        await world.pass_(30)
        before = await _places(world)
        assert set(before.values()) == {kept, emptied}
        leader.yielding = (Yield(emptied, -5),)
        taint: Json = {"key": "x.com/changed", "effect": "PreferNoSchedule"}
        await world.api.patch(Ref(NODE, kept), Patch({"spec": {"taints": [taint]}}))
        await world.pass_(10)
        marks = {name: said(-5) if node == emptied else {} for name, node in before.items()}
        assert await says(world, *before) == list(marks.values())
        staying = {name: node for name, node in before.items() if node == kept}
        fewer = Patch({"spec": {"replicas": len(staying)}})
        await world.api.patch(Ref(REPLICA_SET, "web", "default"), fewer)
        await world.pass_(60)
        assert await _places(world) == staying


async def _places(world: World) -> dict[str, str]:
    names = sorted(await world.names(POD))
    return {name: (await world.read_pod(name)).spec.node_name for name in names}


def _replica_set(n_pods: int) -> Body:
    app: Json = {"app": "web"}
    containers: Json = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]
    template: Json = {"metadata": {"labels": app}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": n_pods, "selector": {"matchLabels": app}, "template": template},
    }
