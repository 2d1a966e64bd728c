"""Do pools that want so many nodes get them? Counted by hand, one pool at a time.

What such pools do does not depend on who waits. So it is judged first, by itself; the rest of the
plan is judged in a cluster where it is under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels as well_known
from dovetail.model.ledger import Departure
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from tests.oracle import disruptions
from tests.oracle.hosts import is_leaving, is_protected
from tests.oracle.launchable import can_be_had, kinds_of, label_choices, said
from tests.oracle.node_prices import extra_by_pool

SURPLUS: Final = "Overprovisioned"
NO_LIMIT: Final = 10**9


# ------------------------------------------------------------------ the rest of the plan


def apart(snapshot: Snapshot, now: datetime, plan: Plan) -> tuple[Snapshot, Plan]:
    """The cluster with what static pools launch and give up under way, and the rest of the plan."""
    fixed = {pool.name for pool in snapshot.node_pools if pool.replicas is not None}
    launched = tuple(one for one in plan.launches if one.node_pool in fixed)
    replaced = tuple(one for one in plan.disruptions if is_static(one, snapshot))
    surplus = tuple(one for one in plan.disruptions if one.reason == SURPLUS)
    if not launched and not replaced and not surplus:
        return snapshot, plan
    paid = sum(one.price_nanousd for one in launched)
    saved = sum(one.saving_nanousd for one in surplus)
    extra = extra_by_pool(snapshot)
    node_price = sum(extra[one.node_pool] for one in launched)
    cost = plan.cost
    with_nodes = cost.lower_bound_with_nodes_nanousd
    if any(extra.values()):
        with_nodes -= paid + node_price
    rest = msgspec.structs.replace(
        plan,
        launches=tuple(one for one in plan.launches if one not in launched),
        disruptions=tuple(one for one in plan.disruptions if one not in (*replaced, *surplus)),
        cost=msgspec.structs.replace(
            cost,
            new_nanousd=cost.new_nanousd - paid,
            lower_bound_nanousd=cost.lower_bound_nanousd - paid,
            node_price_nanousd=cost.node_price_nanousd - node_price,
            lower_bound_with_nodes_nanousd=with_nodes,
            cluster_before_nanousd=cost.cluster_before_nanousd + paid - saved,
            cluster_after_nanousd=cost.cluster_after_nanousd
            + sum(one.saving_nanousd for one in replaced),
        ),
    )
    going = tuple(Departure(name, SURPLUS, now) for one in surplus for name in one.nodes)
    used = Counter(snapshot.ledger.reserved_by_id)
    used.update(one.reservation_id for one in launched if one.reservation_id)
    ledger = msgspec.structs.replace(
        snapshot.ledger,
        disrupting=(*snapshot.ledger.disrupting, *going),
        reserved_by_id=dict(used),
    )
    nodes = (*snapshot.nodes, *(to_come(snapshot, one) for one in launched))
    return msgspec.structs.replace(snapshot, nodes=nodes, ledger=ledger), rest


def is_static(one: Disrupt, snapshot: Snapshot) -> bool:
    """Whether a node of a static pool is replaced."""
    fixed = {pool.name for pool in snapshot.node_pools if pool.replicas is not None}
    return one.reason != SURPLUS and any(
        node.name in one.nodes and node.node_pool in fixed for node in snapshot.nodes
    )


def to_come(snapshot: Snapshot, launch: Launch) -> Node:
    """The node that a launch becomes, while it is on its way."""
    kind = kinds_of(snapshot, launch.node_pool)[launch.instance_type]
    return Node(
        name=launch.name,
        labels={**launch.labels, well_known.HOSTNAME: launch.name},
        taints=(*launch.taints, *launch.startup_taints),
        startup_taints=launch.startup_taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        node_pool=launch.node_pool,
        node_claim=launch.name,
        is_registered=False,
        is_initialized=False,
        is_ready=False,
        attach_limits=kind.attach_limits,
    )


# ------------------------------------------------------------------ how many


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Everything that is wrong with what static pools do."""
    broken: list[str] = []
    for pool in snapshot.node_pools:
        if pool.replicas is None:
            continue
        does = Does(snapshot, now, plan, pool)
        if not snapshot.policy.keeps_replicas or pool.is_deleting or pool.problems:
            laws = ["it does anything"] if does.launched or does.surplus or does.replaced else []
        else:
            laws = [*_count(does), *_order(does), *_bare(does), *_replaced(does)]
        broken += [f"pool {pool.name}: {law}" for law in laws]
    return [*broken, *_reservations(snapshot, plan)]


def _reservations(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """Nothing is launched on a reservation that has run out, all pools counted."""
    every = (*plan.launches, *(new for one in plan.disruptions for new in one.replacements))
    used = Counter(one.reservation_id for one in every if one.reservation_id)
    for kinds in snapshot.instance_types.values():
        for one in (one for kind in kinds for one in kind.offerings if one.reservation_id):
            n_left = one.reservation_capacity - snapshot.ledger.reserved_by_id.get(
                one.reservation_id, 0
            )
            if used[one.reservation_id] > max(0, n_left):
                yield f"reservation {one.reservation_id} is used {used[one.reservation_id]} times"


class Does:
    """What a plan does for one static pool, and what the pool has."""

    def __init__(self, snapshot: Snapshot, now: datetime, plan: Plan, pool: NodePool) -> None:
        self.snapshot, self.now, self.plan, self.pool = snapshot, now, plan, pool
        self.replicas = pool.replicas or 0
        self.limit = pool.limits.get("nodes", NO_LIMIT)
        self.nodes = [
            one for one in snapshot.nodes if one.node_pool == pool.name and one.node_claim
        ]
        self.staying = [one for one in self.nodes if not is_leaving(snapshot, one)]
        marked = {one.node for one in snapshot.ledger.disrupting if one.reason != SURPLUS}
        unmarked = msgspec.structs.replace(
            snapshot, ledger=msgspec.structs.replace(snapshot.ledger, disrupting=())
        )
        self.n_pending = sum(
            one.name in marked and not is_leaving(unmarked, one) for one in self.nodes
        )
        self.launched = [one for one in plan.launches if one.node_pool == pool.name]
        names = {one.name for one in self.nodes}
        mine = [one for one in plan.disruptions if names & set(one.nodes)]
        self.surplus = [name for one in mine if one.reason == SURPLUS for name in one.nodes]
        self.replaced = [one for one in mine if one.reason != SURPLUS]

    def pods(self, node: Node) -> list[Pod]:
        """Who runs there."""
        return [pod for pod in self.snapshot.pods if pod.node_name == node.name]


def _count(does: Does) -> Iterator[str]:
    n_missing = does.replicas - len(does.staying) - does.n_pending
    n_may = max(0, min(n_missing, does.limit - len(does.nodes)))
    offers = on_offer(does) if does.pool.is_ready else []
    n_want = n_may if offers else 0
    is_ending = all(is_reserved for _, is_reserved in offers)  # then there may be too few
    if len(does.launched) > n_want or (len(does.launched) < n_want and not is_ending):
        yield f"launches {len(does.launched)}, not {n_want}"
    n_excess = max(0, len(does.staying) - does.replicas)
    if len(does.surplus) != n_excess or not set(does.surplus) <= {x.name for x in does.staying}:
        yield f"gives up {does.surplus}, not {n_excess} that stay"
    n_after = len(does.nodes) + len(does.launched) + len(does.replaced)
    if n_after > max(does.limit, len(does.nodes)):
        yield f"has {n_after} nodes, {does.limit} at most"


def _order(does: Does) -> Iterator[str]:
    """Nobody goes who is worth more than somebody who stays."""
    going = [_worth(does, one) for one in does.staying if one.name in does.surplus]
    kept = [_worth(does, one) for one in does.staying if one.name not in does.surplus]
    if going and kept and max(going) > min(kept):
        yield f"gives up {does.surplus} before others"


def _worth(does: Does, node: Node) -> tuple[int, bool, Fraction]:
    pods, now = does.pods(node), does.now
    is_kept = any(is_protected(pod, now) for pod in pods)
    cost = sum((_eviction(pod) for pod in pods), Fraction(0)) * _life(does.pool, node, now)
    if not node.provider_id:
        return 0, is_kept, cost
    meant = disruptions.expected(does.snapshot, now, Plan())
    is_needed = any(disruptions.needs_a_node(pod) for pod in pods)
    is_idle = not is_needed and not is_kept and not {node.name, node.node_claim} & meant
    return 1 if is_idle else 2, is_kept, cost


def _eviction(pod: Pod) -> Fraction:
    try:
        stated = int(pod.annotations.get("controller.kubernetes.io/pod-deletion-cost", "0"))
    except ValueError:
        stated = 0
    cost = 1 + Fraction(stated, 2**27) + Fraction(pod.spec.priority, 2**25)
    return max(Fraction(-10), min(Fraction(10), cost))


def _life(pool: NodePool, node: Node, now: datetime) -> Fraction:
    if pool.expire_after is None or node.created_at is None:
        return Fraction(1)
    second = timedelta(seconds=1)
    whole = Fraction(pool.expire_after / second)
    left = whole - Fraction((now - node.created_at) / second)
    return max(Fraction(0), min(Fraction(1), left / whole))


# ------------------------------------------------------------------ what


def on_offer(does: Does) -> list[tuple[int, bool]]:
    """What each node costs that the pool could launch, and whether it is reserved."""
    return sorted(
        (one.price_nanousd, bool(one.reservation_id))
        for kind in kinds_of(does.snapshot, does.pool.name).values()
        for one in kind.offerings
        if can_be_had(does.snapshot, does.now, does.pool.name, kind, one)
        and any(True for _ in label_choices(said(does.pool, kind, one), {}))
    )


def _bare(does: Does) -> Iterator[str]:
    """Everything is launched from the template alone, as what the pool allows and is cheapest."""
    prices = [price for price, is_reserved in on_offer(does) if not is_reserved]
    for new in (*does.launched, *(new for one in does.replaced for new in one.replacements)):
        if new.node_pool != does.pool.name:
            yield f"{new.name} is of another pool"
            continue
        if new.requirements or new.pods or new.requests:
            yield f"{new.name} asks for more than the template"
        if not new.reservation_id and new.price_nanousd > min(prices, default=0):
            yield f"{new.name} is not the cheapest"
        yield from _labels(does, new)


def _labels(does: Does, new: Launch) -> Iterator[str]:
    """Its labels are what pool, type and offering say."""
    kind = kinds_of(does.snapshot, new.node_pool)[new.instance_type]
    way = (new.zone, new.capacity_type, new.reservation_id)
    sold = [
        one for one in kind.offerings if (one.zone, one.capacity_type, one.reservation_id) == way
    ]
    if not sold:
        yield f"{new.name} is not sold so"
    for line in (line for one in sold[:1] for line in said(does.pool, kind, one)):
        is_due = line.key in new.labels or not well_known.is_well_known(line.key)
        if is_due and not line.admits(new.labels.get(line.key)):
            yield f"{new.name}: label {line.key}={new.labels.get(line.key)} breaks {line}"


# ------------------------------------------------------------------ drift


def _replaced(does: Does) -> Iterator[str]:
    """Drifted nodes that may go, one for one, within budgets, while there are not too many."""
    nodes = {one.name: one for one in does.nodes}
    n_nodes = len(does.staying) + len(does.launched) - len(does.surplus) + does.n_pending
    if does.replaced and n_nodes > does.replicas:
        yield f"replaces nodes while it has {n_nodes}"
    n_room = disruptions.room(does.snapshot, does.now, does.pool, "Drifted")
    n_gone = sum(nodes[name].is_initialized and nodes[name].is_ready for name in does.surplus)
    if does.replaced and len(does.replaced) > n_room - n_gone:
        yield f"replaces {len(does.replaced)} nodes, {n_room - n_gone} at most"
    for one in does.replaced:
        if len(one.nodes) != 1 or len(one.replacements) != 1 or one.reason != "Drifted":
            yield f"replaces {one.nodes} by {len(one.replacements)} for {one.reason}"
            continue
        node = nodes[one.nodes[0]]
        yield from (f"{node.name} goes although {why}" for why in _keeps(does, node))
        moving = {pod.key for pod in does.pods(node) if disruptions.needs_a_node(pod)}
        if not set(one.pods) <= moving | disruptions.fakes(does.snapshot):
            yield f"{node.name} moves {one.pods}"
        if any(place.node in (node.name, node.node_claim) for place in _places(does.plan)):
            yield f"pods are moved to {node.name}, which goes"


def _places(plan: Plan) -> Iterator[Nominate]:
    yield from (place for one in plan.disruptions for place in one.places)


def _keeps(does: Does, node: Node) -> Iterator[str]:
    pods, is_bounded = does.pods(node), node.termination_grace_period is not None
    unreal = frozenset(disruptions.fakes(does.snapshot))
    meant = disruptions.expected(does.snapshot, does.now, does.plan, ignored=unreal)
    reasons = {
        "it has not drifted": not disruptions.holds(node, "Drifted"),
        "it has not started": not node.is_initialized,
        "it is leaving already": node not in does.staying or node.name in does.surplus,
        "it is protected": node.annotations.get(well_known.DO_NOT_DISRUPT) == "true",
        "pods are meant for it": bool({node.name, node.node_claim} & meant),
        "a pod is protected": not is_bounded and any(is_protected(pod, does.now) for pod in pods),
        "a pod may not be evicted": not is_bounded
        and any(disruptions.is_held(does.snapshot, pod, does.now) for pod in pods),
    }
    yield from (why for why, is_so in reasons.items() if is_so)
