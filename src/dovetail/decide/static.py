"""How many nodes does a pool want that says so itself? (spec/core.md 7.2)

A pool with `replicas` has so many nodes, whoever waits. Missing ones are launched from its template
alone, as far as `limits.nodes` goes, in which nodes on their way out count too. Of those that are
too many these go first: claims without an instance, empty nodes, then those that disturb least.
Budgets have no say in that. Nodes that are being replaced count as there until they are gone, so
that nothing is launched for them twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

import msgspec

from dovetail.decide.bare import bare_launches
from dovetail.decide.candidates import is_movable
from dovetail.decide.disrupt.candidates import Scene, scene_of
from dovetail.decide.disrupt.cost import eviction_cost, life_left
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.nodes import is_leaving, leaving
from dovetail.decide.prices import (
    has_node_prices,
    node_price,
    node_saving,
    price_of,
    prices,
    running_price,
)
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot

OVERPROVISIONED: Final = "Overprovisioned"

_NOTHING: Final = Plan()


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
    found = [
        pool
        for pool in snapshot.node_pools
        if pool.replicas is not None and not pool.is_deleting and not pool.problems
    ]
    return tuple(sorted(found, key=lambda pool: pool.name))


def standings(snapshot: Snapshot, pools: Sequence[NodePool]) -> Mapping[str, Standing]:
    """What each of these pools has, by its name."""
    gone = leaving(snapshot)
    replaced = {one.node for one in snapshot.ledger.disrupting if one.reason != OVERPROVISIONED}
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
    found = standings(snapshot, pools)
    launches: list[Launch] = []
    disruptions: list[Disrupt] = []
    for pool in pools:
        there, replicas = found[pool.name], pool.replicas or 0
        n_missing = replicas - len(there.active) - there.n_replaced
        if pool.is_ready:
            n_new = there.room(pool, n_missing)
            launches += bare_launches(pool, n_new, snapshot, now, launches)
        n_excess = len(there.active) - replicas
        if n_excess > 0:
            scene = scene_of(snapshot, _NOTHING, now)
            disruptions.append(_surplus(pool, there.active, n_excess, scene))
    return Plan(launches=tuple(launches), disruptions=tuple(disruptions))


def joined(snapshot: Snapshot, fixed: Plan, plan: Plan) -> Plan:
    """The plan for waiting pods, and with it what static pools do."""
    if not fixed.launches and not fixed.disruptions:
        return plan
    paid = sum(one.price_nanousd for one in fixed.launches)
    saved = sum(one.saving_nanousd for one in fixed.disruptions)
    before, new = running_price(snapshot), plan.cost.new_nanousd + paid
    nodes = node_price((one.node_pool for one in fixed.launches), snapshot)
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
            sum(map(eviction_cost, pods)) * life_left(node, pool, scene.now),
            not _has_drifted(node),  # it would be replaced
            -price_of(node, known),
            node.name,
        )

    going = sorted(nodes, key=turn)[:n_excess]
    return Disrupt(
        reason=OVERPROVISIONED,
        nodes=tuple(node.name for node in going),
        pods=tuple(sorted(key for node in going for key in moving(node, scene))),
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
    return any(one.type == DRIFTED and one.status == "True" for one in node.conditions)


def moving(node: Node, scene: Scene) -> Iterator[str]:
    """The pods that would want another node, were this one gone."""
    budgets = scene.snapshot.disruption_budgets
    for pod in scene.pods_by_node.get(node.name, ()):
        if is_movable(pod, budgets, scene.now):
            yield pod.key
