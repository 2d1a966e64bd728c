"""What every test relies on: chance that repeats itself, and no deadline by the wall clock."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from dovetail.api.crds import render
from dovetail.cloud.registry import extensions
from tests.controlplane.plane import ControlPlane, running

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Other examples on each run, for a long search on one's own machine.
settings.register_profile("roaming", deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as they like: a test worker names a width, but there is no terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real etcd, kube-apiserver, kube-scheduler and kube-controller-manager with our CRDs; one
    for all tests of a run, which therefore belong to one group of workers ("controlplane").
    """
    with running() as started:
        started.kubectl("apply", "--server-side", "-f", "-", given=render(extensions()))
        started.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        yield started
