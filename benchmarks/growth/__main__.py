"""How do time and memory grow? `python -m benchmarks.growth` measures it, and draws a plot.

Exit code 1 when a size could not be measured or left pods without a place.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.growth.axes import AXES, Axis, Grown, grown, measured_at
from benchmarks.growth.plots import drawn
from benchmarks.growth.tables import document, table
from benchmarks.machine import facts
from benchmarks.results import Result
from benchmarks.runs import Trials

_ROOT: Final = Path(__file__).parents[2]
_JSON: Final = _ROOT / "benchmarks" / "results" / "growth.json"
_SVG: Final = _ROOT / "docs" / "growth.svg"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen axes, print them, and write them as JSON and SVG."""
    chosen = _parser().parse_args(arguments)
    axes = [axis for axis in AXES if chosen.only in {None, axis.name}]
    machine = facts()
    trials = Trials(1 if chosen.quick else chosen.repeat, chosen.seed)
    series = [_measured(axis, axis.quick if chosen.quick else axis.sizes, trials) for axis in axes]
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(table(series))
    failed = any(one.failures for one in series)
    is_whole = len(axes) == len(AXES) and not chosen.quick and not failed
    _write(chosen.json or (_JSON if is_whole else None), document(series, machine))
    if not failed:
        picture = drawn(series, _note(machine)).encode()
        _write(chosen.svg or (_SVG if is_whole else None), picture)
    return int(failed)


def _measured(axis: Axis, sizes: Sequence[int], trials: Trials) -> Grown:
    results: dict[int, Result] = {}
    for size in sizes:
        print(f"measuring {size:,} {axis.name} ...", file=sys.stderr, flush=True)
        results[size] = measured_at(axis, size, trials)
    return grown(axis, results)


def _note(machine: Mapping[str, str]) -> str:
    return f"commit {machine['commit']}, {machine['date']}, {machine['cpu']}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--only", choices=[axis.name for axis in AXES], help="one axis")
    parser.add_argument("--quick", action="store_true", help="few small sizes, once each")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each size, the best counts")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another cluster")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help=f"default: {_JSON.name}, if whole"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help=f"default: {_SVG.name}, if whole")
    return parser


def _write(path: Path | None, content: bytes) -> None:
    """A partial run replaces the last whole one only where a file is named."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"\nwritten to {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
