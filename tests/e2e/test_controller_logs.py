"""Does a test that fails report the logs of its controllers?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# With a server that does not answer: the controller logs that, and goes on.
FAILING = """
import json
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.controller_logs import recorded
from tests.e2e.live import controller, until

FOLDER = Path(__file__).parent
SERVER = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def plane():
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": SERVER}}],
        "contexts": [{"name": "x", "context": {"cluster": "x"}}],
    }
    (FOLDER / "kubeconfig").write_text(json.dumps(config))
    return ControlPlane(FOLDER, 1)


@pytest.fixture(scope="module")
def shared(plane):
    with controller(plane, waits=False) as running:
        until(running.lines, "it logs")
        yield running


def test_a_fails_within_a_block_of_its_own(plane):
    with controller(plane, waits=False) as running:
        until(running.lines, "it logs")
        raise AssertionError


def test_b_has_no_controller():
    raise AssertionError


def test_c_fails_before_its_controller_is_ready(plane):
    with controller(plane, "--no-such-flag"):
        pass


def test_d_fails_while_a_controller_of_the_module_runs(shared):
    raise AssertionError


def test_e_fails_with_a_long_log():
    with recorded("long", lambda: "\\n".join(f"line {number}" for number in range(1000))):
        raise AssertionError


def test_f_passes(shared):
    assert shared.lines()


@pytest.fixture
def ending():
    with recorded("ending", lambda: "line of ending"):
        yield
        raise AssertionError


def test_g_fails_in_its_teardown(ending):
    pass
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pytest reports of each test that fails, by its name."""
    path = tmp_path_factory.mktemp("failing") / "test_failing.py"
    path.write_text(FAILING)
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.e2e.conftest", "--tb=short"]
    options = ["-o", "addopts=--import-mode=importlib", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *words, *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1, done.stdout + done.stderr
    parts = re.split(
        r"^_+ (?:ERROR at \w+ of )?(test_[a-z])_\w+ _+$", done.stdout, flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", ["test_a", "test_d"])
def test_the_log_of_a_running_controller_is_reported(reports: dict[str, str], name: str) -> None:
    """Whether the test itself has started it or its module has."""
    assert len(re.findall(r"^-+ log of controller-\d+ -+$", reports[name], flags=re.MULTILINE)) == 1
    assert '"message":' in reports[name]


def test_the_log_of_a_controller_that_does_not_start_is_reported(reports: dict[str, str]) -> None:
    """It says why."""
    _, _, log = reports["test_c"].rpartition("log of controller-")
    assert "--no-such-flag" in log


def test_a_test_without_a_controller_reports_no_log(reports: dict[str, str]) -> None:
    """Nor the log of a controller that ended before it began."""
    assert "log of" not in reports["test_b"]


def test_a_long_log_is_cut(reports: dict[str, str]) -> None:
    """The last lines are kept, and how many are left out is told."""
    lines = reports["test_e"].partition("log of long")[2].splitlines()[1:]
    assert lines[0] == "(700 lines before these)"
    assert lines[1:301] == [f"line {number}" for number in range(700, 1000)]


def test_a_failure_in_a_teardown_reports_the_log_too(reports: dict[str, str]) -> None:
    """And tests that pass report nothing."""
    assert "line of ending" in reports["test_g"]
    assert "test_f" not in reports
