"""Outcomes in a few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dovetail.sim.fast.figures import FigureRow, Report
from dovetail.sim.scenario.case import Decider, Outcome

START = datetime(2026, 1, 5, tzinfo=UTC)


def report(price: float = 10.0, evictions: int = 2, n_samples: int = 3) -> Report:
    """What came of a day."""
    samples = tuple(
        FigureRow(START + number * timedelta(hours=1), 3 + number, 20, number, 1.5, 0.7, number)
        for number in range(n_samples)
    )
    return Report(
        price=price,
        evictions={"Empty": 0, "Underutilized": evictions},
        n_launched=5,
        n_removed=2,
        n_bound=40,
        n_unbound=0,
        waiting_median=0.5,
        waiting_99th=1.25,
        waiting_total=60.0,
        cpu_utilisation=0.8,
        memory_utilisation=0.5,
        n_decisions=99,
        samples=samples,
    )


def outcome(decider: Decider = Decider.DOVETAIL, *, seed: int = 1, **more: Any) -> Outcome:
    """One simulation that is over."""
    held = {
        "file": "day.yaml",
        "title": "A day",
        "settings": (),
        "report": report(),
        **more,
    }
    return Outcome(
        seed=seed, decider=decider, starts_at=START, lasts_for=timedelta(hours=24), **held
    )
