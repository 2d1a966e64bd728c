"""Taints the nodes of a disruption, and puts nodes back that are not disrupted after all.

Which nodes are being disrupted is in the ledger. What a process leaves behind that dies is either a
claim that is being deleted, or a taint that nobody stands behind, which
`untaint_leftovers` removes, at the start and every now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

import msgspec

from dovetail import api
from dovetail.actuate.taints import (
    add_disruption_taint,
    clear_disruption_reason,
    remove_disruption_taint,
    set_disruption_reason,
)
from dovetail.actuate.writing import Answers
from dovetail.controllers.cache import NODE, NODE_CLAIM, WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide.lifecycle.claim import is_managed_node
from dovetail.decide.lifecycle.conditions import DISRUPTION_REASON, Status
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.errors import DovetailError, InputError
from dovetail.kube.errors import NotFoundError
from dovetail.model.pool import NodeClassRef
from dovetail.state.changes import Disrupting, DisruptionEnded
from dovetail.state.objects import node_object


class DisruptedNode(msgspec.Struct, frozen=True):
    """A node to be taken away, and its claim, as they were known when that began."""

    node: api.Node
    claim: api.NodeClaim
    reason: str

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name


class DisruptedNodes:
    """Nodes of ours that are being taken away, each for one reason, and their taints."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("disruption")
        self._supported = dependencies.node_classes
        self._untainting: set[str] = set()  # nodes that nobody begins anything with just now

    # ---- which nodes

    def available(self, names: Iterable[str], reason: str) -> list[DisruptedNode]:
        """These nodes with their claims, but for those that are leaving already, and those of
        which it is not clear whose they are.
        """
        nodes = (self._disrupted_node(name, reason) for name in names)
        return [node for node in nodes if node is not None]

    def inherited_nodes(self, names: Iterable[str]) -> list[DisruptedNode]:
        """Those of these nodes that an earlier process was taking away, with the reason why."""
        nodes = (self._disrupted_node(name, "") for name in names)
        return [
            msgspec.structs.replace(node, reason=reason)
            for node in nodes
            if node is not None and (reason := _reason(node.claim))
        ]

    def _disrupted_node(self, name: str, reason: str) -> DisruptedNode | None:
        node = self._cache.nodes.get(name)
        claims = () if node is None else self._cache.claims.under(node.spec.provider_id)
        if node is None or len(claims) != 1 or self._is_taken(name):
            return None
        if is_deleted(node) or is_deleted(claims[0]):
            return None
        return DisruptedNode(node, claims[0], reason)

    def is_there(self, node: DisruptedNode) -> bool:
        """Whether its claim still stands, and nobody else has it deleted."""
        claim = self._cache.claims.get(node.claim.metadata.name)
        return (
            claim is not None
            and claim.metadata.uid == node.claim.metadata.uid
            and not is_deleted(claim)
        )

    def begin(self, these: Iterable[DisruptedNode], now: datetime) -> None:
        """They are being taken away from now on."""
        for node in these:
            uid = node.claim.metadata.uid
            self._cache.cluster.apply(Disrupting((node.name,), node.reason, now, uid))

    def end(self, these: Iterable[DisruptedNode], failed_at: datetime | None = None) -> None:
        """They are not being taken away any more; where that failed, it is tried again later."""
        names = tuple(node.name for node in these)
        self._cache.cluster.apply(DisruptionEnded(names, failed_at))

    # ---- taints

    async def taint(self, node: DisruptedNode) -> None:
        """Let no pod come to the node, and say on its claim why. Raises DovetailError."""
        kube, now = self._dependencies.kube, self._dependencies.clock.now()
        self._put(NODE, await add_disruption_taint(kube, node.node))
        self._put(NODE_CLAIM, await set_disruption_reason(kube, node.claim, node.reason, now))

    async def untaint(self, entry: DisruptedNode) -> None:
        """Put a node back as it was, unless somebody else wants it gone. What fails is told, and
        left to `untaint_leftovers`.
        """
        if not self.is_there(entry):
            return
        node, claim = (
            self._cache.nodes.get(entry.name),
            self._cache.claims.get(entry.claim.metadata.name),
        )
        await self._put_back(node, claim)

    async def untaint_leftovers(self) -> None:
        """Remove taints and reasons that nobody stands behind. What fails is told, and tried
        the next time. Only once everything is known.
        """
        nodes = [item for item in self._cache.nodes.all() if self._is_left_over(item)]
        claims = [item for item in self._cache.claims.all() if self._is_unfounded(item)]
        places = {item.spec.provider_id for item in nodes} | {
            item.status.provider_id for item in claims
        }
        names = {item.metadata.name for place in places for item in self._cache.nodes.under(place)}
        self._untainting |= names
        try:
            async with asyncio.TaskGroup() as group:
                for node in nodes:
                    group.create_task(self._put_back(node, None))
                for claim in claims:
                    group.create_task(self._put_back(None, claim))
        finally:
            self._untainting -= names

    def _is_taken(self, name: str) -> bool:
        """Whether somebody is taking this node away, or is putting it back."""
        if name in self._untainting:
            return True
        node, uid = self._cache.nodes.get(name), self._cache.cluster.book.departing_claim(name)
        claims = () if node is None else self._cache.claims.under(node.spec.provider_id)
        return any(claim.metadata.uid == uid and not is_deleted(claim) for claim in claims)

    def _is_unfounded(self, claim: api.NodeClaim) -> bool:
        """Whether a claim says that its node is being taken away, and nobody does that."""
        if not _reason(claim) or is_deleted(claim):
            return False
        nodes = self._cache.nodes.under(claim.status.provider_id)
        return not any(self._is_taken(node.metadata.name) for node in nodes)

    def _is_left_over(self, node: api.Node) -> bool:
        if not is_disrupted(node) or is_deleted(node):
            return False
        if self._is_taken(node.metadata.name):
            return False
        if any(is_deleted(claim) for claim in self._cache.claims.under(node.spec.provider_id)):
            return False
        return is_ours(node, self._supported)

    async def _put_back(self, node: api.Node | None, claim: api.NodeClaim | None) -> None:
        """Remove a taint and a reason. What fails is left to `untaint_leftovers`."""
        kube, now = self._dependencies.kube, self._dependencies.clock.now()
        try:
            if node is not None:
                self._put(NODE, await remove_disruption_taint(kube, node))
            if claim is not None and _reason(claim):
                self._put(NODE_CLAIM, await clear_disruption_reason(kube, claim, now))
        except NotFoundError:
            return  # there is nothing left to put back
        except DovetailError as error:
            self._log.error("putting back a node failed", error=str(error))

    def _put(self, kind: api.Kind, answers: Answers) -> None:
        for raw in answers:
            self._cache.put(kind, raw)


def is_deleted(item: api.Object) -> bool:
    """Whether it is on its way out."""
    return item.metadata.deletion_timestamp is not None


def is_disrupted(node: api.Node) -> bool:
    """Whether no pod may come to it, since it is being taken away."""
    return any(taint.key == DISRUPTED.key for taint in node.spec.taints)


def is_ours(node: api.Node, kinds: tuple[NodeClassRef, ...]) -> bool:
    """Whether it was launched with one of these kinds of node classes."""
    try:
        return is_managed_node(node_object(node), kinds)
    except InputError:
        return False  # it is left alone, whatever it is


def _reason(claim: api.NodeClaim) -> str:
    """Why its node is being taken away; nothing if it is not."""
    types = (
        condition.reason
        for condition in claim.status.conditions
        if condition.type == DISRUPTION_REASON and condition.status == Status.TRUE
    )
    return next(types, "")
