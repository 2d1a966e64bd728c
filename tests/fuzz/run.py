"""Judge the plans of many generated clusters. `python tests/fuzz/run.py --help` says how.

Seeds are numbers, so a run can be taken up where it stopped: `--start` with the number that was
printed last.
`--show SEED` shrinks one failing cluster and prints what is left of it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from dovetail.model.snapshot import Snapshot  # noqa: E402
from tests.fuzz.describe import describe  # noqa: E402  the path above comes first
from tests.fuzz.judge import snapshot_of, wrong, wrong_with  # noqa: E402
from tests.fuzz.shrink import shrink  # noqa: E402

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


def goes_wrong(snapshot: Snapshot) -> bool:
    """Whether this cluster's plan is wrong, or there is none."""
    try:
        return bool(wrong_with(snapshot))
    except Exception:  # noqa: BLE001  a crash is as wrong as a bad plan
        return True


def show(seed: int) -> None:
    """Print the least of this seed's cluster that still goes wrong."""
    least = shrink(snapshot_of(seed), goes_wrong)
    print(f"seed {seed}, shrunk:\n{describe(least)}")
    try:
        print("wrong:", *wrong_with(least), sep="\n  ")
    except Exception:  # noqa: BLE001  shown, not hidden
        print(traceback.format_exc())


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
    given = parser.parse_args()
    if given.show is not None:
        show(given.show)
        return 0
    return 1 if run(range(given.start, given.start + given.clusters), given.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
