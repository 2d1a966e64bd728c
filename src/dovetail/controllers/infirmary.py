"""Which Node is unwell, and how many others of its pool are? (spec/core.md 7.1)"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dovetail import api, labels
from dovetail.controllers.known import Known
from dovetail.decide.lifecycle.repair import Illness, Ward, ailment, is_unhealthy
from dovetail.model.claim import ClaimObject, NodeObject
from dovetail.model.node import RepairPolicy


class Infirmary:
    """Knows which Nodes are unwell, by these policies; without any, all are well."""

    def __init__(self, known: Known, policies: tuple[RepairPolicy, ...]) -> None:
        self._known = known
        self._policies = policies

    def illness(
        self, claim: ClaimObject, nodes: Sequence[NodeObject], now: datetime
    ) -> Illness | None:
        """What ails the claim's Node; None if it is well or it is not clear which Node it is."""
        found = ailment(nodes[0], self._policies) if len(nodes) == 1 else None
        if found is None:
            return None
        ward = self._ward(claim) if now >= found.due_at else None
        return Illness(nodes[0], found, ward)

    def _ward(self, claim: ClaimObject) -> Ward:
        """All Nodes of the claim's pool, or of the cluster if it has none."""
        name = claim.node_pool
        nodes = [
            one
            for one in self._known.nodes()
            if not name or one.metadata.labels.get(labels.NODE_POOL) == name
        ]
        pool = self._known.pool(name) if name else None
        return Ward(
            n_nodes=len(nodes),
            n_unhealthy=sum(self._is_unhealthy(one) for one in nodes),
            node_pool=name,
            node_pool_uid=pool.metadata.uid if pool is not None else "",
        )

    def _is_unhealthy(self, node: api.Node) -> bool:
        said = ((one.type, one.status) for one in node.status.conditions)
        return is_unhealthy(said, self._policies)
