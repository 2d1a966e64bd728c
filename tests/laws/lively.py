"""Busy clusters with everything mixed: what plans must bring to rest, within budgets.

Nodes of several pools run pods of many kinds, most of them where kube-scheduler would have put
them; some pods wait, some nodes have drifted, start, leave or are protected. `stirred` draws what
the operator and the owners of pods want.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from tests.laws.market import Scale, instance_types, node_pools, one_in
from tests.laws.packed import packed
from tests.laws.rest import rested
from tests.laws.strategies import bought_node, daemon_pods, seeded, surrounded
from tests.laws.wishes import stirred
from tests.laws.workloads import NAMESPACES, apps, daemon_sets, replica
from tests.oracle.hosts import present_world
from tests.oracle.scheduler import refusal

PLAIN: Final = Scale(most_pools=4, most_apps=6, most_pods=20)
MANY_TYPES: Final = dataclasses.replace(PLAIN, most_types=20, most_offerings=70)
CARELESS_EVERY: Final = 6
SMALL_EVERY: Final = 5


def lively(seed: int) -> Snapshot:
    """The busy cluster of this number, the same on every machine."""
    chance = Random(seed)
    if seed % CARELESS_EVERY == 0:
        found = _careless(chance)
    elif seed % SMALL_EVERY == 0:
        found = seeded(seed)
    else:
        found = rested(chance, _mixed(chance))
    return stirred(chance, found)


def _careless(chance: Random) -> Snapshot:
    """What a careless packer left behind, in up to three pools that sell the same."""
    found = packed(chance, chance.randint(2, 7), chance.randint(1, 7))
    (first,) = found.node_pools
    pools = tuple(
        msgspec.structs.replace(first, name=f"pool-{number}", weight=chance.choice((0, 0, 10)))
        for number in range(1, chance.randint(1, 3) + 1)
    )
    return msgspec.structs.replace(
        found,
        node_pools=pools,
        nodes=tuple(_belonging(node, chance.choice(pools)) for node in found.nodes),
        instance_types=dict.fromkeys(
            (pool.name for pool in pools), found.instance_types[first.name]
        ),
    )


def _belonging(node: Node, pool: NodePool) -> Node:
    return msgspec.structs.replace(
        node, node_pool=pool.name, labels={**node.labels, labels.NODE_POOL: pool.name}
    )


def _mixed(chance: Random) -> Snapshot:
    scale = MANY_TYPES if one_in(chance, 6) else PLAIN
    scale = dataclasses.replace(scale, spice=chance.choice((0.03, 0.1, 0.2, 0.3)))
    types, pools = instance_types(chance, scale), node_pools(chance, scale)
    daemons = daemon_sets(chance)
    nodes = tuple(_nodes(chance, pools, types))
    made = apps(chance, scale)
    pods = tuple(replica(app, number) for app in made for number in range(app.replicas))
    there = tuple(daemon_pods(chance, daemons, nodes))
    found = Snapshot(
        pods=(*there, *pods),
        nodes=nodes,
        node_pools=pools,
        instance_types={pool.name: types for pool in pools},
        daemon_sets=daemons,
        namespaces=NAMESPACES,
    )
    found = surrounded(chance, found, made)
    return _bound(chance, msgspec.structs.replace(found, pods=there), pods)


def _nodes(
    chance: Random, pools: tuple[NodePool, ...], types: tuple[InstanceType, ...]
) -> Iterator[Node]:
    for number in range(1, chance.randint(2, 8) + 1):
        kind = max(chance.choice(types), chance.choice(types), key=lambda one: one.capacity["cpu"])
        pool = None if one_in(chance, 12) else chance.choice(pools)
        bought = kind, chance.choice(kind.offerings)
        node = bought_node(chance, f"node-{number}", pool, bought)
        if not node.is_initialized and not one_in(chance, 3):  # most have started
            node = bought_node(chance, node.name, pool, bought)
        yield node


def _bound(chance: Random, snapshot: Snapshot, pods: tuple[Pod, ...]) -> Snapshot:
    """Pods where kube-scheduler could have put them, at random; some wait all the same."""
    world = present_world(snapshot)
    waits_one_in = chance.choice((4, 10, 10**6))
    found: list[Pod] = []
    for pod in pods:
        hosts = chance.sample(sorted(world.hosts), len(world.hosts))
        fitting = (name for name in hosts if refusal(world, pod, world.hosts[name]) is None)
        where = "" if one_in(chance, waits_one_in) or _stays_out(pod.spec) else next(fitting, "")
        if where:
            bound = msgspec.structs.replace(pod, node_name=where, phase="Running")
            world.bind(bound, where)
            found.append(bound)
        else:
            found.append(pod)
    return msgspec.structs.replace(snapshot, pods=(*snapshot.pods, *found))


def _stays_out(spec: PodSpec) -> bool:
    return spec.is_gated or spec.uses_dynamic_resources
