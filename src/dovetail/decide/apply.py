"""Computes the cluster as it looks while a plan is carried out, and once all of it went well.

    begin   launches are on their way, what goes is marked, and every pod that was given a place
            counts as if it stood there already
    apply   the same, once nodes have come and gone

Whoever decides further within one plan decides for the first; the second is what laws of coming to
rest are about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.evictions import with_evictions
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE
from dovetail.decide.pools import pools_by_name
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Departure, Ledger
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot

_QUIET: Final = Condition(CONSOLIDATABLE, "True")
_AT_ONCE: Final = timedelta(0)


def begin(snapshot: Snapshot, plan: Plan, now: datetime) -> Snapshot:
    """The cluster as soon as the plan is under way. The very same if there is nothing to do."""
    coming, places = _all_launches(plan), _places(plan)
    going = tuple(
        Departure(name, item.reason, now) for item in plan.disruptions for name in item.nodes
    )
    if not coming and not places and not going:
        return snapshot
    evicted = {pod for disruption in plan.disruptions for pod in disruption.pods}
    ledger = with_evictions(
        _ledger_after(snapshot.ledger, plan, snapshot.pods),
        (pod for pod in snapshot.pods if pod.key in evicted) if evicted else (),
        now,
    )
    return msgspec.structs.replace(
        snapshot,
        nodes=(*snapshot.nodes, *(_node(launch, snapshot, is_started=False) for launch in coming)),
        pods=_pods_after_moves(snapshot.pods, places),
        ledger=msgspec.structs.replace(ledger, disrupting=(*ledger.disrupting, *going)),
    )


def apply(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The cluster once the plan is carried out and its proposals are written down."""
    gone = {name for disruption in plan.disruptions for name in disruption.nodes}
    places = _places(plan)
    pods = _pods_after_moves(snapshot.pods, places)
    touched = set(places.values())
    staying = (node for node in snapshot.nodes if node.name not in gone)
    ledger = _ledger_after(snapshot.ledger, plan, snapshot.pods)
    return msgspec.structs.replace(
        snapshot,
        nodes=(
            *(
                _node_with_new_pods(node, snapshot) if node.name in touched else node
                for node in staying
            ),
            *(_node(launch, snapshot, is_started=True) for launch in _all_launches(plan)),
        ),
        pods=tuple(_remaining_pods(pods, plan, gone)),
        ledger=msgspec.structs.replace(
            ledger,
            proposals=tuple(proposal for proposal in plan.proposals if proposal.node not in gone),
        ),
        revision=snapshot.revision + 1,
    )


def _remaining_pods(pods: Iterable[Pod], plan: Plan, gone: set[str]) -> Iterator[Pod]:
    """Pods that are still there; those that had to move and were given no place wait again."""
    moving = {key for disruption in plan.disruptions for key in disruption.pods}
    for pod in pods:
        if pod.node_name not in gone:
            yield pod
        elif pod.key in moving:
            yield msgspec.structs.replace(pod, node_name="", phase="Pending", deleting_at=None)


def _all_launches(plan: Plan) -> tuple[Launch, ...]:
    return (*plan.launches, *(new for item in plan.disruptions for new in item.replacements))


def _places(plan: Plan) -> dict[str, str]:
    """The node that each pod of the plan gets, by the pod's key."""
    planned: Iterable[Nominate] = (
        *plan.nominations,
        *(place for disruption in plan.disruptions for place in disruption.places),
    )
    node_by_pod = {pod: nomination.node for nomination in planned for pod in nomination.pods}
    return node_by_pod | {pod: launch.name for launch in _all_launches(plan) for pod in launch.pods}


def _pods_after_moves(pods: tuple[Pod, ...], places: Mapping[str, str]) -> tuple[Pod, ...]:
    if not places:
        return pods
    return tuple(
        pod
        if pod.key not in places
        else msgspec.structs.replace(
            pod, node_name=places[pod.key], nominated_node_name="", deleting_at=None
        )
        for pod in pods
    )


def _ledger_after(ledger: Ledger, plan: Plan, pods: Iterable[Pod]) -> Ledger:
    """Promises to pods that have been given a place are kept, and reservations are used up."""
    reserved = Counter(ledger.reserved_by_id)
    reserved.update(
        launch.reservation_id for launch in _all_launches(plan) if launch.reservation_id
    )
    places = _places(plan) if ledger.nominations else {}
    placed = {pod.uid for pod in pods if pod.key in places} if places else set()
    return msgspec.structs.replace(
        ledger,
        nominations=tuple(item for item in ledger.nominations if item.pod_uid not in placed),
        reserved_by_id=dict(reserved),
    )


def _node_with_new_pods(node: Node, snapshot: Snapshot) -> Node:
    """A node that pods have come to: not quiet any more, unless its pool waits for nothing."""
    if _is_quiet_at_once(node.node_pool, snapshot):
        return node
    conditions = tuple(item for item in node.conditions if item.type != CONSOLIDATABLE)
    return msgspec.structs.replace(node, conditions=conditions)


def _is_quiet_at_once(pool: str, snapshot: Snapshot) -> bool:
    return any(
        node_pool.name == pool and node_pool.disruption.consolidate_after == _AT_ONCE
        for node_pool in snapshot.node_pools
    )


def _node(launch: Launch, snapshot: Snapshot, *, is_started: bool) -> Node:
    """The node that comes of a launch, if its first choice can be had. Until it has started, limits
    count the most that it may become.
    """
    kind = _kind(launch, snapshot)
    capacity = kind.capacity if kind else launch.allocatable
    larger = {} if is_started else _larger(launch, snapshot, capacity)
    pool = pools_by_name(snapshot.node_pools).get(launch.node_pool)
    is_quiet = is_started and _is_quiet_at_once(launch.node_pool, snapshot)
    return Node(
        name=launch.name,
        labels={
            **launch.labels,
            labels.ZONE: launch.zone,
            labels.CAPACITY_TYPE: launch.capacity_type,
            labels.NODE_POOL: launch.node_pool,
            labels.INSTANCE_TYPE: launch.instance_type,
        },
        taints=launch.taints if is_started else (*launch.taints, *launch.startup_taints),
        startup_taints=launch.startup_taints,
        capacity={**capacity, **larger},
        allocatable={**dict.fromkeys(larger, 0), **launch.allocatable},
        node_pool=launch.node_pool,
        node_claim=launch.name,
        is_registered=is_started,
        is_initialized=is_started,
        is_ready=is_started,
        attach_limits=kind.attach_limits if kind else {},
        conditions=(_QUIET,) if is_quiet else (),
        termination_grace_period=pool.termination_grace_period if pool else None,
    )


def _larger(launch: Launch, snapshot: Snapshot, capacity: Mapping[str, int]) -> dict[str, int]:
    """What limits must count beyond the planned capacity: any type that is listed may come."""
    pool = pools_by_name(snapshot.node_pools).get(launch.node_pool)
    limited = [name for name in pool.limits if name != NODES] if pool else []
    if not limited:
        return {}
    listed = set(launch.instance_types)
    types = [
        kind for kind in snapshot.instance_types.get(launch.node_pool, ()) if kind.name in listed
    ]
    most = {
        name: max((instance_type.capacity.get(name, 0) for instance_type in types), default=0)
        for name in limited
    }
    return {name: amount for name, amount in most.items() if amount > capacity.get(name, 0)}


def _kind(launch: Launch, snapshot: Snapshot) -> InstanceType | None:
    types = snapshot.instance_types.get(launch.node_pool, ())
    return next((item for item in types if item.name == launch.instance_type), None)
