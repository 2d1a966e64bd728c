"""The input and the output of the solver: nouns only, no arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dovetail.model.instance import InstanceType, Offering
from dovetail.model.node import Node
from dovetail.model.plan import Certificate
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.volumes import PodVolumes


class Puzzle(msgspec.Struct, frozen=True, gc=False):
    """Pods that wait, and where they might go.

    `nodes` carry effective taints and allocatable; `bound` are all pods on them that still count.
    `volumes` is by pod key, only for pods that have some. `limits` is what each pool may still add.
    """

    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...] = ()
    bound: tuple[Pod, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    instance_types: Mapping[str, tuple[InstanceType, ...]] = {}
    daemon_sets: tuple[DaemonSet, ...] = ()
    volumes: Mapping[str, PodVolumes] = {}
    bound_volumes: Mapping[str, PodVolumes] = {}
    limits: Mapping[str, Mapping[str, int]] = {}
    reserved_by_id: Mapping[str, int] = {}
    namespaces: Mapping[str, Mapping[str, str]] = {}
    policy: Policy = Policy()


def canonical(puzzle: Puzzle) -> Puzzle:
    """The same puzzle in an order that does not depend on how its parts were listed."""
    types = {pool: _by_name(kinds) for pool, kinds in sorted(puzzle.instance_types.items())}
    return msgspec.structs.replace(
        puzzle,
        nodes=tuple(sorted(puzzle.nodes, key=lambda node: node.name)),
        node_pools=tuple(sorted(puzzle.node_pools, key=lambda pool: (-pool.weight, pool.name))),
        instance_types=types,
        daemon_sets=tuple(sorted(puzzle.daemon_sets, key=lambda pod: (pod.namespace, pod.name))),
    )


# Catalogues hardly ever change; what was worked out for one is found again by its identity.
_MAX_ORDERED: Final = 64
_ordered: dict[int, tuple[tuple[InstanceType, ...], tuple[InstanceType, ...]]] = {}


def _by_name(kinds: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
    """The types of a pool in order, the same tuple for the same catalogue."""
    ordered = _ordered.get(id(kinds))
    if ordered is None or ordered[0] is not kinds:
        if len(_ordered) >= _MAX_ORDERED:
            _ordered.clear()
        ordered = _ordered[id(kinds)] = (kinds, tuple(sorted(kinds, key=lambda kind: kind.name)))
    return ordered[1]


class PlannedNode(msgspec.Struct, frozen=True, gc=False):
    """A node to launch: what was chosen, what else would do (cheapest first), and who goes there.

    `labels` are definite for every key that any pod mentions.
    """

    node_pool: NodePool
    instance_type: InstanceType
    offering: Offering
    alternatives: tuple[str, ...]
    zones: tuple[str, ...]
    capacity_types: tuple[str, ...]
    labels: Mapping[str, str]
    requests: Mapping[str, int]
    pods: tuple[Pod, ...]
    is_min_values_relaxed: bool = False


class Solution(msgspec.Struct, frozen=True, gc=False):
    """The answer. `order` is one in which kube-scheduler could bind the placed pods.

    `price_nanousd` is what the provider asks, and `certificate` bounds it; `node_price_nanousd` is
    what the new nodes cost beside that, and `node_certificate`, where nodes have such a price,
    bounds the sum of the two, by which plans are compared.
    """

    launches: tuple[PlannedNode, ...] = ()
    placed: tuple[tuple[str, tuple[Pod, ...]], ...] = ()  # existing node name, pods
    unplaced: tuple[Pod, ...] = ()
    order: tuple[str, ...] = ()
    price_nanousd: int = 0
    node_price_nanousd: int = 0
    certificate: Certificate = Certificate()
    node_certificate: Certificate = Certificate()
    n_groups: int = 0
    is_dear: bool = False  # whether all that was found costs more than was asked for
