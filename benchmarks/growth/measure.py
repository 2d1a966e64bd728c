"""How long does a decision about a cluster of this size take? Run as a process of its own.

`python -m benchmarks.growth.measure nodes 500 3 1` decides three times about the cluster of 500
nodes and seed 1, and prints a `Result` as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from benchmarks.growth.axes import GROWN_MB, IDLE_MB, mb_above_idle
from benchmarks.growth.clusters import CLUSTERS
from benchmarks.machine import peak_mb
from benchmarks.results import Result
from benchmarks.rows import PEAK_MB, SECONDS
from benchmarks.timing import n_placed, timed


def measure(axis: str, size: int, *, repeat: int, seed: int) -> Result:
    """Make the cluster and decide; every pod that waits must get a place."""
    idle_mb = peak_mb()
    snapshot = CLUSTERS[axis](size, seed)
    made_mb = peak_mb()
    plan, seconds = timed(snapshot, repeat)
    n_waiting = sum(not pod.node_name for pod in snapshot.pods)
    figures = {
        SECONDS: min(seconds).cpu,
        "first seconds": seconds[0].cpu,
        PEAK_MB: peak_mb(),
        IDLE_MB: idle_mb,
        "peak MB before planning": made_mb,
        "waiting": n_waiting,
        "launched": len(plan.launches),
        "groups": plan.n_groups,
    }
    figures[GROWN_MB] = mb_above_idle(figures)
    n_left = n_waiting - n_placed(plan)
    failures = (f"{n_left:,} pods not placed",) if n_left else ()
    return Result(f"{axis}-{size}", figures, failures=failures)


def main(arguments: Sequence[str]) -> None:
    """Measure what the arguments say and print it."""
    match tuple(arguments):
        case (axis, size, repeat, seed) if axis in CLUSTERS:
            result = measure(axis, int(size), repeat=int(repeat), seed=int(seed))
        case _:
            sys.exit(f"usage: measure {'|'.join(CLUSTERS)} SIZE REPEAT SEED")
    sys.stdout.buffer.write(msgspec.json.encode(result))


if __name__ == "__main__":
    main(sys.argv[1:])
