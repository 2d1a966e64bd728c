"""Starts the EC2 for tests in the environment of moto, and ends it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane import binaries
from tests.ec2.control import Ec2Control

ROOT = Path(__file__).parents[2]


@contextmanager
def running() -> Iterator[Ec2Control]:
    """An EC2 on a free port of 127.0.0.1 for as long as the block lasts."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
        "PYTHONPATH": str(ROOT),
        "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",  # the extension has images of its own
    }
    process = subprocess.Popen(
        [binaries.moto(), "-m", "tests.ec2.extension"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = process.stdout.readline().strip() if process.stdout else ""
        if not port:
            msg = f"the EC2 for tests did not start: exit code {process.wait()}"
            raise AssertionError(msg)
        yield Ec2Control(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
