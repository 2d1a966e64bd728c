"""What came out of a row, and is it good enough?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec


class Result(msgspec.Struct, frozen=True):
    """The figures of one row, the limits they must keep, and what went wrong besides."""

    name: str
    figures: Mapping[str, float]
    limits: Mapping[str, float] = {}
    failures: tuple[str, ...] = ()

    @property
    def misses(self) -> tuple[str, ...]:
        """Every reason for which this row is not good enough."""
        unmeasured = (f"{name} was not measured" for name in self.limits.keys() - self.figures)
        # A failure explains what is missing; what was measured still counts.
        return (*(self.failures or sorted(unmeasured)), *self._exceeded())

    def _exceeded(self) -> Iterator[str]:
        for name, limit in self.limits.items():
            if name in self.figures and self.figures[name] > limit:
                yield f"{name} {self.figures[name]:.4g} exceeds {limit:g}"


def table(results: tuple[Result, ...]) -> str:
    """The results as aligned lines: figures, what they were measured against, and the verdict."""
    lines = [("scenario", "pods", "groups", "nodes", "$/h", "measured (at most)", "")]
    lines += [_line(result) for result in results]
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in {0, 5} else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, [*widths, 0], strict=True))
        ).rstrip()
        for line in lines
    )


def _line(result: Result) -> tuple[str, str, str, str, str, str, str]:
    figures = result.figures
    counts = [
        f"{figures[name]:,.0f}" if name in figures else "" for name in ("pods", "groups", "nodes")
    ]
    price = f"{figures['$/h']:,.2f}" if "$/h" in figures else ""
    shown = ", ".join(_measured(name, result) for name in _SHOWN if name in figures)
    verdict = "PASS" if result.limits else ""
    if result.misses:
        more = len(result.misses) - 1
        verdict = f"MISS: {result.misses[0]}" + (f" and {more} more" if more else "")
    return (result.name, counts[0], counts[1], counts[2], price, shown, verdict)


_SHOWN = (
    "seconds",
    "price/bound",
    "mean price/bound",
    "worst price/bound",
    "mean price/optimum",
    "worst price/optimum",
    "worst optimum/bound",
    "price/reference",
    "evictions/reference",
    "growth exponent",
    "ms a move",
    "evictions/moved pod",
    "peak MB",
)


def _measured(name: str, result: Result) -> str:
    value = result.figures[name]
    digits = 0 if name == "peak MB" else 3
    limit = f" ({result.limits[name]:.4g})" if name in result.limits else ""
    return f"{name} {value:.{digits}f}{limit}"
