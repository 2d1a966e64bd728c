"""Makes recorded decisions again and compares them. `python -m tests.replay --help` says how.

`recorded.txt` holds one line for each case: its name, the digest of the decision and the digest of
the whole output. Exit code 0 if all are the same, 1 if any differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.replay.cases import Case, cases
from tests.replay.digests import Digest

RECORD: Final = Path(__file__).with_name("recorded.txt")
CASES: Final[dict[str, Case]] = {case.name: case for case in cases()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the decisions, then write or compare their digests."""
    given = _parser().parse_args(arguments)
    got = dict(_made([name for name in CASES if name.startswith(given.only)], given.jobs))
    before = recorded(given.file) if given.file.exists() else {}
    kept = {name: digest for name, digest in before.items() if name.startswith(given.only)}
    if given.record:
        others = {name: digest for name, digest in before.items() if name not in kept}
        write(given.file, others | got)
        print(f"{len(got)} cases recorded in {given.file}", file=sys.stderr)
        return 0
    lines = differences(kept, got)
    print(*lines, f"{len(got)} cases replayed: {len(lines)} differ", sep="\n")
    return int(bool(lines))


def recorded(path: Path) -> dict[str, Digest]:
    """The digests of a file, by the name of the case."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {name: Digest(decision, text) for name, decision, text in lines}


def write(path: Path, digests: Mapping[str, Digest]) -> None:
    """Write them, sorted by name."""
    lines = (f"{name} {one.decision} {one.text}\n" for name, one in sorted(digests.items()))
    path.write_text("".join(lines), encoding="utf-8")


def differences(before: Mapping[str, Digest], after: Mapping[str, Digest]) -> list[str]:
    """A line for each case that is not as it was recorded."""
    compared = ((name, before.get(name), after.get(name)) for name in sorted({*before, *after}))
    return [f"{_difference(*held)}: {name}" for name, *held in compared if held[0] != held[1]]


def _difference(before: Digest | None, after: Digest | None) -> str:
    if before is None:
        return "not recorded"
    if after is None:
        return "no such case any more"
    return "another wording" if before.decision == after.decision else "another decision"


def _made(names: list[str], jobs: int) -> Iterator[tuple[str, Digest]]:
    with multiprocessing.Pool(jobs) as workers:
        for n_done, found in enumerate(workers.imap_unordered(_digest, names), start=1):
            yield found
            if n_done % 100 == 0:
                print(f"{n_done} of {len(names)}", file=sys.stderr, flush=True)


def _digest(name: str) -> tuple[str, Digest]:
    return name, CASES[name].make()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.replay", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the digests, compare nothing")
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose name begins so")
    parser.add_argument("--file", type=Path, default=RECORD)
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    return parser


if __name__ == "__main__":
    sys.exit(main())
