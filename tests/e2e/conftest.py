"""A controller as the chart installs it, with exactly its rights, and a stage for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.charts import controller_kubeconfig
from tests.controlplane.plane import ControlPlane
from tests.e2e.controller_logs import (  # noqa: F401  # hooks
    pytest_runtest_makereport,
    pytest_runtest_setup,
)
from tests.e2e.live import Running, controller
from tests.e2e.stage import Stage, all_gone, staged

HOME = "dovetail-e2e"


# On a machine that stands still for ten seconds it would lose its lease and end.
ALONE = ("--disable-leader-election", "true")


@pytest.fixture(scope="session")
def rights(plane: ControlPlane) -> Iterator[Path]:
    """How an installed controller reaches the API. In the end nothing is left of any test."""
    with controller_kubeconfig(plane, namespace=HOME, kubelets=True) as path:
        yield path
        with controller(plane, *ALONE, kubeconfig=path, home=HOME):
            all_gone()


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """What a module's controller is told beyond the usual."""
    return ()


@pytest.fixture(scope="module")
def running(plane: ControlPlane, rights: Path, flags: tuple[str, ...]) -> Iterator[Running]:
    """One controller for all tests of a module."""
    with controller(plane, *ALONE, *flags, kubeconfig=rights, home=HOME) as started:
        yield started
        assert started.stop() == 0


@pytest.fixture
def stage(plane: ControlPlane, running: Running, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """What belongs to this test alone, while the module's controller runs."""
    assert running.process.poll() is None
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40].strip("-")
    with staged(plane, name) as held:
        yield held
