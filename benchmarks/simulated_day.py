"""What does a day cost under Dovetail, and what under the reference's own policy?

    python -m benchmarks.simulated_day --pods 600 --hours 24 --seed 1 [--spot]

Both get the same demand, the same pools and the same cluster around them (`dovetail.sim.fast`). The
first hour fills the cluster and does not count. Where no pod waits, the reference looks every ten
seconds, as it does; Dovetail, which would look a second after every change, at most twice a minute,
so that a day takes minutes to simulate.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from benchmarks.day_mix import demand, empty_cluster
from benchmarks.machine import peak_mb
from benchmarks.results import Result
from benchmarks.rows import EVICTIONS_SHARE, PEAK_MB, PRICE_SHARE, SECONDS
from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.sim.fast.figures import Report
from dovetail.sim.fast.run import Manner, simulate
from dovetail.sim.fast.run import Policy as Decides
from dovetail.sim.fast.windows import Rhythm
from dovetail.sim.reference.policy import Reference

START: Final = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
_POLL_SECONDS: Final = 10.0
_WARMS_UP_FOR: Final = timedelta(hours=1)


class Day(NamedTuple):
    """How large, how long, which one; and how often disruption is thought about at most."""

    n_pods: int
    hours: float = 24.0
    seed: int = 1
    is_spot: bool = False
    calm_seconds: float = 30.0


class Passed(NamedTuple):
    """What came of it, and how many seconds of cpu simulation and decisions took."""

    report: Report
    seconds: float
    deciding_seconds: float


def passed(day: Day, policy: Decides) -> Passed:
    """Let the day pass under a policy."""
    took = 0.0

    def timed(snapshot: Snapshot, now: datetime) -> Plan:
        nonlocal took
        begun = time.process_time()
        plan = policy(snapshot, now)
        took += time.process_time() - begun
        return plan

    begun = time.process_time()
    ended = simulate(
        empty_cluster(day.seed, is_spot=day.is_spot),
        demand(day.n_pods, day.seed, lasts_for=timedelta(hours=day.hours)),
        timed,
        manner=Manner(
            start=START,
            warms_up_for=_WARMS_UP_FOR,
            rhythm=Rhythm(calm=timedelta(seconds=day.calm_seconds)),
        ),
        chance=random.Random(day.seed).random,
    )
    return Passed(ended.report, time.process_time() - begun, took)


def measure_day(n_pods: int, hours: float, *, seed: int) -> Result:
    """The same day under both policies, and what the one costs and disturbs of the other."""
    day = Day(n_pods, hours, seed)
    ours, theirs = passed(day, decide), passed(_polled(day), Reference())
    figures = {
        **_figures("", ours),
        **_figures("reference ", theirs),
        SECONDS: ours.seconds,
        PEAK_MB: peak_mb(),
        PRICE_SHARE: ours.report.price / theirs.report.price,
        EVICTIONS_SHARE: ours.report.n_evictions / max(1, theirs.report.n_evictions),
    }
    return Result("day", figures)


def _polled(day: Day) -> Day:
    """The day as the reference looks at it."""
    return day._replace(calm_seconds=_POLL_SECONDS)


def _figures(whose: str, held: Passed) -> dict[str, float]:
    report = held.report
    n_nodes = [one.n_nodes for one in report.samples]
    return {
        f"{whose}nodes": sum(n_nodes) / len(n_nodes),
        f"{whose}pods": max(one.n_pods for one in report.samples),
        f"{whose}price": report.price,
        f"{whose}evictions": report.n_evictions,
        f"{whose}launched": report.n_launched,
        f"{whose}waiting median": report.waiting_median,
        f"{whose}waiting 99th": report.waiting_99th,
        f"{whose}waiting minutes": report.waiting_total,
        f"{whose}cpu utilisation": report.cpu_utilisation,
        f"{whose}decisions": report.n_decisions,
        f"{whose}deciding seconds": held.deciding_seconds,
    }


_NAMES: Final = ("dovetail", "reference")


def main() -> None:
    """Read the flags, let the day pass under each policy that was asked for, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated_day", description=__doc__)
    parser.add_argument("--pods", type=int, default=600)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spot", action="store_true")
    parser.add_argument("--calm", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--policy", choices=_NAMES, action="append")
    chosen = parser.parse_args()
    day = Day(chosen.pods, chosen.hours, chosen.seed, chosen.spot, chosen.calm)
    for name in chosen.policy or _NAMES:
        held = passed(day, decide) if name == "dovetail" else passed(_polled(day), Reference())
        print(f"{name}: {held.seconds:.0f} s, of which {held.deciding_seconds:.0f} s deciding")
        for what, value in _figures("", held).items():
            print(f"  {what:20}{value:12.3f}")
        print(f"  {'evictions':20}{dict(held.report.evictions)}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
