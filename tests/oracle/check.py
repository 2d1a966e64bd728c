"""Is this plan right? Every way in which it could be wrong, looked for one at a time.

`check` returns what it found, in words; an empty list means that nothing is wrong. It believes
nothing that the plan says of itself: nodes are built from the snapshot's instance types, pods are
bound one by one through kube-scheduler's filters, prices and limits are added up again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import msgspec

from dovetail import labels
from dovetail.model.plan import Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle import certificate, disruptions, fallbacks, launches, static
from tests.oracle.filters import volume_terms
from tests.oracle.hosts import is_leaving, launched_host, present_world, waiting_pods
from tests.oracle.launchable import (
    Fresh,
    Usage,
    fresh_hosts,
    is_strict,
    mentioned,
    unmet_min_values,
    usage,
)
from tests.oracle.node_prices import counted, extra_by_pool
from tests.oracle.scheduler import (
    ALONE,
    bind_as_nodes_come,
    bind_in_any_order,
    bind_in_order,
    refusal,
)
from tests.oracle.world import World


@dataclass(frozen=True)
class Case:
    """A snapshot, its plan, and what follows from the two."""

    snapshot: Snapshot
    now: datetime
    plan: Plan

    @cached_property
    def waiting(self) -> dict[str, Pod]:
        """The pods that want a node, by key."""
        return {pod.key: pod for pod in waiting_pods(self.snapshot, self.now)}

    @cached_property
    def host_by_pod(self) -> dict[str, str]:
        """Where the plan puts whom."""
        found = {pod: launch.name for launch in self.plan.launches for pod in launch.pods}
        found.update({pod: one.node for one in self.plan.nominations for pod in one.pods})
        return found

    @cached_property
    def empty_world(self) -> World:
        """All nodes, existing and planned, before any planned pod is bound."""
        world = present_world(self.snapshot)
        for launch in self.plan.launches:
            world.add(launched_host(self.snapshot, launch))
        return world

    @cached_property
    def final_world(self) -> World:
        """The same with every planned pod bound."""
        world = self.empty_world.copy()
        for pod in self.placed:
            world.bind(pod, self.host_by_pod[pod.key])
        return world

    @cached_property
    def placed(self) -> list[Pod]:
        """The pods that the plan gives a node, in snapshot order."""
        return [pod for pod in self.waiting.values() if pod.key in self.host_by_pod]

    @cached_property
    def used(self) -> Usage:
        """What pools and reservations have given away after the plan."""
        return usage(self.snapshot, self.plan.launches)

    @cached_property
    def fresh(self) -> list[Fresh]:
        """Every node that could still be launched."""
        mentions = mentioned(self.snapshot, self.plan.launches)
        used = fallbacks.taken(self.snapshot, self.plan.launches)
        return list(fresh_hosts(self.snapshot, self.now, used, mentions))


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Everything that is wrong with the plan; nothing if it is right."""
    from tests.oracle import moves  # it judges moves as plans for pods that wait, by this module

    snapshot = believed(snapshot, now)
    world, rest = static.apart(snapshot, now, plan)
    replaced = [one for one in plan.disruptions if static.is_static(one, snapshot)]
    others = frozenset(name for one in replaced for name in one.nodes)
    broken = [
        *static.check(snapshot, now, plan),
        *placing(_with_room_of_the_ending(world, now), now, rest),
        *disruptions.check(world, now, rest),
    ]
    if any(extra_by_pool(snapshot).values()):
        # Moves and the second bound are about what nodes cost in all.
        world, rest = counted(world, rest)
        broken += disruptions.figures(world, rest)
        broken += cost(Case(world, now, rest))
        broken += certificate.check(_with_room_of_the_ending(world, now), now, rest)
    return [*broken, *moves.check(world, now, rest, others)]


def believed(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster without promises that are not believed any more."""
    held = tuple(one for one in snapshot.ledger.nominations if one.until > now)
    ledger = msgspec.structs.replace(snapshot.ledger, nominations=held)
    return msgspec.structs.replace(snapshot, ledger=ledger)


def _with_room_of_the_ending(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster as pods that wait may see it: without pods that end before a new node could have
    started, within a minute, give or take ten seconds. Some owners put another pod into their room.
    """
    staying = tuple(one for one in snapshot.pods if not _is_as_good_as_gone(one, now))
    return msgspec.structs.replace(snapshot, pods=staying)


def _is_as_good_as_gone(pod: Pod, now: datetime) -> bool:
    if pod.deleting_at is None or not pod.node_name or pod.phase in ("Succeeded", "Failed"):
        return False
    makers = ("ReplicaSet", "ReplicationController", "Job", "DaemonSet")
    if pod.owner is not None and pod.owner.kind not in makers:
        return False
    left = (pod.deleting_at - now).total_seconds()
    return -10 < left <= 60


def placing(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Everything that is wrong with what the plan does for waiting pods."""
    case = Case(snapshot, now, plan)
    broken = accounts(case)
    if broken:
        return broken  # the rest would stumble over pods and nodes that are not there
    return [
        *binding(case),
        *leftovers(case),
        *priorities(case),
        *launches.check(snapshot, now, plan),
        *surprises(case),
        *pool_limits(case),
        *weights(case),
        *cost(case),
        *certificate.check(snapshot, now, plan),
    ]


# ------------------------------------------------------------------ who is where


def accounts(case: Case) -> list[str]:
    """Every waiting pod is in the plan once, and nobody else is."""
    plan = case.plan
    listed = [pod for launch in plan.launches for pod in launch.pods]
    listed += [pod for one in plan.nominations for pod in one.pods]
    order = Counter(plan.binding_order)
    named = Counter([*listed, *(one.pod for one in plan.unschedulable)])
    broken = [f"{pod} is in the plan {n} times" for pod, n in sorted(named.items()) if n > 1]
    broken += [f"{pod} is not in the plan" for pod in case.waiting if pod not in named]
    broken += [f"{pod} does not wait" for pod in sorted(named) if pod not in case.waiting]
    if order != Counter(listed):
        broken.append("binding_order is not a list of the placed pods")
    nodes = {node.name for node in case.snapshot.nodes if not is_leaving(case.snapshot, node)}
    broken += [
        f"nominates unknown node {one.node}" for one in plan.nominations if one.node not in nodes
    ]
    names = Counter([*(one.name for one in plan.launches), *nodes])
    return broken + [f"{name} names {n} nodes" for name, n in sorted(names.items()) if n > 1]


def excuse(case: Case, pod: Pod) -> str | None:
    """Why nobody needs to plan for this pod; None if somebody should."""
    if pod.problems:
        return pod.problems[0].reason
    if pod.spec.is_gated:
        return "gated"
    if pod.spec.scheduler_name != "default-scheduler":
        return "other scheduler"
    if pod.spec.uses_dynamic_resources:
        return "dynamic resources"
    return "unusable claim" if volume_terms(case.empty_world, pod) is None else None


# ------------------------------------------------------------------ pods that have a node


def binding(case: Case) -> list[str]:
    """kube-scheduler binds every placed pod, in the order given or else in another.

    Pods for nodes that are there are bound before new nodes have come, which count in spreads.
    """
    broken = [
        f"{pod.key} has a node although: {why}"
        for pod in case.placed
        if (why := excuse(case, pod)) is not None
    ]
    order = [case.waiting[key] for key in case.plan.binding_order]
    refused = bind_in_order(case.empty_world, case.host_by_pod, order)
    if refused:
        refused = bind_as_nodes_come(case.empty_world, case.host_by_pod, order)
    if refused:
        refused = bind_in_any_order(case.empty_world, case.host_by_pod, order)
    return broken + [f"{pod} does not bind to {why}" for pod, why in sorted(refused.items())]


def surprises(case: Case) -> list[str]:
    """Whatever the provider makes of a launch, all pods still bind."""
    broken = []
    for host in launches.deliveries(case.snapshot, case.now, case.plan):
        world = case.empty_world.copy()
        world.add(host)
        order = [case.waiting[key] for key in case.plan.binding_order]
        refused = bind_in_order(world, case.host_by_pod, order)
        if refused:
            refused = bind_in_any_order(world, case.host_by_pod, order)
        for pod, why in refused.items():
            got = f"{host.labels[labels.ZONE]}/{host.labels[labels.CAPACITY_TYPE]}"
            broken.append(f"{pod} does not bind if {host.name} comes as {got}: {why}")
    return broken


# ------------------------------------------------------------------ pods that have none


def leftovers(case: Case) -> list[str]:
    """No pod waits that some node, there or launchable, would have taken."""
    broken = []
    for pod in case.waiting.values():
        if pod.key in case.host_by_pod or excuse(case, pod) is not None:
            continue
        where = _room_for(case, pod)
        if where is not None:
            broken.append(f"{pod.key} waits although it could go to {where}")
    return broken


def _room_for(case: Case, pod: Pod) -> str | None:
    for host in case.final_world.hosts.values():
        if refusal(case.final_world, pod, host) is None and _stays_diverse(case, pod, host.name):
            return host.name
    for fresh in case.fresh:
        if takes(case, pod, fresh, without=None):
            one = fresh.offering
            return f"{fresh.pool.name} {fresh.kind.name} {one.zone} {one.capacity_type}"
    return None


def priorities(case: Case) -> list[str]:
    """No pod waits for a place that pods of lower priority were given."""
    broken = []
    for pod in case.waiting.values():
        if pod.key in case.host_by_pod or excuse(case, pod) is not None:
            continue
        for name in case.final_world.hosts:
            if _displaces(case, pod, name):
                broken.append(
                    f"{pod.key} waits while pods of lower priority have its place: {name}"
                )
                break
    return broken


def _displaces(case: Case, pod: Pod, name: str) -> bool:
    """Whether the pod could have this node just because planned pods of lower priority left it.

    A pod that would have it beside them, were it bound before new nodes come, lacks nothing that
    they have.
    """
    here = [one for one in case.placed if case.host_by_pod[one.key] == name]
    lower = {one.key for one in here if one.spec.priority < pod.spec.priority}
    if not lower or not _stays_diverse(case, pod, name, without=lower):
        return False
    stay = [one for one in case.placed if one.key not in lower]
    where = {**case.host_by_pod, pod.key: name}
    if bind_in_any_order(case.empty_world, where, [*stay, pod]):
        return False
    return bool(bind_in_any_order(case.empty_world, where, [*case.placed, pod]))


def _stays_diverse(case: Case, pod: Pod, host_name: str, *, without: Collection[str] = ()) -> bool:
    """Whether a planned node with one more pod still has the types that its pool insists on."""
    for launch in case.plan.launches:
        if launch.name == host_name and is_strict(case.snapshot):
            joined = (*(case.waiting[key] for key in launch.pods if key not in without), pod)
            others = [one for one in case.plan.launches if one is not launch]
            used = fallbacks.taken(case.snapshot, others)
            return launches.reaches_min_values(case.snapshot, case.now, launch, joined, used=used)
    return True


def takes(case: Case, pod: Pod, fresh: Fresh, *, without: str | None) -> bool:
    """Whether the pod could have this further node, all others staying where they are.

    `without` names the node that the pod would leave. With the further node present everybody must
    still bind in some order, and the pool must still reach its minValues with types that would do.
    """
    bare = case.empty_world
    bare.add(fresh.host)
    passes = all(one(bare, pod, fresh.host, ()) is None for one in ALONE)
    bare.drop(fresh.host)
    if not passes:
        return False
    world = case.final_world
    if without is not None:
        world.unbind(pod, without)
    world.add(fresh.host)
    passes = refusal(world, pod, fresh.host) is None
    world.drop(fresh.host)
    if without is not None:
        world.bind(pod, without)
    return passes and _everybody_binds(case, pod, fresh) and _diverse(case, pod, fresh)


def _everybody_binds(case: Case, pod: Pod, fresh: Fresh) -> bool:
    world = case.empty_world.copy()
    world.add(fresh.host)
    where = {**case.host_by_pod, pod.key: fresh.host.name}
    pods = [one for one in case.placed if one.key != pod.key]
    return not bind_in_any_order(world, where, [*pods, pod])


def _bought_as(fresh: Fresh) -> tuple[str, str]:
    return fresh.offering.zone, fresh.offering.capacity_type


def _diverse(case: Case, pod: Pod, fresh: Fresh) -> bool:
    """Whether enough types would hold the pod, bought the same way, where the pool insists."""
    if not is_strict(case.snapshot) or not any(one.min_values for one in fresh.pool.requirements):
        return True
    world = World(case.snapshot)
    kinds = {}
    for other in case.fresh:
        if other.pool is not fresh.pool or _bought_as(other) != _bought_as(fresh):
            continue
        world.add(other.host)
        if all(one(world, pod, other.host, ()) is None for one in ALONE):
            kinds[other.kind.name] = other.kind
        world.drop(other.host)
    return not unmet_min_values(fresh.pool, kinds.values())


# ------------------------------------------------------------------ pools


def pool_limits(case: Case) -> list[str]:
    """A pool that launches stays within its limits, whatever listed types the provider picks."""
    growing = {launch.node_pool for launch in case.plan.launches}
    exceeded = [
        f"pool {pool.name} exceeds {what}"
        for pool in case.snapshot.node_pools
        if pool.name in growing
        for what in case.used.excess(pool)
    ]
    return exceeded or fallbacks.limits(case.snapshot, case.plan.launches)


def weights(case: Case) -> list[str]:
    """No pod has a new node in one pool that could have had its own in a pool of higher weight."""
    weight_by_pool = {pool.name: pool.weight for pool in case.snapshot.node_pools}
    broken = []
    for launch in case.plan.launches:
        for key in launch.pods:
            weight = weight_by_pool.get(launch.node_pool, 0)
            better = _better_pool(case, launch, case.waiting[key], weight)
            if better is not None:
                broken.append(f"{key} is in pool {launch.node_pool}, {better} weighs more")
    return broken


def _better_pool(case: Case, launch: Launch, pod: Pod, weight: int) -> str | None:
    for fresh in case.fresh:
        if fresh.pool.weight <= weight or fresh.offering.zone != launch.zone:
            continue
        if takes(case, pod, fresh, without=launch.name):
            return fresh.pool.name
    return None


# ------------------------------------------------------------------ money


def cost(case: Case) -> list[str]:
    """The price is the sum of the launches, and no less than the bound."""
    said, broken = case.plan.cost, []
    total = sum(launch.price_nanousd for launch in case.plan.launches)
    if said.new_nanousd != total:
        broken.append(f"cost says {said.new_nanousd}, launches add up to {total}")
    if not 0 <= said.lower_bound_nanousd <= said.new_nanousd:
        broken.append(f"bound {said.lower_bound_nanousd} is not within 0..{said.new_nanousd}")
    return broken
