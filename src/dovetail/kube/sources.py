"""Reads files, directories and standard input as `-f` names them, within bounds.

Size alone is no error: clusters dump hundreds of megabytes. What is refused early is input that no
manifest looks like: bytes that are not text, and lines (in JSON: tokens) that never end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from dovetail.errors import InputError

STDIN: Final = "-"
STDIN_NAME: Final = "standard input"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_CHUNK: Final = 1 << 20
_LONGEST_LINE: Final = 10 << 20
_LONGEST_STREAM: Final = 2 << 30  # files end; what is piped in need not
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_JSON_OPENERS: Final = (b"{", b"[")


class Source(msgspec.Struct, frozen=True):
    """Something to read; `path` None is standard input."""

    name: str
    path: Path | None = None


class SourceContent(msgspec.Struct, frozen=True):
    """What a source holds. `looks_like_json` goes by the first character that is not blank."""

    name: str
    data: bytearray
    looks_like_json: bool


def sources(names: Sequence[str]) -> Iterator[Source | InputError]:
    """Everything to read for these names, directories in sorted order, each file once."""
    seen: set[str] = set()
    for name in names:
        for source in _named_sources(name):
            if isinstance(source, InputError):
                yield source
                continue
            identity = os.path.realpath(source.path) if source.path else STDIN
            if identity not in seen:
                seen.add(identity)
                yield source


def _named_sources(name: str) -> Iterator[Source | InputError]:
    if name == STDIN:
        yield Source(STDIN_NAME)
        return
    path = Path(name)
    if path.is_dir():
        yield from _files_in(path)
    elif path.exists():
        yield Source(name, path)
    else:
        yield InputError(f"{name}: no such file or directory; expected a manifest to read")


def _files_in(directory: Path) -> Iterator[Source | InputError]:
    paths = sorted(
        path
        for path in directory.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file() and not _is_hidden(path, directory)
    )
    if not paths:
        expected = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        yield InputError(f"{directory}: no manifests in this directory; expected {expected}")
    for path in paths:
        yield Source(str(path), path)


def _is_hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)


def content(source: Source, stdin: BinaryIO) -> SourceContent:
    """What the source holds. Raises InputError for what no manifest looks like."""
    if source.path is None:
        return _read_bounded(source.name, stdin, most=_LONGEST_STREAM)
    try:
        most = sys.maxsize if source.path.is_file() else _LONGEST_STREAM
        with source.path.open("rb") as stream:
            return _read_bounded(source.name, stream, most=most)
    except OSError as error:
        msg = f"{source.name}: cannot be read ({error.strerror}); expected a file"
        raise InputError(msg) from None


def _read_bounded(name: str, stream: BinaryIO, *, most: int) -> SourceContent:
    data = bytearray()
    bounds = _Bounds(name, most)
    while chunk := stream.read(_CHUNK):
        bounds.admit(chunk)
        data += chunk  # grown in place: a large dump is held once
    if data.startswith(_BYTE_ORDER_MARK):
        del data[: len(_BYTE_ORDER_MARK)]
    if bounds.is_blank:
        msg = f"{name}, document 1: empty; expected at least one object with apiVersion and kind"
        raise InputError(msg)
    return SourceContent(name, data, bounds.is_json)


class _Bounds:
    """How far the reading has come, and whether it may go on."""

    def __init__(self, name: str, most: int) -> None:
        self.is_blank = True
        self.is_json = False
        self._name = name
        self._most = most
        self._n_read = 0
        self._run = 0  # bytes since the last line break (in JSON also: since the last quote)

    def admit(self, chunk: bytes) -> None:
        """Count one more piece. Raises InputError if it is one too many."""
        self._recognise(chunk)
        zero = chunk.find(b"\0")
        if zero >= 0:
            self._refuse(f"byte 0 at offset {self._n_read + zero} is not text")
        self._n_read += len(chunk)
        if self._longest_run(chunk) > _LONGEST_LINE:
            self._refuse(f"a line of more than {_LONGEST_LINE >> 20} MB")
        if self._n_read > self._most:
            self._refuse(f"a stream of more than {self._most >> 30} GB")

    def _recognise(self, chunk: bytes) -> None:
        start = chunk.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] if self.is_blank else b""
        if start:
            self.is_blank = False
            self.is_json = start in _JSON_OPENERS

    def _longest_run(self, chunk: bytes) -> int:
        breaks = (b"\n", b'"') if self.is_json else (b"\n",)
        firsts = [at for at in map(chunk.find, breaks) if at >= 0]
        if not firsts:
            self._run += len(chunk)
            return self._run
        ended = self._run + min(firsts)
        self._run = len(chunk) - max(map(chunk.rfind, breaks))
        return ended

    def _refuse(self, problem: str) -> None:
        msg = f"{self._name}, document 1: {problem}; expected YAML or JSON text in UTF-8"
        raise InputError(msg)
