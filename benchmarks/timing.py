"""How long does a decision take, and whom does it place?"""

from __future__ import annotations

import gc
import time
from datetime import UTC, datetime
from typing import Final

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def timed(snapshot: Snapshot, repeat: int) -> tuple[Plan, list[float]]:
    """Decide; the plan, and the seconds of every run. No collection of garbage in between."""
    seconds = []
    plan = Plan()
    for _ in range(repeat):
        gc.collect()
        gc.freeze()
        gc.disable()
        started = time.perf_counter()
        plan = decide(snapshot, _NOW)
        seconds.append(time.perf_counter() - started)
        gc.enable()
    return plan, seconds


def n_placed(plan: Plan) -> int:
    """How many pods the plan gives a node."""
    launched = sum(len(launch.pods) for launch in plan.launches)
    return launched + sum(len(nominate.pods) for nominate in plan.nominations)
