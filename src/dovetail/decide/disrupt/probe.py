"""What would happen if these nodes went? (spec/core.md 6.4)

The same solver, on the cluster without them: who would move, where to, what would have to be
launched instead and for how much; or which pod would have no place. What all probes of one cluster
have in common is worked out once, in `Ground`.

Nobody is moved onto a node that still starts, nor, when it is about saving money, onto one to which
pods have come or from which they have gone just now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from dovetail.decide.candidates import is_movable, spec_problem
from dovetail.decide.census import census
from dovetail.decide.disrupt.emptiness import is_quiet
from dovetail.decide.nodes import usable
from dovetail.decide.pools import eligible_pools, remaining_limits
from dovetail.decide.promises import promised_by_node
from dovetail.decide.provision import obtainable
from dovetail.decide.spread import with_default_spread
from dovetail.decide.volumes import volumes_by_pod
from dovetail.model.node import Node
from dovetail.model.plan import Nominate
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.resources import PODS
from dovetail.model.snapshot import Snapshot
from dovetail.model.volumes import PodVolumes
from dovetail.solve import PlannedNode, Prepared, Puzzle, Solution, prepare, solve_without


class Ground(msgspec.Struct, frozen=True):
    """A cluster that nodes may be taken from; those that nobody may be moved to have no room.
    `pods_by_node` are those that hold room, `volumes` what volumes ask for, by pod key, `spread`
    the pods by key as default constraints complete them, if there are any.
    """

    snapshot: Snapshot
    now: datetime
    nodes: tuple[Node, ...]
    pods_by_node: Mapping[str, tuple[Pod, ...]]
    pools: tuple[NodePool, ...]
    volumes: Mapping[str, PodVolumes]
    spread: Mapping[str, Pod]
    puzzle: Puzzle
    prepared: Prepared
    movable_by_node: dict[str, tuple[Pod, ...]] = {}  # as far as anybody has asked


class Move(msgspec.Struct, frozen=True):
    """Nodes that could go, who moves, where to on nodes that stay, and what comes instead."""

    nodes: tuple[str, ...]
    pods: tuple[str, ...] = ()
    places: tuple[Nominate, ...] = ()
    replacements: tuple[PlannedNode, ...] = ()
    price_nanousd: int = 0  # of the replacements


class Stuck(msgspec.Struct, frozen=True):
    """Nodes that cannot go, since a pod would have no place; and why not."""

    nodes: tuple[str, ...]
    pod: str
    why: str = "no node that stays has room for it, and none can be launched"


def ground_of(
    snapshot: Snapshot,
    now: datetime,
    *,
    is_saving: bool,
    shunned: frozenset[str] = frozenset(),
    is_quick: bool = False,
) -> Ground:
    """What probes of this cluster share. Pods that wait are none of their business: the plan for
    those is made, and whoever was given a place stands there already. Nobody is moved to nodes that
    are shunned, if it can be helped. Where many pods move at once, quick answers are as good.
    """
    nodes = usable(snapshot)
    busy = _waiting_pools(snapshot) if is_saving else frozenset()
    by_node = _holding(snapshot, {node.name for node in nodes}, now)
    pools, _ = eligible_pools(snapshot)
    held = (pod for pods in by_node.values() for pod in pods if pod.claim_names)
    seen = tuple(
        _full(node) if node.name in shunned or _is_closed(node, busy) else node for node in nodes
    )
    volumes = volumes_by_pod(held, snapshot)[0]
    everybody = (pod for pods in by_node.values() for pod in pods)
    spread = with_default_spread(everybody, snapshot) if snapshot.policy.default_spread else ()
    puzzle = Puzzle(
        pods=spread,
        nodes=seen,
        node_pools=pools,
        instance_types=obtainable(snapshot, now),
        daemon_sets=snapshot.daemon_sets,
        volumes=volumes,
        reserved_by_id=snapshot.ledger.reserved_by_id,
        namespaces=snapshot.namespaces,
        policy=_hasty(snapshot.policy) if is_quick else snapshot.policy,
    )
    return Ground(
        snapshot=snapshot,
        now=now,
        nodes=seen,
        pods_by_node=by_node,
        pools=pools,
        volumes=volumes,
        spread={pod.key: pod for pod in spread},
        puzzle=puzzle,
        prepared=prepare(puzzle, by_node),
    )


def _hasty(policy: Policy) -> Policy:
    return msgspec.structs.replace(policy, effort=0)


def _holding(snapshot: Snapshot, names: set[str], now: datetime) -> dict[str, tuple[Pod, ...]]:
    """The pods that hold room on these nodes, or for which an earlier plan has promised it."""
    found = {
        name: tuple(pod for pod in pods if not pod.is_terminal)
        for name, pods in census(snapshot.pods).by_node.items()
        if name in names
    }
    for name, pods in promised_by_node(snapshot, now).items():
        moved = (msgspec.structs.replace(pod, node_name=name) for pod in pods)
        found[name] = (*found.get(name, ()), *moved)
    return found


def _is_closed(node: Node, busy: frozenset[str]) -> bool:
    """Whether the node still starts, or is not quiet though nodes of its pool should be."""
    if not node.node_claim:
        return False
    return not node.is_initialized or (node.node_pool in busy and not is_quiet(node))


def _waiting_pools(snapshot: Snapshot) -> frozenset[str]:
    """Pools whose nodes become quiet after a while; of others, no node ever says so."""
    return frozenset(
        pool.name
        for pool in snapshot.node_pools
        if pool.replicas is None and pool.disruption.consolidate_after is not None
    )


def _full(node: Node) -> Node:
    """The node without room for anybody. A taint would take it out of spreads that honour taints,
    though kube-scheduler counts it.
    """
    return msgspec.structs.replace(node, allocatable={**node.allocatable, PODS: 0})


def movable_pods(name: str, ground: Ground) -> tuple[Pod, ...]:
    """The pods of a node that would want another, were it gone."""
    found = ground.movable_by_node.get(name)
    if found is None:
        budgets = ground.snapshot.disruption_budgets
        found = ground.movable_by_node[name] = tuple(
            pod for pod in ground.pods_by_node.get(name, ()) if is_movable(pod, budgets, ground.now)
        )
    return found


def probe(ground: Ground, names: Iterable[str]) -> Move | Stuck:
    """What would happen if these nodes went."""
    gone = tuple(names)
    moving = tuple(pod for name in gone for pod in movable_pods(name, ground))
    if not moving:
        return Move(gone)
    for pod in moving:
        why = _hindrance(pod, ground)
        if why:
            return Stuck(gone, pod.key, why)
    pods = [ground.spread.get(pod.key, pod) for pod in moving]
    limits = _limits(ground, frozenset(gone))
    return _outcome(gone, moving, solve_without(ground.prepared, pods, gone, limits))


def _hindrance(pod: Pod, ground: Ground) -> str:
    """Why nobody can plan for this pod; nothing if somebody can."""
    problem = pod.problems[0] if pod.problems else spec_problem(pod.spec)
    if problem is not None:
        return problem.message.rstrip(".")
    if pod.claim_names and pod.key not in ground.volumes:
        return "its volumes cannot be had elsewhere"
    return ""


def _limits(ground: Ground, gone: frozenset[str]) -> dict[str, dict[str, int]]:
    """What each pool may still add; nodes that go make room for their replacements."""
    if not any(pool.limits for pool in ground.pools):
        return {pool.name: {} for pool in ground.pools}
    staying = [node for node in ground.nodes if node.name not in gone]
    return {pool.name: remaining_limits(pool, staying) for pool in ground.pools}


def _outcome(gone: tuple[str, ...], moving: tuple[Pod, ...], found: Solution) -> Move | Stuck:
    if found.unplaced:
        return Stuck(gone, min(pod.key for pod in found.unplaced))
    return Move(
        nodes=gone,
        pods=tuple(sorted(pod.key for pod in moving)),
        places=tuple(Nominate(name, tuple(pod.key for pod in pods)) for name, pods in found.placed),
        replacements=found.launches,
        price_nanousd=found.price_nanousd,
    )
