"""Computes what would happen if some nodes went.

The same solver, on the cluster without them: who would move, where to, what would have to be
launched instead and for how much; or which pod would have no place. What all probes of one cluster
have in common is worked out once, in `Ground`.

Nobody is moved onto a node that still starts, nor, when it is about saving money, onto one to which
pods have come or from which they have gone just now.

A move is split into parts that do not depend on each other. Nodes of which a replacement takes pods
together belong together: without it none of them can go. Others are parts of their own, so that
each must be worth it by itself, and a replacement that does not come keeps no node that could go
without it. Nodes that need no replacement are one part: their pods have room elsewhere whoever else
goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from dovetail.decide.candidates import is_movable, promised_by_node, spec_problem
from dovetail.decide.disrupt.emptiness import is_quiet
from dovetail.decide.nodes import census, usable
from dovetail.decide.pools import eligible_pools, remaining_limits
from dovetail.decide.provision import obtainable
from dovetail.decide.spread import with_default_spread
from dovetail.decide.volumes import volumes_by_pod
from dovetail.model.node import Node
from dovetail.model.plan import Launch, Nominate
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.resources import PODS
from dovetail.model.snapshot import Snapshot
from dovetail.model.volumes import PodVolumes
from dovetail.solve import (
    THOROUGH,
    PlannedNode,
    Prepared,
    ProbeOptions,
    Puzzle,
    Solution,
    prepare,
    solve_without,
)


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
    how: ProbeOptions = THOROUGH
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
    why: str = "no remaining node has room for it, and no node can be launched"


def ground_of(snapshot: Snapshot, now: datetime, *, is_saving: bool) -> Ground:
    """What probes of this cluster share. Pods that wait are none of their business: the plan for
    those is made, and whoever was given a place stands there already.
    """
    nodes = usable(snapshot)
    busy = _waiting_pools(snapshot) if is_saving else frozenset()
    by_node = _pods_by_node(snapshot, {node.name for node in nodes}, now)
    pools, _ = eligible_pools(snapshot)
    with_claims = (pod for pods in by_node.values() for pod in pods if pod.claim_names)
    seen = tuple(_full(node) if _is_closed(node, busy) else node for node in nodes)
    volumes = volumes_by_pod(with_claims, snapshot)[0]
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
        policy=snapshot.policy,
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


def quick_ground(ground: Ground, shunned: frozenset[str]) -> Ground:
    """The same cluster for many pods at once, where quick answers are as good; nobody is moved to
    nodes that are shunned.
    """
    return msgspec.structs.replace(ground, how=ProbeOptions(shunned, is_quick=True))


def _pods_by_node(snapshot: Snapshot, names: set[str], now: datetime) -> dict[str, tuple[Pod, ...]]:
    """The pods that hold room on these nodes, or for which an earlier plan has promised it."""
    result = {
        name: tuple(pod for pod in pods if not pod.is_terminal)
        for name, pods in census(snapshot.pods).by_node.items()
        if name in names
    }
    for name, pods in promised_by_node(snapshot, now).items():
        moved = (msgspec.structs.replace(pod, node_name=name) for pod in pods)
        result[name] = (*result.get(name, ()), *moved)
    return result


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
    pods = ground.movable_by_node.get(name)
    if pods is None:
        budgets = ground.snapshot.disruption_budgets
        pods = ground.movable_by_node[name] = tuple(
            pod for pod in ground.pods_by_node.get(name, ()) if is_movable(pod, budgets, ground.now)
        )
    return pods


def probe(ground: Ground, names: Iterable[str]) -> Move | Stuck:
    """What would happen if these nodes went."""
    asked = _question(ground, tuple(names))
    return asked if isinstance(asked, Stuck) else _outcome(asked, _answer(ground, asked))


def probe_within(ground: Ground, names: Iterable[str], most_nanousd: int) -> Move | Stuck | None:
    """The same; None if what would come costs more than this."""
    asked = _question(ground, tuple(names))
    if isinstance(asked, Stuck):
        return asked
    solution = _answer(ground, asked, most_nanousd)
    return None if solution.is_dear else _outcome(asked, solution)


class _Asked(msgspec.Struct, frozen=True):
    """Nodes that might go, and the pods that would move."""

    gone: tuple[str, ...]
    moving: tuple[Pod, ...]


def _question(ground: Ground, gone: tuple[str, ...]) -> _Asked | Stuck:
    moving = tuple(pod for name in gone for pod in movable_pods(name, ground))
    for pod in moving:
        why = _hindrance(pod, ground)
        if why:
            return Stuck(gone, pod.key, why)
    return _Asked(gone, moving)


def _answer(ground: Ground, asked: _Asked, most_nanousd: int | None = None) -> Solution:
    pods = [ground.spread.get(pod.key, pod) for pod in asked.moving]
    limits = _limits(ground, frozenset(asked.gone))
    how = msgspec.structs.replace(ground.how, most_nanousd=most_nanousd)
    return solve_without(ground.prepared, pods, asked.gone, limits, how)


def _hindrance(pod: Pod, ground: Ground) -> str:
    """Why nobody can plan for this pod; nothing if somebody can."""
    problem = pod.problems[0] if pod.problems else spec_problem(pod.spec)
    if problem is not None:
        return problem.message.rstrip(".")
    if pod.claim_names and pod.key not in ground.volumes:
        return "its volumes cannot be attached to another node"
    return ""


def _limits(ground: Ground, gone: frozenset[str]) -> dict[str, dict[str, int]]:
    """What each pool may still add; nodes that go make room for their replacements."""
    if not any(pool.limits for pool in ground.pools):
        return {pool.name: {} for pool in ground.pools}
    staying = [node for node in ground.nodes if node.name not in gone]
    return {pool.name: remaining_limits(pool, staying) for pool in ground.pools}


def _outcome(asked: _Asked, answer: Solution) -> Move | Stuck:
    if answer.unplaced:
        return Stuck(asked.gone, min(pod.key for pod in answer.unplaced))
    return Move(
        nodes=asked.gone,
        pods=tuple(sorted(pod.key for pod in asked.moving)),
        places=tuple(
            Nominate(name, tuple(pod.key for pod in pods)) for name, pods in answer.placed
        ),
        replacements=answer.launches,
        price_nanousd=answer.price_nanousd,
    )


class Part(msgspec.Struct, frozen=True):
    """Some nodes of a move, and what comes instead of them."""

    move: Move
    launches: tuple[Launch, ...]


def parts_of(move: Move, launches: Sequence[Launch], ground: Ground) -> list[Part]:
    """The parts of a move, in the order of their first nodes; those without replacements last."""
    if not launches:
        return [Part(move, ())]
    node_by_pod = {pod.key: name for name in move.nodes for pod in movable_pods(name, ground)}
    leaders = _leaders(move.nodes, launches, node_by_pod)
    coming: dict[str, list[Launch]] = {}
    for launch in launches:
        leader = leaders[node_by_pod[launch.pods[0]]]
        coming.setdefault(leader, []).append(launch)
    going: dict[str, list[str]] = {}
    for name in move.nodes:
        leader = leaders[name]
        going.setdefault(leader if leader in coming else "", []).append(name)
    if len(going) == 1:
        return [Part(move, tuple(launches))]
    alone = going.pop("", [])
    ordered = [*going.items(), *([("", alone)] if alone else [])]
    return [
        Part(_narrow_move(move, names, node_by_pod), tuple(coming.get(leader, ())))
        for leader, names in ordered
    ]


def _leaders(
    nodes: Sequence[str], launches: Sequence[Launch], node_by_pod: Mapping[str, str]
) -> dict[str, str]:
    """For each node, the one that stands for all that belong together with it."""
    leaders = {name: name for name in nodes}

    def leader(name: str) -> str:
        while leaders[name] != name:
            leaders[name] = name = leaders[leaders[name]]
        return name

    for launch in launches:
        first = leader(node_by_pod[launch.pods[0]])
        for pod in launch.pods:
            leaders[leader(node_by_pod[pod])] = first
    return {name: leader(name) for name in nodes}


def _narrow_move(move: Move, names: Sequence[str], node_by_pod: Mapping[str, str]) -> Move:
    """The move as far as it is about these nodes."""
    kept = set(names)
    places = (
        Nominate(place.node, tuple(pod for pod in place.pods if node_by_pod[pod] in kept))
        for place in move.places
    )
    return Move(
        nodes=tuple(names),
        pods=tuple(pod for pod in move.pods if node_by_pod[pod] in kept),
        places=tuple(place for place in places if place.pods),
    )
