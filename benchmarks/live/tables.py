"""How are live measurements shown? One figure a line, with its limit if it has one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Row(msgspec.Struct, frozen=True):
    """One figure; `limit` is the most that it may be."""

    name: str
    what: str
    figure: float
    limit: float | None = None

    @property
    def is_missed(self) -> bool:
        """Whether the figure is above its limit."""
        return self.limit is not None and self.figure > self.limit


def table(rows: Sequence[Row]) -> str:
    """All rows, the names in one column and the verdicts in the last."""
    lines = []
    before = ""
    for row in rows:
        name, before = ("" if row.name == before else row.name), row.name
        limit = "" if row.limit is None else f"{row.limit:g}"
        verdict = "" if row.limit is None else ("MISS" if row.is_missed else "PASS")
        lines.append(f"{name:28}{row.what:56}{row.figure:10.3f}{limit:>8}  {verdict}".rstrip())
    head = f"{'':28}{'':56}{'measured':>10}{'at most':>8}"
    return "\n".join([head, *lines])
