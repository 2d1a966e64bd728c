"""A claim loop at work in a world, with what it asks of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail import api, labels
from dovetail.cloud.provider import Instance
from dovetail.controllers.claims.loop import ClaimEffects, ClaimLoop
from dovetail.decide.lifecycle.step import NoteRegistration
from dovetail.kube.errors import ApiError
from dovetail.kube.seam import Json
from dovetail.model.claim import ClaimObject
from dovetail.providers.kwok import node_class as kwok_node_class
from dovetail.providers.kwok.provider import KwokProvider
from tests.unit.controllers.worlds import (
    World,
    at_work,
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
        effects = ClaimEffects(steer=self.steer, note=self.notes.append)
        self.loop = ClaimLoop(world.dependencies, world.cache, effects)
        world.subscribe(self.loop.handle)

    async def steer(self, claim: api.NodeClaim, node: api.Node) -> None:
        """Note it, and whether the Node takes pods already."""
        taints = [one.key for one in node.spec.taints]
        self.took_pods |= labels.UNREGISTERED_TAINT not in taints
        self.steered.append(f"{claim.metadata.name} {node.metadata.name}")
        if self.refusal is not None:
            raise self.refusal


@asynccontextmanager
async def seeing_to_claims(world: World, **pool: Json) -> AsyncIterator[Claims]:
    """A world with a node class, a pool and a claim loop."""
    if "default" not in await world.names(kwok_node_class.KIND):
        await world.node_class()
        await world.pool("default", **pool)
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


class CountingCloud(KwokProvider):
    """Counts launches."""

    n_launches = 0

    async def create(self, claim: ClaimObject) -> Instance:
        """As any cloud."""
        self.n_launches += 1
        return await super().create(claim)
