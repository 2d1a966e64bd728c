"""May these pods be moved? Every law of taking away nodes that run pods, one move at a time.

All moves of a plan together are judged as a plan for pods that wait: the nodes are marked as going,
so that their pods need a node, and what the moves say of them must bind like any other plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.ledger import Departure
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import Disruption
from dovetail.model.snapshot import Snapshot
from tests.oracle import launches
from tests.oracle.check import Case, pool_limits
from tests.oracle.disruptions import (
    expected,
    fakes,
    holds,
    is_held,
    needs_a_node,
    price,
)
from tests.oracle.hosts import cannot_be_evicted, is_leaving, is_protected
from tests.oracle.launchable import can_be_had, kinds_of
from tests.oracle.scheduler import bind_in_any_order, bind_in_order, some_order_exists

DRIFTED: Final = "Drifted"
UNDERUTILIZED: Final = "Underutilized"
ENOUGH_SPOT: Final = 15
WEEK: Final = timedelta(days=7)
SECOND: Final = timedelta(seconds=1)
FEW: Final = 2  # nodes: one is never replaced by its equal


def check(
    snapshot: Snapshot, now: datetime, plan: Plan, others: frozenset[str] = frozenset()
) -> list[str]:
    """Everything that is wrong with the moves of a plan; `others` are nodes that go besides."""
    moves = [one for one in plan.disruptions if one.reason != "Empty"]
    nodes = {node.name: node for node in snapshot.nodes}
    unknown = [name for one in moves for name in one.nodes if name not in nodes]
    if unknown:
        return [f"{name} goes, but is not there" for name in unknown]
    broken = []
    for move in moves:
        going = [nodes[name] for name in move.nodes]
        laws = [
            *(why for node in going for why in _keeps(snapshot, now, plan, node, move.reason)),
            *_who_moves(snapshot, now, plan, move),
            *_where_to(snapshot, plan, move, others),
        ]
        if move.reason == UNDERUTILIZED:
            laws += _pays(snapshot, now, going, move)
            laws += _spares(snapshot, now, plan, move)
        broken += [f"{', '.join(move.nodes)}: {law}" for law in laws]
    return broken or (_together(_without(snapshot, now, others), now, plan) if moves else [])


def _without(snapshot: Snapshot, now: datetime, names: frozenset[str]) -> Snapshot:
    """The cluster while these nodes go."""
    going = tuple(Departure(name, DRIFTED, now) for name in sorted(names))
    ledger = msgspec.structs.replace(
        snapshot.ledger, disrupting=(*snapshot.ledger.disrupting, *going)
    )
    return msgspec.structs.replace(snapshot, ledger=ledger)


# ------------------------------------------------------------------ which nodes


def _keeps(snapshot: Snapshot, now: datetime, plan: Plan, node: Node, reason: str) -> Iterator[str]:
    """What should have kept a node."""
    pool = next((one for one in snapshot.node_pools if one.name == node.node_pool), None)
    pods = [pod for pod in snapshot.pods if pod.node_name == node.name]
    is_bounded = reason == DRIFTED and node.termination_grace_period is not None
    wanted = "Drifted" if reason == DRIFTED else "Consolidatable"
    meant = expected(snapshot, now, plan, ignored=frozenset(fakes(snapshot)))
    reasons = {
        "it has no claim": not node.node_claim,
        "it has not started": not node.is_initialized,
        "it is leaving already": is_leaving(snapshot, node),
        "it is protected": node.annotations.get(labels.DO_NOT_DISRUPT) == "true",
        "it could not be replaced lately": any(
            one.node == node.name and one.until > now for one in snapshot.ledger.setbacks
        ),
        "its pool says nothing": pool is None or bool(pool.problems) or pool.replicas is not None,
        "nobody knows its pool's types": not snapshot.instance_types.get(node.node_pool),
        f"it is not {wanted}": not holds(node, wanted),
        "pods are meant for it": bool({node.name, node.node_claim} & meant),
        "a pod is protected": not is_bounded and any(is_protected(pod, now) for pod in pods),
        "a pod may not be evicted": not is_bounded
        and any(is_held(snapshot, pod, now) for pod in pods),
    }
    if reason == UNDERUTILIZED and pool is not None:
        since = {one.node: one.since for one in snapshot.ledger.proposals if one.reason == reason}
        reasons |= {
            "its pool wants it": pool.disruption.consolidate_after is None
            or pool.disruption.consolidation_policy == "WhenEmpty",
            "nobody knows its price": not price(snapshot, node),
            "it is unconfirmed": since.get(node.name, now) + snapshot.policy.confirm_after > now,
            "it runs no pods": not any(needs_a_node(pod) for pod in pods)
            and not _kept_room(snapshot, plan, {node.name, node.node_claim}),
        }
    yield from (f"{node.name} goes although {why}" for why, is_so in reasons.items() if is_so)


def _kept_room(snapshot: Snapshot, plan: Plan, names: set[str]) -> set[str]:
    """Room that buffers have on these nodes, by this plan or by an earlier one."""
    unreal = fakes(snapshot)
    planned = {pod for one in plan.nominations if one.node in names for pod in one.pods}
    promised = {one.pod_uid for one in snapshot.ledger.nominations if one.node in names}
    earlier = {pod.key for pod in snapshot.pods if pod.uid in promised and not pod.node_name}
    return (planned | earlier) & unreal


# ------------------------------------------------------------------ who moves where


def _who_moves(snapshot: Snapshot, now: datetime, plan: Plan, move: Disrupt) -> Iterator[str]:
    """Just the pods move that need a node and may be evicted, some day at least; and room that a
    buffer was to have there.
    """
    names = set(move.nodes)
    want = {
        pod.key
        for pod in snapshot.pods
        if pod.node_name in names and needs_a_node(pod) and not _never_goes(snapshot, pod, now)
    }
    want |= _kept_room(snapshot, plan, names)
    if want != set(move.pods):
        yield f"moves {sorted(move.pods)}, not {sorted(want)}"


def _never_goes(snapshot: Snapshot, pod: Pod, now: datetime) -> bool:
    """Whether its annotation, two budgets, or one that never allows it keep the pod."""
    if pod.deleting_at is not None:
        return False
    return is_protected(pod, now) or cannot_be_evicted(snapshot, pod)


def _where_to(
    snapshot: Snapshot, plan: Plan, move: Disrupt, others: frozenset[str]
) -> Iterator[str]:
    """Everybody has one place: on a replacement, or on a node that stays and has started."""
    placed = Counter(pod for new in move.replacements for pod in new.pods)
    placed += Counter(pod for place in move.places for pod in place.pods)
    if placed != Counter(move.pods):
        yield f"places {sorted(placed.elements())}, not {sorted(move.pods)}"
    gone = {name for one in plan.disruptions for name in one.nodes} | others
    nodes = {node.name: node for node in snapshot.nodes}
    for place in move.places:
        node = nodes.get(place.node)
        if node is None or place.node in gone or is_leaving(snapshot, node):
            yield f"moves pods to {place.node}, which does not stay"
        elif node.node_claim and not node.is_initialized:
            yield f"moves pods to {place.node}, which has not started"
        elif move.reason == UNDERUTILIZED and _is_busy(snapshot, node):
            yield f"moves pods to {place.node}, which is not quiet"


def _is_busy(snapshot: Snapshot, node: Node) -> bool:
    """Whether pods came or went too lately for what its pool wants."""
    return not holds(node, "Consolidatable") and any(
        pool.name == node.node_pool
        and pool.replicas is None
        and pool.disruption.consolidate_after is not None
        for pool in snapshot.node_pools
        if node.node_claim
    )


def _together(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """All moves and the plan for waiting pods, as one plan while the nodes are going."""
    going = tuple(
        Departure(name, one.reason, now) for one in plan.disruptions for name in one.nodes
    )
    moved = [pod for move in plan.disruptions for pod in move.pods]
    uids = {pod.uid for pod in snapshot.pods if pod.key in moved}
    ledger = msgspec.structs.replace(
        snapshot.ledger,
        disrupting=(*snapshot.ledger.disrupting, *going),
        nominations=tuple(one for one in snapshot.ledger.nominations if one.pod_uid not in uids),
    )
    # Room of a buffer on a node that goes is found elsewhere by the move.
    first = [Nominate(one.node, _others(one.pods, moved)) for one in plan.nominations]
    places: dict[str, list[str]] = {}
    for one in (*first, *(place for move in plan.disruptions for place in move.places)):
        places.setdefault(one.node, []).extend(one.pods)
    joined = Plan(
        launches=(*plan.launches, *(new for move in plan.disruptions for new in move.replacements)),
        nominations=tuple(Nominate(node, tuple(pods)) for node, pods in places.items() if pods),
        binding_order=(*_others(plan.binding_order, moved), *moved),
    )
    case = Case(msgspec.structs.replace(snapshot, ledger=ledger), now, joined)
    names = Counter(one.name for one in joined.launches)
    return [
        *(f"{name} names {n} launches" for name, n in names.items() if n > 1),
        *_binding(case, plan, moved),
        *launches.reservations(case.snapshot, joined),
        *_orders(case.snapshot, now, plan),
        *pool_limits(case),
    ]


def _orders(snapshot: Snapshot, now: datetime, plan: Plan) -> Iterator[str]:
    """What is wrong with the replacements of each move, which knows nothing of other pods, but that
    reservations are used up.
    """
    used = Counter(snapshot.ledger.reserved_by_id)
    used.update(one.reservation_id for one in plan.launches if one.reservation_id)
    for move in plan.disruptions:
        ledger = msgspec.structs.replace(snapshot.ledger, reserved_by_id=dict(used))
        world = msgspec.structs.replace(snapshot, ledger=ledger)
        yield from launches.check(world, now, Plan(move.replacements, binding_order=move.pods))
        used.update(one.reservation_id for one in move.replacements if one.reservation_id)


def _others(pods: tuple[str, ...], moved: list[str]) -> tuple[str, ...]:
    return tuple(pod for pod in pods if pod not in moved)


def _binding(case: Case, plan: Plan, moved: list[str]) -> list[str]:
    """Once those that wait now are bound, all that move bind, whatever the provider makes of each
    replacement.
    """
    world = case.empty_world.copy()
    for key in _others(plan.binding_order, moved):
        world.bind(case.waiting[key], case.host_by_pod[key])
    pods = {pod.key: pod for pod in case.snapshot.pods}
    order = [pods[key] for key in moved]
    broken = []
    replacements = Plan(
        launches=tuple(new for move in plan.disruptions for new in move.replacements)
    )
    for host in (None, *launches.deliveries(case.snapshot, case.now, replacements)):
        seen = world.copy()
        if host is not None:
            seen.add(host)
        refused = bind_in_order(seen, case.host_by_pod, order)
        refused = refused and bind_in_any_order(seen, case.host_by_pod, order)
        if refused and some_order_exists(seen, case.host_by_pod, order):
            continue
        broken += [f"{pod} does not bind to {why}" for pod, why in sorted(refused.items())]
    return broken


# ------------------------------------------------------------------ money


def _is_promotion(snapshot: Snapshot, going: list[Node], move: Disrupt) -> bool:
    weight = {pool.name: pool.weight for pool in snapshot.node_pools}
    coming = [weight[new.node_pool] for new in move.replacements]
    return bool(coming) and min(coming) > max(weight[node.node_pool] for node in going)


def _pays(snapshot: Snapshot, now: datetime, going: list[Node], move: Disrupt) -> Iterator[str]:
    """It is cheaper afterwards, at the worst price too, and of a few nodes nothing comes back that
    went. Where all comes from pools that are preferred to those that lose nodes, it may cost as
    much.
    """
    before = sum(price(snapshot, node) for node in going)
    worst = sum(_worst(snapshot, now, new) for new in move.replacements)
    if worst > before or (worst == before and not _is_promotion(snapshot, going, move)):
        yield f"may cost {worst} afterwards, {before} before"
    bought = [(one.node_pool, one.instance_type, one.zone, one.capacity_type) for one in going]
    for new in move.replacements:
        offer = (new.node_pool, new.instance_type, new.zone, new.capacity_type)
        if offer in bought and len(going) < FEW:
            yield f"{new.instance_type} comes for its equal"
        if new.capacity_type == "spot" and all(node.capacity_type == "spot" for node in going):
            if not snapshot.policy.replaces_spot_by_spot:
                yield "spot comes for spot"
            elif len(going) == 1 and len(new.instance_types) < ENOUGH_SPOT:
                yield f"spot comes for spot with {len(new.instance_types)} types"


# ------------------------------------------------------------------ what owners were promised


def _spares(snapshot: Snapshot, now: datetime, plan: Plan, move: Disrupt) -> Iterator[str]:
    """It brings what is wanted for every pod, and nobody is evicted more often than may be."""
    nodes = {node.name: node for node in snapshot.nodes}
    pools = {pool.name: pool.disruption for pool in snapshot.node_pools}
    moving = [pod for pod in snapshot.pods if pod.key in move.pods and pod.node_name]
    wanted = 0
    for pod in moving:
        theirs = pools[nodes[pod.node_name].node_pool].least_saving_nanousd
        wanted += snapshot.policy.least_saving_nanousd if theirs is None else theirs
    going = [nodes[name] for name in move.nodes]
    if move.saving_nanousd < wanted and not _is_promotion(snapshot, going, move):
        yield f"saves {move.saving_nanousd}, {wanted} is wanted"
    if not _is_promotion(snapshot, going, move):
        yield from _makes_up(snapshot, now, move, moving)
    earlier = plan.disruptions[: plan.disruptions.index(move)]
    done = Counter(pod.workload for pod in snapshot.pods for one in earlier if pod.key in one.pods)
    for pod in moving:
        most = _most_evictions(snapshot, pod, pools[nodes[pod.node_name].node_pool])
        if most is None or not pod.workload:
            continue
        n_pods = sum(one.workload == pod.workload and _is_active(one) for one in snapshot.pods)
        n_here = sum(one.workload == pod.workload for one in moving)
        n_evicted = _evicted(snapshot, now, pod.workload) + done[pod.workload] + n_here
        if n_evicted > most * max(n_pods, n_here):
            yield f"{pod.workload} is evicted {n_evicted} times a day, with {n_pods} pods"


def _makes_up(snapshot: Snapshot, now: datetime, move: Disrupt, moving: list[Pod]) -> Iterator[str]:
    """Within the longest that any of its pods has stood it makes up for what each eviction is worth
    at least: the pod's share of its node, for so long. Pods with a word of their own do not count.
    """
    nodes = {node.name: node for node in snapshot.nodes}
    pools = {pool.name: pool.disruption for pool in snapshot.node_pools}
    lost = Fraction(0)
    longest = timedelta(minutes=1)
    for pod in moving:
        node = nodes[pod.node_name]
        since = pod.started_at or pod.created_at
        longest = max(longest, WEEK if since is None else min(WEEK, now - since))
        if pod.spec.priority or pod.annotations or pod.is_virtual:
            continue
        share = max(
            Fraction(amount, node.allocatable[name])
            for name, amount in (*pod.spec.requests.items(), ("cpu", 0))
            if node.allocatable.get(name)
        )
        theirs = pools[node.node_pool].eviction_cost
        worth = snapshot.policy.eviction_cost if theirs is None else theirs
        lost += min(Fraction(1), share) * price(snapshot, node) * (worth // SECOND)
    if move.saving_nanousd * Fraction(longest // SECOND + 1) < lost - len(moving):
        yield f"saves {move.saving_nanousd} for {longest} at most, which does not pay for {lost}"


def _most_evictions(snapshot: Snapshot, pod: Pod, theirs: Disruption) -> int | None:
    said = pod.annotations.get("dovetail.sh/most-evictions-per-day", "")
    if said.isdecimal():
        return int(said)
    return (
        snapshot.policy.most_evictions if theirs.most_evictions is None else theirs.most_evictions
    )


def _evicted(snapshot: Snapshot, now: datetime, workload: str) -> int:
    """How often its pods were evicted within a day; whole hours count."""
    span = timedelta(hours=25)
    return sum(
        one.n_evictions
        for one in snapshot.ledger.evictions
        if one.workload == workload and one.hour + span > now
    )


def _is_active(pod: Pod) -> bool:
    return pod.deleting_at is None and not pod.is_terminal


def _worst(snapshot: Snapshot, now: datetime, launch: Launch) -> int:
    """The most that the provider may make us pay for this launch."""
    kinds = kinds_of(snapshot, launch.node_pool)
    asked = {one.key: one for one in launch.requirements}
    return max(
        one.price_nanousd
        for name in launch.instance_types
        for one in kinds[name].offerings
        if can_be_had(snapshot, now, launch.node_pool, kinds[name], one)
        and asked[labels.ZONE].admits(one.zone)
        and asked[labels.CAPACITY_TYPE].admits(one.capacity_type)
        and one.reservation_id == launch.reservation_id
    )
