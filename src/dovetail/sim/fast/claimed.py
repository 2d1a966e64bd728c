"""Makes the node and the NodeClaim of a launch, and the daemon pods of a started node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.cloud.price_list import Priced
from dovetail.decide.lifecycle.conditions import INITIALIZED, LAUNCHED, REGISTERED
from dovetail.model.claim import ClaimObject
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Launch
from dovetail.model.pod import DaemonSet, Owner, Pod
from dovetail.model.pool import NodePool
from dovetail.model.taints import tolerates
from dovetail.sim.filters import wants

_STARTED: Final = tuple(Condition(name, "True") for name in (LAUNCHED, REGISTERED, INITIALIZED))


def claimed_node(launch: Launch, choice: Priced, pool: NodePool, now: datetime) -> Node:
    """The node that is to come."""
    kind = choice.instance_type
    own = {labels.NODE_POOL: launch.node_pool, labels.HOSTNAME: launch.name}
    fixed = fixed_labels(kind, choice.offering)
    is_planned = _is_planned(launch, choice)  # then the plan has chosen among labels left open
    stated = {**fixed, **launch.labels} if is_planned else {**launch.labels, **fixed}
    return Node(
        name=launch.name,
        labels={**stated, **own},
        taints=(*launch.taints, *launch.startup_taints),
        startup_taints=launch.startup_taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        node_pool=launch.node_pool,
        node_claim=launch.name,
        provider_id=f"sim://{launch.name}",
        is_registered=False,
        is_initialized=False,
        is_ready=False,
        attach_limits=kind.attach_limits,
        created_at=now,
        termination_grace_period=pool.termination_grace_period,
    )


def claim_of(node: Node, pool: NodePool | None = None) -> ClaimObject:
    """The NodeClaim of a node, as the laws of a claim see it."""
    is_running = node.is_initialized
    return ClaimObject(
        node.node_claim,
        uid=node.node_claim,
        finalizers=(labels.TERMINATION_FINALIZER,),
        conditions=_STARTED if is_running else (),
        expire_after=None if pool is None else pool.expire_after,
        termination_grace_period=node.termination_grace_period,
        provider_id=node.provider_id if is_running else "",
        created_at=node.created_at,
        deleting_at=node.deleting_at,
        last_pod_event_at=node.last_pod_event_at,
    )


def started_node(claim: Node) -> Node:
    """The node once it takes pods."""
    starting = set(claim.startup_taints)
    return msgspec.structs.replace(
        claim,
        labels={**claim.labels, labels.REGISTERED: "true", labels.INITIALIZED: "true"},
        taints=tuple(taint for taint in claim.taints if taint not in starting),
        is_registered=True,
        is_initialized=True,
        is_ready=True,
    )


def daemon_pods(node: Node, daemon_sets: Iterable[DaemonSet], now: datetime) -> Iterator[Pod]:
    """What daemon sets run there."""
    for daemon_set in daemon_sets:
        if tolerates(node.taints, daemon_set.spec.tolerations) and wants(daemon_set.spec, node):
            name = f"{daemon_set.name}-{node.name}"
            yield Pod(
                name=name,
                namespace=daemon_set.namespace,
                spec=daemon_set.spec,
                uid=name,
                labels=daemon_set.labels,
                node_name=node.name,
                phase="Running",
                owner=Owner("DaemonSet", daemon_set.name, uid=daemon_set.uid or daemon_set.name),
                created_at=now,
                started_at=now,
            )


def fixed_labels(kind: InstanceType, offering: Offering) -> dict[str, str]:
    """The labels of a node of this type, bought so."""
    stated = kind.requirements & offering.requirements
    return {
        need.key: min(need.values)
        for need in stated.sorted()
        if need.values and not need.complement
    }


def _is_planned(launch: Launch, choice: Priced) -> bool:
    wanted = (launch.instance_type, launch.zone, launch.capacity_type)
    offering = choice.offering
    return wanted == (choice.instance_type.name, offering.zone, offering.capacity_type)
