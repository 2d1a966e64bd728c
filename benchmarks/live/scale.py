"""What does the controller cost while nothing happens? A big cluster, served from another process.

Nodes, claims and pods are there and at rest. Measured: the time from start to ready, the memory
held and the most that was held, and how busy a core is kept over a minute of rest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.live import programs

_REST_SECONDS: Final = 60.0
_SETTLE_SECONDS: Final = 45.0  # after start-up everything is looked at once


class Scale(msgspec.Struct, frozen=True):
    """What a cluster of that size costs at rest."""

    n_nodes: int
    n_pods: int
    ready_seconds: float
    rss_mb: float
    peak_mb: float
    idle_cpu_share: float


def measure(n_nodes: int, n_pods: int, folder: Path) -> Scale:
    """Start the controller on a cluster of that size and let it rest."""
    with _served(n_nodes, n_pods, folder) as kubeconfig:
        begun = time.monotonic()
        with programs.dovetail(kubeconfig, folder) as program:
            ready_seconds = time.monotonic() - begun
            time.sleep(_SETTLE_SECONDS)
            busy, since = program.cpu_seconds(), time.monotonic()
            time.sleep(_REST_SECONDS)
            share = (program.cpu_seconds() - busy) / (time.monotonic() - since)
            return Scale(n_nodes, n_pods, ready_seconds, program.rss_mb(), program.peak_mb(), share)


@contextmanager
def _served(n_nodes: int, n_pods: int, folder: Path) -> Iterator[Path]:
    kubeconfig = folder / f"big-{n_nodes}.kubeconfig"
    command = [
        *(sys.executable, "-m", "benchmarks.big_cluster"),
        *("--nodes", str(n_nodes), "--pods", str(n_pods), "--kubeconfig", str(kubeconfig)),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        if not process.stdout.readline():
            msg = f"the API of {n_nodes} nodes did not start"
            raise RuntimeError(msg)
        yield kubeconfig
    finally:
        process.kill()
        process.wait()
