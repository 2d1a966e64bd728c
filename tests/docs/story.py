"""A short story of a cluster, decision by decision, in a journal that one may ask.

Six web pods come and four of them leave again; jobs fill up a pool to its limits; some pods ask for
what nobody has; all nodes drift, those of one pool grow too old. The controller is `decide` itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.observe.journal.writer import JournalWriter
from dovetail.sim.demand import AppDemand, Demand
from dovetail.sim.fast.machines import MachinePace
from dovetail.sim.fast.run import Manner, simulate
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LASTS = 80 * MINUTE
SMALL = instance_type("small", cpu=4, memory="16Gi", price=0.20, spot=0.08)
LARGE = instance_type("large", cpu=16, memory="64Gi", price=0.72, spot=0.30)
ANY = [{"nodes": "100%"}]
BATCH = {"karpenter.sh/nodepool": "batch"}


def _cluster() -> Snapshot:
    """Four pools, a node of somebody else's, and one that was there before."""
    pools = [
        node_pool(
            "default",
            requirements=["karpenter.sh/capacity-type In on-demand"],
            consolidate_after="1m",
            budgets=ANY,
        ),
        node_pool(
            "batch",
            taints=["dedicated=batch:NoSchedule"],
            limits={"cpu": 8},
            consolidate_after="Never",
            expire_after="30m",
            budgets=ANY,
        ),
        node_pool(
            "lazy",
            taints=["dedicated=lazy:NoSchedule"],
            consolidation_policy="WhenEmpty",
            consolidate_after="1m",
            budgets=[{"nodes": "0"}],
        ),
        node_pool("standby", replicas=1, taints=["dedicated=standby:NoSchedule"], budgets=ANY),
    ]
    nodes = [
        node("theirs", cpu=2),
        node("old", pool="default", type="small", types=[SMALL], created_at=START - 60 * MINUTE),
    ]
    made = snapshot(_standing(), nodes=nodes, node_pools=pools, types=[SMALL, LARGE])
    policy = Policy(
        disrupts_for=tuple(DisruptionReason), keeps_replicas=True, eviction_cost=timedelta(0)
    )
    return msgspec.structs.replace(made, policy=policy)


def _standing() -> tuple[Pod, ...]:
    """Pods that run already."""
    kept = {"karpenter.sh/do-not-disrupt": "true"}
    precious = pod("precious", cpu=1, node="old", annotations=kept, owner="ReplicaSet/precious")
    guest = pod("guest", cpu=1, node="theirs", owner="ReplicaSet/guest")
    return (
        msgspec.structs.replace(precious, created_at=START - 50 * MINUTE),
        msgspec.structs.replace(guest, created_at=START - 50 * MINUTE),
    )


def _workload(
    name: str, *replicas: tuple[timedelta, int], guard: str = "", **words: object
) -> AppDemand:
    """Pods with names of their own, so that they can be asked for."""
    spec = pod(name, **words).spec
    return AppDemand(name=name, spec=spec, replicas=replicas, is_stateful=True, guard=guard)


def _demand() -> Demand:
    at_once = timedelta(0)
    lazy = {"karpenter.sh/nodepool": "lazy"}
    tolerant = ["dedicated=batch:NoSchedule"]
    return Demand(
        lasts_for=LASTS,
        workloads=(
            _workload("web", (at_once, 6), (15 * MINUTE, 2), cpu=1.9, memory="1Gi"),
            _workload("huge", (MINUTE, 1), cpu=100),
            _workload("lost", (MINUTE, 1), node_selector={"zone": "z"}),
            _workload("picky", (MINUTE, 1), node_selector=BATCH),
            _workload("jobs", (MINUTE, 3), cpu=3.5, node_selector=BATCH, tolerations=tolerant),
            _workload(
                "idle",
                (2 * MINUTE, 1),
                cpu=1,
                node_selector=lazy,
                tolerations=["dedicated=lazy:NoSchedule"],
            ),
            _workload("guarded", (3 * MINUTE, 1), guard="0", cpu=3),
            _workload("burst", (20 * MINUTE, 8), (26 * MINUTE, 2), cpu=1.9, memory="1Gi"),
        ),
        drifts=(40 * MINUTE,),
    )


@cache
def story() -> RecentDecisions:
    """Every decision of the story, in memory."""
    held = RecentDecisions(n_held=100_000)

    def policy(cluster: Snapshot, now: datetime) -> Plan:
        plan = decide(cluster, now)
        held.add(cluster, plan, now, 0.01)
        return plan

    pace = MachinePace(starts_after=30 * SECOND, starts_within=30 * SECOND, ends_after=5 * SECOND)
    manner = Manner(start=START, pace=pace)
    simulate(_cluster(), _demand(), policy, manner=manner, chance=lambda: 0.5)
    return held


def write_story(directory: Path) -> None:
    """The story as a journal on disk."""
    writer = JournalWriter(directory)
    for one in story().oldest_first():
        writer.add(one.snapshot, one.plan, one.now, one.seconds)
    writer.close()
