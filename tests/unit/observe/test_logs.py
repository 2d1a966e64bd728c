"""One line of JSON for each thing said, and no harm to whoever says it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import InputError
from dovetail.observe.logs import SILENT, Log, LogSettings, open_log
from dovetail.testing.virtual_time import VirtualTime


def lines(path: Path) -> list[dict[str, Any]]:
    """What a log file holds."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@contextmanager
def opened(path: Path, time: VirtualTime | None = None, level: str = "info") -> Iterator[Log]:
    """A log into this file."""
    settings = LogSettings(level, (str(path),), (f"{path}.errors",), commit="abc")
    log = open_log(settings, time or VirtualTime())
    try:
        yield log
    finally:
        log.close()


def test_a_line_has_the_keys_of_the_reference(tmp_path: Path) -> None:
    """Message, level in capitals, time, logger, commit and the fields; no caller."""
    with opened(tmp_path / "log") as log:
        log.named("controller").named("provisioner").info(
            "created node claims", node_pool="default", n_claims=3, took=timedelta(seconds=2)
        )
    assert lines(tmp_path / "log") == [
        {
            "level": "INFO",
            "time": "2026-01-01T00:00:00.000Z",
            "logger": "controller.provisioner",
            "message": "created node claims",
            "commit": "abc",
            "node_pool": "default",
            "n_claims": 3,
            "took": "PT2S",
        }
    ]


@pytest.mark.parametrize(
    ("level", "want"),
    [
        ("", ["INFO", "WARN", "ERROR"]),
        ("debug", ["DEBUG", "INFO", "WARN", "ERROR"]),
        ("info", ["INFO", "WARN", "ERROR"]),
        ("error", ["ERROR"]),
    ],
)
def test_a_level_keeps_out_what_matters_less(tmp_path: Path, level: str, want: list[str]) -> None:
    """An empty level means info."""
    with opened(tmp_path / "log", level=level) as log:
        for say in (log.debug, log.info, log.warning, log.error):
            say("something")
    assert [line["level"] for line in lines(tmp_path / "log")] == want


def test_only_a_debug_log_says_where_a_line_comes_from(tmp_path: Path) -> None:
    """The caller is this file and line, not the log's own."""
    with opened(tmp_path / "log", level="debug") as log:
        log.named("x").error("something")
    (line,) = lines(tmp_path / "log")
    assert line["caller"].startswith("test_logs.py:")


def test_a_message_is_written_a_hundred_times_a_second_then_every_hundredth(tmp_path: Path) -> None:
    """Another message, and the next second, begin anew."""
    with opened(tmp_path / "log") as log:
        for number in range(1, 351):
            log.info("again", number=number)
        log.info("another")
    written = [line.get("number") for line in lines(tmp_path / "log")]
    assert written == [*range(1, 101), 200, 300, None]


async def test_the_next_second_begins_anew(tmp_path: Path) -> None:
    """What was said too often is said again."""
    time = VirtualTime()
    with opened(tmp_path / "log", time) as log:
        for _ in range(150):
            log.info("again")
        await time.advance(timedelta(seconds=1))
        log.info("again")
    assert len(lines(tmp_path / "log")) == 101


class Broken:
    """A value that has no words for itself."""

    def __str__(self) -> str:
        message = "no words"
        raise RuntimeError(message)


def test_a_value_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    """The complaint goes to the error output, and the log goes on."""
    with opened(tmp_path / "log") as log:
        log.info("broken", value=Broken())
        log.info("whole", value=ValueError("why"), path=Path("a/b"))
    assert [(line["message"], line["value"]) for line in lines(tmp_path / "log")] == [
        ("whole", "why")
    ]
    assert "'broken' could not be written: RuntimeError" in (tmp_path / "log.errors").read_text()


def test_an_output_that_fails_harms_nobody() -> None:
    """A full disk stops no controller."""
    log = open_log(LogSettings(paths=("/dev/full",), error_paths=("/dev/full",)), VirtualTime())
    log.error("something")
    log.close()


def test_fields_cannot_change_what_every_line_has(tmp_path: Path) -> None:
    """A field of the same name as a key of the line gives way."""
    with opened(tmp_path / "log") as log:
        log.info("something", level="mine", time="mine", message="mine")
    (line,) = lines(tmp_path / "log")
    assert (line["level"], line["message"]) == ("INFO", "something")


def test_a_closed_log_says_nothing(tmp_path: Path) -> None:
    """Nor does it raise."""
    with opened(tmp_path / "log") as log:
        log.close()
        log.error("something")
    SILENT.error("something")
    assert lines(tmp_path / "log") == []


def test_several_outputs_get_the_same_lines(tmp_path: Path) -> None:
    """Every path is written to."""
    one, other = tmp_path / "one", tmp_path / "other"
    log = open_log(LogSettings(paths=(str(one), str(other))), VirtualTime())
    log.info("something")
    log.close()
    assert one.read_bytes() == other.read_bytes() != b""


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        (LogSettings(level="loud"), "log level 'loud' is unknown"),
        (LogSettings(paths=("/no/such/folder/log",)), "log path /no/such/folder/log: No such file"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: LogSettings, want: str) -> None:
    """At the start, where somebody reads it."""
    with pytest.raises(InputError, match=want):
        open_log(settings, VirtualTime())
