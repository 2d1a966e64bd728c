"""Runs `dovetail demo` in a process of its own, for tests that type kubectl at it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONPATH = f"{ROOT / 'src'}{os.pathsep}{ROOT}"


@contextmanager
def running_demo(*flags: str) -> Iterator[str]:
    """The path of the demo's kubeconfig, while the demo runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail.cli", "demo", "--port", "0", "--no-browser", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        cwd=ROOT,
    ) as demo:
        assert demo.stdout is not None
        announced = dict(demo.stdout.readline().split() for _ in range(2))
        try:
            yield announced["kubeconfig"]
        finally:
            demo.terminate()
    assert demo.returncode == 0
