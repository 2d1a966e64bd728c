"""A controller as the chart installs it, with exactly its rights, and a stage for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.charts import controller_kubeconfig
from tests.controlplane.plane import ControlPlane
from tests.e2e.live import Running, controller
from tests.e2e.stage import Stage, gone, raised

HOME = "dovetail-e2e"


@pytest.fixture(scope="session")
def rights(plane: ControlPlane) -> Iterator[Path]:
    """How an installed controller reaches the API."""
    with controller_kubeconfig(plane, namespace=HOME, kubelets=True) as path:
        yield path


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """What a module's controller is told beyond the usual."""
    return ()


@pytest.fixture(scope="module")
def running(plane: ControlPlane, rights: Path, flags: tuple[str, ...]) -> Iterator[Running]:
    """One controller for all tests of a module. It holds no lease: on a machine that stands still
    for ten seconds it would lose it and end.
    """
    alone = ("--disable-leader-election", "true")
    with controller(plane, *alone, *flags, kubeconfig=rights, home=HOME) as started:
        yield started
        assert started.stop() == 0


@pytest.fixture(scope="module")
def stages(running: Running) -> Iterator[list[Stage]]:
    """Those that the module's tests have used; in the end nothing is left of any of them."""
    used: list[Stage] = []
    yield used
    assert running.process.poll() is None
    gone(used)


@pytest.fixture
def stage(
    plane: ControlPlane, stages: list[Stage], request: pytest.FixtureRequest
) -> Iterator[Stage]:
    """What belongs to this test alone, while the module's controller runs. What it leaves behind
    goes while the next tests run.
    """
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40].strip("-")
    held = raised(plane, name)
    stages.append(held)
    yield held
    held.strike()
