"""Laws of limits, over generated clusters in which most pools have limits and minValues."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

import msgspec
import pytest

from dovetail import api, labels
from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.plan import Launch
from dovetail.model.pool import NodePool
from dovetail.model.requirements import requirement
from dovetail.model.snapshot import Snapshot
from dovetail.state.changes import Catalogued, LaunchDone, LaunchStarted, Observed
from dovetail.state.cluster import Cluster
from dovetail.testing.builders import instance_type
from tests.laws.market import one_in
from tests.laws.strategies import NOW, seeded
from tests.oracle.check import check

N_CLUSTERS, N_BATCHES = 160, 4
N_ROUNDS = 8
LIMIT_CPUS = 40
SIZES = (2, 4, 8, 16)


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


# ------------------------------------------------------------------ while launches are under way


@pytest.mark.parametrize("seed", range(12))
def test_limits_hold_while_launches_are_under_way(seed: int) -> None:
    """Pods come while earlier launches are on their way, and the provider always delivers the
    largest type that a claim lists: the pool never has more than its limit.
    """
    chance = Random(seed)
    kinds = tuple(_kinds(chance))
    known = Cluster()
    known.apply(_observed("NodePool", "p", spec=_pool()))
    known.apply(Catalogued("p", kinds))
    under_way: list[Launch] = []
    n_delivered = n_launched = 0
    now = NOW
    for number in range(N_ROUNDS):
        now += timedelta(seconds=1)
        for place in range(chance.randint(0, 4)):
            known.apply(_pod(f"w{number}-{place}", chance.choice((1, 2, 3, 6))))
        plan = decide(known.snapshot(now), now)
        for launch in plan.launches:
            known.apply(LaunchStarted(launch, now))
            under_way.append(launch)
            n_launched += 1
        for launch in [one for one in under_way if one_in(chance, 2)]:
            under_way.remove(launch)
            kind = max(_listed(launch, kinds), key=lambda one: one.capacity["cpu"])
            known.apply(_claim(launch, kind))
            known.apply(LaunchDone(launch.name, now))
            n_delivered += kind.capacity["cpu"]
        coming = [max(one.capacity["cpu"] for one in _listed(one, kinds)) for one in under_way]
        assert n_delivered + sum(coming) <= LIMIT_CPUS * 1000
    assert n_launched > 1


def _kinds(chance: Random) -> Iterator[InstanceType]:
    """Types whose prices do not follow their sizes."""
    for size in SIZES:
        price = size * chance.choice((0.01, 0.03, 0.05))
        yield instance_type(f"t{size}", cpu=size, memory="64Gi", price=price, zones=("a",))


def _listed(launch: Launch, kinds: tuple[InstanceType, ...]) -> list[InstanceType]:
    return [one for one in kinds if one.name in launch.instance_types]


def _observed(kind: str, name: str, **fields: api.Tree) -> Observed:
    found = next(one for one in api.KINDS.values() if one.name == kind)
    more = fields.pop("meta", {})
    assert isinstance(more, dict)
    return Observed(api.read(found, {"metadata": {"name": name, "uid": name, **more}, **fields}))


def _pool() -> api.Tree:
    node_class: api.Tree = {"group": "g", "kind": "K", "name": "n"}
    template: api.Tree = {"spec": {"requirements": [], "nodeClassRef": node_class}}
    return {"template": template, "limits": {"cpu": str(LIMIT_CPUS)}}


def _pod(name: str, n_cpus: int) -> Observed:
    unbound: api.Tree = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    asked: api.Tree = {"requests": {"cpu": str(n_cpus)}}
    spec: api.Tree = {"containers": [{"name": "c", "resources": asked}]}
    return _observed("Pod", name, spec=spec, status={"conditions": unbound})


def _claim(launch: Launch, kind: InstanceType) -> Observed:
    """The claim once the provider has answered."""
    held: dict[str, api.Tree] = {"cpu": f"{kind.capacity['cpu']}m", "memory": "64Gi", "pods": "110"}
    return _observed(
        "NodeClaim",
        launch.name,
        meta={"labels": {labels.NODE_POOL: "p", labels.INSTANCE_TYPE: kind.name}},
        spec={"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []},
        status={"providerID": launch.name, "capacity": held, "allocatable": held},
    )
