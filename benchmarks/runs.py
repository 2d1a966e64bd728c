"""How is a row carried out? Each in processes of its own, on one thread."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, assert_never

import msgspec

from benchmarks import manifests
from benchmarks.results import Result
from benchmarks.rows import (
    EXPONENT,
    SECONDS,
    CommandRow,
    DayRow,
    GrowthRow,
    PlanRow,
    RestRow,
    Row,
    SmallRow,
    TinyRow,
)
from benchmarks.scenarios import SCENARIOS

_SECONDS_AT_MOST: Final = 900
_DAY_SECONDS_AT_MOST: Final = 7_200
_ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


class Trials(NamedTuple):
    """How often a row is repeated, and with which seed."""

    repeat: int
    seed: int


def run(row: Row, trials: Trials) -> Result:
    """Measure one row and hold it against its limits. A crash is a result, too."""
    match row:
        case PlanRow():
            apart = trials._replace(seed=trials.seed + row.seeds_before)
            result = measured(("plan", row.scenario, str(row.n_pods)), apart)
        case TinyRow():
            result = measured(("tiny", str(row.n_clusters)), trials)
        case SmallRow():
            result = measured((row.what, str(row.n_clusters)), trials)
        case GrowthRow():
            result = _growth(row, trials)
        case CommandRow():
            result = _command(row, trials)
        case RestRow():
            result = measured((row.what, str(row.n_pods)), trials)
        case DayRow():
            result = _day(row, trials)
        case _:
            assert_never(row)
    return msgspec.structs.replace(result, name=row.name, limits=row.limits)


def planned(scenario: str, n_pods: int, trials: Trials) -> Result:
    """Plan one scenario, of a size of one's own."""
    return measured(("plan", scenario, str(n_pods)), trials)


def measured(
    what: Sequence[str],
    trials: Trials,
    *,
    program: str = "benchmarks.measure",
    seconds_at_most: int = _SECONDS_AT_MOST,
) -> Result:
    """Have a program that prints a `Result` measure one thing, in a process of its own."""
    arguments = (*what, str(trials.repeat), str(trials.seed))
    command = (sys.executable, "-m", program, *arguments)
    done = _process(command, seconds_at_most)
    if done.returncode:
        return Result(what[0], {}, failures=(_last_line(done.stderr),))
    return msgspec.json.decode(done.stdout, type=Result)


def _day(row: DayRow, trials: Trials) -> Result:
    """Once is enough: what counts is not how long it takes."""
    what = ("day", str(row.n_pods), f"{row.hours:g}")
    return measured(what, trials._replace(repeat=1), seconds_at_most=_DAY_SECONDS_AT_MOST)


def exponent(seconds_by_size: Mapping[int, float]) -> float:
    """The slope of log(seconds) over log(size), by least squares: 1 is linear."""
    points = [(math.log(size), math.log(took)) for size, took in seconds_by_size.items()]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def _growth(row: GrowthRow, trials: Trials) -> Result:
    results = {size: measured(("plan", row.scenario, str(size)), trials) for size in row.sizes}
    failures = tuple(
        f"{size} pods: {miss}" for size, result in results.items() for miss in result.misses
    )
    figures = {
        f"{name} at {size}": result.figures[name]
        for size, result in results.items()
        for name in (SECONDS, "price/bound", "peak MB")
        if name in result.figures
    }
    seconds = {
        size: result.figures[SECONDS]
        for size, result in results.items()
        if SECONDS in result.figures
    }
    if len(seconds) == len(results):
        figures[EXPONENT] = exponent(seconds)
    return Result(row.name, figures, failures=failures)


def _command(row: CommandRow, trials: Trials) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        manifests.write(SCENARIOS[row.scenario](row.n_pods, trials.seed), path)
        command = (sys.executable, "-m", "dovetail.cli", "plan", "-f", str(path), "-o", "json")
        runs = [_timed(command) for _ in range(trials.repeat)]
    failed = next((done for _, done in runs if done.returncode), None)
    if failed is not None:
        return Result(row.name, {}, failures=(_last_line(failed.stderr),))
    figures = {SECONDS: min(seconds for seconds, _ in runs), **_planned(runs[0][1].stdout)}
    n_left = figures["unschedulable"]
    failures = (f"{n_left:.0f} pods not placed",) if n_left else ()
    return Result(row.name, figures, failures=failures)


def _timed(command: Sequence[str]) -> tuple[float, subprocess.CompletedProcess[bytes]]:
    started = time.perf_counter()
    done = _process(command)
    return time.perf_counter() - started, done


class _Stats(msgspec.Struct):
    pods: int
    groups: int


class _Printed(msgspec.Struct, rename="camel"):
    node_claims: list[msgspec.Raw]
    unschedulable: list[msgspec.Raw]
    stats: _Stats


def _planned(stdout: bytes) -> dict[str, float]:
    printed = msgspec.json.decode(stdout, type=_Printed)
    return {
        "pods": printed.stats.pods,
        "groups": printed.stats.groups,
        "nodes": len(printed.node_claims),
        "unschedulable": len(printed.unschedulable),
    }


def _process(
    command: Sequence[str], seconds_at_most: int = _SECONDS_AT_MOST
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command,
            env=os.environ | _ONE_THREAD,
            capture_output=True,
            check=False,
            timeout=seconds_at_most,
        )
    except subprocess.TimeoutExpired:
        message = f"not done after {seconds_at_most} s".encode()
        return subprocess.CompletedProcess(command, 1, stdout=b"", stderr=message)


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "ended without a word"
