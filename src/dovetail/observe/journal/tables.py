"""What do many lines share? Written once in a file; afterwards its number stands for it.

Pods of one workload share a template, pools of one cloud their instance types. On the way back they
share one object again, as decisions expect (`solve/encoding/groups.py`).
"""

from __future__ import annotations

import msgspec

from dovetail.observe.journal.nouns import encoder


class Table:
    """What was written so far, by number."""

    def __init__(self) -> None:
        self._number_by_id: dict[int, int] = {}
        self._number_by_line: dict[bytes, int] = {}
        self._held: list[object] = []  # an id means something only while its object lives
        self._fresh: list[msgspec.Raw] = []

    def number(self, noun: object) -> int:
        """The number of a noun; equal ones have the same."""
        known = self._number_by_id.get(id(noun))
        if known is not None:
            return known
        line = encoder.encode(noun)
        number = self._number_by_line.get(line)
        if number is None:
            number = len(self._number_by_line)
            self._number_by_line[line] = number
            self._fresh.append(msgspec.Raw(line))
        self._number_by_id[id(noun)] = number
        self._held.append(noun)
        return number

    def fresh(self) -> tuple[msgspec.Raw, ...]:
        """What is new since the last time that this was asked."""
        taken, self._fresh = tuple(self._fresh), []
        return taken
