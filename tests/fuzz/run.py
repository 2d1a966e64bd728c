"""Judge the plans of many generated clusters. `python tests/fuzz/run.py --help` says how.

Seeds are numbers, so a run can be taken up where it stopped: `--start` with the number that was
printed last.
`--show SEED` shrinks one failing cluster and prints what is left of it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from dovetail.decide import decide  # noqa: E402  the path above comes first
from dovetail.model.snapshot import Snapshot  # noqa: E402  the path above comes first
from tests.fuzz.describe import describe, described  # noqa: E402  the path above comes first
from tests.fuzz.judge import snapshot_of, wrong, wrong_when_shuffled, wrong_with  # noqa: E402  the path above comes first
from tests.fuzz.shrink import shrink  # noqa: E402  the path above comes first
from tests.laws.strategies import NOW  # noqa: E402  the path above comes first

CHUNK = 16


def judged(seed: int) -> tuple[int, list[str]]:
    """A seed and what is wrong with its plan; a crash is wrong too."""
    try:
        return seed, wrong(seed)
    except Exception:  # noqa: BLE001  a fuzz run reports every crash and goes on
        return seed, [_last_frames()]


def _last_frames() -> str:
    lines = traceback.format_exc().strip().splitlines()
    return " | ".join(line.strip() for line in lines[-5:])


def complaints(snapshot: Snapshot, seed: int) -> list[str]:
    """What is wrong with a cluster, shuffled input included; a crash is wrong too."""
    try:
        return wrong_with(snapshot) or wrong_when_shuffled(snapshot, seed)
    except Exception:  # noqa: BLE001  a crash is as wrong as a bad plan
        return [_last_frames()]


def symptom(complaint: str) -> str:
    """A complaint without its names and numbers."""
    return re.sub(r"\S*\d\S*", "#", complaint)


def show(seed: int, match: str = "") -> None:
    """Print the least of this seed's cluster that still goes wrong in the same way."""
    first = [one for one in complaints(snapshot_of(seed), seed) if match in one]
    if not first:
        print(f"seed {seed}: nothing is wrong")
        return
    wanted = symptom(first[0])
    least = shrink(
        snapshot_of(seed),
        lambda smaller: any(symptom(one) == wanted for one in complaints(smaller, seed)),
    )
    print(f"seed {seed}, shrunk:\n{describe(least)}")
    print("wrong:", *complaints(least, seed), sep="\n  ")
    print(f"plan:\n{described(decide(least, NOW))}" if "Error" not in wanted else "no plan")


def run(seeds: range, jobs: int) -> int:
    """Judge all seeds; returns how many went wrong."""
    started, n_done, n_wrong = time.monotonic(), 0, 0
    with multiprocessing.Pool(jobs) as workers:
        for seed, found in _in_order(workers, seeds, jobs):
            n_done += 1
            if found:
                n_wrong += 1
                print(f"seed {seed}: {'; '.join(found[:3])}", flush=True)
            if n_done % 500 == 0:
                rate = n_done / (time.monotonic() - started)
                print(
                    f"{n_done} of {len(seeds)} clusters, {n_wrong} wrong, {rate:.0f}/s, "
                    f"go on with --start {seed + 1}",
                    file=sys.stderr,
                    flush=True,
                )
    print(f"{n_done} clusters, {n_wrong} wrong")
    return n_wrong


def _in_order(
    workers: multiprocessing.pool.Pool, seeds: range, jobs: int
) -> Iterable[tuple[int, list[str]]]:
    if jobs == 1:
        return map(judged, seeds)
    return workers.imap(judged, seeds, chunksize=CHUNK)


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description="Judge the plans of many generated clusters.")
    parser.add_argument("--clusters", type=int, default=20000)
    parser.add_argument("--start", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--show", type=int, metavar="SEED", help="shrink one failing cluster")
    parser.add_argument("--match", default="", help="with --show: the complaint to shrink for")
    given = parser.parse_args()
    if given.show is not None:
        show(given.show, given.match)
        return 0
    return 1 if run(range(given.start, given.start + given.clusters), given.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
