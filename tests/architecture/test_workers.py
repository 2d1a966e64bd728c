"""Tests of one group run on one worker: they share a control plane, and would start two."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

GROUPED = """
import os, pathlib, pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(8))
def test_where(number):
    pathlib.Path(__file__).with_name(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


def test_a_group_of_tests_stays_on_one_worker(tmp_path: Path) -> None:
    """Versions of pytest and pytest-xdist that do not agree on it ignore groups in silence."""
    (tmp_path / "test_grouped.py").write_text(GROUPED, encoding="utf-8")
    options = ("-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider")
    finished = run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    assert len(list(tmp_path.glob("gw*"))) == 1
