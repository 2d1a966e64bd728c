"""dovetail simulate --ray: the same on a Ray cluster, and what is said without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.cli import main
from tests.controlplane import binaries
from tests.unit.sim.scenario.files import SMALL, written

ROOT = Path(__file__).parents[2]


@pytest.fixture
def day(tmp_path: Path) -> str:
    """A scenario that is over in a moment."""
    return written(tmp_path, SMALL)


def on_ray(*argv: str) -> subprocess.CompletedProcess[str]:
    """The command in a Python that has Ray, with a cluster of two cpus that ends with it."""
    paths = (binaries.ray(), ROOT / "src")
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [sys.executable, "-m", "dovetail.cli", "simulate", *argv, "--workers", "2"],
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_ray_cluster_comes_to_the_same(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a simulation runs, its seed decides."""
    done = on_ray(day, "--seeds", "1-3", "--ray", "local", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert main(["simulate", day, "--seeds", "1-3", "--workers", "1", "-o", "json"]) == 0
    assert json.loads(done.stdout) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:1", "127.0.0.1:99999"])
def test_an_address_without_a_ray_cluster_is_named(address: str, day: str) -> None:
    """With what was expected instead."""
    done = on_ray(day, "--ray", address)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--ray {address}: no Ray cluster there" in done.stderr
    assert "expected HOST:PORT or local" in done.stderr


def test_without_ray_the_message_says_how_to_get_it(
    day: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no dependency of ours."""
    assert main(["simulate", day, "--ray", "local"]) == 2
    assert "pip install 'dovetail[ray]'" in capsys.readouterr().err
