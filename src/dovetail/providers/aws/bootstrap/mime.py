"""Reads and writes MIME archives, in which cloud-init finds several parts of user data.

Parts are cut out of the text rather than parsed and written anew, so that they stay as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NoReturn

import msgspec

from dovetail.providers.aws.bootstrap.inputs import UserDataError

BOUNDARY: Final = "//"
SHELL: Final = 'Content-Type: text/x-shellscript; charset="us-ascii"'
_LONGEST_BOUNDARY: Final = 70  # RFC 2046
_STARTS_ARCHIVE: Final = re.compile(r"\s*(?:MIME-Version|Content-Type)[ \t]*:", re.IGNORECASE)
_HEADER_LINE: Final = re.compile(r"[!-9;-~]+[ \t]*:|[ \t]+\S")
_CONTENT_TYPE: Final = re.compile(
    r"^Content-Type[ \t]*:[ \t]*([^;\s]+)(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE
)
_BOUNDARY: Final = re.compile(
    r""";\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""", re.IGNORECASE
)


class MimePart(msgspec.Struct, frozen=True, gc=False):
    """One part of an archive: the lines of its header, and everything after the empty line."""

    header: str
    body: str

    @property
    def content_type(self) -> str:
        """The media type in lower case; text/plain where the header has none."""
        return _content_type(self.header)[0]


def is_archive(text: str) -> bool:
    """Whether this is meant as a MIME archive: it begins with a header that scripts never have."""
    return _STARTS_ARCHIVE.match(text) is not None


def parts_of(text: str) -> tuple[MimePart, ...]:
    """The parts of an archive, as they are. Raises UserDataError for what is none."""
    outer = _part(text.lstrip(), "the archive")
    media_type, parameters = _content_type(outer.header)
    if not media_type.startswith("multipart/"):
        if not _CONTENT_TYPE.search(outer.header):
            _refuse("the header has no Content-Type")
        return (outer,)
    boundary = _boundary(parameters)
    return tuple(
        _part(section, f"part {number}")
        for number, section in enumerate(_sections(outer.body, boundary), start=1)
    )


def archive(parts: Sequence[MimePart]) -> str:
    """The text of an archive. Its boundary is `//` unless a part has a line that begins so."""
    texts = [f"{part.header}\n\n{part.body}" if part.header else f"\n{part.body}" for part in parts]
    boundary = _free_boundary(texts)
    opening = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{boundary}"\n\n'
    sections = "".join(f"--{boundary}\n{text}\n" for text in texts)
    return f"{opening}{sections}--{boundary}--\n"


def _free_boundary(texts: Sequence[str]) -> str:
    used = {line for text in texts for line in text.split("\n") if line.startswith("--//")}
    candidates = (f"{BOUNDARY}{number or ''}" for number in count())
    return next(
        boundary
        for boundary in candidates
        if not any(line.startswith(f"--{boundary}") for line in used)
    )


def _sections(body: str, boundary: str) -> Iterator[str]:
    """What stands between the delimiters; the line end before a delimiter belongs to it."""
    delimiter, close = f"--{boundary}", f"--{boundary}--"
    section: list[str] | None = None
    for line in body.split("\n"):
        ending = line.rstrip(" \t")
        if ending not in (delimiter, close):
            if section is not None:
                section.append(line)
            continue
        if section is not None:
            yield "\n".join(section)
        if ending == close and section is not None:
            return
        section = []
    if section is None:
        _refuse(f"no part begins with the boundary --{boundary}")
    _refuse(f"the closing boundary {close} is missing")


def _part(text: str, name: str) -> MimePart:
    if text.startswith("\n"):
        return MimePart("", text[1:])
    header, _, body = text.partition("\n\n")
    header = header.removesuffix("\n")
    for line in header.split("\n"):
        if not _HEADER_LINE.match(line):
            _refuse(f"{name} has {line!r} where a header or an empty line belongs")
    return MimePart(header, body)


def _content_type(header: str) -> tuple[str, str]:
    matched = _CONTENT_TYPE.search(header)
    return (matched[1].lower(), matched[2]) if matched else ("text/plain", "")


def _boundary(parameters: str) -> str:
    matched = _BOUNDARY.search(parameters)
    if matched is None:
        _refuse("the Content-Type of the archive names no boundary")
    quoted, token = matched.groups()
    boundary = token if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    if not boundary.strip() or len(boundary) > _LONGEST_BOUNDARY or boundary != boundary.rstrip():
        _refuse(f"the boundary {boundary[:80]!r} is not 1 to {_LONGEST_BOUNDARY} characters")
    return str(boundary)


def _refuse(message: str) -> NoReturn:
    remedy = "expected a MIME archive as cloud-init reads it, or a plain script"
    msg = f"malformed MIME archive: {message}; {remedy}"
    raise UserDataError(msg)
