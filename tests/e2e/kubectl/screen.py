"""What does a terminal show, and what of it must differ between two clusters? A short list.

Everything else is compared to the letter: exit code, standard output and standard error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.controlplane import binaries

_UID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_DESCRIBED = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
_DIFFED = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"
# What must differ, each with what is put in its place.
_MASKS = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (_UID, "UID"),
        (_STAMP, "TIME"),
        (_DESCRIBED, "TIME"),
        (_DIFFED, "TIME"),
        (r'(resourceVersion"?: )"\d+"', r"\1VERSION"),
        (r"(Resource Version:\s+)\d+", r"\1VERSION"),
        (r"https?://127\.0\.0\.1:\d+", "SERVER"),
        (r"fd00:[0-9a-f:]+", "ADDRESS"),  # stand-ins make addresses from uids
        (r"10\.0\.0\.\d+", "CLUSTER-IP"),
        # What `generateName` adds.
        (r"(-[0-9a-f]{10}-|\b(?:agent|by-hand|once)-)[a-z0-9]{5}\b", r"\1POD"),
        (r"(?<=[\s(<])(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+s(?=[\s),]|$)", "AGE"),
        (r"/tmp/(?:LIVE|MERGED)-\d+/", "TEMPORARY/"),  # noqa: S108  # kubectl diff's own
        (rf"{re.escape(binaries.VERSION)}|v1\.36\.0-dovetail", "SERVER-VERSION"),
        # Columns are as wide as what was masked in them.
        (r"(?<=\S)[ \t]{2,}", "  "),
    )
)


@dataclass(frozen=True)
class Screen:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def masked(self) -> Screen:
        """Without what must differ."""
        return Screen(self.code, _masked(self.out), _masked(self.err))

    def lines(self) -> list[str]:
        """To be compared line by line."""
        return [
            f"exit code {self.code}",
            *(f"out: {line}" for line in self.out.splitlines()),
            *(f"err: {line}" for line in self.err.splitlines()),
        ]


def _masked(text: str) -> str:
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.splitlines())
