"""A claim becomes a node."""

from __future__ import annotations

from datetime import timedelta

from dovetail import labels
from dovetail.cloud.errors import CloudError
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.kube.errors import UnavailableError
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.node import Node
from dovetail.providers.kwok.provider import KwokProvider
from tests.unit.controllers.claiming import NOT_READY, seeing_to_claims
from tests.unit.controllers.worlds import (
    SECOND,
    World,
    condition,
    said,
)


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
