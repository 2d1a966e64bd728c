"""A journal that cannot be written harms nobody."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from dovetail.clock import SystemClock
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.journal.reader import JournalReader
from dovetail.observe.journal.writer import JournalKeeper, JournalWriter
from dovetail.observe.logs import Level, Log, Sink
from tests.unit.observe.journal.decisions import SECOND, START, decided

DECISIONS = decided()


class Listening:
    """A log, and what it was told."""

    def __init__(self) -> None:
        self._output = BytesIO()
        sink = Sink(Level.INFO, SystemClock())
        sink.outputs = (self._output,)
        self.log = Log(sink)

    def said(self) -> list[tuple[str, object]]:
        """Every message, with how many decisions it says were missed."""
        lines = self._output.getvalue().splitlines()
        trees = [msgspec.json.decode(line, type=dict[str, object]) for line in lines]
        return [(str(one["message"]), one.get("missed")) for one in trees]


class SlowWriter(JournalWriter):
    """A disk that takes its time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.may_go_on = threading.Event()

    def add(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """Once it is let."""
        self.may_go_on.wait()
        super().add(snapshot, plan, now, seconds)


def keep(keeper: JournalKeeper, *, after: timedelta = timedelta(0)) -> None:
    """Have the decisions written, so long after they were made."""
    for one in DECISIONS:
        keeper.add(one.snapshot, one.plan, one.now + after, one.seconds)


def test_decisions_are_written_beside_the_work(tmp_path: Path) -> None:
    """All of them are there in the end, and none after it."""
    listening = Listening()
    keeper = JournalKeeper(JournalWriter(tmp_path), listening.log)
    keep(keeper)
    keeper.close()
    keep(keeper)
    assert len(list(JournalReader(tmp_path, pytest.fail).oldest_first())) == len(DECISIONS)
    assert listening.said() == []


def test_a_folder_that_cannot_be_made_is_told_once_and_tried_again(tmp_path: Path) -> None:
    """After a minute, by the moments of the decisions; what was missed is told then."""
    place = tmp_path / "journal"
    place.write_text("in the way")
    listening = Listening()
    keeper = JournalKeeper(JournalWriter(place), listening.log)
    keep(keeper)
    keep(keeper, after=30 * SECOND)
    keep(keeper, after=120 * SECOND)
    keeper.close()
    assert listening.said() == [("journal cannot be written", None)]
    place.unlink()
    again = JournalKeeper(JournalWriter(place), listening.log)
    keep(again)
    again.close()
    assert len(list(JournalReader(place, pytest.fail).oldest_first())) == len(DECISIONS)


def test_a_disk_that_is_too_slow_costs_decisions_and_no_memory(tmp_path: Path) -> None:
    """Nobody waits for it."""
    listening = Listening()
    writer = SlowWriter(tmp_path)
    keeper = JournalKeeper(writer, listening.log)
    for _ in range(5):
        keep(keeper)
    writer.may_go_on.set()
    keeper.close()
    assert len(list(JournalReader(tmp_path, pytest.fail).oldest_first())) == 8
    assert listening.said() == [("journal misses decisions", 12)]


def test_a_disk_that_fills_up_leaves_what_was_written_whole(tmp_path: Path) -> None:
    """The record that did not fit is cut off again, and a new file is begun afterwards."""
    writer = JournalWriter(tmp_path)
    for one in DECISIONS[:2]:
        writer.add(one.snapshot, one.plan, one.now, 0.0)
    (path,) = tmp_path.iterdir()
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            writer.add(DECISIONS[2].snapshot, DECISIONS[2].plan, START, 0.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert path.stat().st_size == size
    writer.add(DECISIONS[3].snapshot, DECISIONS[3].plan, START, 0.0)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert len(list(JournalReader(tmp_path, pytest.fail).oldest_first())) == 3


WRITING = """
import sys
from pathlib import Path
from dovetail.observe.journal.writer import JournalWriter
from tests.unit.observe.journal.decisions import decided
writer, decisions = JournalWriter(Path(sys.argv[1])), decided()
while True:
    for one in decisions:
        writer.add(one.snapshot, one.plan, one.now, 0.0)
        print(flush=True)
"""


def test_a_process_that_is_killed_leaves_all_that_it_had_written(tmp_path: Path) -> None:
    """At most the record under way is lost, and that is told."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITING, str(tmp_path / "journal")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(100):
            assert process.stdout.readline() == b"\n"
        process.kill()
    told: list[str] = []
    found = list(JournalReader(tmp_path / "journal", told.append).oldest_first())
    assert len(found) >= 100
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert len(told) <= 1
