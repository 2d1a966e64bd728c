"""A journal stays small, though the cluster is large."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.observe.journal.reader import JournalReader
from dovetail.observe.journal.segments import segments
from dovetail.observe.journal.writer import JournalWriter
from tests.unit.observe.journal.large import N_NODES, N_PODS, LargeCluster

N_DECISIONS = 24
LARGEST = 200_000


def test_a_decision_on_a_thousand_nodes_takes_less_than_200_kb(tmp_path: Path) -> None:
    """On average over a short file: a long one has its whole first record but once."""
    writer = JournalWriter(tmp_path)
    last = None
    for one in LargeCluster().decisions(N_DECISIONS):
        writer.add(one.snapshot, one.plan, one.now, one.seconds)
        last = one
    writer.close()
    n_bytes = sum(one.n_bytes for one in segments(tmp_path))
    assert n_bytes / N_DECISIONS < LARGEST
    (found,) = JournalReader(tmp_path, pytest.fail).last(1)
    assert (len(found.snapshot.nodes), len(found.snapshot.pods)) == (N_NODES, N_PODS)
    assert last is not None
    assert (found.snapshot, found.plan) == (last.snapshot, last.plan)
