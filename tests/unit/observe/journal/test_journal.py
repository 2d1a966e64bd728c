"""What is written to a folder is read back, whatever happens to its files in between."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.model.snapshot import Decision
from dovetail.observe.journal.reader import JournalReader, RecentDecisions
from dovetail.observe.journal.segments import MAGIC, Bounds, segments
from dovetail.observe.journal.writer import JournalWriter
from tests.unit.observe.journal.decisions import SECOND, START, decided, stripped

DECISIONS = decided()
DAY = timedelta(days=1)


def write(directory: Path, *decisions: Decision, bounds: Bounds | None = None) -> None:
    """Have a process of its own write these."""
    writer = JournalWriter(directory, bounds)
    for one in decisions:
        writer.add(one.snapshot, one.plan, one.now, one.seconds)
    writer.close()


def numbers(directory: Path) -> list[int]:
    """The decisions that can be read, by number; nothing may be lost."""
    return [one.number for one in JournalReader(directory, pytest.fail).oldest_first()]


def read(directory: Path) -> tuple[list[int], list[str]]:
    """The same, and what is told to be lost."""
    told: list[str] = []
    found = [one.number for one in JournalReader(directory, told.append).oldest_first()]
    return found, told


def only_file(directory: Path) -> Path:
    """The file of a journal that has one."""
    (path,) = directory.iterdir()
    return path


def test_decisions_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Oldest first or newest first, all or the last few."""
    write(tmp_path / "new" / "journal", *DECISIONS)
    reader = JournalReader(tmp_path / "new" / "journal", pytest.fail)
    want = [stripped(one) for one in DECISIONS]
    assert list(reader.oldest_first()) == want
    assert list(reader.newest_first()) == want[::-1]
    assert list(reader.last(2)) == want[-2:]
    assert list(JournalReader(only_file(tmp_path / "new" / "journal"), pytest.fail).last(9)) == want


def test_one_may_ask_for_what_was_up_to_a_moment(tmp_path: Path) -> None:
    """Later decisions are not even looked at, nor later files."""
    write(tmp_path, *DECISIONS[:3])
    write(tmp_path, DECISIONS[3])
    reader = JournalReader(tmp_path, pytest.fail)
    assert [one.number for one in reader.oldest_first(START + SECOND)] == [1, 2]
    assert [one.number for one in reader.newest_first(START + SECOND)] == [2, 1]
    assert list(reader.oldest_first(START - SECOND)) == []


def test_each_process_begins_a_file_and_numbers_go_on(tmp_path: Path) -> None:
    """A file that somebody else left is not touched."""
    write(tmp_path, *DECISIONS)
    before = only_file(tmp_path).read_bytes()
    write(tmp_path, *DECISIONS)
    assert numbers(tmp_path) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len(segments(tmp_path)) == 2
    assert segments(tmp_path)[0].path.read_bytes() == before


def test_two_writers_of_one_folder_do_not_harm_each_other(tmp_path: Path) -> None:
    """Each has its own file."""
    first, second = JournalWriter(tmp_path), JournalWriter(tmp_path)
    for one in DECISIONS:
        first.add(one.snapshot, one.plan, one.now, 0.0)
        second.add(one.snapshot, one.plan, one.now, 0.0)
    first.close()
    second.close()
    assert len(numbers(tmp_path)) == 8


@pytest.mark.parametrize("n_cut", [1, 9, 40])
def test_a_record_that_was_cut_off_is_lost_alone_and_told(tmp_path: Path, n_cut: int) -> None:
    """As after kill -9 or on a full disk; whoever comes next goes on behind it."""
    write(tmp_path, *DECISIONS)
    path = only_file(tmp_path)
    os.truncate(path, path.stat().st_size - n_cut)
    write(tmp_path, *DECISIONS)
    found, told = read(tmp_path)
    assert found == [1, 2, 3, 4, 5, 6, 7]
    assert told == [
        f"{path}: decision 4 is lost, since it is cut off in the middle; the 3 before it are whole"
    ]


def test_every_length_that_a_kill_may_leave_can_be_read(tmp_path: Path) -> None:
    """Wherever the file ends, the whole records before that place are there."""
    write(tmp_path / "one", DECISIONS[0])
    write(tmp_path / "two", *DECISIONS[:2])
    path = only_file(tmp_path / "two")
    ends = [len(MAGIC), only_file(tmp_path / "one").stat().st_size, path.stat().st_size]
    for length in range(ends[-1], -1, -7):
        os.truncate(path, length)
        found, told = read(tmp_path / "two")
        assert found == [1, 2][: sum(end <= length for end in ends[1:])]
        assert len(told) == (length not in ends)


def test_a_damaged_record_costs_the_rest_of_its_file_and_no_other(tmp_path: Path) -> None:
    """What follows it says only what changed since."""
    write(tmp_path, *DECISIONS)
    write(tmp_path, *DECISIONS)
    path = segments(tmp_path)[0].path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    found, told = read(tmp_path)
    assert found[-4:] == [5, 6, 7, 8]
    assert len(found) < 8
    assert len(told) == 1
    assert "its checksum is wrong" in told[0]


def test_a_file_that_is_no_journal_is_told_and_passed_over(tmp_path: Path) -> None:
    """Also one whose bytes are sealed well and mean nothing."""
    write(tmp_path, *DECISIONS)
    (tmp_path / "000000000100.journal").write_bytes(b"something else")
    (tmp_path / "000000000200.journal").write_bytes(MAGIC + bytes(8))
    (tmp_path / "notes.txt").write_text("not ours")
    found, told = read(tmp_path)
    assert found == [1, 2, 3, 4]
    assert len(told) == 2
    assert "is no file of a journal" in told[0]


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_no_journal_at_all_is_an_error_that_names_the_place(tmp_path: Path, name: str) -> None:
    """Rather than an empty answer."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=name):
        list(JournalReader(tmp_path / name, pytest.fail).oldest_first())


def test_the_oldest_files_go_when_there_is_too_much(tmp_path: Path) -> None:
    """Never the one that is being written, though it alone were too large."""
    for _ in range(6):
        write(tmp_path, *DECISIONS)
    n_bytes = sum(one.n_bytes for one in segments(tmp_path))
    write(tmp_path, *DECISIONS, bounds=Bounds(max_bytes=n_bytes // 2))
    assert sum(one.n_bytes for one in segments(tmp_path)) <= n_bytes // 2
    assert numbers(tmp_path)[-4:] == [25, 26, 27, 28]
    write(tmp_path, *DECISIONS, bounds=Bounds(max_bytes=1))
    assert len(segments(tmp_path)) == 1
    assert numbers(tmp_path) == [29, 30, 31, 32]


def test_files_go_when_all_in_them_is_too_old(tmp_path: Path) -> None:
    """By the moments of the decisions, not by the clock."""
    for day in (0, 5, 9):
        one = DECISIONS[0]
        writer = JournalWriter(tmp_path)
        writer.add(one.snapshot, one.plan, START + day * DAY, 0.0)
        writer.close()
    assert numbers(tmp_path) == [2, 3]
    one = DECISIONS[0]
    writer = JournalWriter(tmp_path, Bounds(max_age=DAY))
    writer.add(one.snapshot, one.plan, START + 20 * DAY, 0.0)
    writer.close()
    assert numbers(tmp_path) == [4]


def test_a_long_life_is_cut_into_files_that_can_go_one_by_one(tmp_path: Path) -> None:
    """Each begins with a whole record."""
    one = DECISIONS[1]
    writer = JournalWriter(tmp_path)
    for place in range(300):
        writer.add(one.snapshot, one.plan, START + place * SECOND, 0.0)
    writer.close()
    assert [one.number for one in segments(tmp_path)] == [1, 257]
    segments(tmp_path)[0].path.unlink()
    assert numbers(tmp_path) == list(range(257, 301))


def test_recent_decisions_are_had_without_a_disk() -> None:
    """The last few, with all of their plans."""
    recent = RecentDecisions(n_held=2)
    for one in DECISIONS:
        recent.add(one.snapshot, one.plan, one.now, one.seconds)
    assert list(recent.oldest_first()) == list(DECISIONS[-2:])
    assert list(recent.newest_first()) == list(DECISIONS[:1:-1])
    assert list(recent.oldest_first(DECISIONS[2].now)) == [DECISIONS[2]]


def test_files_from_before_a_moment_need_not_be_read(tmp_path: Path) -> None:
    """Whoever asks about something young reads little: of a file all or nothing."""
    late = [msgspec.structs.replace(one, now=one.now + DAY) for one in DECISIONS]
    write(tmp_path, *DECISIONS)
    write(tmp_path, *late)
    reader = JournalReader(tmp_path, pytest.fail)
    assert [one.number for one in reader.oldest_first(since=START + DAY + SECOND)] == [5, 6, 7, 8]
    assert len(list(reader.oldest_first(since=START + SECOND))) == 8
