"""Plans new nodes for pending pods, with the labels that those nodes will carry.

A new node also carries labels that its pool insists on and no pod mentions: a pool that requires
`team In [a, b]` gets nodes of one team or the other. A node without the label would not be what the
pool asks for, and would drift as soon as it has come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.candidates import Waiting, pending_pods
from dovetail.decide.endings import losing_their_node
from dovetail.decide.first_places import first_places
from dovetail.decide.nodes import usable, with_memory
from dovetail.decide.pools import RefusedPool, eligible_pools, remaining_limits, running_price
from dovetail.decide.reasons import Context, explain_refused, explain_unplaced
from dovetail.decide.spread import with_default_spread
from dovetail.decide.volumes import volumes_by_pod
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.plan import Cost, Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import NODES
from dovetail.model.snapshot import Snapshot
from dovetail.model.volumes import PodVolumes
from dovetail.solve import PlannedNode, Puzzle, Solution, solve
from dovetail.solve.encoding.offers import definite, pool_requirements

_OTHER: Final = "other"  # a value for a label that must have one, whichever


def provision(snapshot: Snapshot, now: datetime) -> Plan:
    """Give every waiting pod a place: on a node there is, or on a new one; or say why not."""
    queue = pending_pods(snapshot, now)
    if not queue.pods:
        return _idle_plan(snapshot, queue)
    volumes, unusable = volumes_by_pod(queue.pods, snapshot)
    refused = (*queue.refused, *unusable)
    puzzle, refused_pools = _puzzle(snapshot, now, queue, volumes)
    solution = solve(puzzle)
    first = losing_their_node(puzzle.pods, snapshot)
    if first:
        solution = first_places(puzzle, solution, first)
    context = _context(puzzle, solution, refused_pools)
    left_over = (*explain_refused(refused), *explain_unplaced(solution.unplaced, context))
    return Plan(
        launches=named_launches(solution.launches, snapshot),
        nominations=tuple(
            Nominate(name, tuple(pod.key for pod in pods)) for name, pods in solution.placed
        ),
        unschedulable=tuple(sorted(left_over, key=lambda verdict: verdict.pod)),
        cost=_cost(snapshot, solution),
        certificate=solution.certificate,
        node_certificate=solution.node_certificate,
        binding_order=solution.order,
        n_pods=len(puzzle.pods) + len(refused),
        n_groups=solution.n_groups,
    )


def _idle_plan(snapshot: Snapshot, queue: Waiting) -> Plan:
    """The plan when there is nobody to plan for, without putting a puzzle together."""
    told = explain_refused(queue.refused)
    return Plan(
        unschedulable=tuple(sorted(told, key=lambda verdict: verdict.pod)),
        cost=_cost(snapshot, Solution()),
        n_pods=len(queue.refused),
    )


def _puzzle(
    snapshot: Snapshot, now: datetime, queue: Waiting, volumes: Mapping[str, PodVolumes]
) -> tuple[Puzzle, tuple[RefusedPool, ...]]:
    """What the solver is asked, and the pools that it is not told of. Pods whose volumes cannot be
    had are not in `volumes`.
    """
    ready = (pod for pod in queue.pods if not pod.claim_names or pod.key in volumes)
    pods = with_default_spread(ready, snapshot)
    pools, refused_pools = eligible_pools(snapshot)
    nodes = usable(snapshot)
    bound = _bound_pods(snapshot, nodes, queue.reserved, {pod.key for pod in pods if pod.node_name})
    with_claims = (pod for pod in bound if pod.claim_names)
    puzzle = Puzzle(
        pods=pods,
        nodes=nodes,
        bound=bound,
        node_pools=pools,
        instance_types=obtainable(snapshot, now),
        daemon_sets=snapshot.daemon_sets,
        volumes=volumes,
        bound_volumes=volumes_by_pod(with_claims, snapshot)[0],
        limits={pool.name: remaining_limits(pool, nodes) for pool in pools},
        reserved_by_id=snapshot.ledger.reserved_by_id,
        namespaces=snapshot.namespaces,
        policy=snapshot.policy,
    )
    return puzzle, refused_pools


def _context(puzzle: Puzzle, solution: Solution, refused_pools: tuple[RefusedPool, ...]) -> Context:
    """What there is to explain with, once the plan is made."""
    placed = [pod for node in solution.launches for pod in node.pods]
    placed += [pod for _, pods in solution.placed for pod in pods]
    return Context(
        pools=puzzle.node_pools,
        refused_pools=refused_pools,
        instance_types=puzzle.instance_types,
        remaining=_after(puzzle, solution),
        volumes=puzzle.volumes,
        daemon_sets=puzzle.daemon_sets,
        nodes=puzzle.nodes,
        policy=puzzle.policy,
        pods=(*puzzle.bound, *placed) if solution.unplaced else None,
    )


def _cost(snapshot: Snapshot, solution: Solution) -> Cost:
    before = running_price(snapshot)
    return Cost(
        new_nanousd=solution.price_nanousd,
        lower_bound_nanousd=solution.certificate.bound_nanousd,
        cluster_before_nanousd=before,
        cluster_after_nanousd=before + solution.price_nanousd,
        node_price_nanousd=solution.node_price_nanousd,
        lower_bound_with_nodes_nanousd=solution.node_certificate.bound_nanousd,
    )


def _bound_pods(
    snapshot: Snapshot, nodes: Iterable[Node], reserved: Iterable[Pod], moving: set[str]
) -> tuple[Pod, ...]:
    """The pods that hold room on usable nodes."""
    names = {node.name for node in nodes}
    running = [
        pod
        for pod in snapshot.pods
        if pod.node_name in names and not pod.is_terminal and (not moving or pod.key not in moving)
    ]
    return (*running, *reserved)


def obtainable(snapshot: Snapshot, now: datetime) -> Mapping[str, tuple[InstanceType, ...]]:
    """Instance types with the offerings that a provider has just refused as unavailable."""
    refused = {
        (pool, refusal.instance_type, refusal.zone, refusal.capacity_type)
        for refusal in snapshot.ledger.refusals
        if refusal.until > now
        for pool in ((refusal.node_pool,) if refusal.node_pool else snapshot.instance_types)
    }
    if not refused:
        return snapshot.instance_types
    return {
        pool: tuple(_without_refused(kind, pool, refused) for kind in types)
        for pool, types in snapshot.instance_types.items()
    }


def _without_refused(
    kind: InstanceType, pool: str, refused: set[tuple[str, str, str, str]]
) -> InstanceType:
    is_refused = [
        (pool, kind.name, offering.zone, offering.capacity_type) in refused
        for offering in kind.offerings
    ]
    if not any(is_refused):
        return kind
    marked = tuple(
        msgspec.structs.replace(offering, is_available=False) if is_out else offering
        for offering, is_out in zip(kind.offerings, is_refused, strict=True)
    )
    return InstanceType(
        kind.name,
        kind.requirements,
        kind.capacity,
        kind.allocatable,
        marked,
        kind.attach_limits,
        kind.is_overlaid,
    )


def named_launches(
    nodes: Iterable[PlannedNode], snapshot: Snapshot, others: Iterable[Launch] = ()
) -> tuple[Launch, ...]:
    """Planned nodes with names: pool, revision, ordinal, so that a replay names them alike. They
    are counted on from `others` of the same plan; names that nodes have already are left out.
    """
    ordered = sorted(nodes, key=_launch_order)
    taken = {*_names(snapshot.nodes), *(launch.name for launch in others)}
    counters: Counter[str] = Counter()
    asked: dict[tuple[object, ...], tuple[Requirement, ...]] = {}
    result = []
    for node in ordered:
        pool = node.node_pool.name
        name = _free_name(pool, snapshot.revision, counters, taken)
        # Many nodes share one list of hundreds of types: it is told by identity, not by reading it.
        key = (id(node.alternatives), node.capacity_types, node.zones)
        if key not in asked:
            asked[key] = _requirements(node)
        result.append(_launch(node, name, asked[key]))
    return tuple(result)


def _free_name(pool: str, revision: int, counters: Counter[str], taken: set[str]) -> str:
    while True:
        counters[pool] += 1
        name = f"{pool}-{revision}-{counters[pool]}"
        if name not in taken:
            return name


@with_memory
def _names(nodes: tuple[Node, ...]) -> frozenset[str]:
    return frozenset(name for node in nodes for name in (node.name, node.node_claim))


def _launch_order(node: PlannedNode) -> tuple[object, ...]:
    return (
        -node.node_pool.weight,
        node.node_pool.name,
        -node.offering.price_nanousd,
        node.instance_type.name,
        node.offering.zone,
        node.offering.capacity_type,
        node.pods[0].key if node.pods else "",
    )


def _launch(node: PlannedNode, name: str, requirements: tuple[Requirement, ...]) -> Launch:
    pool = node.node_pool
    return Launch(
        name=name,
        node_pool=pool.name,
        instance_type=node.instance_type.name,
        zone=node.offering.zone,
        capacity_type=node.offering.capacity_type,
        price_nanousd=node.offering.price_nanousd,
        instance_types=node.alternatives,
        requests=node.requests,
        pods=tuple(pod.key for pod in node.pods),
        labels={**unmentioned_labels(node), **node.labels, labels.HOSTNAME: name},
        requirements=requirements,
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        allocatable=node.instance_type.allocatable,
        reservation_id=node.offering.reservation_id,
        is_min_values_relaxed=node.is_min_values_relaxed,
    )


def _requirements(node: PlannedNode) -> tuple[Requirement, ...]:
    """What the claim asks of its provider: whatever would do, in any combination."""
    return (
        Requirement(labels.INSTANCE_TYPE, False, frozenset(node.alternatives)),
        Requirement(labels.CAPACITY_TYPE, False, frozenset(node.capacity_types)),
        Requirement(labels.ZONE, False, frozenset(node.zones)),
    )


def _after(puzzle: Puzzle, solution: Solution) -> dict[str, dict[str, int]]:
    """What the limits leave once the plan is carried out. With minValues a launch takes the most
    that it lists, since it must list several types.
    """
    result = {pool: dict(limit) for pool, limit in puzzle.limits.items()}
    for node in solution.launches:
        pool = node.node_pool
        left = result.get(pool.name, {})
        kinds: tuple[InstanceType, ...] = (node.instance_type,)
        if left and any(requirement.min_values for requirement in pool.requirements):
            kinds = puzzle.instance_types.get(pool.name, kinds)
            kinds = tuple(kind for kind in kinds if kind.name in node.alternatives)
        for name in left:
            left[name] -= 1 if name == NODES else max(kind.capacity.get(name, 0) for kind in kinds)
    return result


def node_labels(pool: NodePool, kind: InstanceType, at: Offering) -> dict[str, str]:
    """Every label of the node; where the pool leaves a choice, the first value that would do."""
    layers = (pool_requirements(pool), kind.requirements, at.requirements)
    return _definite_labels(sorted({key for layer in layers for key in layer}), layers)


def unmentioned_labels(node: PlannedNode) -> dict[str, str]:
    """Labels that the pool of a planned node insists on, and that are not planned."""
    keys = sorted(
        {item.key for item in node.node_pool.requirements if not labels.is_well_known(item.key)}
        - node.labels.keys()
    )
    if not keys:
        return {}
    pool = pool_requirements(node.node_pool)
    return _definite_labels(
        keys, (pool, node.instance_type.requirements, node.offering.requirements)
    )


def _definite_labels(keys: Iterable[str], layers: Sequence[Requirements]) -> dict[str, str]:
    definite_labels: dict[str, str] = {}
    for key in keys:
        is_fixed, value = definite(key, layers)
        chosen = value if is_fixed else _any_value(key, layers)
        if chosen is not None:
            definite_labels[key] = chosen
    return definite_labels


def _any_value(key: str, layers: Iterable[Requirements]) -> str | None:
    """A value that all layers allow, if the label must be there."""
    need = Requirement(key, complement=True)
    for layer in layers:
        need = need & layer[key] if key in layer else need
    if not need.complement:
        return min(need.values, default=None)
    if need.tolerates_absence:
        return None
    if need.gte is None and need.lte is None:
        return _OTHER
    start, pace = (need.gte, 1) if need.gte is not None else (need.lte or 0, -1)
    tries = (str(start + pace * n) for n in range(len(need.values) + 1))
    return next((value for value in tries if need.has(value)), None)
