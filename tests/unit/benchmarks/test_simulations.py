from __future__ import annotations

from benchmarks.simulations import day, passed
from dovetail.sim.scenario.case import Decider
from dovetail.sim.scenario.reading import scenario


def test_a_day_can_be_read_whatever_its_size() -> None:
    """As if it stood in a file."""
    for n_nodes in (1, 100, 5_000):
        found = scenario(day(n_nodes, 24.0))
        assert len(found.workloads) == 40
        assert found.looks_every is None


def test_time_passes_and_everybody_gets_a_node() -> None:
    """Two hours of a small one."""
    outcome, seconds = passed(day(2, 2.0, 600.0), Decider.DOVETAIL)
    assert outcome.report.n_unbound == 0
    assert outcome.report.n_bound > 0
    assert seconds > 0
