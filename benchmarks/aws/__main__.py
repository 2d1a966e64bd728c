"""How good is the AWS provider on this machine? `python -m benchmarks.aws` says it, row by row.

Each row runs in a process of its own. Exit code 1 when a row misses its limits.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.machine import facts
from benchmarks.results import Result

_LATEST: Final = Path(__file__).parent.parent / "results" / "aws.json"


def _node_classes() -> Result:
    from benchmarks.aws.node_classes import measure_node_classes

    return measure_node_classes()


def _launches() -> Result:
    from benchmarks.aws.launches import measure_launches

    return measure_launches()


def _listing() -> Result:
    from benchmarks.aws.listing import measure_listing

    return measure_listing()


def _resting() -> Result:
    from benchmarks.aws.resting import measure_rest

    return measure_rest()


def _memory() -> Result:
    from benchmarks.aws.memory import measure_memory

    return measure_memory()


ROWS: Final[Mapping[str, Callable[[], Result]]] = {
    "node-classes": _node_classes,
    "launches": _launches,
    "listing": _listing,
    "resting": _resting,
    "memory": _memory,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen rows, print them, and write them as JSON once all were measured."""
    chosen = _parser().parse_args(arguments)
    if chosen.row:
        sys.stdout.buffer.write(msgspec.json.encode(ROWS[chosen.row]()))
        return 0
    machine = facts()
    results = [_apart(name) for name in chosen.only or ROWS]
    print("\n".join(f"{name + ':':13}{value}" for name, value in machine.items()))
    print()
    print(table(results))
    target = chosen.json or (None if chosen.only else _LATEST)
    if target is not None:
        _write(target, machine, results)
    return int(any(result.misses for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aws", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(ROWS), help="one row")
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"default: {_LATEST.name}")
    parser.add_argument("--row", choices=tuple(ROWS), help=argparse.SUPPRESS)
    return parser


def _apart(name: str) -> Result:
    """A row, measured in a process of its own."""
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks.aws", "--row", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return Result(name, {}, failures=(f"exit code {done.returncode}",))
    return msgspec.json.decode(done.stdout, type=Result)


def table(results: Sequence[Result]) -> str:
    """Every figure on a line, with its limit, and after each row whether it is good enough."""
    lines: list[str] = []
    for result in results:
        lines.append(result.name)
        for name, value in result.figures.items():
            limit = result.limits.get(name)
            asked = f"  (at most {limit:g})" if limit is not None else ""
            lines.append(f"  {name:32} {value:>10,.4g}{asked}")
        verdict = "PASS" if result.limits else "no limit"
        lines.append("  " + ("MISS: " + "; ".join(result.misses) if result.misses else verdict))
    return "\n".join(lines)


def _write(target: Path, machine: Mapping[str, str], results: Sequence[Result]) -> None:
    document = {
        "machine": machine,
        "results": [msgspec.to_builtins(one) | {"misses": one.misses} for one in results],
    }
    target.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    print(f"\nwritten to {target}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
