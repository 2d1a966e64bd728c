"""Laws of static pools, over generated clusters whose pools say how many nodes they want."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.apply import apply
from dovetail.model.ledger import Departure
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from tests.fuzz.describe import describe
from tests.laws.strategies import NOW, seeded
from tests.oracle import static as oracle
from tests.oracle.check import check

N_CLUSTERS = 150
N_ROUNDS = 12
MINUTE = timedelta(minutes=1)


def fixed(seed: int) -> Snapshot:
    """The cluster of a seed with static pools, drifted nodes, and some that are being replaced."""
    chance, found = Random(seed), seeded(seed)
    pools = tuple(_fixed(chance, pool) for pool in found.node_pools)
    nodes = tuple(_aged(chance, node) for node in found.nodes)
    static = {pool.name for pool in pools if pool.replicas is not None}
    marked = tuple(
        Departure(node.name, chance.choice(("Drifted", "Overprovisioned")), NOW - MINUTE)
        for node in nodes
        if node.node_pool in static and node.node_claim and chance.random() < 0.15
    )
    policy = msgspec.structs.replace(
        found.policy,
        keeps_replicas=chance.random() < 0.9,
        disrupts_for=tuple(DisruptionReason)[: chance.choice((0, 2))],
    )
    ledger = msgspec.structs.replace(found.ledger, disrupting=marked)
    return msgspec.structs.replace(
        found, node_pools=pools, nodes=nodes, policy=policy, ledger=ledger
    )


def _fixed(chance: Random, pool: NodePool) -> NodePool:
    if chance.random() < 0.3:
        return pool
    limits = {} if chance.random() < 0.5 else {"nodes": chance.randint(0, 6)}
    return msgspec.structs.replace(
        pool, replicas=chance.randint(0, 5), limits=limits, weight=0, is_ready=chance.random() < 0.9
    )


def _aged(chance: Random, node: Node) -> Node:
    said = node.conditions
    if chance.random() < 0.4:
        said = (*said, Condition("Drifted", "True", changed_at=NOW - chance.randint(1, 9) * MINUTE))
    return msgspec.structs.replace(
        node,
        conditions=said,
        created_at=NOW - timedelta(hours=chance.randint(0, 900)),
        provider_id="" if chance.random() < 0.1 and not node.is_initialized else node.provider_id,
    )


@pytest.mark.parametrize("seed", range(N_CLUSTERS))
def test_the_checker_finds_nothing_wrong(seed: int) -> None:
    """Static pools get what they want, within limits and budgets, and pods take what comes."""
    snapshot = fixed(seed)
    plan = decide(snapshot, NOW)
    assert check(snapshot, NOW, plan) == [], describe(snapshot)


def _count(snapshot: Snapshot) -> dict[str, int]:
    return {
        pool.name: sum(node.node_pool == pool.name for node in snapshot.nodes if node.node_claim)
        for pool in snapshot.node_pools
        if pool.replicas is not None
    }


@pytest.mark.parametrize("seed", range(N_CLUSTERS))
def test_every_static_pool_comes_to_have_what_it_wants_and_rests(seed: int) -> None:
    """Plan after plan, each carried out: so many nodes as it says or as its limit leaves, none of
    them drifted that could be replaced, and nothing more to do for it.
    """
    snapshot, now = _settling(fixed(seed)), NOW
    limits = {pool.name: pool.limits.get("nodes") for pool in snapshot.node_pools}
    for _ in range(N_ROUNDS):
        before = _count(snapshot)
        snapshot = apply(snapshot, decide(snapshot, now))
        now += MINUTE
        for name, n_nodes in _count(snapshot).items():
            limit = limits[name]
            assert limit is None or n_nodes <= max(limit, before[name]), name
    plan = decide(snapshot, now)
    for pool in snapshot.node_pools:
        if pool.replicas is None or not _can_launch(snapshot, now, pool):
            continue
        n_nodes = _count(snapshot)[pool.name]
        least = min(pool.replicas, pool.limits.get("nodes", pool.replicas))
        assert least <= n_nodes <= pool.replicas, describe(snapshot)
        names = {node.name for node in snapshot.nodes if node.node_pool == pool.name}
        assert not any(names & set(one.nodes) for one in plan.disruptions), describe(snapshot)
        assert not any(one.node_pool == pool.name for one in plan.launches), describe(snapshot)


def _settling(snapshot: Snapshot) -> Snapshot:
    """The cluster once whatever was under way is done, and as an operator who wants all of it."""
    gone = {one.node for one in snapshot.ledger.disrupting}
    gone |= {node.name for node in snapshot.nodes if node.deleting_at is not None}
    gone |= {node.name for node in snapshot.nodes if node.conditions and is_ending(node)}
    return msgspec.structs.replace(
        snapshot,
        nodes=tuple(node for node in snapshot.nodes if node.name not in gone),
        pods=tuple(pod for pod in snapshot.pods if pod.node_name not in gone),
        ledger=msgspec.structs.replace(snapshot.ledger, disrupting=(), refusals=()),
        policy=msgspec.structs.replace(
            snapshot.policy, keeps_replicas=True, disrupts_for=(DisruptionReason.DRIFTED,)
        ),
    )


def is_ending(node: Node) -> bool:
    """Whether its instance is being ended."""
    return any((one.type, one.status) == ("InstanceTerminating", "True") for one in node.conditions)


def _can_launch(snapshot: Snapshot, now: datetime, pool: NodePool) -> bool:
    does = oracle.Does(snapshot, now, decide(snapshot, now), pool)
    return (
        pool.is_ready and not pool.is_deleting and not pool.problems and bool(oracle.on_offer(does))
    )
