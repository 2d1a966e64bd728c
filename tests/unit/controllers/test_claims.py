"""A claim becomes a node, or goes and says why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from dovetail import api, labels
from dovetail.cloud.errors import CloudError
from dovetail.cloud.provider import Instance
from dovetail.controllers.claims import ClaimHands, ClaimLoop
from dovetail.controllers.known import NODE, NODE_CLAIM, POD
from dovetail.decide.lifecycle.actions import NoteRegistration
from dovetail.kube.errors import ApiError, ConflictError, TooManyRequestsError, UnavailableError
from dovetail.kube.mirror import Present
from dovetail.kube.seam import Body, Json, Kube, Patch, Ref
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Node
from dovetail.providers.kwok.faults import ErrorClass, FailedLaunch, NoCapacity, SlowLaunch
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import Catalogued, LaunchFailed
from dovetail.testing.troubled_kube import Call, Trouble, TroubledKube, When
from tests.unit.controllers.worlds import (
    HOUR,
    MINUTE,
    SECOND,
    TYPES,
    DeafKube,
    FlakyKube,
    World,
    at_work,
    condition,
    said,
)

NOT_READY = "node.kubernetes.io/not-ready"


class Claims:
    """A claim loop with what it asks of others."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.notes: list[NoteRegistration] = []
        self.steered: list[str] = []
        self.took_pods = False
        self.refusal: ApiError | None = None
        hands = ClaimHands(steer=self.steer, note=self.notes.append)
        self.loop = ClaimLoop(world.means, world.known, hands)
        world.listen(self.loop.hear)

    async def steer(self, claim: api.NodeClaim, node: api.Node) -> None:
        """Note it, and whether the Node takes pods already."""
        taints = [one.key for one in node.spec.taints]
        self.took_pods |= labels.UNREGISTERED_TAINT not in taints
        self.steered.append(f"{claim.metadata.name} {node.metadata.name}")
        if self.refusal is not None:
            raise self.refusal


@asynccontextmanager
async def seeing_to_claims(world: World, **pool: object) -> AsyncIterator[Claims]:
    """A world with a node class, a pool and a claim loop."""
    if "default" not in await world.names(api.KINDS[labels.KWOK_GROUP, "KWOKNodeClass"]):
        await world.node_class()
        await world.pool(**pool)  # type: ignore[arg-type]  # JSON, by whoever calls
    claims = Claims(world)
    async with at_work(world, claims.loop.run):
        yield claims


async def initialized(world: World, name: str = "one") -> None:
    """A claim that has come all the way."""
    await world.claim(name)
    await world.time.advance()
    await world.ready(name)
    await world.time.advance()
    assert said(await world.read_claim(name))["Ready"] == ("True", "Ready")


# ---- launch, registration, initialization


async def test_a_claim_becomes_a_registered_initialized_node() -> None:
    """Launched, registered once its Node is there, initialized once nothing is wanting."""
    world = World()
    async with seeing_to_claims(world) as claims:
        await world.claim(
            taints=[{"key": "kept", "effect": "NoSchedule"}],
            startupTaints=[{"key": "starting", "effect": "NoExecute"}],
        )
        await world.time.advance()
        claim, node = await world.read_claim(), await world.read_node()
        assert said(claim)["Launched"] == ("True", "Launched")
        assert said(claim)["Registered"] == ("True", "Registered")
        assert said(claim)["Initialized"] == ("Unknown", "NodeNotReady")
        assert said(claim)["Ready"] == ("Unknown", "ReconcilingDependents")
        assert [one.type for one in claim.status.conditions][-1] == "Ready"
        assert claim.status.provider_id == node.spec.provider_id == "kwok://one"
        assert claim.status.node_name == "one"
        assert claim.status.capacity["cpu"] == "1"
        assert claim.metadata.finalizers == (labels.TERMINATION_FINALIZER,)
        assert claim.metadata.labels["karpenter.kwok.sh/kwoknodeclass"] == "default"
        assert claim.metadata.labels[labels.INSTANCE_TYPE] == "c-1x-amd64-linux"
        assert node.metadata.labels[labels.REGISTERED] == "true"
        assert node.metadata.labels["karpenter.kwok.sh/kwoknodeclass"] == "default"
        assert node.metadata.finalizers == (labels.TERMINATION_FINALIZER,)
        assert [one.key for one in node.spec.taints] == [NOT_READY, "kept", "starting"]
        owner = node.metadata.owner_references[0]
        assert (owner.kind, owner.uid) == ("NodeClaim", claim.metadata.uid)
        assert owner.block_owner_deletion
        assert (claims.steered, claims.took_pods) == (["one one"], False)
        assert [(one.node_pool, one.is_success) for one in claims.notes] == [("default", True)]

        await world.ready()
        await world.time.advance()
        assert said(await world.read_claim())["Initialized"] == ("Unknown", "StartupTaintsExist")
        await world.untaint("starting")
        await world.time.advance()
        claim = await world.read_claim()
        assert said(claim)["Initialized"] == ("True", "Initialized")
        assert said(claim)["Ready"] == ("True", "Ready")
        assert said(claim)["ConsistentStateFound"] == ("True", "ConsistentStateFound")
        assert said(claim)["Consolidatable"] == ("True", "Consolidatable")
        assert "Drifted" not in said(claim)
        assert (await world.read_node()).metadata.labels[labels.INITIALIZED] == "true"


async def test_a_starting_node_is_waited_for_with_a_reason() -> None:
    """Before its Node is there, and while ephemeral taints are on it."""
    world = World()
    await world.node_class(delay="30s")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")
        assert said(await world.read_claim())["Registered"] == ("Unknown", "NodeNotFound")
        await world.time.advance(31 * SECOND)
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        await world.ready()
        taint: Json = {"key": "readiness.k8s.io/net", "effect": "NoSchedule"}
        await world.api.patch(Ref(NODE, "one"), Patch({"spec": {"taints": [taint]}}))
        await world.time.advance()
        found = said(await world.read_claim())["Initialized"]
        assert found == ("Unknown", "KnownEphemeralTaintsExist")


async def test_a_resource_that_is_not_reported_is_waited_for() -> None:
    """Every requested one."""
    world = World()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        body: Body = {"status": {"allocatable": {"cpu": "0"}}}
        await world.api.patch(Ref(NODE, "one"), Patch(body, subresource="status"))
        await world.ready()
        await world.time.advance()
        found = condition(await world.read_claim(), "Initialized")
        assert (found.status, found.reason) == ("Unknown", "ResourceNotRegistered")
        assert found.message == "the Node does not report cpu yet"


async def test_device_drivers_that_were_asked_for_are_waited_for() -> None:
    """Until each has published a pool."""
    world = World()
    await world.node_class(delay="30s")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        asked: Body = {"metadata": {"annotations": {labels.REQUESTED_DRA_DRIVERS: "gpu.test"}}}
        await world.api.patch(Ref(NODE_CLAIM, "one"), Patch(asked))
        await world.time.advance(31 * SECOND)
        await world.ready()
        await world.time.advance()
        found = said(await world.read_claim())["Initialized"]
        assert found == ("Unknown", "DRADriverPoolsNotPublished")


async def test_a_node_that_vanishes_before_it_is_ready_is_missed() -> None:
    """Its claim says so."""
    world = World()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        await world.api.patch(Ref(NODE, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.delete(NODE, "one")
        await world.time.advance()
        assert said(await world.read_claim())["Initialized"] == ("Unknown", "NodeNotFound")


async def test_a_node_that_wants_no_taints_gets_none() -> None:
    """It says so by a label of its own."""
    world = World()
    await world.node_class(delay="30s")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim(taints=[{"key": "kept", "effect": "NoSchedule"}])
        await world.time.advance()
        mark: Body = {"metadata": {"labels": {labels.DO_NOT_SYNC_TAINTS: "true"}}}
        await world.api.patch(Ref(NODE_CLAIM, "one"), Patch(mark))
        await world.time.advance(31 * SECOND)
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert [one.key for one in (await world.read_node()).spec.taints] == [NOT_READY]


async def test_two_nodes_of_one_instance_are_one_too_many() -> None:
    """Nobody can tell which is the claim's."""
    world = World()
    await world.node_class(delay="30s")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        for name in ("a", "b"):
            await world.api.create(
                NODE,
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name},
                    "spec": {"providerID": "kwok://one"},
                },
            )
        await world.time.advance()
        # The first was registered before the second came, unless both are seen at once.
        found = said(await world.read_claim())["Registered"]
        assert found == ("False", "MultipleNodesFound")


async def test_a_node_without_the_unregistered_taint_is_told_of() -> None:
    """Pods may have come to it too early."""
    world = World()
    await world.node_class(delay="30s")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        body: Body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "bare"},
            "spec": {"providerID": "kwok://one"},
        }
        await world.api.create(NODE, body)
        await world.time.advance()
        assert "UnregisteredTaintMissing" in world.told.reasons("one")


async def test_pods_that_cannot_be_steered_do_not_keep_a_node_back() -> None:
    """It is asked once, and the node goes on whatever comes of it."""
    world = World()
    async with seeing_to_claims(world) as claims:
        claims.refusal = UnavailableError(503, "", "not now")
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert claims.steered == ["one one"]


class HookedCloud(KwokProvider):
    """A cloud that wants something done before a node counts."""

    again_after: timedelta | None = 10 * SECOND
    refusal: CloudError | None = None

    async def registered(self, node: Node) -> timedelta | None:
        """When to ask again."""
        assert (node.name, node.node_claim) == ("one", "one")
        if self.refusal is not None:
            raise self.refusal
        return self.again_after


async def test_a_node_waits_for_its_clouds_hooks() -> None:
    """It has all but the word that it is registered, until the hook has no more to say."""
    world = World(cloud=HookedCloud)
    assert isinstance(world.cloud, HookedCloud)
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        found = said(await world.read_claim())["Registered"]
        assert found == ("Unknown", "RegistrationHookPending")
        node = await world.read_node()
        assert labels.UNREGISTERED_TAINT in [one.key for one in node.spec.taints]
        assert node.metadata.finalizers == (labels.TERMINATION_FINALIZER,)
        world.cloud.refusal = CloudError("broken")
        await world.time.advance(10 * SECOND)
        assert "broken" in condition(await world.read_claim(), "Registered").message
        world.cloud.refusal, world.cloud.again_after = None, None
        await world.time.advance(SECOND)
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")


# ---- launches that fail


async def test_a_claim_for_which_nothing_is_left_goes_and_what_was_refused_is_remembered() -> None:
    """So that the next plan asks elsewhere."""
    world = World()
    world.faults.order(NoCapacity(instance_type="c-1x-amd64-linux", zone="test-zone-a"))
    only: Json = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["c-1x-amd64-linux"]}
    zone: Json = {"key": labels.ZONE, "operator": "In", "values": ["test-zone-a"]}
    async with seeing_to_claims(world):
        await world.claim(requirements=[only, zone])
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []
        ledger = world.known.cluster.snapshot(world.time.now()).ledger
        assert {(one.instance_type, one.zone) for one in ledger.refusals} == {
            ("c-1x-amd64-linux", "test-zone-a")
        }
        assert world.told.reasons("one") == ["InsufficientCapacityError"]
        assert LaunchFailed("one", world.time.now()) in world.cluster.outcomes


async def test_a_claim_that_we_deleted_is_let_be_until_the_watch_shows_it() -> None:
    """It is told and counted once."""
    world = World(wrap=DeafKube)
    world.faults.order(NoCapacity())
    world.faults.order(SlowLaunch(seconds=1))
    assert isinstance(world.kube, DeafKube)
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance()
        world.kube.hears.clear()
        await world.time.advance(SECOND)
        held = world.known.claim("one")
        assert held is not None
        assert held.metadata.deletion_timestamp is None
        claims.loop.hear(Present(held))
        await world.time.advance(10 * SECOND)
        assert world.told.reasons("one") == ["InsufficientCapacityError"]
        world.kube.hears.set()
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []


async def test_what_would_have_been_cheaper_is_remembered_though_the_launch_came_off() -> None:
    """The cloud says it once."""
    world = World()
    world.faults.order(NoCapacity(instance_type="c-1x-amd64-linux", capacity_type="spot"))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        ledger = world.known.cluster.snapshot(world.time.now()).ledger
        assert {one.capacity_type for one in ledger.refusals} == {"spot"}


async def test_a_node_class_that_is_not_ready_costs_the_claim() -> None:
    """Its pods are planned for again."""
    world = World()
    world.faults.order(FailedLaunch(error=ErrorClass.NODE_CLASS_NOT_READY))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        assert await world.names(NODE_CLAIM) == []


async def test_a_failed_launch_says_why_and_is_tried_again() -> None:
    """After waits that double; the claim stays."""
    world = World()
    world.faults.order(
        FailedLaunch(error=ErrorClass.CREATE, reason="NoSubnet", message="none left", times=2)
    )
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        found = condition(await world.read_claim(), "Launched")
        assert (found.status, found.reason) == ("Unknown", "NoSubnet")
        assert "none left" in found.message
        await world.time.advance(SECOND)
        assert said(await world.read_claim())["Launched"] == ("Unknown", "NoSubnet")
        await world.time.advance(2 * SECOND)
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")


async def test_an_error_of_no_class_is_a_failed_launch() -> None:
    """Whatever a provider raises."""

    class BrokenCloud(KwokProvider):
        async def create(self, claim: ClaimObject) -> Instance:
            msg = f"a bug for {claim.name}"
            raise ValueError(msg)

    world = World(cloud=BrokenCloud)
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        found = condition(await world.read_claim(), "Launched")
        assert (found.status, found.reason) == ("Unknown", "LaunchFailed")
        assert found.message == "a bug for one"


async def test_a_claim_that_is_not_launched_in_time_goes() -> None:
    """Its pool hears why."""
    world = World()
    world.faults.order(FailedLaunch(error=ErrorClass.CREATE, reason="NoSubnet"))
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance(5 * MINUTE - SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(2 * SECOND)
        assert await world.names(NODE_CLAIM) == []
        assert [(one.is_success, one.reason) for one in claims.notes] == [(False, "NoSubnet")]


async def test_a_node_that_does_not_join_in_time_goes_with_its_instance() -> None:
    """Fifteen minutes after its launch."""
    world = World()
    await world.node_class(delay="1h")
    await world.pool()
    async with seeing_to_claims(world) as claims:
        await world.claim()
        await world.time.advance(15 * MINUTE - SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(10 * SECOND)
        assert await world.names(NODE_CLAIM) == []
        assert await world.cloud.list() == ()
        assert [one.reason for one in claims.notes] == ["RegistrationFailed"]


async def test_a_slow_launch_says_what_it_waits_for() -> None:
    """A short one does not: it would be one write more."""
    world = World()
    world.faults.order(SlowLaunch(seconds=60))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance(SECOND)
        assert said(await world.read_claim()) == {}
        await world.time.advance(2 * SECOND)
        found = said(await world.read_claim())
        assert found["Launched"] == ("Unknown", "AwaitingReconciliation")
        await world.time.advance(MINUTE)
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")


async def test_a_claim_that_is_deleted_while_it_launches_leaves_no_instance() -> None:
    """What comes of the launch is ended too."""
    world = World()
    world.faults.order(SlowLaunch(seconds=60))
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance(SECOND)
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance(SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(2 * MINUTE)
        assert await world.names(NODE_CLAIM) == []
        assert await world.cloud.list() == ()


class CountingCloud(KwokProvider):
    """Counts launches."""

    n_launches = 0

    async def create(self, claim: ClaimObject) -> Instance:
        """As any cloud."""
        self.n_launches += 1
        return await super().create(claim)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConflictError(409, "Conflict", "changed"), id="a conflict"),
        pytest.param(UnavailableError(503, "", "not now"), id="a server that fails"),
    ],
)
async def test_a_status_that_cannot_be_written_does_not_launch_twice(error: ApiError) -> None:
    """What the cloud said is kept until it is written down."""
    world = World(wrap=FlakyKube, cloud=CountingCloud)
    assert isinstance(world.kube, FlakyKube)
    assert isinstance(world.cloud, CountingCloud)
    async with seeing_to_claims(world):
        for where in ("status", "status"):
            world.kube.fail("NodeClaim", where, error)
        await world.claim()
        await world.time.advance(5 * SECOND)
        assert world.kube.failures == []
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert world.cloud.n_launches == 1


async def test_a_node_that_cannot_be_written_is_not_said_to_be_registered() -> None:
    """The Node comes first. Its pods were sent to it already, once."""
    world = World(wrap=FlakyKube)
    assert isinstance(world.kube, FlakyKube)
    async with seeing_to_claims(world) as claims:
        world.kube.fail("Node", "patch", UnavailableError(503, "", "not now"))
        await world.claim()
        await world.time.advance()
        assert said(await world.read_claim())["Registered"][0] == "Unknown"
        await world.time.advance(2 * SECOND)
        assert said(await world.read_claim())["Registered"] == ("True", "Registered")
        assert claims.steered == ["one one"]


async def test_a_launch_that_is_under_way_is_finished_and_written_down() -> None:
    """Nothing new is begun meanwhile, and an API that fails is asked once more."""
    world = World(wrap=FlakyKube, cloud=CountingCloud)
    assert isinstance(world.kube, FlakyKube)
    assert isinstance(world.cloud, CountingCloud)
    world.faults.order(SlowLaunch(seconds=10, times=1))
    async with seeing_to_claims(world) as claims, asyncio.TaskGroup() as group:
        await world.claim()
        await world.time.advance(SECOND)
        finishing = group.create_task(claims.loop.finish())
        await world.time.advance(SECOND)
        await world.claim("late")
        await world.time.advance(5 * SECOND)
        assert not finishing.done()
        world.kube.fail("NodeClaim", "status", UnavailableError(503, "", "not now"))
        await world.time.advance(10 * SECOND)
        assert finishing.done()
        assert said(await world.read_claim())["Launched"] == ("True", "Launched")
        assert world.cloud.n_launches == 1


# ---- the rest of a claim's life


async def test_a_node_that_turned_out_too_small_is_told_of() -> None:
    """Less than nine tenths of what was promised."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        body: Body = {"status": {"capacity": {"cpu": "500m"}}}
        await world.api.patch(Ref(NODE, "one"), Patch(body, subresource="status"))
        await world.time.advance()
        found = said(await world.read_claim())["ConsistentStateFound"]
        assert found == ("False", "ConsistencyCheckFailed")
        assert "FailedConsistencyCheck" in world.told.reasons("one")


async def test_a_claim_whose_time_has_come_goes() -> None:
    """By its own expireAfter; its Node is drained by others."""
    world = World()
    async with seeing_to_claims(world):
        await world.claim(expireAfter="1h")
        await world.time.advance(HOUR - SECOND)
        assert (await world.read_claim()).metadata.deletion_timestamp is None
        await world.time.advance(SECOND)
        assert (await world.read_claim()).metadata.deletion_timestamp is not None
        assert (await world.read_node()).metadata.deletion_timestamp is not None


async def test_a_claim_goes_after_its_node_and_its_instance() -> None:
    """And says by when its pods must have left."""
    world = World()
    async with seeing_to_claims(world):
        await world.claim(terminationGracePeriod="1h")
        await world.time.advance()
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance()
        claim = await world.read_claim()
        assert claim.metadata.annotations[labels.TERMINATION_TIMESTAMP] == "2026-01-01T01:00:00Z"
        assert "TerminationGracePeriodExpiring" in world.told.reasons("one")
        assert (await world.read_node()).metadata.deletion_timestamp is not None
        await world.api.patch(Ref(NODE, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.time.advance(10 * SECOND)
        assert await world.names(NODE_CLAIM) == []


async def test_an_instance_is_waited_for_until_it_is_gone() -> None:
    """The claim says so meanwhile."""

    class SlowToDie(KwokProvider):
        n_deletions = 0

        async def delete(self, provider_id: str) -> None:
            self.n_deletions += 1
            if self.n_deletions > 2:
                await super().delete(provider_id)

    world = World(cloud=SlowToDie)
    await world.node_class(delay="1h")
    await world.pool()
    async with seeing_to_claims(world):
        await world.claim()
        await world.time.advance()
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance()
        found = said(await world.read_claim())["InstanceTerminating"]
        assert found == ("True", "InstanceTerminating")
        await world.time.advance(9 * SECOND)
        assert await world.names(NODE_CLAIM) == ["one"]
        await world.time.advance(10 * SECOND)
        assert await world.names(NODE_CLAIM) == []


async def test_a_claim_drifts_with_its_pool() -> None:
    """When the pool's requirements no longer allow what it is; and back again."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        for value, want in (("arm64", True), ("amd64", False)):
            asked: list[Json] = [{"key": labels.ARCH, "operator": "In", "values": [value]}]
            body: Body = {"spec": {"template": {"spec": {"requirements": asked}}}}
            ref = Ref(api.KINDS["karpenter.sh", "NodePool"], "default")
            await world.api.patch(ref, Patch(body))
            await world.time.advance()
            found = said(await world.read_claim())
            assert (found.get("Drifted") == ("True", "RequirementsDrifted")) is want


async def test_a_claim_drifts_with_its_pools_template() -> None:
    """By the hash that both carry."""
    world = World()
    pools = Ref(api.KINDS["karpenter.sh", "NodePool"], "default")
    version = {labels.NODE_POOL_HASH_VERSION: "v3"}
    async with seeing_to_claims(world):
        await initialized(world)
        for ref, number, want in (
            (Ref(NODE_CLAIM, "one"), "1", False),
            (pools, "2", True),
            (pools, "1", False),
        ):
            mark: Body = {"metadata": {"annotations": {**version, labels.NODE_POOL_HASH: number}}}
            await world.api.patch(ref, Patch(mark))
            await world.time.advance()
            found = said(await world.read_claim()).get("Drifted")
            assert (found == ("True", "NodePoolDrifted")) is want


async def test_a_claim_whose_type_is_no_longer_offered_drifts() -> None:
    """An hour after its creation at the earliest."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        others = tuple(one for one in TYPES if one.name != "c-1x-amd64-linux")
        world.cluster.apply(Catalogued("default", others))
        await world.time.advance(HOUR)
        assert "Drifted" not in said(await world.read_claim())
        await world.time.advance(6 * MINUTE)
        assert said(await world.read_claim())["Drifted"] == ("True", "InstanceTypeNotFound")


async def test_the_cloud_is_asked_for_drift_every_five_minutes() -> None:
    """Not at every turn, but when the pool has changed."""

    class DriftingCloud(KwokProvider):
        reason = ""
        n_asked = 0

        async def drift_reason(self, node: Node) -> str:
            assert node.provider_id == "kwok://one"
            self.n_asked += 1
            return self.reason

    world = World(cloud=DriftingCloud)
    assert isinstance(world.cloud, DriftingCloud)
    async with seeing_to_claims(world):
        await initialized(world)
        assert world.cloud.n_asked == 1
        world.cloud.reason = "ImageDrifted"
        await world.time.advance(4 * MINUTE)
        assert world.cloud.n_asked == 1
        await world.time.advance(MINUTE)
        assert said(await world.read_claim())["Drifted"] == ("True", "ImageDrifted")
        ref = Ref(api.KINDS["karpenter.sh", "NodePool"], "default")
        await world.api.patch(ref, Patch({"spec": {"weight": 3}}))
        await world.time.advance()
        assert world.cloud.n_asked == 3


async def test_a_catalogue_that_is_not_known_yet_makes_no_node_drift() -> None:
    """Only one that no longer has the type does."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        await world.time.advance(2 * HOUR)
        assert "Drifted" not in said(await world.read_claim())


# ---- pods that come and go


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


# ---- whatever fails


async def whole_life(trouble: Callable[[Call], Trouble | None]) -> tuple[int, list[str]]:
    """A claim from its order to its end under trouble: how many calls it took, what is left."""
    kubes: list[TroubledKube] = []

    def wrap(kube: Kube) -> Kube:
        kubes.append(TroubledKube(kube))
        return kubes[0]

    world = World(wrap=wrap, cloud=CountingCloud)
    assert isinstance(world.cloud, CountingCloud)
    async with seeing_to_claims(world):
        kubes[0].n_calls, kubes[0].trouble = 0, trouble
        await world.claim()
        await world.time.advance(10 * SECOND)
        await world.ready()
        await world.time.advance(10 * SECOND)
        assert said(await world.read_claim())["Ready"] == ("True", "Ready")
        assert world.cloud.n_launches == 1
        await world.delete(NODE_CLAIM, "one")
        await world.time.advance(10 * SECOND)
        await world.api.patch(Ref(NODE, "one"), Patch({"metadata": {"finalizers": []}}))
        await world.time.advance(20 * SECOND)
        left = [*await world.names(NODE_CLAIM), *await world.names(NODE)]
        assert await world.cloud.list() == ()
        return kubes[0].n_calls, left


@pytest.mark.parametrize("when", [pytest.param(one, id=f"{one} it is done") for one in When])
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(UnavailableError(503, "", "not now"), id="unavailable"),
        pytest.param(ConflictError(409, "Conflict", "changed"), id="conflict"),
        pytest.param(TooManyRequestsError(429, "", "slowly"), id="too many requests"),
    ],
)
async def test_whichever_call_fails_a_claim_comes_to_its_node_and_to_its_end(
    error: ApiError, when: When
) -> None:
    """With one launch, and nothing left behind."""
    n_calls, left = await whole_life(lambda _: None)
    assert left == []
    for n in range(1, n_calls + 1):

        def trouble(call: Call, n: int = n) -> Trouble | None:
            return Trouble(error, when) if call.n == n and call.verb != "watch" else None

        assert (n, (await whole_life(trouble))[1]) == (n, [])
