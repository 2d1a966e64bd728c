"""A meadow with nothing in it, for the laws of all clouds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import timedelta

from meadow_cloud.node_class import KIND
from meadow_cloud.provider import MeadowProvider
from meadow_cloud.region import region

from dovetail import api, labels
from dovetail.apiserver import MemoryKube
from dovetail.cloud.context import ProviderContext
from dovetail.cloud.errors import SoldOut
from dovetail.cloud.provider import workers_of
from dovetail.kube.seam import Json
from dovetail.model.claim import ClaimObject
from dovetail.model.pool import NodeClassRef, NodePool
from dovetail.model.requirements import Requirement
from dovetail.state.objects import claim_object
from dovetail.testing.virtual_time import VirtualTime

NODE_CLAIM = api.KINDS[labels.GROUP, "NodeClaim"]


class MeadowUnderTest:
    """The provider, and a hand on the region behind it."""

    def __init__(self, name: str) -> None:
        self._time = VirtualTime()
        self._kube = MemoryKube(self._time)
        self._region = region(name)
        self.pool = NodePool("pasture", node_class=NodeClassRef(KIND.group, KIND.name, "default"))
        self.provider = self.restarted()

    async def set_up(self) -> None:
        """The node class of the pool."""
        body: dict[str, Json] = {
            "apiVersion": KIND.api_version,
            "kind": KIND.name,
            "metadata": {"name": "default"},
            "spec": {"image": "spring", "cpus": [2, 4, 8]},
        }
        await self._kube.create(KIND, body)

    def work(self) -> Iterator[Coroutine[None, None, None]]:
        """The controllers of the provider."""
        for worker in workers_of(self.provider):
            yield _running(worker.run)

    def restarted(self) -> MeadowProvider:
        """Another provider of the same region."""
        context = ProviderContext(kube=self._kube, clock=self._time, timer=self._time)
        return MeadowProvider(context, self._region)

    async def claim(self, name: str, *requirements: Requirement) -> ClaimObject:
        """A claim of the pool."""
        wanted: list[Json] = [
            {"key": key, "operator": str(operator), "values": [*values]}
            for one in requirements
            for key, operator, values, _ in one.wire()
        ]
        ref = self.pool.node_class
        body: dict[str, Json] = {
            "apiVersion": NODE_CLAIM.api_version,
            "kind": NODE_CLAIM.name,
            "metadata": {"name": name, "labels": {labels.NODE_POOL: self.pool.name}},
            "spec": {
                "nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
                "requirements": wanted,
            },
        }
        raw = await self._kube.create(NODE_CLAIM, body)
        return claim_object(api.decode(api.NodeClaim, raw))

    async def sell_out(self, offering: SoldOut) -> None:
        """From now on, that offering cannot be had."""
        self._region.sold_out.add(offering)

    async def settle(self) -> None:
        """Let machines join, or end."""
        await self._time.advance(timedelta(seconds=5))

    async def moment(self) -> None:
        """One step of the event loop."""
        await asyncio.sleep(0)


async def _running(run: object) -> None:
    assert callable(run)
    await run()
