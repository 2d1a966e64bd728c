"""How long does a simulated day take?

    python -m benchmarks.simulations [--nodes 100 500] [--hours 24] [--looks-every SECONDS]

A web fleet on the AWS catalogue that follows the day, with rollouts, guards and cron works, sized
so that about so many nodes run on average; the same day for every size. Printed are the seconds of
one core that `dovetail simulate` needs for it, under Dovetail's policy, and how many times as fast
as time itself that is.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import timedelta
from statistics import fmean
from typing import Final

from benchmarks.machine import peak_mb
from dovetail import api
from dovetail.kube.manifests import from_trees
from dovetail.model.snapshot import Snapshot
from dovetail.providers.aws.catalogue import offline as aws
from dovetail.sim.scenario.case import Case, Decider, Outcome, run
from dovetail.sim.scenario.reading import ScenarioText
from dovetail.state import freeze

_SIZES: Final = (250, 500, 750, 1000, 1500, 2000, 3000)  # millicores
_GIB_PER_CPU: Final = (1, 2, 2, 4, 6)
_MILLICORES_PER_NODE: Final = 5_200
_N_WORKLOADS: Final = 40
_POOL: Final[api.Tree] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": "default",
                },
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    {
                        "key": "karpenter.sh/capacity-type",
                        "operator": "In",
                        "values": ["on-demand"],
                    },
                    {
                        "key": "karpenter.k8s.aws/instance-category",
                        "operator": "In",
                        "values": ["c", "m", "r"],
                    },
                    {
                        "key": "karpenter.k8s.aws/instance-cpu",
                        "operator": "Lt",
                        "values": ["9"],
                    },
                ],
            }
        },
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "1m",
            "budgets": [{"nodes": "10%"}],
        },
    },
}


def cluster() -> Snapshot:
    """One pool of machines of up to eight cores, and nothing that runs."""
    manifests = from_trees([_POOL], "benchmarks/simulations.py")
    types = aws.instance_types()
    return freeze.snapshot(manifests.objects, instance_types=lambda _pool: types)


def day(n_nodes: int, hours: float, looks_every_seconds: float = -1) -> ScenarioText:
    """A day that keeps about so many nodes busy."""
    each = n_nodes * _MILLICORES_PER_NODE / _N_WORKLOADS  # millicores on average
    tree: dict[str, api.Tree] = {
        "lasts": f"{hours:g}h",
        "warmUp": "1h",
        "workloads": {f"w{at:02}": _workload(at, each) for at in range(_N_WORKLOADS)},
        "cronWorks": {f"c{at}": _cron_work(at, n_nodes) for at in range(10)},
    }
    if looks_every_seconds >= 0:
        tree["looksEvery"] = f"{looks_every_seconds:g}s"
    return ScenarioText("benchmarks/simulations.py", tree)


def _workload(at: int, millicores: float) -> dict[str, api.Tree]:
    size = _SIZES[at % len(_SIZES)]
    n_pods = max(2, round(millicores / size))
    requests: dict[str, api.Tree] = {
        "cpu": f"{size}m",
        "memory": f"{size * _GIB_PER_CPU[at % len(_GIB_PER_CPU)] * 1024 // 1000}Mi",
    }
    wave: dict[str, api.Tree] = {
        "low": round(0.6 * n_pods),
        "high": round(1.4 * n_pods),
        "peak": f"{13 + at % 5}h",
        "noise": "3%",
    }
    found: dict[str, api.Tree] = {"requests": requests, "disruptionBudget": "20%"}
    found["replicas"] = wave if at % 2 else n_pods
    if at % 4 == 0:
        found["rollouts"] = [f"{9 + at % 8}h"]
    return found


def _cron_work(at: int, n_nodes: int) -> dict[str, api.Tree]:
    return {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "every": f"{10 + 5 * (at % 4)}m",
        "first": f"{at}m",
        "runsFor": "6m",
        "pods": max(1, n_nodes // 50),
    }


def passed(text: ScenarioText, decider: Decider) -> tuple[Outcome, float]:
    """What came of it, and the seconds that it took."""
    begun = time.process_time()
    outcome = run(Case(text, cluster(), 1, decider), lambda _said: None)
    return outcome, time.process_time() - begun


def main() -> None:
    """Read the flags, let the days pass, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulations", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--looks-every", type=float, default=-1.0, metavar="SECONDS")
    parser.add_argument("--policy", choices=list(Decider), default=Decider.DOVETAIL)
    chosen = parser.parse_args()
    print("  nodes    mean     pods   bound  decisions  evictions  $/day  seconds  times real time")
    for n_nodes in chosen.nodes:
        text = day(n_nodes, chosen.hours, chosen.looks_every)
        outcome, seconds = passed(text, Decider(chosen.policy))
        report = outcome.report
        mean = fmean(one.n_nodes for one in report.samples)
        n_pods = fmean(one.n_pods for one in report.samples)
        faster = timedelta(hours=chosen.hours).total_seconds() / seconds
        print(
            f"{n_nodes:7}{mean:8.0f}{n_pods:9.0f}{report.n_bound:8}{report.n_decisions:11}"
            f"{report.n_evictions:11}{report.price:7.0f}{seconds:9.1f}{faster:17,.0f}"
        )
        sys.stdout.flush()
    print(f"peak memory {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
