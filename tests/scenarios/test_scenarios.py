"""Every scenario holds: the plan is what its file wants, and the independent checker agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.decide import decide
from dovetail.testing import load
from tests.oracle.check import check

ROOT = Path(__file__).parents[2] / "scenarios"
FILES = sorted(ROOT.rglob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_plan_is_what_the_scenario_wants(path: Path) -> None:
    """A plan for the given cluster holds what is wanted, and kube-scheduler would carry it out."""
    scenario = load(path)
    plan = decide(scenario.snapshot, scenario.now)
    differences = scenario.differences(plan)
    violations = check(scenario.snapshot, scenario.now, plan)
    assert (differences, violations) == ([], []), scenario.because
