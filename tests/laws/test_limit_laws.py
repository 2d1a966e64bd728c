"""Laws of limits, over generated clusters in which most pools have limits and minValues."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from dovetail import labels
from dovetail.decide import decide
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from tests.laws.market import one_in
from tests.laws.strategies import NOW, seeded
from tests.oracle.check import check

N_CLUSTERS, N_BATCHES = 160, 4


def limited(seed: int) -> Snapshot:
    """A generated cluster whose limits are near: a few times what one of its types has."""
    chance, snapshot = Random(seed), seeded(seed)
    pools = tuple(_limited(chance, pool, snapshot) for pool in snapshot.node_pools)
    return msgspec.structs.replace(snapshot, node_pools=pools)


def _limited(chance: Random, pool: NodePool, snapshot: Snapshot) -> NodePool:
    kinds = snapshot.instance_types.get(pool.name, ())
    if not kinds or one_in(chance, 6):
        return pool
    limits = {}
    for name in chance.sample(("cpu", "memory"), chance.randint(1, 2)):
        used = sum(
            node.capacity.get(name, 0) for node in snapshot.nodes if node.node_pool == pool.name
        )
        size = chance.choice(kinds).capacity.get(name, 0)
        limits[name] = used + int(size * chance.choice((1, 1, 1.3, 2, 3, 5)))
    requirements = pool.requirements
    if one_in(chance, 3):
        wanted = requirement(labels.INSTANCE_TYPE, "Exists", (), chance.randint(2, 3))
        requirements = (*requirements, wanted)
    return msgspec.structs.replace(pool, limits=limits, requirements=requirements)


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_limits_hold_whatever_listed_types_the_provider_picks(batch: int) -> None:
    """All launches of a plan together stay within limits, planned is the cheapest that is listed,
    and nobody waits who could run.
    """
    for seed in range(batch, N_CLUSTERS, N_BATCHES):
        snapshot = limited(seed)
        assert check(snapshot, NOW, decide(snapshot, NOW)) == [], f"seed {seed}"
