"""Writes log lines, one JSON object each.

A message is a constant phrase; what it speaks of stands beside it in fields:

    log.info("created node claims", node_pool="default", n_claims=3)

The same message is written a hundred times a second, then every hundredth time. Whatever goes wrong
with a line is nobody's problem but the log's.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from dovetail.clock import Clock, SystemClock
from dovetail.errors import InputError


class Level(IntEnum):
    """How much it matters."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


_LEVELS: Final = {"": Level.INFO, "debug": Level.DEBUG, "info": Level.INFO, "error": Level.ERROR}
_FIRST: Final = 100  # in each second, of each message
_THEN_EVERY: Final = 100
_PACKAGE: Final = Path(__file__).parents[1]


class LogSettings(msgspec.Struct, frozen=True, gc=False):
    """What is logged, and where: `stdout`, `stderr` or paths of files. `error_paths` are told of
    lines that could not be written.
    """

    level: str = "info"
    paths: tuple[str, ...] = ("stdout",)
    error_paths: tuple[str, ...] = ("stderr",)
    commit: str = ""


class Log:
    """Says things under a name. Never raises."""

    def __init__(self, sink: Sink, name: str = "") -> None:
        self._sink = sink
        self._name = name

    def named(self, name: str) -> Log:
        """The same log, under this name within its own."""
        return Log(self._sink, f"{self._name}.{name}" if self._name else name)

    def debug(self, message: str, /, **fields: object) -> None:
        """What only somebody looking for a fault wants to know."""
        self._sink.write(Level.DEBUG, self._name, message, fields)

    def info(self, message: str, /, **fields: object) -> None:
        """What was done, and why."""
        self._sink.write(Level.INFO, self._name, message, fields)

    def warning(self, message: str, /, **fields: object) -> None:
        """What went wrong without harm, for now."""
        self._sink.write(Level.WARN, self._name, message, fields)

    def error(self, message: str, /, **fields: object) -> None:
        """What went wrong."""
        self._sink.write(Level.ERROR, self._name, message, fields)

    def close(self) -> None:
        """Close the files; what is said afterwards is lost."""
        self._sink.close()


def open_log(settings: LogSettings, clock: Clock) -> Log:
    """A log that goes where it should. Raises InputError for a level or path that cannot be."""
    level = _LEVELS.get(settings.level)
    if level is None:
        message = f"log level {settings.level!r} is unknown; expected debug, info or error"
        raise InputError(message)
    sink = Sink(level, clock, settings.commit)
    sink.outputs = tuple(_open_file(path) for path in settings.paths)
    sink.error_outputs = tuple(_open_file(path) for path in settings.error_paths)
    return Log(sink)


def _open_file(path: str) -> BinaryIO:
    if path == "stdout":
        return sys.stdout.buffer
    if path == "stderr":
        return sys.stderr.buffer
    try:
        return Path(path).open("ab", buffering=0)
    except OSError as error:
        message = f"log path {path}: {error.strerror or error}"
        raise InputError(message) from error


class Sink:
    """Where lines go."""

    def __init__(self, level: Level, clock: Clock, commit: str = "") -> None:
        self.outputs: tuple[BinaryIO, ...] = ()
        self.error_outputs: tuple[BinaryIO, ...] = ()
        self._level = level
        self._clock = clock
        self._commit = commit
        self._second = datetime.min.replace(tzinfo=UTC)
        self._n_by_message: dict[tuple[Level, str], int] = {}

    def write(self, level: Level, name: str, message: str, fields: Mapping[str, object]) -> None:
        """Write one line, unless it matters too little or has been said too often."""
        if level < self._level or not self.outputs:
            return
        try:
            now = self._clock.now()
            if self._is_sampled(level, message, now):
                head = self._head(level, name, message, now)
                # What every line has is not for fields to change.
                line = _json.encode({**head, **fields, **head}) + b"\n"
                _put(self.outputs, line)
        except Exception as error:  # noqa: BLE001  telling must never stop whoever tells
            self._complain(message, error)

    def close(self) -> None:
        """Close what was opened here."""
        ours, self.outputs = self.outputs, ()
        for output in (*ours, *self.error_outputs):
            if output not in {sys.stdout.buffer, sys.stderr.buffer}:
                output.close()
        self.error_outputs = ()

    def _head(self, level: Level, name: str, message: str, now: datetime) -> dict[str, object]:
        head: dict[str, object] = {
            "level": level.name,
            "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "logger": name,
        }
        if self._level is Level.DEBUG:
            head["caller"] = _caller()
        return {**head, "message": message, "commit": self._commit}

    def _is_sampled(self, level: Level, message: str, now: datetime) -> bool:
        second = now.replace(microsecond=0)
        if second != self._second:
            self._second = second
            self._n_by_message.clear()
        n = self._n_by_message.get((level, message), 0) + 1
        self._n_by_message[level, message] = n
        return n <= _FIRST or (n - _FIRST) % _THEN_EVERY == 0

    def _complain(self, message: str, error: Exception) -> None:
        line = f"log line {message!r} could not be written: {type(error).__name__}: {error}\n"
        try:
            _put(self.error_outputs, line.encode(errors="replace"))
        except (OSError, ValueError):
            return  # there is nobody left to tell


def _put(outputs: Iterable[BinaryIO], line: bytes) -> None:
    for output in outputs:
        output.write(line)
        output.flush()


def _caller() -> str:
    """Where in the program it is said, from the first frame outside of this file."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        return ""
    path = Path(frame.f_code.co_filename)
    shown = path.relative_to(_PACKAGE) if path.is_relative_to(_PACKAGE) else Path(path.name)
    return f"{shown}:{frame.f_lineno}"


def _as_text(value: object) -> object:
    """What JSON has no words for, as text."""
    return str(value)


_json: Final = msgspec.json.Encoder(enc_hook=_as_text, order=None)

# Says nothing, for whoever has nobody to tell.
SILENT: Final = Log(Sink(Level.ERROR, SystemClock()))
