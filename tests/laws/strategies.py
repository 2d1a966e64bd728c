"""Small random clusters with everything mixed: for hypothesis, and for plain seeded loops.

`cluster(chance)` draws every choice from a `Random`. `clusters()` is the same as a strategy, so
that hypothesis can shrink what it finds; `cluster(Random(seed))` is what the long fuzz runs use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, TypeVar

import msgspec
from hypothesis import strategies as st

from dovetail import labels
from dovetail.model.instance import InstanceType, Offering
from dovetail.model.ledger import Ledger, Refusal
from dovetail.model.node import Node
from dovetail.model.pod import DaemonSet, Owner, Pod
from dovetail.model.policy import MinValuesPolicy, Policy, PreferencePolicy
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Service, Snapshot
from dovetail.model.taints import Effect, Taint
from dovetail.model.topology import NOTHING, NodeTerm, Spread, equality
from dovetail.model.volumes import StorageClass, Volume, VolumeClaim
from tests.laws.market import (
    DEDICATED,
    DRIVER,
    RACK,
    RACKS,
    TEAM,
    TEAMS,
    ZONES,
    Scale,
    instance_types,
    node_pools,
    one_in,
)
from tests.laws.rest import rested
from tests.laws.workloads import NAMESPACES, App, apps, daemon_sets, replica, spoiled
from tests.oracle.filters import daemon_belongs

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
NOT_READY: Final = Taint("node.kubernetes.io/not-ready", "", Effect.NO_SCHEDULE)
TINY: Final = Scale(
    most_types=2,
    most_zones=2,
    most_pools=1,
    most_nodes=1,
    most_apps=3,
    most_pods=6,
    has_limits=False,
    has_weights=False,
    most_offerings=4,
)


def clusters(scale: Scale | None = None) -> st.SearchStrategy[Snapshot]:
    """Clusters for hypothesis."""
    return st.randoms(use_true_random=False).map(lambda chance: cluster(chance, scale))


def cluster(chance: Random, scale: Scale | None = None) -> Snapshot:
    """One random cluster."""
    spice = chance.choice((0.03, 0.1, 0.2, 0.35))
    scale = dataclasses.replace(scale or Scale(), spice=spice)
    types = instance_types(chance, scale)
    pools = node_pools(chance, scale)
    daemons = daemon_sets(chance)
    deployed = apps(chance, scale)
    nodes = tuple(_nodes(chance, scale, pools, types))
    pods = [*_replicas(chance, deployed, nodes), *daemon_pods(chance, daemons, nodes)]
    if one_in(chance, 20):
        pods.append(spoiled("spoiled"))
    claims = {pod.namespace + "/" + name: pod for pod in pods for name in pod.claim_names}
    storage = _storage(chance, {key: _is_missing(deployed, pod) for key, pod in claims.items()})
    found = Snapshot(
        pods=tuple(pods),
        nodes=nodes,
        node_pools=pools,
        instance_types={pool.name: _listed(chance, types) for pool in pools},
        daemon_sets=daemons,
        volume_claims=storage[0],
        volumes=storage[1],
        storage_classes=storage[2],
        namespaces=NAMESPACES,
        services=_services(chance, deployed),
        owner_selectors={f"uid-{app.name}": equality({"app": app.name}) for app in deployed},
        ledger=_ledger(chance, types),
        policy=_policy(chance),
    )
    return rested(chance, found)


def surrounded(chance: Random, snapshot: Snapshot, deployed: tuple[App, ...]) -> Snapshot:
    """The cluster with the storage that its pods ask for, services, and what the operator wants."""
    claims = {f"{pod.namespace}/{name}": pod for pod in snapshot.pods for name in pod.claim_names}
    storage = _storage(chance, {key: _is_missing(deployed, pod) for key, pod in claims.items()})
    return msgspec.structs.replace(
        snapshot,
        volume_claims=storage[0],
        volumes=storage[1],
        storage_classes=storage[2],
        services=_services(chance, deployed),
        owner_selectors={f"uid-{app.name}": equality({"app": app.name}) for app in deployed},
        policy=_policy(chance),
    )


def _is_missing(deployed: tuple[App, ...], pod: Pod) -> bool:
    return any(app.volume == "missing" for app in deployed if app.labels == pod.labels)


def _listed(chance: Random, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
    """Mostly the whole catalogue, sometimes a part of it."""
    if not one_in(chance, 5):
        return types
    return tuple(one for one in types if not one_in(chance, 3))


# ------------------------------------------------------------------ nodes


def _nodes(
    chance: Random, scale: Scale, pools: tuple[NodePool, ...], types: tuple[InstanceType, ...]
) -> Iterator[Node]:
    for number in range(1, 1 + chance.choice((0, 0, 1, 2, scale.most_nodes))):
        if number > scale.most_nodes:
            return
        kind = chance.choice(types)
        offering = chance.choice(kind.offerings)
        is_ours = not one_in(chance, 5)
        pool = chance.choice(pools) if is_ours else None
        yield bought_node(chance, f"node-{number}", pool, (kind, offering))


def bought_node(
    chance: Random, name: str, pool: NodePool | None, bought: tuple[InstanceType, Offering]
) -> Node:
    """A node of this pool, or of nobody's, that may still be starting."""
    kind, offering = bought
    is_starting = pool is not None and one_in(chance, 4)
    carried = {
        one.key: next(iter(one.values))
        for one in (*kind.requirements.values(), *offering.requirements.values())
        if len(one.values) == 1
    }
    carried |= {TEAM: chance.choice(TEAMS)} if one_in(chance, 3) else {}
    carried |= {RACK: chance.choice(RACKS)} if one_in(chance, 3) else {}
    if not (is_starting and one_in(chance, 2)):
        carried[labels.HOSTNAME] = name
    if pool is not None:
        carried |= {labels.NODE_POOL: pool.name, **pool.labels}
        if not is_starting:
            carried |= {labels.REGISTERED: "true", labels.INITIALIZED: "true"}
    taints = [*(pool.taints if pool else ()), *((DEDICATED,) if one_in(chance, 10) else ())]
    startup = pool.startup_taints if pool else ()
    if is_starting:
        taints += [*startup, NOT_READY]
    allocatable = dict(kind.allocatable)
    if is_starting and one_in(chance, 3):
        allocatable.pop("nvidia.com/gpu", None)
    return Node(
        name=name,
        labels=carried,
        taints=tuple(dict.fromkeys(taints)),
        startup_taints=startup,
        capacity=kind.capacity,
        allocatable=allocatable,
        node_pool=pool.name if pool else "",
        node_claim=f"claim-{name}" if pool else "",
        is_registered=not is_starting,
        is_initialized=not is_starting,
        is_ready=not is_starting,
        is_unschedulable=one_in(chance, 12),
        attach_limits=kind.attach_limits,
        created_at=NOW - timedelta(hours=1),
        deleting_at=NOW if one_in(chance, 20) else None,
    )


# ------------------------------------------------------------------ pods


def _replicas(chance: Random, deployed: tuple[App, ...], nodes: tuple[Node, ...]) -> Iterator[Pod]:
    """Replicas, some of them bound already wherever there happens to be room."""
    free = {node.name: dict(node.allocatable) for node in nodes}
    for app in deployed:
        for number in range(app.replicas):
            where = _room(chance, app, free) if free and one_in(chance, 3) else ""
            for name, amount in app.spec.requests.items():
                if where:
                    free[where][name] = free[where].get(name, 0) - amount
            promised = _promise(chance, free) if not where else ""
            pod = replica(app, number, node_name=where, promised=promised)
            is_going = bool(where) and not app.spec.host_ports and one_in(chance, 15)
            yield msgspec.structs.replace(pod, deleting_at=NOW) if is_going else pod


def _promise(chance: Random, free: dict[str, dict[str, int]]) -> str:
    """A node on which kube-scheduler makes room, once in a while; it may be gone by now."""
    return chance.choice([*sorted(free), "node-gone"]) if one_in(chance, 40) else ""


def _room(chance: Random, app: App, free: dict[str, dict[str, int]]) -> str:
    if app.spec.is_gated or app.spec.uses_dynamic_resources:
        return ""
    name = chance.choice(sorted(free))
    fits = all(amount <= free[name].get(key, 0) for key, amount in app.spec.requests.items())
    return name if fits else ""


def daemon_pods(
    chance: Random, daemons: tuple[DaemonSet, ...], nodes: tuple[Node, ...]
) -> Iterator[Pod]:
    """What daemon sets run on nodes already; half of it is still to come."""
    for daemon in daemons:
        for node in nodes:
            belongs = daemon_belongs(daemon, node.labels, node.taints, node.name)
            if belongs and node.is_initialized and one_in(chance, 2):
                yield Pod(
                    name=f"{daemon.name}-{node.name}",
                    namespace=daemon.namespace,
                    spec=daemon.spec,
                    uid=f"uid-{daemon.name}-{node.name}",
                    labels=daemon.labels,
                    node_name=node.name,
                    phase="Running",
                    owner=Owner("DaemonSet", daemon.name, daemon.uid),
                )


# ------------------------------------------------------------------ storage


def _zones_term(chance: Random) -> NodeTerm:
    zones = chance.sample(ZONES, chance.randint(1, 2))
    return NodeTerm((requirement(labels.ZONE, "In", zones),))


def _storage(
    chance: Random, is_missing_by_claim: dict[str, bool]
) -> tuple[dict[str, VolumeClaim], dict[str, Volume], dict[str, StorageClass]]:
    classes = {
        "standard": StorageClass("standard", DRIVER, is_default=True),
        "zonal": StorageClass("zonal", DRIVER, terms=(_zones_term(chance),)),
        "eager": StorageClass("eager", DRIVER, is_immediate=True),
    }
    claims, volumes = {}, {}
    for key, is_missing in is_missing_by_claim.items():
        namespace, _, name = key.partition("/")
        if is_missing and one_in(chance, 2):
            continue
        named = chance.choice(("standard", "standard", "zonal", None, "eager"))
        bound = f"pv-{namespace}-{name}" if named == "eager" or one_in(chance, 3) else ""
        if bound:
            terms = tuple(_zones_term(chance) for _ in range(chance.choice((0, 1, 1, 2))))
            volumes[bound] = Volume(bound, DRIVER, terms)
        claims[key] = VolumeClaim(name, namespace, named, bound)
    return claims, volumes, classes


# ------------------------------------------------------------------ the rest


def _services(chance: Random, deployed: tuple[App, ...]) -> tuple[Service, ...]:
    return tuple(
        Service(f"service-{app.name}", app.namespace, {"tier": app.labels["tier"]})
        for app in deployed
        if one_in(chance, 4)
    )


def _ledger(chance: Random, types: tuple[InstanceType, ...]) -> Ledger:
    if not one_in(chance, 10):
        return Ledger()
    kind = chance.choice(types)
    offering = chance.choice(kind.offerings)
    until = NOW + timedelta(minutes=chance.choice((-1, 3)))
    refusal = Refusal(kind.name, offering.zone, offering.capacity_type, until)
    held = {one.reservation_id: 1 for one in kind.offerings if one.reservation_id}
    return Ledger(refusals=(refusal,), reserved_by_id=held)


def _policy(chance: Random) -> Policy:
    default = Spread(labels.ZONE, NOTHING, max_skew=2, is_hard=one_in(chance, 2))
    return Policy(
        preference_policy=PreferencePolicy.IGNORE if one_in(chance, 8) else "Respect",
        min_values_policy=MinValuesPolicy.BEST_EFFORT if one_in(chance, 5) else "Strict",
        default_spread=(default,) if one_in(chance, 12) else (),
    )


_T = TypeVar("_T")


def _mixed(items: Sequence[_T], chance: Random) -> tuple[_T, ...]:
    return tuple(chance.sample(items, len(items)))


def shuffled(snapshot: Snapshot, chance: Random) -> Snapshot:
    """The same cluster with every list in another order."""
    types = {pool: _mixed(kinds, chance) for pool, kinds in snapshot.instance_types.items()}
    return msgspec.structs.replace(
        snapshot,
        pods=_mixed(snapshot.pods, chance),
        nodes=_mixed(snapshot.nodes, chance),
        node_pools=_mixed(snapshot.node_pools, chance),
        instance_types=dict(_mixed(list(types.items()), chance)),
        daemon_sets=_mixed(snapshot.daemon_sets, chance),
        disruption_budgets=_mixed(snapshot.disruption_budgets, chance),
        volume_claims=dict(_mixed(list(snapshot.volume_claims.items()), chance)),
    )


def seeded(seed: int, scale: Scale | None = None) -> Snapshot:
    """The cluster of this number, the same on every machine."""
    return cluster(Random(seed), scale)
