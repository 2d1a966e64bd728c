"""Writes results to stdout, whole and at the end, and warnings to stderr; shows progress there.

Work that takes over a second shows a line, only on a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dovetail.present.plan import Json
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.status import Status

_PIECE = 65536
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell reports for any other program


class Output(StrEnum):
    """The forms in which data can be printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def say(message: str) -> None:
    """Tell the person at the terminal something that is not data."""
    sys.stderr.write(f"{message}\n")


def emit(text: str) -> None:
    """Print data. A reader that has gone away (`| head`) ends the program quietly."""
    try:
        # In pieces: unbuffered, one large write is cut short in silence when the reader goes away.
        for start in range(0, len(text), _PIECE):
            sys.stdout.write(text[start : start + _PIECE])
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must not fail again when the interpreter closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None


def json_text(value: Json) -> str:
    """Indented JSON, fields in the order given."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def yaml_text(value: object) -> str:
    """The same as YAML, fields in the order given."""
    import yaml

    text: str = yaml.dump(
        value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text


def align(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str]) -> str:
    """Rows under their headings, as `kubectl` lays them out; `right` names columns of figures."""
    lines = [[name.upper() for name in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    is_right = [name in right for name in columns]
    text = ""
    for line in lines:
        cells = zip(line, widths, is_right, strict=True)
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in cells
        )
        text += "   ".join(padded).rstrip() + "\n"
    return text


PATIENCE_SECONDS = 1.0


class Progress:
    """Shows what is being done once it has taken a while; shows nothing in pipes and logs."""

    def __init__(self) -> None:
        self._stage = ""
        self._is_over = False
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_SECONDS, self.show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()

    def tell(self, stage: str) -> None:
        """Say what is being done from now on."""
        with self._lock:
            self._stage = stage
            if self._status is not None:
                self._status.update(stage)

    def show(self) -> None:
        """Stop being patient; nothing happens when the work is over or shown already."""
        from rich.console import Console

        with self._lock:
            if self._is_over or self._status is not None:
                return
            self._status = Console(stderr=True).status(self._stage)
            self._status.start()
