"""How is growth told in text? A line for each size, and the exponents below each axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from benchmarks.growth.axes import FITTED, Grown
from benchmarks.rows import PEAK_MB, SECONDS


def table(series: Sequence[Grown]) -> str:
    """All axes, one below the other."""
    return "\n\n".join("\n".join(_lines(one)) for one in series)


def _lines(one: Grown) -> Iterator[str]:
    yield f"{one.axis.name:>9}  {'seconds':>9}  {'peak MB':>9}   ({one.axis.beside})"
    for size, figures in one.figures.items():
        seconds = f"{figures[SECONDS]:.3f}" if SECONDS in figures else ""
        peak = f"{figures[PEAK_MB]:.0f}" if PEAK_MB in figures else ""
        yield f"{size:>9,}  {seconds:>9}  {peak:>9}"
    for figure, powers in exponents(one).items():
        upper = powers["exponent of the upper half"]
        yield f"{figure}: exponent {powers['exponent']:.2f}, of the upper half {upper:.2f}"
    yield from (f"MISS: {failure}" for failure in one.failures)


def exponents(one: Grown) -> dict[str, dict[str, float]]:
    """What fits each figure, where enough was measured."""
    found: dict[str, dict[str, float]] = {}
    for figure in FITTED:
        law, late = one.law(figure), one.late_law(figure)
        if law is not None and late is not None:
            found[figure] = {
                "factor": law.factor,
                "exponent": law.exponent,
                "exponent of the upper half": late.exponent,
            }
    return found


def document(series: Sequence[Grown], machine: Mapping[str, str]) -> bytes:
    """All of it as JSON."""
    told = {
        "machine": machine,
        "axes": [
            {
                "name": one.axis.name,
                "beside": one.axis.beside,
                "points": [{"size": size, **figures} for size, figures in one.figures.items()],
                "laws": exponents(one),
                "failures": one.failures,
            }
            for one in series
        ],
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"
