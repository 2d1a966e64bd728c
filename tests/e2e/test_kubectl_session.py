"""Is kubectl told the same by the demo's cluster as by a real server? A session, typed at both."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.kube.real import control_plane
from tests.e2e.kubectl.chapters import Step, chapter, names, typed
from tests.e2e.kubectl.twins import Twins, twins

pytestmark = pytest.mark.xdist_group("controlplane")
_LEAST_COMMANDS = 30


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Both clusters, for all chapters."""
    with control_plane() as plane, twins(plane, tmp_path_factory.mktemp("session")) as both:
        yield both


def difference(step: Step, pair: Twins) -> str:
    """How the two clusters' answers differ, if they do."""
    with ThreadPoolExecutor(2) as both:
        real, ours = both.map(lambda folder: typed(step, folder), (pair.real, pair.ours))
    compared = difflib.unified_diff(
        step.compared(real), step.compared(ours), "real", "ours", lineterm="", n=2
    )
    return "\n".join(compared)


def test_every_command_is_answered_as_by_a_real_server(pair: Twins) -> None:
    """Exit code, output and errors are the same, but for what `screen` names. One test: later
    chapters stand on what earlier ones have made.
    """
    wrong = []
    for name in names():
        told = chapter(name)
        for folder in (pair.real, pair.ours):
            told.lay_out(folder)
        found = [(step.run, difference(step, pair)) for step in told.typed()]
        wrong += [f"{name}: kubectl {line}\n{how}" for line, how in found if how]
    assert not wrong, "\n\n".join(wrong)


def test_the_session_is_long_enough() -> None:
    """Many commands, of many kinds."""
    lines = [step.run for name in names() for step in chapter(name).typed()]
    assert len(set(lines)) >= _LEAST_COMMANDS
