"""How do figures get into the documentation? From the JSON of a run, between two marks.

`python -m benchmarks.written` puts what `make bench-peers`, `make bench-binding` and `make
bench-growth` have kept into docs/benchmarks.md. A test sees to it that the two say the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.peers.binding_verdicts import Judged
from benchmarks.peers.records import Kept, Run
from benchmarks.peers.rows import ROWS, PeerRow
from benchmarks.results import Result
from benchmarks.rows import PEAK_MB, RATIO, SECONDS

_ROOT: Final = Path(__file__).parent.parent
DOCUMENT: Final = _ROOT / "docs" / "benchmarks.md"
_RESULTS: Final = Path(__file__).parent / "results"
_FACTS: Final = ("date", "commit", "cpu", "cores", "python", "numpy", "highspy", "load before")


class _Judgements(msgspec.Struct, frozen=True):
    machine: Mapping[str, str]
    judged: tuple[Judged, ...]


class _Axis(msgspec.Struct, frozen=True):
    name: str
    beside: str
    points: tuple[dict[str, float], ...]
    laws: Mapping[str, Mapping[str, float]]


class _Growth(msgspec.Struct, frozen=True):
    machine: Mapping[str, str]
    axes: tuple[_Axis, ...]


def peers(content: bytes) -> str:
    """The comparison with the Go program: its table, what the two do not agree on, and how long
    the way from JSON bytes is.
    """
    run = msgspec.json.decode(content, type=Run)
    asked = {row.name: row for row in ROWS}
    rows = [_peer(one, asked[one.name]) for one in run.rows if one.name in asked]
    head = (
        "scenario", "Go s", "Dovetail s", "times as fast", "Go $/h", "Dovetail $/h",
        "of Go's price", "of the bound", "Go MB", "Dovetail MB", "",
    )  # fmt: skip
    return "\n\n".join(
        (
            _measured_on(run.machine),
            _table(head, rows),
            _cases(run.rows),
            "" if run.from_bytes is None else _from_bytes(run.from_bytes),
        )
    ).rstrip()


def _peer(one: Kept, row: PeerRow) -> tuple[str, ...]:
    ours, theirs = one.dovetail, one.go
    return (
        one.name,
        one.go_error or f"{theirs['all']:.2f}",
        f"{ours[SECONDS]:.3f}",
        _beside(one.times_as_fast, row.speed, 0),
        "" if one.go_error else f"{theirs['$/h']:,.2f}",
        f"{ours['$/h']:,.2f}",
        _beside(one.of_the_price, row.price, 3),
        _beside(ours.get(RATIO), row.bound, 3),
        "" if one.go_error else f"{theirs['peak MB']:.0f}",
        f"{ours[PEAK_MB]:.0f}",
        "; ".join(f"**misses**: {miss}" for miss in one.misses),
    )


def _cases(rows: Iterable[Kept]) -> str:
    cases = [
        f"- {row.name}: {case.what} ({case.n_pods:,} pods): {case.reason}. Right: {case.right}."
        for row in rows
        for case in row.disagreements
    ]
    said = cases or ["- nowhere"]
    return "\n".join(("Where the two disagree on what can be placed:\n", *said))


def _from_bytes(result: Result) -> str:
    figures, limits = result.figures, result.limits
    return (
        f"From {figures['MB of JSON']:,.0f} MB of JSON, as kubectl prints them, to a plan for "
        f"{figures['pods']:,.0f} pods: {figures[SECONDS]:.2f} s ({limits[SECONDS]:g}), "
        f"{figures[PEAK_MB]:,.0f} MB ({limits[PEAK_MB]:,.0f})."
    )


def binding(content: bytes) -> str:
    """What kube-scheduler made of plans."""
    told = msgspec.json.decode(content, type=_Judgements)
    head = (
        "scenario", "scoring", "nominated", "bound at once", "as planned",
        "left after another round", "paper $/h", "realised $/h",
    )  # fmt: skip
    rows = [
        (
            one.scenario,
            str(one.scoring),
            str(one.telling),
            f"{one.share_at_once:.1%}",
            f"{one.n_as_planned / one.n_pods:.1%}",
            str(one.n_left_after_round_2),
            f"{one.paper:,.2f}",
            f"{one.realised:,.2f}",
        )
        for one in told.judged
    ]
    return f"{_measured_on(told.machine)}\n\n{_table(head, rows, n_words=3)}"


def growth(content: bytes) -> str:
    """How time and memory grow, by exponents."""
    told = msgspec.json.decode(content, type=_Growth)
    head = (
        "over",
        "sizes",
        "seconds",
        "MB",
        "exponent of time",
        "upper half",
        "exponent of memory",
    )
    rows = [_axis(one) for one in told.axes]
    picture = "![Time and memory over pods, nodes and instance types](growth.svg)"
    return "\n\n".join((picture, _measured_on(told.machine), _table(head, rows, n_words=2)))


def _axis(one: _Axis) -> tuple[str, ...]:
    first, last = one.points[0], one.points[-1]
    time, memory = one.laws[SECONDS], one.laws["MB above idle"]
    return (
        f"{one.name} ({one.beside})",
        f"{first['size']:,.0f} to {last['size']:,.0f}",
        f"{first[SECONDS]:.2f} to {last[SECONDS]:.2f}",
        f"{first[PEAK_MB]:.0f} to {last[PEAK_MB]:.0f}",
        f"{time['exponent']:.2f}",
        f"{time['exponent of the upper half']:.2f}",
        f"{memory['exponent']:.2f}",
    )


SECTIONS: Final[Mapping[str, Callable[[bytes], str]]] = {
    "peers": peers,
    "binding": binding,
    "growth": growth,
}


def updated(text: str, content_by_name: Mapping[str, bytes]) -> str:
    """The document with the figures of these runs between their marks."""
    for name, content in content_by_name.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        if not after:
            msg = f"{DOCUMENT.name} has no place for {name}: {start.strip()} and {end.strip()}"
            raise ValueError(msg)
        text = f"{before}{start}{SECTIONS[name](content)}\n{end}{after}"
    return text


def kept() -> dict[str, bytes]:
    """What runs have kept, by name."""
    paths = {name: _RESULTS / f"{name}.json" for name in SECTIONS}
    return {name: path.read_bytes() for name, path in paths.items() if path.exists()}


def _measured_on(machine: Mapping[str, str]) -> str:
    return f"Measured on {', '.join(f'{name} {machine[name]}' for name in _FACTS)}."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], n_words: int = 1) -> str:
    rules = ["---" if column < n_words else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *rows))


def _beside(value: float | None, asked: float | None, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:,.{digits}f}" + (f" ({asked:g})" if asked is not None else "")


def main() -> int:
    """Write the document anew."""
    DOCUMENT.write_text(updated(DOCUMENT.read_text(encoding="utf-8"), kept()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
