"""What becomes of a cluster when plans are carried out, and everybody else does their part.

    carried_out   the plan is done, all at once and well; time passes until nodes are quiet again
    delivered     what a provider makes of a plan: any of the choices that it was left

Nodes that start have started, pods that end are gone, daemon pods have come, and nodes on their way
out go as soon as nobody is on them any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from random import Random
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.apply import apply
from dovetail.decide.evictions import with_evictions
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.pod import Owner, Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.disruptions import fakes, needs_a_node
from tests.oracle.filters import daemon_belongs
from tests.oracle.hosts import is_leaving, standing_taints
from tests.oracle.launchable import can_be_had, kinds_of, mentioned
from tests.oracle.launches import Order, would_do

_QUIET: Final = Condition("Consolidatable", "True")
_STARTED: Final = {labels.REGISTERED: "true", labels.INITIALIZED: "true"}


def carried_out(snapshot: Snapshot, plan: Plan, now: datetime) -> Snapshot:
    """The cluster once the plan is done and everything is quiet."""
    evicted = {pod for one in plan.disruptions for pod in one.pods}
    after = apply(snapshot, plan)
    ledger = with_evictions(after.ledger, [pod for pod in snapshot.pods if pod.key in evicted], now)
    after = msgspec.structs.replace(
        after,
        ledger=ledger,
        pods=tuple(_lived_on(after.pods, snapshot, now)),
        nodes=tuple(started(node, after) for node in after.nodes),
    )
    return with_daemons(quiet(departed(after)))


def _lived_on(pods: Iterable[Pod], before: Snapshot, now: datetime) -> Iterator[Pod]:
    """Pods that have come to a node run there; those that were ending have ended."""
    where = {pod.key: pod.node_name for pod in before.pods}
    unreal = fakes(before)
    for pod in pods:
        if pod.key in unreal:
            yield msgspec.structs.replace(pod, node_name="")  # nobody ever binds it
        elif pod.deleting_at is not None:
            if pod.owner is not None and pod.owner.kind == "StatefulSet":
                yield msgspec.structs.replace(
                    pod, node_name="", phase="Pending", deleting_at=None, started_at=None
                )
        elif pod.node_name and pod.node_name != where.get(pod.key):
            yield msgspec.structs.replace(pod, phase="Running", started_at=now, created_at=now)
        else:
            yield pod


def started(node: Node, snapshot: Snapshot) -> Node:
    """The node once it has started."""
    if not node.node_claim or node.is_initialized:
        return node
    kind = kinds_of(snapshot, node.node_pool).get(node.instance_type)
    promised = kind.allocatable if kind else node.capacity
    return msgspec.structs.replace(
        node,
        labels={labels.HOSTNAME: node.name, **node.labels, **_STARTED},
        taints=standing_taints(node),
        allocatable={**promised, **node.allocatable},
        attach_limits=node.attach_limits or (kind.attach_limits if kind else {}),
        is_registered=True,
        is_initialized=True,
        is_ready=True,
    )


def departed(snapshot: Snapshot) -> Snapshot:
    """The cluster without the nodes that leave and that nobody needs any more."""
    needed = {pod.node_name for pod in snapshot.pods if needs_a_node(pod)}
    gone = {
        node.name: node
        for node in snapshot.nodes
        if is_leaving(snapshot, node) and node.name not in needed
    }
    ledger = snapshot.ledger
    return msgspec.structs.replace(
        snapshot,
        nodes=tuple(node for node in snapshot.nodes if node.name not in gone),
        pods=tuple(pod for pod in snapshot.pods if pod.node_name not in gone),
        ledger=msgspec.structs.replace(
            ledger,
            disrupting=tuple(one for one in ledger.disrupting if one.node not in gone),
            reserved_by_id=_given_back(snapshot, gone.values()),
        ),
    )


def _given_back(snapshot: Snapshot, gone: Iterable[Node]) -> dict[str, int]:
    held = dict(snapshot.ledger.reserved_by_id)
    for node in gone:
        name = node.labels.get(labels.RESERVATION_ID, "")
        if held.get(name):
            held[name] -= 1
    return held


def quiet(snapshot: Snapshot) -> Snapshot:
    """The cluster once no pod has come or gone for as long as any pool wants."""
    waits = {
        pool.name
        for pool in snapshot.node_pools
        if pool.replicas is None and pool.disruption.consolidate_after is not None
    }
    nodes = (_as_quiet(node) if node.node_pool in waits else node for node in snapshot.nodes)
    return msgspec.structs.replace(snapshot, nodes=tuple(nodes))


def _as_quiet(node: Node) -> Node:
    if not node.node_claim or not node.is_initialized or _QUIET in node.conditions:
        return node
    return msgspec.structs.replace(node, conditions=(*node.conditions, _QUIET))


def with_daemons(snapshot: Snapshot) -> Snapshot:
    """The cluster once every daemon set runs wherever it belongs."""
    there = {(pod.owner.name, pod.node_name) for pod in snapshot.pods if pod.owner}
    new = tuple(
        Pod(
            name=f"{daemon.name}-{node.name}",
            namespace=daemon.namespace,
            spec=daemon.spec,
            uid=f"uid-{daemon.name}-{node.name}",
            labels=daemon.labels,
            node_name=node.name,
            phase="Running",
            owner=Owner("DaemonSet", daemon.name, daemon.uid),
        )
        for daemon in snapshot.daemon_sets
        for node in snapshot.nodes
        if node.is_initialized
        and (daemon.name, node.name) not in there
        and daemon_belongs(daemon, node.labels, node.taints, node.name)
    )
    return msgspec.structs.replace(snapshot, pods=(*snapshot.pods, *new)) if new else snapshot


# ------------------------------------------------------------------ what a provider makes of it


def delivered(snapshot: Snapshot, plan: Plan, now: datetime, chance: Random) -> Plan:
    """The plan with whatever the provider chooses of what each launch would take."""

    def come(one: Launch) -> Launch:
        return _delivered(snapshot, one, now, chance)

    def gone(one: Disrupt) -> Disrupt:
        return msgspec.structs.replace(one, replacements=tuple(map(come, one.replacements)))

    return msgspec.structs.replace(
        plan,
        launches=tuple(map(come, plan.launches)),
        disruptions=tuple(map(gone, plan.disruptions)),
    )


def _delivered(snapshot: Snapshot, launch: Launch, now: datetime, chance: Random) -> Launch:
    kinds = kinds_of(snapshot, launch.node_pool)
    pool = next(one for one in snapshot.node_pools if one.name == launch.node_pool)
    keys = set(launch.pods)
    pods = tuple(pod for pod in snapshot.pods if pod.key in keys)
    chosen = kinds[launch.instance_type]
    order = Order(snapshot, now, launch, pool, chosen, pods, mentioned(snapshot, (), pods))
    choices = [
        (kinds[name], one)
        for name in launch.instance_types
        for one in kinds[name].offerings
        if can_be_had(snapshot, now, pool.name, kinds[name], one)
        and one.reservation_id == launch.reservation_id
        and would_do(order, kinds[name], one)
    ]
    if not choices:
        return launch
    kind, offering = chance.choice(choices)
    said = [*kind.requirements.values(), *offering.requirements.values()]
    fixed = {one.key: next(iter(one.values)) for one in said if len(one.values) == 1}
    return msgspec.structs.replace(
        launch,
        instance_type=kind.name,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        price_nanousd=offering.price_nanousd,
        labels={**launch.labels, **fixed},
        allocatable=kind.allocatable,
    )
