"""Times decisions and counts the pods that they place.

A decision runs on one thread and does no I/O. On an idle machine its CPU seconds equal those of the
clock; on a shared one they do not count what others used.
"""

from __future__ import annotations

import gc
import time
from datetime import UTC, datetime
from typing import Final, NamedTuple

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Elapsed(NamedTuple):
    """How long one run took; runs are compared by CPU first."""

    cpu: float
    clock: float


def timed(snapshot: Snapshot, repeat: int) -> tuple[Plan, list[Elapsed]]:
    """Decide; the plan, and the seconds of every run, without garbage collection."""
    seconds = []
    plan = Plan()
    for _ in range(repeat):
        gc.collect()
        gc.freeze()
        gc.disable()
        started, cpu = time.perf_counter(), time.process_time()
        plan = decide(snapshot, _NOW)
        seconds.append(Elapsed(time.process_time() - cpu, time.perf_counter() - started))
        gc.enable()
    return plan, seconds


def n_placed(plan: Plan) -> int:
    """How many pods the plan gives a node."""
    launched = sum(len(launch.pods) for launch in plan.launches)
    return launched + sum(len(nominate.pods) for nominate in plan.nominations)
