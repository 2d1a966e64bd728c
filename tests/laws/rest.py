"""Random reasons for which nodes of a cluster may go or must stay: drawn after all else, so that
the clusters themselves stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.ledger import Departure, Ledger, Nomination, Proposal
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import Pod
from dovetail.model.pool import Budget, Disruption, NodePool
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from tests.laws.market import one_in

MIDNIGHT: Final = datetime(2026, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)
SCHEDULES: Final = ("0 0 * * *", "30 23 * * *", "0 12 * * *", "0 0 2 1 *")


def rested(chance: Random, snapshot: Snapshot) -> Snapshot:
    """The same cluster with some nodes quiet, budgets of all kinds, and protected daemon pods."""
    nodes = tuple(_node(chance, node) for node in snapshot.nodes)
    return msgspec.structs.replace(
        snapshot,
        nodes=nodes,
        pods=tuple(_pod(chance, pod) for pod in snapshot.pods),
        node_pools=tuple(_pool(chance, pool) for pool in snapshot.node_pools),
        disruption_budgets=tuple(_budgets(chance, snapshot)),
        ledger=_ledger(chance, snapshot.ledger, nodes),
    )


def emptied(chance: Random, snapshot: Snapshot) -> Snapshot:
    """The same cluster without what ran on most of its nodes."""
    bare = {node.name for node in snapshot.nodes if not one_in(chance, 4)}
    kept = tuple(pod for pod in snapshot.pods if pod.is_daemon or pod.node_name not in bare)
    return msgspec.structs.replace(snapshot, pods=kept)


def _node(chance: Random, node: Node) -> Node:
    if not node.node_claim or not node.is_initialized or one_in(chance, 4):
        return node
    is_protected = one_in(chance, 10)
    return msgspec.structs.replace(
        node,
        conditions=(*node.conditions, Condition("Consolidatable", "True")),
        annotations={labels.DO_NOT_DISRUPT: "true"} if is_protected else node.annotations,
        is_ready=not one_in(chance, 10),
    )


def _pod(chance: Random, pod: Pod) -> Pod:
    if not pod.is_daemon or not one_in(chance, 6):
        return pod
    wish = chance.choice(("true", "1h", "10m", "soon"))
    started_at = MIDNIGHT - timedelta(minutes=30) if one_in(chance, 2) else None
    return msgspec.structs.replace(
        pod, annotations={labels.DO_NOT_DISRUPT: wish}, started_at=started_at
    )


def _pool(chance: Random, pool: NodePool) -> NodePool:
    disruption = Disruption(
        consolidate_after=None if one_in(chance, 10) else timedelta(0),
        budgets=tuple(_budget(chance) for _ in range(chance.choice((0, 1, 1, 2)))),
    )
    return msgspec.structs.replace(pool, disruption=disruption)


def _budget(chance: Random) -> Budget:
    chosen = (None, None, (DisruptionReason.EMPTY,), (DisruptionReason.DRIFTED,))
    reasons = chance.choice(chosen)
    is_scheduled = one_in(chance, 3)
    return Budget(
        nodes=chance.choice(("0", "1", "2", "10%", "34%", "50%", "100%")),
        reasons=reasons and tuple(str(one) for one in reasons),
        schedule=chance.choice(SCHEDULES) if is_scheduled else "",
        duration=chance.choice((timedelta(minutes=10), HOUR)) if is_scheduled else None,
    )


def _budgets(chance: Random, snapshot: Snapshot) -> Iterator[DisruptionBudget]:
    for daemon in snapshot.daemon_sets:
        for number in range(chance.choice((0, 0, 0, 1, 1, 2))):
            yield DisruptionBudget(
                name=f"{daemon.name}-{number}",
                namespace=daemon.namespace,
                selector=equality(daemon.labels),
                disruptions_allowed=chance.choice((0, 1)),
                always_allows_unhealthy=one_in(chance, 4),
            )


def _ledger(chance: Random, ledger: Ledger, nodes: tuple[Node, ...]) -> Ledger:
    proposals, departures, promises = [], [], []
    for node in nodes:
        if one_in(chance, 2):
            since = MIDNIGHT - chance.choice((0, 5, 15, 60)) * SECOND
            proposals.append(Proposal(DisruptionReason.EMPTY, node.name, since))
        if node.node_claim and node.is_initialized and one_in(chance, 15):
            departures.append(Departure(node.name, DisruptionReason.EMPTY, MIDNIGHT))
        if one_in(chance, 12):
            until = MIDNIGHT + chance.choice((-1, 10)) * SECOND
            promises.append(Nomination("uid-of-nobody", node.node_claim or node.name, until))
    return msgspec.structs.replace(
        ledger,
        nominations=tuple(promises),
        proposals=tuple(proposals),
        disrupting=tuple(departures),
    )
