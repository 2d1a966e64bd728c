"""How fast and how cheap beside Go Karpenter? `python -m benchmarks.peers` says it, row by row, and
how long the way from JSON bytes to a plan is. A whole run is kept in benchmarks/results/peers.json.

Exit code 1 when a row is short of what it should be, 2 for a row that does not exist.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.machine import facts
from benchmarks.peers import from_bytes, records
from benchmarks.peers.compared import Compared, compared
from benchmarks.peers.reference import MissingGoError, built
from benchmarks.peers.rows import ROWS, selected
from benchmarks.peers.tables import disagreements, table
from benchmarks.results import Result
from benchmarks.runs import Trials

_PODS_TO_READ: Final = 150_000
_RESULTS: Final = Path(__file__).parent.parent / "results" / "peers.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Let both answer every chosen row, and print how they compare."""
    chosen = _parser().parse_args(arguments)
    rows = selected(chosen.only)
    if not rows:
        names = ", ".join(row.name for row in ROWS)
        print(f"no row or scenario {chosen.only!r}; there are {names}", file=sys.stderr)
        return 2
    try:
        built()
    except MissingGoError as error:
        print(error, file=sys.stderr)
        return 2
    machine = facts()
    found: list[Compared] = []
    for row in rows:
        print(f"comparing {row.name} ...", file=sys.stderr, flush=True)
        trials = Trials(chosen.repeat, chosen.seed)
        found.append(compared(row, trials, timeout_seconds=chosen.timeout))
    is_whole = chosen.only is None
    read = _read(Trials(chosen.repeat, chosen.seed)) if is_whole else None
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(table(found))
    print()
    print(disagreements(found))
    if read is not None:
        print()
        print(from_bytes.told(read))
    if chosen.json or is_whole:
        records.write(chosen.json or _RESULTS, machine, found, read)
    return int(any(one.misses for one in found) or (read is not None and bool(read.misses)))


def _read(trials: Trials) -> Result:
    print(f"reading {_PODS_TO_READ:,} pods ...", file=sys.stderr, flush=True)
    return from_bytes.best(_PODS_TO_READ, trials, from_bytes.FORMS[0])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="one row (fleet-5000) or scenario (fleet)")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each, the best counts")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another cluster")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="SECONDS", help="for the Go program"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
