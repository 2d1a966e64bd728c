"""Reads the steps of docs/workshop: their commands and what these print, without what varies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).parents[2] / "docs" / "workshop"
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AGE: Final = r"(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?"
# What differs between two runs of a demo, each with what is put in its place.
_MASKS: Final = tuple(
    (re.compile(pattern, re.MULTILINE), mask)
    for pattern, mask in (
        # NodeClaims are named by NodePool, second and number; Pods of a Deployment by two hashes.
        (r"\b(\w[\w-]*)-\d{10}-\d+\b", r"\1-NODE"),
        (r"\b([\w-]+)-[0-9a-f]{10}-[a-z0-9]{5}\b", r"\1-POD"),
        # The demo has a clock of its own; ages by the clock of the machine may be unknown.
        (rf"(?<=\s\s)(?=\d|unknown)(?:{_AGE}|unknown)(?=\s\s|$)", "AGE"),
        (r"(?<=\S) {2,}", "  "),
        (r" +$", ""),
        (r"─+", "─"),
    )
)


class Exchange(msgspec.Struct, frozen=True):
    """Commands of one block, and what they print; None where the step does not show it."""

    commands: tuple[str, ...]
    printed: str | None


class Step(msgspec.Struct, frozen=True):
    """One file of the workshop."""

    path: Path

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Its heading."""
        return self.text.partition("\n")[0].removeprefix("# ")

    def exchanges(self) -> Iterator[Exchange]:
        """Blocks of commands in order, each with the block of output that follows, if any."""
        blocks = [*_BLOCK.findall(self.text), ("end", "")]
        for (language, text), (next_language, next_text) in pairwise(blocks):
            if language == "sh":
                yield Exchange(_commands(text), None if next_language else next_text)

    def manifests(self) -> list[str]:
        """YAML that the step shows."""
        return [text for language, text in _BLOCK.findall(self.text) if language == "yaml"]


def steps() -> list[Step]:
    """The steps in order."""
    return [Step(path) for path in sorted(FOLDER.glob("[0-9][0-9]-*.md"))]


def without_variations(text: str) -> list[str]:
    """The lines of an output, with everything masked that differs between two runs."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text.splitlines()


def _commands(block: str) -> tuple[str, ...]:
    return tuple(block.replace("\\\n", "").splitlines())
