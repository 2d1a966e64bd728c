"""Keeps static pools, which have `replicas`, at their number of nodes.

Missing nodes are launched from the pool's template alone, as far as `limits.nodes` goes, in which
nodes on their way out count too. Their claims ask for no more than the pool does, so that the
provider has its whole choice; the plan assumes the cheapest offering. Of surplus nodes these go
first: claims without an instance, empty nodes, then those that disturb least. Budgets do not count
for that. Nodes that are being replaced count as there until they are gone, so that nothing is
launched for them twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.candidates import is_movable
from dovetail.decide.disrupt.candidates import Scene, scene_of
from dovetail.decide.disrupt.cost import eviction_cost, remaining_life
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.nodes import is_leaving, leaving_nodes
from dovetail.decide.pools import (
    has_node_prices,
    node_price,
    node_saving,
    price_of,
    prices,
    running_price,
)
from dovetail.decide.provision import named_launches, node_labels, obtainable
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot
from dovetail.solve import PlannedNode
from dovetail.solve.encoding.offers import pool_requirements

OVERPROVISIONED: Final = "Overprovisioned"

_NOTHING: Final = Plan()
_Offer = tuple[InstanceType, Offering]


class Standing(msgspec.Struct, frozen=True):
    """What a static pool has: nodes that stay, how many more are being replaced, and how many there
    are in all.
    """

    active: tuple[Node, ...] = ()
    n_replaced: int = 0
    n_nodes: int = 0

    def room(self, pool: NodePool, n_wanted: int) -> int:
        """How many more nodes the pool may have, of so many that are wanted."""
        limit = pool.limits.get(NODES)
        return max(0, n_wanted if limit is None else min(n_wanted, limit - self.n_nodes))


def static_pools(snapshot: Snapshot) -> tuple[NodePool, ...]:
    """The pools that are kept at their replicas; none unless the operator wants that."""
    if not snapshot.policy.keeps_replicas:
        return ()
    pools = [
        pool
        for pool in snapshot.node_pools
        if pool.replicas is not None and not pool.is_deleting and not pool.problems
    ]
    return tuple(sorted(pools, key=lambda pool: pool.name))


def standings(snapshot: Snapshot, pools: Sequence[NodePool]) -> Mapping[str, Standing]:
    """What each of these pools has, by its name."""
    gone = leaving_nodes(snapshot)
    replaced = {item.node for item in snapshot.ledger.disrupting if item.reason != OVERPROVISIONED}
    by_pool: dict[str, list[Node]] = {pool.name: [] for pool in pools}
    for node in snapshot.nodes:
        if node.node_claim and node.node_pool in by_pool:
            by_pool[node.node_pool].append(node)
    return {
        name: Standing(
            tuple(node for node in nodes if node.name not in gone),
            sum(node.name in replaced and not is_leaving(node) for node in nodes),
            len(nodes),
        )
        for name, nodes in by_pool.items()
    }


def static(snapshot: Snapshot, now: datetime) -> Plan:
    """What static pools launch and take away, whatever else is planned."""
    pools = static_pools(snapshot)
    if not pools:
        return _NOTHING
    by_pool = standings(snapshot, pools)
    launches: list[Launch] = []
    disruptions: list[Disrupt] = []
    for pool in pools:
        there, replicas = by_pool[pool.name], pool.replicas or 0
        n_missing = replicas - len(there.active) - there.n_replaced
        if pool.is_ready:
            n_new = there.room(pool, n_missing)
            launches += bare_launches(pool, n_new, snapshot, now, launches)
        n_excess = len(there.active) - replicas
        if n_excess > 0:
            scene = scene_of(snapshot, _NOTHING, now)
            disruptions.append(_surplus(pool, there.active, n_excess, scene))
    return Plan(launches=tuple(launches), disruptions=tuple(disruptions))


def join(snapshot: Snapshot, fixed: Plan, plan: Plan) -> Plan:
    """The plan for waiting pods, and with it what static pools do."""
    if not fixed.launches and not fixed.disruptions:
        return plan
    paid = sum(launch.price_nanousd for launch in fixed.launches)
    saved = sum(disruption.saving_nanousd for disruption in fixed.disruptions)
    before, new = running_price(snapshot), plan.cost.new_nanousd + paid
    nodes = node_price((launch.node_pool for launch in fixed.launches), snapshot)
    with_nodes = plan.cost.lower_bound_with_nodes_nanousd
    if has_node_prices(snapshot):
        with_nodes += paid + nodes
    return msgspec.structs.replace(
        plan,
        launches=(*fixed.launches, *plan.launches),
        disruptions=(*fixed.disruptions, *plan.disruptions),
        cost=msgspec.structs.replace(
            plan.cost,
            new_nanousd=new,
            lower_bound_nanousd=plan.cost.lower_bound_nanousd + paid,
            cluster_before_nanousd=before,
            cluster_after_nanousd=before + new - saved,
            node_price_nanousd=plan.cost.node_price_nanousd + nodes,
            lower_bound_with_nodes_nanousd=with_nodes,
        ),
    )


# ------------------------------------------------------------------ which go


def _surplus(pool: NodePool, nodes: Sequence[Node], n_excess: int, scene: Scene) -> Disrupt:
    known = prices(scene.snapshot)

    def turn(node: Node) -> tuple[int, bool, Fraction, bool, int, str]:
        pods = scene.pods_by_node.get(node.name, ())
        return (
            _rank(node, pods, scene),
            any(protection(pod, scene.now).is_active for pod in pods),
            sum(map(eviction_cost, pods)) * remaining_life(node, pool, scene.now),
            not _has_drifted(node),  # it would be replaced
            -price_of(node, known),
            node.name,
        )

    going = sorted(nodes, key=turn)[:n_excess]
    return Disrupt(
        reason=OVERPROVISIONED,
        nodes=tuple(node.name for node in going),
        pods=tuple(sorted(key for node in going for key in moving_pods(node, scene))),
        saving_nanousd=sum(price_of(node, known) for node in going),
        node_saving_nanousd=node_saving(scene.snapshot, going),
    )


def _rank(node: Node, pods: Sequence[Pod], scene: Scene) -> int:
    """Claims without an instance first, then nodes that nobody needs or is meant for."""
    if not node.provider_id:
        return 0
    is_meant = node.name in scene.nominated or node.node_claim in scene.nominated
    is_kept = any(protection(pod, scene.now).is_active for pod in pods)
    return 1 if is_empty(pods) and not is_kept and not is_meant else 2


def _has_drifted(node: Node) -> bool:
    return any(item.type == DRIFTED and item.status == "True" for item in node.conditions)


def moving_pods(node: Node, scene: Scene) -> Iterator[str]:
    """The pods that would want another node, were this one gone."""
    budgets = scene.snapshot.disruption_budgets
    for pod in scene.pods_by_node.get(node.name, ()):
        if is_movable(pod, budgets, scene.now):
            yield pod.key


def bare_launches(
    pool: NodePool, n_nodes: int, snapshot: Snapshot, now: datetime, others: Iterable[Launch]
) -> tuple[Launch, ...]:
    """So many nodes of the pool's template, or as many as can be had; named on from `others`."""
    if n_nodes <= 0:
        return ()
    offers = _bare_offers(pool, obtainable(snapshot, now).get(pool.name, ()))
    if not offers:
        return ()
    names = tuple(dict.fromkeys(kind.name for kind, _ in offers))
    most = snapshot.policy.max_instance_types
    named = tuple(others)
    chosen = _bare_choices(offers, n_nodes, _reserved_by_id(snapshot, named))
    planned = [
        PlannedNode(
            node_pool=pool,
            instance_type=kind,
            offering=at,
            alternatives=tuple(dict.fromkeys((kind.name, *names[:most]))),
            zones=(at.zone,),
            capacity_types=(at.capacity_type,),
            labels=node_labels(pool, kind, at),
            requests={},
            pods=(),
        )
        for kind, at in chosen
    ]
    return tuple(
        msgspec.structs.replace(named_launch, requirements=())  # the pool's own are all it asks for
        for named_launch in named_launches(planned, snapshot, named)
    )


def _reserved_by_id(snapshot: Snapshot, others: Sequence[Launch]) -> Counter[str]:
    """How much of each reservation is used, also by launches that are not under way yet."""
    used = Counter(snapshot.ledger.reserved_by_id)
    coming = [launch for launch in others if launch.reservation_id]
    if coming:
        there = {node.name for node in snapshot.nodes}
        used.update(launch.reservation_id for launch in coming if launch.name not in there)
    return used


def _bare_offers(pool: NodePool, types: Iterable[InstanceType]) -> list[_Offer]:
    """All that the pool allows and that is to be had, cheapest first."""
    asked = pool_requirements(pool)
    result = [
        (kind, at)
        for kind in types
        if kind.requirements.intersects(asked)
        for at in kind.offerings
        if at.is_available and at.requirements.intersects(asked)
    ]
    return sorted(
        result,
        key=lambda pair: (
            pair[1].price_nanousd,
            pair[0].name,
            pair[1].zone,
            pair[1].capacity_type,
            pair[1].reservation_id,
        ),
    )


def _bare_choices(offers: Sequence[_Offer], n_nodes: int, used: Counter[str]) -> Iterator[_Offer]:
    """The cheapest again and again; of a reservation no more than is left of it."""
    n_left = n_nodes
    for kind, at in offers:
        n_here = n_left
        if at.capacity_type == labels.RESERVED:
            n_here = min(n_left, max(0, at.reservation_capacity - used[at.reservation_id]))
            used[at.reservation_id] += n_here
        yield from [(kind, at)] * n_here
        n_left -= n_here
