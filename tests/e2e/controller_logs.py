"""Where is the log of each controller that ran during a test? A test that fails reports it.

The hooks are for a conftest. Whatever starts a controller does so within `recorded`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

N_LINES = 300

_running: dict[str, Callable[[], str]] = {}  # how the log is read, by the controller's name
_ended: dict[str, str] = {}  # the last lines of those that have ended since the test began


@contextmanager
def recorded(name: str, read: Callable[[], str]) -> Iterator[None]:
    """Keep the log of a controller for the report of a test that fails in this block, or that
    began before the end of the block.
    """
    _running[name] = read
    try:
        yield
    finally:
        _ended[name] = _tail(_running.pop(name)())


def sections() -> list[tuple[str, str]]:
    """The log of each controller that has run since the test began: a title, and the last lines."""
    running = {name: _tail(read()) for name, read in _running.items()}
    return [(f"log of {name}", text) for name, text in (_ended | running).items()]


def _tail(text: str) -> str:
    lines = text.splitlines()
    n_before = max(len(lines) - N_LINES, 0)
    left_out = [f"({n_before} lines before these)"] if n_before else []
    return "\n".join([*left_out, *lines[n_before:]])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget controllers that ended before this test."""
    _ended.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs to the report of a phase that failed."""
    report = yield
    if report.failed:
        report.sections.extend(sections())
    return report
