"""Computes what the running pods would cost if replanned from scratch, by three planners.

The nodes that count are those that run, belong to a pool that grows for pods, and have a known
price. They are taken away, and their pods wait, and nobody else does. Nodes that are coming or
leaving are left out with their pods; all others stay, and what is free there may be used. Then the
reference's provisioning buys, Dovetail's own does, and the lower bound says what nobody could
undercut.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from dovetail.decide import decide
from dovetail.decide.apply import apply
from dovetail.decide.nodes import census, leaving_nodes
from dovetail.decide.pools import price_of, prices
from dovetail.decide.provision import provision
from dovetail.model.ledger import Ledger
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.present.cost_report import Comparison
from dovetail.sim.reference.policy import provision_plan
from dovetail.sim.reference.standing import Occupancy

_Buyer = Callable[[Snapshot, datetime], Plan]


def compare(snapshot: Snapshot, now: datetime) -> Comparison:
    """Compare what is paid with what would be."""
    nodes = _replaceable(snapshot)
    emptied, n_pods = _without_nodes(snapshot, nodes)
    known = prices(snapshot)
    theirs, ours = _purchase_of(emptied, now, _reference), _purchase_of(emptied, now, provision)
    return Comparison(
        n_nodes=len(nodes),
        n_pods=n_pods,
        paid_nanousd=sum(price_of(node, known) for node in nodes),
        reference_nanousd=theirs.nanousd,
        n_reference_unplaced=theirs.n_unplaced,
        anew_nanousd=ours.nanousd,
        n_anew_unplaced=ours.n_unplaced,
        bound_nanousd=ours.bound_nanousd,
    )


class _Purchase(msgspec.Struct, frozen=True):
    nanousd: int = 0
    n_unplaced: int = 0
    bound_nanousd: int = 0


def _purchase_of(cluster: Snapshot, now: datetime, buy: _Buyer) -> _Purchase:
    """What somebody pays in all. Pods that got no place at first are tried again once the nodes of
    the others have come, as a controller would, for as long as that leads to more nodes.
    """
    plan = buy(cluster, now)
    paid, bound = plan.cost.new_nanousd, plan.cost.lower_bound_nanousd
    while plan.unschedulable and plan.launches:
        cluster = apply(cluster, plan)
        plan = buy(cluster, now)
        paid += plan.cost.new_nanousd
    return _Purchase(paid, len(plan.unschedulable), bound)


def target(snapshot: Snapshot, now: datetime) -> int:
    """What the cluster would cost an hour at least, once all that may move now had moved; 0 where
    nothing may.
    """
    policy = msgspec.structs.replace(
        snapshot.policy, disrupts_for=tuple(DisruptionReason), confirm_after=timedelta(0)
    )
    free = msgspec.structs.replace(snapshot, policy=policy)
    return decide(free, now).cost.cluster_target_nanousd


def _reference(emptied: Snapshot, now: datetime) -> Plan:
    standing = Occupancy()
    standing.look(emptied, now)
    return provision_plan(standing, emptied, now)


def _replaceable(snapshot: Snapshot) -> tuple[Node, ...]:
    """Nodes that run, of pools that grow for pods, at a price."""
    growing = {pool.name for pool in snapshot.node_pools if pool.replicas is None}
    known = prices(snapshot)
    return tuple(
        node
        for node in _staying_nodes(snapshot)
        if node.node_pool in growing and price_of(node, known)
    )


def _staying_nodes(snapshot: Snapshot) -> tuple[Node, ...]:
    """Nodes that have come and are not about to go."""
    gone = leaving_nodes(snapshot)
    return tuple(
        node
        for node in snapshot.nodes
        if node.is_registered and node.is_initialized and node.name not in gone
    )


def _without_nodes(snapshot: Snapshot, nodes: tuple[Node, ...]) -> tuple[Snapshot, int]:
    """The cluster without these nodes, whose pods wait while nobody else does; how many wait."""
    taken = {node.name for node in nodes}
    others = tuple(node for node in _staying_nodes(snapshot) if node.name not in taken)
    where = census(snapshot.pods).by_node
    stay = [pod for node in others for pod in where.get(node.name, ())]
    wait = [
        msgspec.structs.replace(pod, node_name="", nominated_node_name="", phase="Pending")
        for node in nodes
        for pod in where.get(node.name, ())
        if _moves(pod)
    ]
    pods = sorted((*stay, *wait), key=lambda pod: (pod.namespace, pod.name))
    emptied = msgspec.structs.replace(snapshot, pods=tuple(pods), nodes=others, ledger=Ledger())
    return emptied, len(wait)


def _moves(pod: Pod) -> bool:
    """Whether a pod would want another node: daemons come with it, and what ends needs none."""
    return not (pod.is_terminal or pod.is_daemon or pod.is_mirror or pod.deleting_at is not None)
