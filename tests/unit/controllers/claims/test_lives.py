"""What becomes of a claim that has its node: it drifts, expires, and goes."""

from __future__ import annotations

from dovetail import api, labels
from dovetail.cloud.errors import CloudError
from dovetail.controllers.cache import NODE, NODE_CLAIM
from dovetail.decide.lifecycle.timing import DRIFT_SETTLES_AFTER
from dovetail.kube.seam import Body, Json, Patch, Ref
from dovetail.model.node import Node
from dovetail.providers.kwok.provider import KwokProvider
from dovetail.state.changes import Catalogued
from tests.unit.controllers.claiming import initialized, seeing_to_claims
from tests.unit.controllers.worlds import (
    HOUR,
    MINUTE,
    SECOND,
    TYPES,
    World,
    said,
)


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
    """Not at every turn, but when the pool has changed, and once more soon after that."""

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
        world.cloud.reason = ""  # what follows from the edit is known a little later
        await world.time.advance(DRIFT_SETTLES_AFTER)
        assert world.cloud.n_asked == 4
        assert "Drifted" not in said(await world.read_claim())
        await world.time.advance(4 * MINUTE)
        assert world.cloud.n_asked == 4


async def test_a_cloud_that_cannot_be_asked_for_drift_is_asked_again_after_a_minute() -> None:
    """Not only after five, like one that has answered."""

    class SilentCloud(KwokProvider):
        n_asked = 0

        async def drift_reason(self, node: Node) -> str:
            self.n_asked += 1
            if self.n_asked == 1:
                msg = f"reading {node.name}: throttled"
                raise CloudError(msg)
            return "ImageDrifted"

    world = World(cloud=SilentCloud)
    async with seeing_to_claims(world):
        await initialized(world)
        assert "Drifted" not in said(await world.read_claim())
        await world.time.advance(MINUTE)
        assert said(await world.read_claim())["Drifted"] == ("True", "ImageDrifted")


async def test_a_catalogue_that_is_not_known_yet_makes_no_node_drift() -> None:
    """Only one that no longer has the type does."""
    world = World()
    async with seeing_to_claims(world):
        await initialized(world)
        await world.time.advance(2 * HOUR)
        assert "Drifted" not in said(await world.read_claim())
