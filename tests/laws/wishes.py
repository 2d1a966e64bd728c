"""What operators and owners of pods want of disruptions, at random: policies, budgets, protection,
and what is remembered of earlier decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.evictions import hour_of
from dovetail.labels import DELETION_COST
from dovetail.model.ledger import EvictionCount, Ledger, Proposal, Setback
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import Owner, Pod, PodSpec
from dovetail.model.policy import Policy
from dovetail.model.pool import Budget, ConsolidationPolicy, Disruption, NodePool
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from tests.laws.market import one_in
from tests.laws.rest import HOUR, MIDNIGHT, SECOND

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
CENT: Final = 10_000_000
AGES: Final = (20 * SECOND, 3 * MINUTE, 40 * MINUTE, 2 * HOUR, 30 * HOUR)
SCHEDULES: Final = ("0 0 * * *", "30 23 * * *", "0 12 * * *", "0 1-5 * * *", "0 0 2 1 *")
_KINDS: Final = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "")
_ROOM: Final = PodSpec({"pods": 1, "cpu": 700, "memory": 1 << 30}, priority=-(2**31))


def stirred(chance: Random, snapshot: Snapshot) -> Snapshot:
    """The same cluster once everybody has said what they want."""
    pods = tuple(_owned(chance, snapshot.pods))
    nodes = tuple(_aged(chance, node) for node in snapshot.nodes)
    found = msgspec.structs.replace(
        snapshot,
        pods=(*pods, *_room_kept(chance)),
        nodes=nodes,
        node_pools=tuple(_pool(chance, pool) for pool in snapshot.node_pools),
        disruption_budgets=(*snapshot.disruption_budgets, *_budgets_of_pods(chance, pods)),
        policy=_policy(chance, snapshot.policy),
    )
    return msgspec.structs.replace(found, ledger=_ledger(chance, found))


# ------------------------------------------------------------------ pods


def _owned(chance: Random, pods: tuple[Pod, ...]) -> Iterator[Pod]:
    """Pods of one workload share its kind, and some of its wishes."""
    kinds: dict[str, str] = {}
    wishes: dict[str, dict[str, str]] = {}
    for pod in pods:
        if pod.is_daemon or pod.owner is None:
            yield pod
            continue
        name = pod.owner.name
        kind = kinds.setdefault(name, chance.choice(_KINDS))
        said = dict(wishes.setdefault(name, _wishes(chance)))
        if one_in(chance, 25):
            said[labels.DO_NOT_DISRUPT] = chance.choice(("true", "1h", "10m", "soon"))
        yield _lived(chance, msgspec.structs.replace(pod, annotations=said), kind)


def _wishes(chance: Random) -> dict[str, str]:
    found = {}
    if one_in(chance, 20):
        found[labels.DO_NOT_DISRUPT] = chance.choice(("true", "45m"))
    if one_in(chance, 10):
        found[labels.MOST_EVICTIONS] = chance.choice(("0", "1", "2", "many"))
    if one_in(chance, 10):
        found[DELETION_COST] = chance.choice(("-2147483648", "100000000", "x"))
    return found


def _lived(chance: Random, pod: Pod, kind: str) -> Pod:
    assert pod.owner is not None
    owner = Owner(kind, pod.owner.name, pod.owner.uid) if kind else None
    started_at = MIDNIGHT - chance.choice(AGES) if pod.node_name else None
    carried = dict(pod.labels)
    if kind == "ReplicaSet" and one_in(chance, 15):  # a rollout, if others are of another hash
        hashed = chance.choice(("aaa", "bbb"))
        owner = Owner(kind, f"{pod.owner.name}-{hashed}", f"{pod.owner.uid}-{hashed}")
        carried[labels.POD_TEMPLATE_HASH] = hashed
    is_over = bool(pod.node_name) and kind == "Job" and one_in(chance, 5)
    ends_at = MIDNIGHT + chance.choice((MINUTE, HOUR)) if one_in(chance, 12) else None
    return msgspec.structs.replace(
        pod,
        owner=owner,
        labels=carried,
        created_at=started_at or MIDNIGHT - MINUTE,
        started_at=started_at,
        ends_at=MIDNIGHT - SECOND if is_over else ends_at,
        phase="Succeeded" if is_over else pod.phase,
        is_ready=not one_in(chance, 12),
    )


def _room_kept(chance: Random) -> Iterator[Pod]:
    """Room that a capacity buffer keeps."""
    for number in range(chance.randint(1, 2) if one_in(chance, 8) else 0):
        yield Pod(
            name=f"capacity-buffer-spare-{number}",
            namespace="default",
            spec=_ROOM,
            uid=f"uid-spare-{number}",
            annotations={labels.BUFFER_FAKE_POD: "true"},
        )


def _budgets_of_pods(chance: Random, pods: tuple[Pod, ...]) -> Iterator[DisruptionBudget]:
    apps = {(pod.namespace, pod.labels["app"]) for pod in pods if not pod.is_daemon and pod.labels}
    for namespace, app in sorted(apps):
        n_pods = sum(pod.labels.get("app") == app for pod in pods)
        for number in range(chance.choice((0, 0, 0, 1, 1, 1, 2) if one_in(chance, 2) else (0,))):
            how = chance.randrange(6)
            yield DisruptionBudget(
                name=f"{app}-{number}",
                namespace=namespace,
                selector=equality({"app": app}),
                disruptions_allowed=0 if how == 0 else chance.choice((0, 1, 1, 2)),
                max_unavailable="0" if how == 0 else "1" if how == 1 else "",
                min_available=chance.choice(("1", "50%", str(n_pods))) if how > 1 else "",
                always_allows_unhealthy=one_in(chance, 4),
                expected_pods=n_pods,
            )


# ------------------------------------------------------------------ nodes and pools


def _aged(chance: Random, node: Node) -> Node:
    if not node.node_claim:
        return node
    said = node.conditions
    if one_in(chance, 7):
        changed_at = MIDNIGHT - chance.choice((1, 2, 3)) * DAY
        said = (*said, Condition("Drifted", "True", changed_at=changed_at))
    return msgspec.structs.replace(
        node,
        conditions=said,
        provider_id=f"machine://{node.name}",
        termination_grace_period=HOUR if one_in(chance, 10) else None,
    )


def _pool(chance: Random, pool: NodePool) -> NodePool:
    disruption = Disruption(
        consolidate_after=chance.choice((*(timedelta(0),) * 5, 30 * SECOND, 5 * MINUTE, None)),
        consolidation_policy=chance.choice(
            (*(ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED,) * 4, *ConsolidationPolicy)
        ),
        budgets=_budgets(chance),
        least_saving_nanousd=CENT if one_in(chance, 10) else None,
        most_evictions=chance.choice((0, 1, 2)) if one_in(chance, 10) else None,
    )
    found = msgspec.structs.replace(pool, disruption=disruption)
    if found.replicas is None and one_in(chance, 12):
        limits = {"nodes": chance.randint(1, 5)} if one_in(chance, 2) else {}
        found = msgspec.structs.replace(
            found, replicas=chance.randint(0, 4), weight=0, limits=limits
        )
    return found


def _budgets(chance: Random) -> tuple[Budget, ...]:
    if one_in(chance, 2):
        return (Budget(chance.choice(("100%", "50%", "1", "2"))),)
    return tuple(_budget(chance) for _ in range(chance.choice((0, 1, 2, 3))))


def _budget(chance: Random) -> Budget:
    is_scheduled = one_in(chance, 3)
    some = tuple(str(one) for one in DisruptionReason if one_in(chance, 2))
    return Budget(
        nodes=chance.choice(("0", "1", "1", "2", "3", "10%", "34%", "50%", "100%", "200%")),
        reasons=some if one_in(chance, 2) else None,
        schedule=chance.choice(SCHEDULES) if is_scheduled else "",
        duration=chance.choice((10 * MINUTE, HOUR, 7 * HOUR)) if is_scheduled else None,
    )


# ------------------------------------------------------------------ the operator


def _policy(chance: Random, policy: Policy) -> Policy:
    return msgspec.structs.replace(
        policy,
        disrupts_for=tuple(DisruptionReason),
        confirm_after=chance.choice((timedelta(0), 15 * SECOND, 15 * SECOND)),
        replaces_spot_by_spot=one_in(chance, 2),
        keeps_replicas=not one_in(chance, 4),
        effort=chance.choice((0, 1, 1, 1, 2)),
        spot_robustness=0.5 if one_in(chance, 8) else 0.0,
        least_saving_nanousd=CENT // 10 if one_in(chance, 10) else 0,
        most_evictions=chance.choice((1, 3)) if one_in(chance, 8) else None,
        eviction_cost=chance.choice((timedelta(0), timedelta(minutes=30), timedelta(hours=2))),
    )


def _ledger(chance: Random, snapshot: Snapshot) -> Ledger:
    """What was found out before, some of it about nodes and workloads that are gone."""
    names = [node.name for node in snapshot.nodes if node.node_claim] + ["node-gone"]
    proposals = tuple(
        Proposal(chance.choice(tuple(DisruptionReason)), name, MIDNIGHT - _before(chance))
        for name in names
        if one_in(chance, 3)
    )
    workloads = [*sorted({pod.workload for pod in snapshot.pods if pod.workload}), "Job/default/x"]
    hours = (MIDNIGHT - n_hours * HOUR for n_hours in (0, 3, 24, 25))
    evictions = tuple(
        EvictionCount(name, hour_of(at), chance.randint(1, 6))
        for at in hours
        for name in workloads
        if one_in(chance, 6)
    )
    setbacks = tuple(
        Setback(name, MIDNIGHT + chance.choice((-MINUTE, MINUTE)))
        for name in names
        if one_in(chance, 20)
    )
    return msgspec.structs.replace(
        snapshot.ledger,
        proposals=proposals,
        evictions=tuple(sorted(evictions, key=lambda one: (one.workload, one.hour))),
        setbacks=setbacks,
    )


def _before(chance: Random) -> timedelta:
    return chance.choice((timedelta(0), 5 * SECOND, 15 * SECOND, HOUR))
