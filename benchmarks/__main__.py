"""How good is the engine on this machine? `python -m benchmarks` says it, row by row.

Exit code 1 when a row misses its limits, 2 for a row that does not exist.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.machine import facts
from benchmarks.results import Result, table
from benchmarks.rows import ROWS, selected
from benchmarks.runs import Trials, run

_LATEST: Final = Path(__file__).parent / "results" / "latest.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen rows, print them, and write them as JSON."""
    chosen = _parser().parse_args(arguments)
    rows = selected(chosen.only, chosen.size)
    if not rows:
        names = ", ".join(row.name for row in ROWS)
        print(f"no row or scenario {chosen.only!r}; there are {names}", file=sys.stderr)
        return 2
    machine = facts()
    results: list[Result] = []
    for row in rows:
        print(f"measuring {row.name} ...", file=sys.stderr, flush=True)
        results.append(run(row, Trials(chosen.repeat, chosen.seed)))
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(table(tuple(results)))
    _write(chosen.json, machine, results, is_complete=rows == ROWS)
    return int(any(result.misses for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="one row (fleet-5000) or scenario (fleet)")
    parser.add_argument(
        "--size", type=_positive, metavar="PODS", help="plan this many pods, no limits"
    )
    parser.add_argument(
        "--repeat", type=_positive, default=3, help="runs of each row, the best counts"
    )
    parser.add_argument("--seed", type=_positive, default=1, help="another seed is another cluster")
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"default: {_LATEST.name}")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = "must be at least 1"
        raise argparse.ArgumentTypeError(msg)
    return number


def _write(
    path: Path | None, machine: Mapping[str, str], results: list[Result], *, is_complete: bool
) -> None:
    """Write the results; a partial run does not replace the last complete one unasked."""
    target = path or (_LATEST if is_complete else None)
    if target is None:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": machine,
        "results": [msgspec.to_builtins(one) | {"misses": one.misses} for one in results],
    }
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    target.write_bytes(text + b"\n")
    print(f"\nwritten to {target}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
