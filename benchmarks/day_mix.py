"""What is asked of a cluster on an ordinary working day? Drawn by a seed, the same for everybody.

Deployments with the constraints of `fleet_mix`: most of the large ones follow the day, as an
autoscaler would have it, some are rolled out during working hours, some are StatefulSets, some are
guarded by disruption budgets. Cron jobs come every few minutes to every hour.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import msgspec

from benchmarks import catalogues, fleet_mix
from benchmarks.packed import moderate, pool
from benchmarks.seeds import seeded
from benchmarks.workloads import NAMESPACE, Deployment, everyday_requests
from dovetail.model.plan import DisruptionReason
from dovetail.model.pod import PodSpec
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.sim.demand import AppDemand, CronWork, Demand

DAY: Final = timedelta(hours=24)
_STEP: Final = timedelta(minutes=5)
_QUIET_FOR: Final = timedelta(minutes=1)  # consolidateAfter
_MOST_ASKED_AT: Final = 15.0  # o'clock
_HYSTERESIS: Final = 0.1  # an autoscaler lets smaller changes pass
_LARGEST_JOB: Final = 2_000  # millicores


def empty_cluster(seed: int = 1, *, is_spot: bool = False) -> Snapshot:
    """The pools, what they can buy, and nothing else."""
    types = catalogues.cloud(seed)
    pools = tuple(
        _patient(pool(one, is_spot=is_spot)) for one in fleet_mix.pools(fleet_mix.steady_machines())
    )
    return Snapshot(
        node_pools=pools,
        instance_types={one.name: types for one in pools},
        daemon_sets=fleet_mix.daemon_sets(),
        namespaces={NAMESPACE: {}, "kube-system": {}},
        policy=Policy(disrupts_for=tuple(DisruptionReason), replaces_spot_by_spot=is_spot),
    )


def _patient(held: NodePool) -> NodePool:
    """A pool whose nodes are left alone for a minute after pods came or went."""
    waits = msgspec.structs.replace(held.disruption, consolidate_after=_QUIET_FOR)
    return msgspec.structs.replace(held, disruption=waits)


def demand(n_pods: int, seed: int = 1, *, lasts_for: timedelta = DAY) -> Demand:
    """About so many pods at the busiest time."""
    chance = seeded("day", seed)
    deployments = [moderate(one) for one in fleet_mix.deployments(n_pods, chance)]
    return Demand(
        lasts_for=lasts_for,
        workloads=tuple(_workload(one, lasts_for, chance) for one in deployments),
        cron_works=tuple(_cron_works(max(4, n_pods // 80), chance)),
    )


def _workload(one: Deployment, lasts_for: timedelta, chance: random.Random) -> AppDemand:
    is_scaled = one.replicas >= 4 and chance.random() < 0.6
    is_stateful = not is_scaled and one.replicas <= 10 and chance.random() < 0.15
    replicas = (
        tuple(_curve(one.replicas, lasts_for, chance))
        if is_scaled
        else ((timedelta(0), one.replicas),)
    )
    return AppDemand(
        name=one.name,
        namespace=NAMESPACE,
        spec=one.spec,
        replicas=replicas,
        rollouts=tuple(_rollouts(chance)) if one.replicas > 1 else (),
        is_stateful=is_stateful,
        guard=chance.choice(("", "", "25%", "1", "10%")) if one.replicas > 1 else "",
        ready_after=timedelta(seconds=chance.randint(5, 40)),
        ends_after=timedelta(seconds=chance.randint(1, 20)),
    )


def _curve(
    n_pods: int, lasts_for: timedelta, chance: random.Random
) -> Iterator[tuple[timedelta, int]]:
    """What an autoscaler makes of a load that is highest in the afternoon."""
    depth, shift = chance.uniform(0.3, 0.7), chance.gauss(0, 1.0)
    held = 0
    for number in range(lasts_for // _STEP):
        hour = number * _STEP / timedelta(hours=1)
        wave = (1 + math.cos((hour - _MOST_ASKED_AT - shift) * math.pi / 12)) / 2
        asked = n_pods * (1 - depth + depth * wave) * chance.gauss(1.0, 0.04)
        n_asked = max(1, math.ceil(asked))
        if abs(n_asked - held) > _HYSTERESIS * held:
            held = n_asked
            yield number * _STEP, held


def _rollouts(chance: random.Random) -> Iterator[timedelta]:
    """None, one or two in working hours."""
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        yield timedelta(hours=8, seconds=chance.randint(0, 10 * 3600))


def _cron_works(n_works: int, chance: random.Random) -> Iterator[CronWork]:
    for number in range(n_works):
        requests = everyday_requests(chance)
        if requests["cpu"] > _LARGEST_JOB:
            continue
        every = timedelta(minutes=chance.choice((5, 10, 15, 30, 60, 60)))
        yield CronWork(
            name=f"cron-{number}",
            namespace=NAMESPACE,
            spec=PodSpec(requests=requests),
            every=every,
            first_after=timedelta(minutes=chance.randrange(every // timedelta(minutes=1))),
            runs_for=every * chance.uniform(0.1, 0.8),
            n_pods=chance.choice((1, 1, 1, 2, 4, 8)),
        )
