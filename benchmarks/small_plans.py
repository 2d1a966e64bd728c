"""How near are plans for small clusters to the cheapest there is? Measured by `measure`.

Uniform clusters are compared with their exact optimum, mixes with the best bound known: that of the
plan's own certificate, or that of an integer program which takes a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from benchmarks.machine import peak_mb
from benchmarks.results import Result
from benchmarks.rows import (
    LOOSEST,
    MEAN_RATIO,
    PEAK_MB,
    SECONDS,
    WORST,
    WORST_RATIO,
)
from benchmarks.small_mix import FIRST, mixed, small, uniform
from benchmarks.timing import n_placed, timed
from benchmarks.whole_nodes import bound_nanousd, optimum_nanousd
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

MIXES: Final[dict[str, Callable[[int], Snapshot]]] = {"small": small, "mixed": mixed}


class _Planned(NamedTuple):
    number: int
    price: int
    bound: int  # of the certificate
    seconds: float
    known: int  # the optimum, or the best bound known

    @property
    def ratio(self) -> float:
        return self.price / self.known


def measure_uniform(n_clusters: int, *, repeat: int, seed: int) -> Result:
    """Plan uniform clusters and compare them with their optima."""
    plans, failures = _all_planned(uniform, _optimum, (n_clusters, repeat, seed))
    worst = max(plans, key=lambda one: one.ratio)
    figures = {
        **_common(plans),
        WORST: worst.ratio,
        LOOSEST: max(one.known / max(one.bound, 1) for one in plans),
        "optimal": sum(one.price == one.known for one in plans),
        "worst cluster": worst.number,
    }
    return Result("uniform", figures, failures=tuple(failures))


def measure_mixes(what: str, n_clusters: int, *, repeat: int, seed: int) -> Result:
    """Plan mixes and compare them with the best bound known."""
    plans, failures = _all_planned(MIXES[what], _best_bound, (n_clusters, repeat, seed))
    worst = max(plans, key=lambda one: one.ratio)
    figures = {
        **_common(plans),
        MEAN_RATIO: sum(one.ratio for one in plans) / len(plans),
        WORST_RATIO: worst.ratio,
        "mean bound/best bound": sum(one.bound / one.known for one in plans) / len(plans),
        "mean price/own bound": sum(one.price / max(one.bound, 1) for one in plans) / len(plans),
        "worst cluster": worst.number,
    }
    return Result(what, figures, failures=tuple(failures))


def _common(plans: list[_Planned]) -> dict[str, float]:
    return {
        "clusters": len(plans),
        SECONDS: max(one.seconds for one in plans),
        "mean seconds": sum(one.seconds for one in plans) / len(plans),
        PEAK_MB: peak_mb(),
    }


def _optimum(snapshot: Snapshot, _plan: Plan) -> int:
    return optimum_nanousd(snapshot)


def _best_bound(snapshot: Snapshot, plan: Plan) -> int:
    return max(bound_nanousd(snapshot), plan.cost.lower_bound_nanousd)


def _all_planned(
    cluster: Callable[[int], Snapshot],
    known: Callable[[Snapshot, Plan], int],
    trials: tuple[int, int, int],
) -> tuple[list[_Planned], list[str]]:
    n_clusters, repeat, seed = trials
    plans, failures = list[_Planned](), list[str]()
    first = FIRST + (seed - 1) * n_clusters
    for number in range(first, first + n_clusters):
        snapshot = cluster(number)
        plan, seconds = timed(snapshot, repeat)
        cost = plan.cost
        least = known(snapshot, plan)
        plans.append(
            _Planned(number, cost.new_nanousd, cost.lower_bound_nanousd, min(seconds).cpu, least)
        )
        n_left = len(snapshot.pods) - n_placed(plan)
        failures += [f"cluster {number}: {n_left} pods not placed"] if n_left else []
        failures += [
            f"cluster {number}: {what}" for what in impossible(cost.new_nanousd, plan, least)
        ]
    return plans, failures


def impossible(price: int, plan: Plan, known: int) -> list[str]:
    """What cannot be: a price below what is proven, or a bound above the price."""
    found = []
    if price < known:
        found.append("cheaper than what is proven, so the plan breaks a rule or the proof is wrong")
    if plan.cost.lower_bound_nanousd > min(price, known):
        found.append("the bound is too high")
    return found
