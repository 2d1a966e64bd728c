"""Judge many generated clusters and worlds. `python tests/fuzz/run.py --help` says how.

Seeds are numbers, and what is done is remembered below `.fuzz/`: a run that was stopped goes on
where it was. `--show SEED` runs one of them again and prints the least that still goes wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.fuzz.parts import BY_NAME, PARTS, Part  # noqa: E402  the path above comes first
from tests.fuzz.progress import Progress, code_mark  # noqa: E402  the path above comes first
from tests.fuzz.show import show  # noqa: E402  the path above comes first

JUDGED = (ROOT / "src", *(ROOT / "tests" / name for name in ("fuzz", "kills", "laws", "oracle")))
KEPT = ROOT / ".fuzz"
TELLS_EVERY_SECONDS = 15.0
INTERRUPTED = 130


def judged(part: Part, seed: int) -> tuple[int, list[str]]:
    """A seed and what is wrong with it; a crash is wrong too."""
    try:
        return seed, part.wrong(seed)
    except Exception:  # noqa: BLE001  a fuzz run reports every crash and goes on
        lines = traceback.format_exc().strip().splitlines()
        return seed, [" | ".join(line.strip() for line in lines[-5:])]


def run(part: Part, seeds: range, jobs: int, kept: Path) -> dict[int, str]:
    """Judge all seeds that are not done yet; returns what is wrong with which."""
    with Progress(kept / part.name) as progress:
        left = [seed for seed in seeds if seed not in progress.found]
        known = f", {len(seeds) - len(left)} of them done before" if len(left) < len(seeds) else ""
        _tell(f"{part.name}: {part.says}; {len(seeds)} seeds from {seeds.start}{known}")
        told = started = time.monotonic()
        for n_done, (seed, found) in enumerate(_judged(part, left, jobs), start=1):
            progress.note(seed, found)
            if found:
                _tell(f"{part.name} {seed}: {progress.found[seed]}")
            now = time.monotonic()
            if now - told > TELLS_EVERY_SECONDS or n_done == len(left):
                told, rate = now, n_done / (now - started)
                n_wrong, minutes = len(progress.wrong(seeds)), (len(left) - n_done) / rate / 60
                _tell(
                    f"{part.name}: {n_done} of {len(left)}, {n_wrong} wrong, {rate:.1f}/s, "
                    f"{minutes:.0f} min left"
                )
        return progress.wrong(seeds)


def _judged(part: Part, seeds: list[int], jobs: int) -> Iterator[tuple[int, list[str]]]:
    if jobs == 1:
        yield from (judged(part, seed) for seed in seeds)
        return
    with multiprocessing.Pool(jobs, initializer=_heed_no_interrupt) as workers:
        yield from workers.imap_unordered(partial(judged, part), seeds, chunksize=part.at_once)


def _heed_no_interrupt() -> None:
    """Workers are ended by whoever started them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def report(found: Iterable[tuple[Part, range, dict[int, str]]]) -> int:
    """Print what was judged and what is wrong; 1 if anything is."""
    is_wrong = False
    for part, seeds, wrong in found:
        print(f"{part.name}: {len(seeds)} judged, {len(wrong)} wrong")
        for seed, said in wrong.items():
            is_wrong = True
            print(f"  seed {seed}: {said}")
            print(f"    again: python tests/fuzz/run.py --only {part.name} --show {seed}")
    return int(is_wrong)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Judge many generated clusters and worlds.")
    names = [part.name for part in PARTS]
    parser.add_argument("--only", choices=names, action="append", help="one part; may be repeated")
    parser.add_argument("--clusters", type=int, metavar="N", help="how many; each part has its own")
    parser.add_argument("--start", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--show", type=int, metavar="SEED", help="with --only: one seed, shrunk")
    parser.add_argument("--match", default="", help="with --show: the complaint to shrink for")
    parser.add_argument("--keep", type=Path, default=KEPT, metavar="DIR", help="where progress is")
    return parser.parse_args()


def main() -> int:
    """Read the arguments and run."""
    given = _given()
    parts = [BY_NAME[name] for name in given.only or BY_NAME]
    if given.show is not None:
        show(parts[0].name, given.show, given.match)
        return 0
    kept = given.keep / code_mark(JUDGED)
    found = []
    try:
        for part in parts:
            n_seeds = part.n_seeds if given.clusters is None else given.clusters
            seeds = range(given.start, given.start + n_seeds)
            found.append((part, seeds, run(part, seeds, given.jobs, kept)))
    except KeyboardInterrupt:
        _tell("stopped; the same command goes on from here")
        return INTERRUPTED
    return report(found)


if __name__ == "__main__":
    sys.exit(main())
