"""What docs/demo.md shows of kubectl can be typed at a demo that runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import binaries

pytestmark = pytest.mark.xdist_group("controlplane")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^kubectl (.+)$", PAGE, re.MULTILINE)
_SPEED = "60"


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[str]:
    """Where the kubeconfig of a running demo is."""
    words = ["demo", "--port", "0", "--no-browser", "--speed", _SPEED]
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail.cli", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as demo:
        assert demo.stdout is not None
        said = dict(demo.stdout.readline().split() for _ in range(2))
        yield said["kubeconfig"]
        demo.terminate()
    assert demo.returncode == 0


def test_every_command_of_the_page_works(kubeconfig: str, tmp_path: Path) -> None:
    """One after the other, as somebody would type them."""
    kubectl = str(binaries.folder() / "kubectl")
    environment = {**os.environ, "KUBECONFIG": kubeconfig, "KUBECACHEDIR": str(tmp_path)}
    for line in SHOWN:
        done = subprocess.run(
            [kubectl, *shlex.split(line)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert (done.returncode, done.stderr) == (0, "") or "No resources" in done.stderr, line


def test_the_page_shows_commands() -> None:
    """The test above has something to type."""
    assert len(SHOWN) >= 10
