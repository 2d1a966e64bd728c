"""Puzzles to test the solver on: in the words of the builders, or drawn from a number."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import msgspec
import numpy as np

from dovetail.decide.nodes import usable
from dovetail.decide.pools import eligible_pools, remaining_limits
from dovetail.decide.volumes import volumes_by_pod
from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import Encoded, encode
from dovetail.solve.packing.attempt import Attempt, new_attempt
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import PodUnit, unit_of
from dovetail.solve.program.pod_worth import priceless
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.testing.builders import instance_type, node_pool
from tests.laws.market import Scale
from tests.laws.strategies import seeded

SMALL = instance_type("small", cpu=2, memory="8Gi", price=0.1, zones=("a", "b"))
LARGE = instance_type("large", cpu=8, memory="32Gi", price=0.35, zones=("a", "b"))


def puzzle(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> Puzzle:
    """These pods and types, one plain pool, and whatever other parts are named."""
    plain = Puzzle(
        tuple(pods),
        node_pools=(node_pool(),),
        instance_types={"default": types or (SMALL, LARGE)},
    )
    return msgspec.structs.replace(plain, **parts)


def encoded(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> Encoded:
    """The same as arrays."""
    return encode(canonical(puzzle(pods, *types, **parts)))


def random_puzzle(seed: int, scale: Scale | None = None) -> Puzzle:
    """The waiting pods of a random cluster with everything mixed, in canonical order."""
    cluster = seeded(seed, scale)
    waiting = [pod for pod in cluster.pods if not pod.node_name and not pod.problems]
    volumes, _ = volumes_by_pod(waiting, cluster)
    nodes = usable(cluster)
    names = {node.name for node in nodes}
    bound = tuple(pod for pod in cluster.pods if pod.node_name in names)
    pools, _ = eligible_pools(cluster)
    asked = Puzzle(
        pods=tuple(pod for pod in waiting if not pod.claim_names or pod.key in volumes),
        nodes=nodes,
        bound=bound,
        node_pools=pools,
        instance_types=cluster.instance_types,
        daemon_sets=cluster.daemon_sets,
        volumes=volumes,
        bound_volumes=volumes_by_pod([pod for pod in bound if pod.claim_names], cluster)[0],
        limits={pool.name: remaining_limits(pool, nodes) for pool in pools},
        reserved_by_id=cluster.ledger.reserved_by_id,
        namespaces=cluster.namespaces,
        policy=cluster.policy,
    )
    return canonical(asked)


def lottery(seed: int) -> Random:
    """Chance that repeats itself."""
    return Random(seed)  # noqa: S311  seeded generators are the point


def empty_attempt(enc: Encoded) -> Attempt:
    """A plan without any node, over all offers."""
    offers = np.arange(enc.n_offers)
    return new_attempt(enc, offers, priceless(enc, offers))


def units_of(enc: Encoded) -> list[PodUnit]:
    """One unit for every group, free to go anywhere, with all its pods."""
    units = [unit_of(enc, group) for group in range(len(enc.groups))]
    for group, unit in enumerate(units):
        unit.add(group, int(enc.count_g[group]))
    return units


def arrays_of(bins: Bins) -> list[bytes]:
    """All that bins know of their nodes, to be compared."""
    held = (bins.free, bins.match, bins.own, bins.attached, bins.accept, bins.cell, bins.offer)
    return [np.ascontiguousarray(one[..., : bins.n]).tobytes() for one in held]
