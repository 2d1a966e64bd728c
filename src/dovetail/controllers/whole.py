"""How do the loops make one controller? Each hears of changes and works; some help each other.

Every replica follows the cluster. The one that leads works as well, and what it takes up it finds
in the API alone: whatever an earlier leader left undone is done by this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from dovetail import api
from dovetail.actuate.launching import Orders
from dovetail.actuate.steering import Steering
from dovetail.controllers.batching import Window
from dovetail.controllers.claims import ClaimHands, ClaimLoop
from dovetail.controllers.disruptions import Disruptions
from dovetail.controllers.evictions import Evictions
from dovetail.controllers.feed import Feed, watched_kinds
from dovetail.controllers.garbage import Garbage
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.controllers.pools import Pools
from dovetail.controllers.provisioning import Compute, Decisions, Hands, Witness
from dovetail.controllers.terminations import Terminations
from dovetail.kube.mirror import Pace
from dovetail.model.policy import Policy
from dovetail.state.changes import Touched
from dovetail.state.cluster import Cluster


class Setup(msgspec.Struct, frozen=True):
    """How the controller is to behave. `mark` tells this run from every other."""

    mark: str
    compute: Compute
    witness: Witness
    policy: Policy = Policy()
    window: Window = Window()
    gates: Mapping[str, bool] = {}
    steers: bool = True


class Controller:
    """All the loops of one replica."""

    def __init__(self, means: Means, setup: Setup) -> None:
        self._means = means
        node_classes = _node_classes(means)
        cluster = Cluster(policy=setup.policy, batch_max=setup.window.longest)
        self.known = Known(cluster, node_classes)
        self.feed = Feed(
            means.kube,
            self.known,
            watched_kinds(node_classes, setup.gates),
            pace=Pace(means.timer, means.chance),
            touched=self._touched,
        )
        self.evictions = Evictions(means, self.known)
        self.terminations = Terminations(means, self.known, self.evictions)
        self.disruptions = Disruptions(means, self.known)
        self.pools = Pools(means, self.known, gates=setup.gates)
        self.decisions = Decisions(means, self.known, self._hands(setup), setup.window)
        self.claims = ClaimLoop(means, self.known, ClaimHands(self._steer, self.pools.note))
        self.garbage = Garbage(means, self.known)
        self._is_leading = False

    def _hands(self, setup: Setup) -> Hands:
        means = self._means
        return Hands(
            orders=Orders(means.kube, mark=setup.mark, timer=means.timer, chance=means.chance),
            steering=Steering(means.kube) if setup.steers else None,
            compute=setup.compute,
            disrupt=self.disruptions.begin,
            witness=setup.witness,
        )

    async def follow(self) -> None:
        """Keep up with the cluster, leading or not, until cancelled."""
        await self.feed.run()

    async def lead(self) -> None:
        """Work, until cancelled. Begins once everything that is there is known."""
        await self.feed.wait_in_sync()
        self.known.cluster.adopt(self._means.clock.now())
        self._is_leading = True
        for loop in (self.evictions, self.terminations, self.pools, self.claims):
            self.feed.listen(loop.hear)
        await self.pools.catalogue()
        await self.disruptions.tidy()
        async with asyncio.TaskGroup() as group:
            for loop in self._loops():
                group.create_task(loop.run())

    async def finish(self, within: timedelta = timedelta(seconds=20)) -> None:
        """Begin nothing new and end what was begun, if that does not take too long."""

    def _touched(self, what: Touched) -> None:
        if self._is_leading:
            self.decisions.touched(what)

    async def _steer(self, claim: api.NodeClaim, node: api.Node) -> None:
        """Tell kube-scheduler who is meant for a node that is about to join."""
        name = node.metadata.name
        pods = self.known.cluster.promised_to(name, claim.metadata.name)
        await self.decisions.steer_to(name, pods)


def _node_classes(means: Means) -> tuple[api.Kind, ...]:
    named = ((one.group, one.kind) for one in means.cloud.supported_node_classes)
    return tuple(api.KINDS[key] for key in named if key in api.KINDS)
