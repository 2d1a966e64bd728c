"""What is shown while one waits."""

from __future__ import annotations

import io
import sys

import pytest

from dovetail.cli.output import Progress


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        """It is a terminal."""
        return True


def test_a_terminal_is_told_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage of the moment, not the one before."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress() as progress:
        progress.tell("reading manifests")
        progress.show()
        progress.tell("planning for 7 pods")
    assert "planning for 7 pods" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even on a terminal, and not afterwards either."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress() as progress:
        progress.tell("reading manifests")
    progress.show()
    assert terminal.getvalue() == ""
