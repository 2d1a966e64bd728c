"""Plans the pods of a team on a generated NodePool, to show what they would cost there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.units import quantity


class PricedPods(msgspec.Struct, frozen=True):
    """The pods of a team on the pool alone. `used` names what its nodes have of each limit;
    `n_elsewhere` counts the pods that other pools would get if all pools were used.
    """

    snapshot: Snapshot
    plan: Plan
    used: tuple[str, ...]
    n_elsewhere: tuple[tuple[str, int], ...] = ()


def price_pods(pool: NodePool, team: Snapshot, others: Snapshot, now: datetime) -> PricedPods:
    """Plan the pending pods of the team's manifests, with the daemon sets of the cluster."""
    known = {(each.namespace, each.name) for each in team.daemon_sets}
    alone = msgspec.structs.replace(
        team.without_disruption(keeps_replicas=False),
        pods=tuple(pod for pod in team.pods if not pod.node_name),
        nodes=(),
        node_pools=(pool,),
        daemon_sets=(
            *team.daemon_sets,
            *(each for each in others.daemon_sets if (each.namespace, each.name) not in known),
        ),
    )
    plan = decide(alone, now)
    return PricedPods(alone, plan, _used(pool, alone, plan), _elsewhere(pool, alone, others, now))


def _used(pool: NodePool, snapshot: Snapshot, plan: Plan) -> tuple[str, ...]:
    capacities = {item.name: item.capacity for item in snapshot.instance_types[pool.name]}
    total: Counter[str] = Counter()
    for launch in plan.launches:
        total.update(capacities[launch.instance_type])
    return tuple(
        f"{name} {quantity.render(name, total[name])} of {quantity.render(name, limit)}"
        for name, limit in sorted(pool.limits.items())
    )


def _elsewhere(
    pool: NodePool, alone: Snapshot, others: Snapshot, now: datetime
) -> tuple[tuple[str, int], ...]:
    pools = tuple(each for each in others.node_pools if each.name != pool.name)
    if not pools:
        return ()
    together = msgspec.structs.replace(
        alone,
        node_pools=(pool, *pools),
        instance_types={**others.instance_types, **alone.instance_types},
    )
    counts: Counter[str] = Counter()
    for launch in decide(together, now).launches:
        counts[launch.node_pool] += len(launch.pods)
    return tuple(sorted((name, count) for name, count in counts.items() if name != pool.name))
