"""How long does one decision take? Run as a process of its own, so that memory is its own too.

`python -m benchmarks.measure plan fleet 5000 3 1` plans the scenario `fleet` of 5,000 pods and
seed 1 three times; `python -m benchmarks.measure tiny 100 3 1` plans 100 tiny clusters three times
each and compares them with their optima; `uniform`, `small` and `mixed` plan so many small clusters
(`small_plans`); `judge`, `decide` and `rest` look at a packed cluster of
so many pods (`resting`). Each prints a `Result` as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks.machine import peak_mb
from benchmarks.resting import RESTING
from benchmarks.results import Result
from benchmarks.rows import CLOCK_SECONDS, MEAN, PEAK_MB, RATIO, SECONDS, WORST
from benchmarks.scenarios import SCENARIOS, tiny
from benchmarks.simulated_day import measure_day
from benchmarks.small_plans import measure_mixes, measure_uniform
from benchmarks.timing import n_placed, timed
from benchmarks.tiny_optimum import has_host_spread, optimum_nanousd
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

_NANOUSD: Final = 1e9


def measure_plan(scenario: str, n_pods: int, *, repeat: int, seed: int) -> Result:
    """Plan one scenario; the first time (nothing warm) is given besides the best."""
    snapshot = SCENARIOS[scenario](n_pods, seed)
    built_mb = peak_mb()
    plan, seconds = timed(snapshot, repeat)
    price, bound = plan.cost.new_nanousd, plan.cost.lower_bound_nanousd
    figures = {
        "pods": n_pods,
        "placed": n_placed(plan),
        "groups": plan.n_groups,
        "nodes": len(plan.launches),
        "$/h": price / _NANOUSD,
        "bound $/h": bound / _NANOUSD,
        SECONDS: min(seconds).cpu,
        CLOCK_SECONDS: min(run.clock for run in seconds),
        "first seconds": seconds[0].cpu,
        PEAK_MB: peak_mb(),
        "peak MB before planning": built_mb,
    }
    if bound:
        figures[RATIO] = price / bound
    failures = [] if n_placed(plan) == n_pods else [f"{n_pods - n_placed(plan)} pods not placed"]
    if bound > price:
        failures.append("the bound exceeds the price")
    return Result(f"{scenario}-{n_pods}", figures, failures=tuple(failures))


def measure_tiny(n_clusters: int, *, repeat: int, seed: int) -> Result:
    """Plan tiny clusters; `seconds` is the slowest of them, each at its best."""
    ratios: list[float] = []
    times: list[float] = []
    bound_ratios: list[float] = []
    failures: list[str] = []
    for ordinal in range(n_clusters):
        number = (seed - 1) * n_clusters + ordinal
        snapshot = tiny(number)
        optimum = optimum_nanousd(snapshot)
        plan, seconds = timed(snapshot, repeat)
        # A plan below the optimum of stricter rules must not make up for a dear one.
        ratios.append(max(1.0, plan.cost.new_nanousd / optimum))
        times.append(min(seconds).cpu)
        bound_ratios.append(plan.cost.lower_bound_nanousd / optimum)
        failures += [f"cluster {number}: {what}" for what in _faults(snapshot, plan, optimum)]
    figures = {
        "clusters": n_clusters,
        SECONDS: max(times),
        "mean seconds": sum(times) / n_clusters,
        MEAN: sum(ratios) / n_clusters,
        WORST: max(ratios),
        "worst cluster": (seed - 1) * n_clusters + ratios.index(max(ratios)),
        "optimal": sum(ratio <= 1 + 1e-9 for ratio in ratios),
        "mean bound/optimum": sum(bound_ratios) / n_clusters,
        PEAK_MB: peak_mb(),
    }
    return Result("tiny", figures, failures=tuple(failures))


def _faults(snapshot: Snapshot, plan: Plan, optimum: int) -> list[str]:
    n_left = len(snapshot.pods) - n_placed(plan)
    if n_left:
        return [f"{n_left} pods not placed"]
    found = []
    if plan.cost.new_nanousd < optimum and not has_host_spread(snapshot):
        found.append("cheaper than the optimum, so the plan breaks a rule")
    if plan.cost.lower_bound_nanousd > optimum:
        found.append("the bound exceeds the optimum")
    return found


def main(arguments: Sequence[str]) -> None:
    """Measure what the arguments say and print it."""
    match tuple(arguments):
        case ("plan", scenario, n_pods, repeat, seed):
            result = measure_plan(scenario, int(n_pods), repeat=int(repeat), seed=int(seed))
        case ("tiny", n_clusters, repeat, seed):
            result = measure_tiny(int(n_clusters), repeat=int(repeat), seed=int(seed))
        case ("uniform", n_clusters, repeat, seed):
            result = measure_uniform(int(n_clusters), repeat=int(repeat), seed=int(seed))
        case (("small" | "mixed") as what, n_clusters, repeat, seed):
            result = measure_mixes(what, int(n_clusters), repeat=int(repeat), seed=int(seed))
        case (("judge" | "decide" | "rest") as what, n_pods, repeat, seed):
            result = RESTING[what](int(n_pods), repeat=int(repeat), seed=int(seed))
        case ("day", n_pods, hours, _, seed):
            result = measure_day(int(n_pods), float(hours), seed=int(seed))
        case _:
            sys.exit("usage: measure plan SCENARIO PODS REPEAT SEED | tiny|small|judge|... N ...")
    sys.stdout.buffer.write(msgspec.json.encode(result))


if __name__ == "__main__":
    main(sys.argv[1:])
