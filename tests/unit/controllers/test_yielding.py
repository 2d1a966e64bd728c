"""Pods of nodes that are to empty say that they may go first, others say nothing of the kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import labels
from dovetail.controllers.known import NODE, POD
from dovetail.controllers.yielding import Yielding
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.plan import Yield
from dovetail.model.policy import Policy
from dovetail.sim.replicas import REPLICA_SET
from tests.unit.controllers.living import Leader, living
from tests.unit.controllers.worlds import World, at_work

OWN = {labels.DELETION_COST: "7"}


def said(cost: int) -> dict[str, str]:
    """What a marked pod says."""
    return {labels.DELETION_COST: str(cost), labels.YIELDS: "true"}


@asynccontextmanager
async def yielding(world: World) -> AsyncIterator[Yielding]:
    """A process that is told whose pods may go first."""
    found = Yielding(world.means, world.known)
    world.feed.listen(found.hear)
    async with at_work(world, found.run):
        yield found


async def decide(world: World, found: Yielding, **costs: int) -> None:
    """A decision that wants these nodes to empty."""
    found.decided(Yield(node, cost) for node, cost in costs.items())
    await world.pass_(1)


async def pod(world: World, name: str, node: str, owner: str = "ReplicaSet", **own: str) -> None:
    """A pod of a workload, which runs."""
    whose: dict[str, Json] = {"apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": "u"}
    owners: Json = [{**whose, "controller": True}]
    await world.pod(name, node, ownerReferences=owners, annotations=dict(own))


async def says(world: World, *names: str) -> list[dict[str, str]]:
    """What pods say of themselves."""
    return [dict((await world.read_pod(name)).metadata.annotations) for name in names]


async def test_marks_come_change_and_go_with_decisions() -> None:
    """Only ReplicaSets ask, and who has said something keeps to it."""
    world = World()
    async with yielding(world) as found:
        await pod(world, "a", "n-1")
        await pod(world, "own", "n-1", **OWN)
        await pod(world, "db-0", "n-1", "StatefulSet")
        await pod(world, "b", "n-2")
        await world.pass_(1)
        await decide(world, found, **{"n-1": -7})
        assert await says(world, "a", "own", "db-0", "b") == [said(-7), OWN, {}, {}]
        await decide(world, found, **{"n-1": -8, "n-2": -1})
        assert await says(world, "a", "own", "db-0", "b") == [said(-8), OWN, {}, said(-1)]
        await decide(world, found)
        assert await says(world, "a", "own", "db-0", "b") == [{}, OWN, {}, {}]


async def test_what_is_said_already_is_not_written_again() -> None:
    """Nor does it change what decisions see: it follows from them."""
    world = World()
    async with yielding(world) as found:
        await pod(world, "a", "n-1")
        await world.pass_(1)
        before = world.known.pod("default/a")
        await decide(world, found, **{"n-1": -7})
        version = (await world.read_pod("a")).metadata.resource_version
        assert world.known.pod("default/a") == before
        await decide(world, found, **{"n-1": -7})
        assert (await world.read_pod("a")).metadata.resource_version == version


async def test_marks_of_an_earlier_process_are_dealt_with_as_our_own() -> None:
    """Those that still hold stay, and the others go."""
    world = World()
    await pod(world, "a", "n-1", **said(-7))
    await pod(world, "b", "n-2", **said(-7))
    async with yielding(world) as found:
        await decide(world, found, **{"n-1": -7})
        assert await says(world, "a", "b") == [said(-7), {}]


async def test_few_pods_are_written_after_one_decision_those_of_the_emptiest_node_first() -> None:
    """The next decisions write the others."""
    world = World()
    async with yielding(world) as found:
        for number in range(40):
            await pod(world, f"full-{number}", "n-1")
            await pod(world, f"empty-{number}", "n-2")
        await world.pass_(1)
        wanted = {"n-1": -1, "n-2": -9}
        await decide(world, found, **wanted)
        assert await says(world, "empty-0", "empty-39") == [said(-9)] * 2
        marks = await says(world, *(f"full-{number}" for number in range(40)))
        assert marks.count(said(-1)) == 10
        await decide(world, found, **wanted)
        assert await says(world, *(f"full-{number}" for number in range(40))) == [said(-1)] * 40


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
