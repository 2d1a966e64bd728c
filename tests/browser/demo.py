"""A demo that runs, as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

_PATIENCE_SECONDS = 60


class Demo(msgspec.Struct, frozen=True):
    """Where its page is, and the kubeconfig of its API."""

    dashboard: str
    kubeconfig: str


@contextmanager
def running(*flags: str) -> Iterator[Demo]:
    """The demo in a process of its own; it must end well when it is interrupted."""
    words = [sys.executable, "-m", "dovetail.cli", "demo", "--port", "0", "--no-browser", *flags]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline().split() for _ in range(2)]
            assert [words[0] for words in said] == ["dashboard", "kubeconfig"]
            yield Demo(said[0][1], said[1][1])
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(_PATIENCE_SECONDS) == 0
