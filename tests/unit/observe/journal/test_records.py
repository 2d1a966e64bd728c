"""A decision comes back from its bytes as it was."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Decision
from dovetail.observe.journal.records import RecordError, RecordReader, RecordWriter
from dovetail.testing import load
from tests.unit.observe.journal.decisions import START, decided, stripped

ROOT = Path(__file__).parents[4]
SCENARIOS = sorted((ROOT / "scenarios").rglob("*.yaml"))


def test_each_decision_comes_back_whole_but_for_its_proof() -> None:
    """Though each record holds only what changed since the one before."""
    writer, reader = RecordWriter(), RecordReader()
    for one in decided():
        assert reader.decision(writer.write(one)) == stripped(one)


def test_the_same_decision_again_takes_next_to_nothing() -> None:
    """Nothing changed, so nothing is written."""
    writer = RecordWriter()
    first = decided()[1]
    whole = len(writer.write(first))
    assert len(writer.write(first)) < whole / 5


def test_what_did_not_change_is_the_same_object_in_the_next_decision() -> None:
    """So that many decisions cost little more than one, and decisions find again what they know."""
    writer, reader = RecordWriter(), RecordReader()
    one, other, *_ = [reader.decision(writer.write(one)) for one in decided()]
    assert other.snapshot.nodes is one.snapshot.nodes
    assert other.snapshot.instance_types is one.snapshot.instance_types


def test_pods_of_one_template_share_it_again() -> None:
    """And pools of one catalogue their types."""
    reader = RecordReader()
    found = reader.decision(RecordWriter().write(decided()[1]))
    assert len({id(pod.spec) for pod in found.snapshot.pods}) == 1


def test_snapshots_of_every_scenario_come_back_as_they_were() -> None:
    """One file after the other, so that everything changes each time."""
    writer, reader = RecordWriter(), RecordReader()
    for number, path in enumerate(SCENARIOS, start=1):
        scenario = load(path)
        one = Decision(number, scenario.now, 0.0, scenario.snapshot, Plan())
        assert reader.decision(writer.write(one)) == one, path


@pytest.mark.parametrize("path", SCENARIOS[::40], ids=lambda path: path.stem)
def test_a_plan_is_the_same_for_the_snapshot_that_came_back(path: Path) -> None:
    """Replay depends on it."""
    scenario = load(path)
    plan = decide(scenario.snapshot, scenario.now)
    one = Decision(1, scenario.now, 0.0, scenario.snapshot, plan)
    again = RecordReader().decision(RecordWriter().write(one))
    assert decide(again.snapshot, again.now) == plan


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"no record", id="not packed"),
        pytest.param(zlib.compress(b"no record"), id="packed, and no record"),
        pytest.param(zlib.compress(msgspec.msgpack.encode([1, 2])), id="a record of something"),
    ],
)
def test_what_is_no_record_is_refused_in_one_way(packed: bytes) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(RecordError):
        RecordReader().decision(packed)


def test_a_record_of_the_middle_cannot_be_read_alone() -> None:
    """It says only what changed."""
    writer = RecordWriter()
    _, second, *_ = [writer.write(one) for one in decided()]
    with pytest.raises(RecordError):
        RecordReader().decision(second)


def test_times_keep_their_microseconds() -> None:
    """A moment that is a little off would be another decision."""
    at = START.replace(microsecond=123456)
    one = msgspec.structs.replace(decided()[0], now=at)
    assert RecordReader().decision(RecordWriter().write(one)).now == at
