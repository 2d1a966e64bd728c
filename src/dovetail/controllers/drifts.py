"""What do a claim's pool and cloud make of it today? Asked seldom, remembered in between."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from dovetail import api
from dovetail.cloud.errors import CloudError, NodeClaimNotFoundError
from dovetail.controllers.known import Known
from dovetail.controllers.means import Means
from dovetail.decide.lifecycle.claim import PoolContext
from dovetail.decide.lifecycle.timing import DRIFT_RECHECK
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Node
from dovetail.state.nodes import Joints, Report, observed, ordered
from dovetail.state.pools import node_pool


class _Answer(msgspec.Struct, frozen=True):
    """What the cloud said of a claim, when, and of which pool and node class."""

    reason: str
    asked_at: datetime
    asked_of: tuple[int, int]


class Drifts:
    """What was found out about each claim, by its UID."""

    def __init__(self, means: Means, known: Known) -> None:
        self._means = means
        self._known = known
        self._log = means.log.named("nodeclaim.disruption")
        self._answers: dict[str, _Answer] = {}
        self._seen_at: dict[str, datetime] = {}

    async def beside(
        self, wire: api.NodeClaim, claim: ClaimObject, nodes: Iterable[api.Node], now: datetime
    ) -> PoolContext | None:
        """The claim's pool with everything that drift depends on; None: nobody can tell."""
        wire_pool = self._known.pool(claim.node_pool) if claim.node_pool else None
        pool = node_pool(wire_pool) if wire_pool is not None else None
        if wire_pool is None or pool is None or pool.problems or claim.deleting_at is not None:
            return None
        # Not before it has a Node: that must not wait for an answer.
        if claim.node_name and self._is_due(claim, wire_pool, now):
            await self._ask(joint(wire, nodes), claim, wire_pool, now)
        answer = self._answers.get(claim.uid)
        types = self._known.cluster.instance_types(pool.name)
        return PoolContext(
            pool=pool,
            annotations=wire_pool.metadata.annotations,
            instance_types=types,
            # A catalogue that is not known yet says nothing of what can be bought.
            type_seen_at=self._seen_at.get(claim.uid) if types else now,
            provider_reason=answer.reason if answer is not None else "",
        )

    def see_type(self, uid: str, now: datetime) -> None:
        """The claim's instance type can still be bought."""
        self._seen_at[uid] = now

    def forget(self, uid: str) -> None:
        """The claim is gone."""
        self._answers.pop(uid, None)
        self._seen_at.pop(uid, None)

    def _is_due(self, claim: ClaimObject, pool: api.NodePool, now: datetime) -> bool:
        held = self._answers.get(claim.uid)
        return (
            held is None
            or held.asked_of != self._generations(claim, pool)
            or not timedelta(0) <= now - held.asked_at < DRIFT_RECHECK
        )

    def _generations(self, claim: ClaimObject, pool: api.NodePool) -> tuple[int, int]:
        node_class = self._known.node_class(claim.node_class)
        return pool.metadata.generation, node_class.metadata.generation if node_class else 0

    async def _ask(self, node: Node, claim: ClaimObject, pool: api.NodePool, now: datetime) -> None:
        """An answer that cannot be had leaves the earlier one as it is."""
        held = self._answers.get(claim.uid)
        reason = held.reason if held is not None else ""
        try:
            reason = await self._means.cloud.drift_reason(node)
        except NodeClaimNotFoundError:
            reason = ""  # what is gone has not drifted
        except CloudError as error:
            self._log.warning("could not ask for drift", node_claim=claim.name, error=error)
        self._answers[claim.uid] = _Answer(reason, now, self._generations(claim, pool))


def joint(claim: api.NodeClaim, nodes: Iterable[api.Node]) -> Node:
    """The claim and its Node as one thing, which is what clouds are asked about."""
    report = Report(
        seen={one.metadata.name: observed(one) for one in nodes},
        ordered={claim.metadata.name: ordered(claim)},
        attach_limits={},
        types_by_pool={},
    )
    name = claim.metadata.name
    return next(one for one in Joints().nodes(report) if one.node_claim == name)
