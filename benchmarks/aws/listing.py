"""For how long is the event loop held up while thousands of instances are listed?"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Final, NamedTuple

from benchmarks.aws.ground import account, cloud_of, launch
from benchmarks.results import Result
from benchmarks.rows import SECONDS
from tests.ec2.provider.cloud import AwsCloud
from tests.ec2.setting import Aws

N_INSTANCES: Final = 5000
N_RUNS: Final = 3
HELD_UP_MS: Final = "held up, ms of CPU"
_LIMIT_MS: Final = 50.0
_TICK_SECONDS: Final = 0.001


class ListRun(NamedTuple):
    """One list; spans in seconds."""

    n_listed: int
    held_up: float
    held_up_cpu: float
    seconds: float
    cpu_seconds: float


class Ticker:
    """Asks for the event loop every millisecond, and keeps how much later it came.

    By the clock, which counts what other programs took of the machine, and by the CPU time of this
    process, all threads of it: on a machine of its own the loop waits for no more than that.
    """

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.cpu_gaps: list[float] = []

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            began, cpu = time.perf_counter(), time.process_time()
            await asyncio.sleep(_TICK_SECONDS)
            self.gaps.append(time.perf_counter() - began - _TICK_SECONDS)
            self.cpu_gaps.append(time.process_time() - cpu)


def measure_listing(n_instances: int = N_INSTANCES, repeat: int = N_RUNS) -> Result:
    """List instances while somebody else wants the loop; the best of some runs."""
    with account() as aws:
        return asyncio.run(_measured(n_instances, repeat, aws))


async def _measured(n_instances: int, repeat: int, aws: Aws) -> Result:
    async with cloud_of(aws) as cloud:
        launch(aws, n_instances)
        gc.collect()
        gc.freeze()  # as the controller does once it knows the cluster
        runs = [await _run(cloud) for _ in range(repeat)]
    best = min(runs, key=lambda run: run.held_up_cpu)
    figures = {
        "instances": best.n_listed,
        HELD_UP_MS: 1e3 * best.held_up_cpu,
        "held up in the worst run, CPU ms": 1e3 * max(run.held_up_cpu for run in runs),
        "held up, ms by the clock": 1e3 * min(run.held_up for run in runs),
        SECONDS: best.seconds,
        "CPU seconds": best.cpu_seconds,
    }
    failures = (
        () if best.n_listed == n_instances else (f"{best.n_listed} of {n_instances} are listed",)
    )
    return Result(f"list-{n_instances}", figures, {HELD_UP_MS: _LIMIT_MS}, failures)


async def _run(cloud: AwsCloud) -> ListRun:
    ticker = Ticker()
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(ticker.run())
        started, cpu = time.perf_counter(), time.process_time()
        listed = await cloud.provider.list()
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        await asyncio.sleep(2 * _TICK_SECONDS)
        ticking.cancel()
    return ListRun(len(listed), max(ticker.gaps), max(ticker.cpu_gaps), seconds, cpu_seconds)
