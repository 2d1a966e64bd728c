"""What does a cluster look like that the reference's policy has packed?

    packed_cluster(20_000)                  about 1,000 nodes of at most 16 cpus, on demand
    packed_cluster(4_000, is_spot=True)     spot and on demand, and spot may replace spot
    packed_cluster(4_000, leaving=0.3)      of all that came, three in ten pods have gone since

Deployments come in waves, and each wave is placed by first fit as the reference does it: on what is
free, then on new nodes. Then everything stands for a week, so that savings may be expected to last.
Pods are mixed in constraints as in `fleet_mix`; some are guarded by disruption budgets. Nodes that
lost all their pods are gone, as even the reference would have it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from benchmarks import catalogues, fleet_mix
from benchmarks.seeds import seeded
from benchmarks.standing import standing_node
from benchmarks.workloads import NAMESPACE, Deployment, pods_of
from dovetail import labels
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE
from dovetail.decide.pools import pools_by_name
from dovetail.model.node import Condition, Node
from dovetail.model.plan import DisruptionReason, Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.policy import Policy
from dovetail.model.pool import Budget, Disruption, NodePool
from dovetail.model.requirements import Operator, requirement
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from dovetail.sim.fast.claimed import daemon_pods
from dovetail.sim.reference.policy import provision_plan
from dovetail.sim.reference.standing import Occupancy

NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
_BEGAN: Final = NOW - timedelta(days=7)
_N_WAVES: Final = 20
_CPUS_AT_MOST: Final = 16
_LARGEST: Final = 8_000  # millicores of a pod
_GUARDED: Final = 0.3  # of the deployments with more than one pod
_QUIET: Final = Condition(CONSOLIDATABLE, "True", changed_at=NOW - timedelta(hours=1))
_CPUS: Final = f"{labels.AWS_GROUP}/instance-cpu"


def packed_cluster(
    n_pods: int, seed: int = 1, *, is_spot: bool = False, leaving: float = 0.0
) -> Snapshot:
    """So many pods on the nodes that the reference's policy launches for them."""
    chance = seeded("packed", seed)
    n_coming = round(n_pods / (1 - leaving))
    deployments = [moderate(one) for one in fleet_mix.deployments(n_coming, chance)]
    types = catalogues.cloud(seed)
    pools = tuple(
        pool(one, is_spot=is_spot) for one in fleet_mix.pools(fleet_mix.steady_machines())
    )
    empty = Snapshot(
        node_pools=pools,
        instance_types={one.name: types for one in pools},
        daemon_sets=fleet_mix.daemon_sets(),
        namespaces={"bench": {}, "kube-system": {}},
        policy=Policy(
            disrupts_for=(
                DisruptionReason.EMPTY,
                DisruptionReason.DRIFTED,
                DisruptionReason.UNDERUTILIZED,
            ),
            replaces_spot_by_spot=is_spot,
        ),
    )
    filled = _thinned(_filled(empty, _waves(deployments, chance)), n_coming - n_pods, chance)
    guarded = [one for one in deployments if one.replicas > 1 and _draws(chance)]
    return msgspec.structs.replace(filled, disruption_budgets=_guards(guarded, filled.pods))


def moderate(deployment: Deployment) -> Deployment:
    """The same with pods that leave room for others on a node."""
    asked = deployment.spec.requests
    if asked["cpu"] <= _LARGEST:
        return deployment
    less = {**asked, "cpu": _LARGEST, "memory": asked["memory"] * _LARGEST // asked["cpu"]}
    return deployment._replace(spec=msgspec.structs.replace(deployment.spec, requests=less))


def _thinned(snapshot: Snapshot, n_pods: int, chance: random.Random) -> Snapshot:
    """The cluster after so many pods have gone, and nodes that ran nothing else with them."""
    pods = [pod for pod in snapshot.pods if not pod.is_daemon]
    gone = {pod.key for pod in chance.sample(pods, n_pods)}
    needed = {pod.node_name for pod in pods if pod.key not in gone}
    return msgspec.structs.replace(
        snapshot,
        pods=tuple(pod for pod in snapshot.pods if pod.node_name in needed and pod.key not in gone),
        nodes=tuple(node for node in snapshot.nodes if node.name in needed),
    )


def _draws(chance: random.Random) -> bool:
    return chance.random() < _GUARDED


def pool(held: NodePool, *, is_spot: bool) -> NodePool:
    """As production pools are: machines of moderate size, a tenth of them at once."""
    kinds = (labels.SPOT, labels.ON_DEMAND) if is_spot else (labels.ON_DEMAND,)
    return msgspec.structs.replace(
        held,
        requirements=(
            fleet_mix.steady_machines(),
            requirement(labels.CAPACITY_TYPE, Operator.IN, kinds),
            requirement(_CPUS, Operator.LTE, (str(_CPUS_AT_MOST),)),
        ),
        disruption=Disruption(budgets=(Budget(nodes="10%"),)),
    )


def _waves(deployments: list[Deployment], chance: random.Random) -> Iterator[list[Pod]]:
    """The pods in the order in which they come."""
    order = list(deployments)
    chance.shuffle(order)
    for number in range(_N_WAVES):
        pods = [pod for one in order[number::_N_WAVES] for pod in pods_of(one)]
        if pods:
            yield pods


def _filled(snapshot: Snapshot, waves: Iterable[list[Pod]]) -> Snapshot:
    standing = Occupancy()
    for number, pods in enumerate(waves):
        asked = msgspec.structs.replace(
            snapshot, pods=(*snapshot.pods, *pods), revision=snapshot.revision + 1
        )
        standing.look(asked, NOW)
        plan = provision_plan(standing, asked, NOW)
        snapshot = _carried_out(asked, plan, _BEGAN + timedelta(minutes=number))
    return snapshot


def _carried_out(snapshot: Snapshot, plan: Plan, at: datetime) -> Snapshot:
    """Every node has come, with its daemon pods, and every pod runs where it was meant to. Pods
    that need larger machines than there are in these pools are left out.
    """
    place = {pod: one.node for one in plan.nominations for pod in one.pods}
    place |= {pod: one.name for one in plan.launches for pod in one.pods}
    nodes = [_node(one, snapshot, at) for one in plan.launches]
    lost = {one.pod for one in plan.unschedulable}
    pods = tuple(
        _running(pod, place[pod.key], at) if pod.key in place else pod
        for pod in snapshot.pods
        if pod.key not in lost
    )
    daemons = tuple(pod for node in nodes for pod in daemon_pods(node, snapshot.daemon_sets, at))
    return msgspec.structs.replace(
        snapshot, nodes=(*snapshot.nodes, *nodes), pods=(*pods, *daemons)
    )


def _running(pod: Pod, node: str, at: datetime) -> Pod:
    return msgspec.structs.replace(
        pod, node_name=node, phase="Running", created_at=at, started_at=at
    )


def _node(launch: Launch, snapshot: Snapshot, at: datetime) -> Node:
    kinds = snapshot.instance_types[launch.node_pool]
    kind = next(one for one in kinds if one.name == launch.instance_type)
    pool = pools_by_name(snapshot.node_pools)[launch.node_pool]
    return msgspec.structs.replace(
        standing_node(launch.name, pool, kind, launch.labels),
        conditions=(_QUIET,),
        created_at=at,
        last_pod_event_at=at,
    )


def _guards(deployments: Iterable[Deployment], pods: Iterable[Pod]) -> tuple[DisruptionBudget, ...]:
    """Budgets that let a quarter of the pods go, all of them being healthy."""
    n_pods = Counter(pod.labels.get("app", "") for pod in pods)
    return tuple(
        DisruptionBudget(
            name=one.name,
            namespace=NAMESPACE,
            selector=equality({"app": one.name}),
            disruptions_allowed=-(-n_pods[one.name] // 4),
            max_unavailable="25%",
        )
        for one in deployments
    )
