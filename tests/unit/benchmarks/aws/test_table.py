"""The table of the benchmarks of AWS."""

from __future__ import annotations

from benchmarks.aws.__main__ import table
from benchmarks.results import Result


def test_every_figure_has_a_line_with_its_limit_and_every_row_a_verdict() -> None:
    """A figure that exceeds its limit is told."""
    lines = table(
        [
            Result("good", {"calls": 8.0}, {"calls": 20.0}),
            Result("bad", {"MB": 61.0}, {"MB": 60.0}),
            Result("plain", {"nodes": 1000.0}),
        ]
    ).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "good",
        "calls 8 (at most 20)",
        "PASS",
        "bad",
        "MB 61 (at most 60)",
        "MISS: MB 61 exceeds 60",
        "plain",
        "nodes 1,000",
        "no limit",
    ]
