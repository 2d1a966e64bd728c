"""A static pool comes to have as many nodes as it says, up and down, by the whole controller."""

from __future__ import annotations

from dovetail.controllers.cache import NODE, NODE_CLAIM, NODE_POOL
from dovetail.controllers.disruption.loop import StaticScaleDown
from dovetail.decide.static import OVERPROVISIONED
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Json, Kube, Patch, Ref
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.policy import Policy
from tests.unit.controllers.living import living
from tests.unit.controllers.worlds import FlakyKube, World, at_work, said
from tests.unit.observe.scraped import metered


def policy(*, keeps_replicas: bool = True) -> Policy:
    """Only drift and numbers of replicas make nodes go."""
    drifted = (DisruptionReason.DRIFTED,)
    return Policy(effort=0, keeps_replicas=keeps_replicas, disrupts_for=drifted)


async def scale(world: World, n_nodes: int) -> None:
    """Say how many nodes the pool should have."""
    spec: dict[str, Json] = {"spec": {"replicas": n_nodes}}
    await world.api.patch(Ref(NODE_POOL, "default"), Patch(spec))


async def claims(world: World) -> list[str]:
    """Claims that are not on their way out."""
    names = await world.names(NODE_CLAIM)
    found = [await world.read_claim(name) for name in names]
    return [one.metadata.name for one in found if one.metadata.deletion_timestamp is None]


async def test_a_pool_with_replicas_gets_so_many_nodes_and_no_others() -> None:
    """They come from its template: nothing is asked of them that the pool does not ask."""
    world = World()
    await world.node_class()
    await world.pool(replicas=3)
    async with living(world, policy()):
        await world.pass_(60)
        names = await world.names(NODE)
        assert len(names) == 3
        assert sorted(await claims(world)) == sorted(names)
        claim = await world.read_claim(names[0])
        assert claim.spec.requirements == ()
        assert {one.type: one.status for one in claim.status.conditions}["Initialized"] == "True"
        assert (await world.read_pool()).status.nodes == 3
        created = "karpenter_nodeclaims_created_total"
        assert metered(world.dependencies.meters, created, reason="provisioned") == [3]


async def test_replicas_are_followed_up_and_down() -> None:
    """What goes is drained and gone; it counts as no disruption."""
    world = World()
    await world.node_class()
    await world.pool(replicas=1)
    async with living(world, policy()):
        await world.pass_(60)
        await scale(world, 4)
        await world.pass_(60)
        assert len(await world.names(NODE)) == 4
        await scale(world, 2)
        await world.pass_(5)
        assert len(await claims(world)) == 2
        await world.pass_(60)
        assert len(await world.names(NODE)) == len(await world.cloud.list()) == 2
        assert metered(world.dependencies.meters, "karpenter_nodeclaims_disrupted_total") == []
        await scale(world, 0)
        await world.pass_(60)
        assert await world.names(NODE_CLAIM) == await world.names(NODE) == []


async def test_a_node_that_is_deleted_is_made_up_for() -> None:
    """By one, however long it takes to go."""
    world = World()
    await world.node_class()
    await world.pool(replicas=2)
    async with living(world, policy()):
        await world.pass_(60)
        before = await world.names(NODE)
        await world.delete(NODE_CLAIM, before[0])
        await world.pass_(120)
        after = await world.names(NODE)
        assert len(after) == 2
        assert before[0] not in after
        assert before[1] in after


async def test_drifted_nodes_are_replaced_before_they_go_one_for_one() -> None:
    """As many at once as budget and limit allow; the pool never has fewer than it wants."""
    world = World()
    await world.node_class()
    disruption: Json = {"budgets": [{"nodes": "2"}], "consolidateAfter": "0s"}
    await world.pool(replicas=3, limits={"nodes": "4"}, disruption=disruption)
    async with living(world, policy()):
        await world.pass_(60)
        before = set(await world.names(NODE))
        template: dict[str, Json] = {"metadata": {"labels": {"team": "new"}}}
        await world.api.patch(Ref(NODE_POOL, "default"), Patch({"spec": {"template": template}}))
        for _ in range(300):
            await world.pass_(1)
            assert len(await world.names(NODE_CLAIM)) <= 4
            assert len(await claims(world)) >= 3
        after = set(await world.names(NODE))
        assert len(after) == 3
        assert not before & after
        for name in after:
            assert (await world.read_node(name)).metadata.labels["team"] == "new"
        drifted = {"reason": "drifted", "nodepool": "default"}
        assert metered(
            world.dependencies.meters, "karpenter_nodeclaims_disrupted_total", **drifted
        ) == [3]


async def test_nodes_with_labels_of_the_pools_choice_do_not_drift() -> None:
    """A pool that leaves a label open gets nodes that have it."""
    world = World()
    await world.node_class()
    open_label: Json = {"key": "team", "operator": "In", "values": ["b", "a"]}
    await world.pool(replicas=1, template={"requirements": [open_label]})
    async with living(world, policy()):
        await world.pass_(600)
        (name,) = await world.names(NODE)
        assert (await world.read_node(name)).metadata.labels["team"] == "a"
        assert "Drifted" not in said(await world.read_claim(name))


async def test_a_pool_never_has_more_nodes_than_its_limit() -> None:
    """Not even while a deleted node is still there."""
    world = World()
    await world.node_class()
    await world.pool(replicas=5, limits={"nodes": "2"})
    async with living(world, policy()):
        await world.pass_(60)
        names = await world.names(NODE)
        assert len(names) == 2
        await world.delete(NODE_CLAIM, names[0])
        for _ in range(60):
            await world.pass_(1)
            assert len(await world.names(NODE_CLAIM)) <= 2
        assert len(await claims(world)) == 2


async def test_without_the_feature_replicas_mean_nothing() -> None:
    """No node comes, and none goes."""
    world = World()
    await world.node_class()
    await world.pool(replicas=2)
    async with living(world, policy(keeps_replicas=False)):
        await world.pass_(120)
        assert await world.names(NODE_CLAIM) == []


async def test_a_launch_that_fails_is_tried_again() -> None:
    """Until the pool has what it wants."""
    flaky: list[FlakyKube] = []

    def wrap(kube: Kube) -> Kube:
        flaky.append(FlakyKube(kube))
        return flaky[0]

    world = World(wrap=wrap)
    await world.node_class()
    await world.pool(replicas=2)
    for _ in range(5):
        flaky[0].fail("NodeClaim", "create", UnavailableError(503, "", "no"))
    async with living(world, policy()):
        await world.pass_(120)
        assert len(await world.names(NODE)) == 2


async def test_what_cannot_be_deleted_stays_and_is_worth_another_try() -> None:
    """The others go; what is leaving or gone already is left alone."""
    flaky: list[FlakyKube] = []

    def wrap(kube: Kube) -> Kube:
        flaky.append(FlakyKube(kube))
        return flaky[0]

    world = World(wrap=wrap)
    await world.node_class()
    await world.pool(replicas=0)
    surplus = StaticScaleDown(world.dependencies, world.cache)
    async with at_work(world):
        for name in ("one", "two"):
            await world.claim(name)
        await world.pass_(1)
        flaky[0].fail("NodeClaim", "delete", UnavailableError(503, "", "no"))
        going = Disrupt(OVERPROVISIONED, ("one", "two", "nobody"))
        assert not await surplus.take_away(going)
        assert await world.names(NODE_CLAIM) == ["one"]
        ledger = world.cluster.snapshot(world.time.now()).ledger
        assert "one" not in [gone.node for gone in ledger.disrupting]
        await world.pass_(1)
        assert await surplus.take_away(going)
        assert await world.names(NODE_CLAIM) == []
