"""How is the comparison shown? A line for each scenario, ratios beside what they should be."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.compared import Compared
from benchmarks.rows import PEAK_MB, RATIO, SECONDS

_HEAD = (
    "scenario",
    "Go s",
    "Dovetail s",
    "times as fast",
    "Go $/h",
    "Dovetail $/h",
    "of the price",
    "of the bound",
    "Go MB",
    "Dovetail MB",
    "Go leaves out",
    "Go illegal",
    "",
)


def table(found: Sequence[Compared]) -> str:
    """All rows as aligned columns."""
    lines = [_HEAD, *(_line(one) for one in found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < column < len(_HEAD) - 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def disagreements(found: Sequence[Compared]) -> str:
    """Where the two do not agree on what can be placed, and who is right by kube-scheduler."""
    lines = [
        f"{one.row.name}: {case.what} ({case.n_pods} pods, {case.example} for one): {case.reason}. "
        f"Right by kube-scheduler's rules: {case.right}."
        for one in found
        for case in one.word.disagreements
    ]
    return "\n".join(lines) or "They agree on what can be placed."


def _line(one: Compared) -> tuple[str, ...]:
    row, theirs, figures = one.row, one.theirs, one.ours.figures
    verdict = "; ".join(one.misses)
    is_asked = row.speed is not None
    return (
        row.name,
        theirs.error or f"{theirs.seconds.all:.2f}",
        f"{figures[SECONDS]:.3f}" if SECONDS in figures else "",
        _beside(one.speed, row.speed, 0),
        "" if theirs.error else f"{theirs.price_nanousd / 1e9:,.2f}",
        f"{figures['$/h']:,.2f}" if "$/h" in figures else "",
        _beside(one.price, row.price, 3),
        _beside(figures.get(RATIO), row.bound, 3),
        "" if theirs.error else f"{theirs.peak_mb:.0f}",
        f"{figures[PEAK_MB]:.0f}" if PEAK_MB in figures else "",
        f"{len(theirs.not_placed)}" if theirs.not_placed else "",
        f"{one.word.n_illegal_of_theirs}" if one.word.n_illegal_of_theirs else "",
        f"MISS: {verdict}" if verdict else ("PASS" if is_asked else ""),
    )


def _beside(value: float | None, asked: float | None, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}f}" + (f" ({asked:g})" if asked is not None else "")
