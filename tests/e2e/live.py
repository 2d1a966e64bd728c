"""How is a controller started on a real control plane, and how does a test see what it did?"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane

PATIENCE_SECONDS = 90
_POLL_SECONDS = 0.25

Objects = list[dict[str, Any]]


@dataclass
class Running:
    """A `dovetail run` of its own process."""

    process: subprocess.Popen[bytes]
    metrics_port: int
    health_port: int
    log: Path
    is_wanted: bool = True  # nobody has asked it to end

    def scrape(self) -> str:
        """What Prometheus would read."""
        return _get(f"http://127.0.0.1:{self.metrics_port}/metrics")

    def n_decisions(self) -> int:
        """How often it has decided."""
        return int(self.total("karpenter_scheduler_scheduling_duration_seconds_count"))

    def total(self, name: str, **labels: str) -> float:
        """A metric, added up over all series that have these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        found = (
            line for line in self.scrape().splitlines() if line.startswith((name + "{", name + " "))
        )
        return sum(
            float(line.rpartition(" ")[2]) for line in found if all(one in line for one in wanted)
        )

    def is_ready(self) -> bool:
        """Whether it says so itself."""
        try:
            _get(f"http://127.0.0.1:{self.health_port}/readyz")
        except OSError:
            return False
        return True

    def leads(self) -> bool:
        """Whether it has been elected."""
        return any(one["message"] == "became leader" for one in self.lines())

    def lines(self) -> Objects:
        """What it has logged so far."""
        found = []
        for line in self.log.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"message": line})
        return found

    def kill(self) -> None:
        """End it without a word."""
        self.is_wanted = False
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self.is_wanted = False
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


_ALL: list[Running] = []


@contextmanager
def controller(
    plane: ControlPlane,
    *flags: str,
    kubeconfig: Path | None = None,
    home: str = "default",
    environment: Mapping[str, str] = {},
    waits: bool = True,
) -> Iterator[Running]:
    """A controller with kwok nodes and stand-in kubelets, for as long as the block lasts. Its lease
    is in the namespace that is its home.
    """
    metrics, health = free_port(), free_port()
    log = plane.folder / f"controller-{metrics}.log"
    command = [
        *(sys.executable, "-m", "dovetail.cli", "run", "--provider", "kwok", "--kubelets"),
        *("--kubeconfig", str(kubeconfig or plane.kubeconfig)),
        *("--leader-election-namespace", home),
        *("--metrics-port", str(metrics), "--health-probe-port", str(health)),
        *flags,
    ]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=sink, env={**os.environ, **environment}
        )
    running = Running(process, metrics, health, log)
    _ALL.append(running)
    try:
        if waits:
            until(running.is_ready, "the controller is ready")
        yield running
    finally:
        _ALL.remove(running)
        running.kill()


def until(holds: Callable[[], object], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Return when it holds. Fails if that takes far longer than it ever should, or if a controller
    that nobody asked to end has ended.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        for one in _ALL:
            if one.is_wanted and one.process.poll() is not None:
                said = one.log.read_text()[-1000:]
                msg = f"a controller ended with {one.process.returncode} before {what}:\n{said}"
                raise AssertionError(msg)
        if time.monotonic() > deadline:
            msg = f"waited {seconds:.0f} s in vain until {what}"
            raise AssertionError(msg)
        time.sleep(_POLL_SECONDS)


def objects(plane: ControlPlane, kind: str, *words: str) -> Objects:
    """All objects of a kind, as kubectl gets them."""
    found: Objects = json.loads(plane.kubectl("get", kind, "-o", "json", *words))["items"]
    return found


def one(plane: ControlPlane, kind: str, name: str, *words: str) -> dict[str, Any]:
    """One object, as kubectl gets it."""
    found: dict[str, Any] = json.loads(plane.kubectl("get", kind, name, "-o", "json", *words))
    return found


def condition(found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A status condition; empty if it is not there."""
    for held in found.get("status", {}).get("conditions", ()):
        if held["type"] == kind:
            return dict(held)
    return {}


@contextmanager
def watching(plane: ControlPlane, kind: str, *words: str) -> Iterator[Callable[[], Objects]]:
    """Every change to objects of a kind for as long as the block lasts, as kubectl shows them; what
    is yielded gives those seen so far, in order, each with its `type` and `object`.
    """
    path = plane.folder / f"watch-{kind}-{free_port()}.json"
    kubectl = [str(binaries.folder() / "kubectl"), "--kubeconfig", str(plane.kubeconfig)]
    asked = ("get", kind, "--watch", "--output-watch-events", "-o", "json", *words)
    with path.open("wb") as sink:
        process = subprocess.Popen([*kubectl, *asked], stdout=sink, stderr=subprocess.DEVNULL)
    try:
        yield lambda: list(_documents(path.read_text()))
    finally:
        process.kill()
        process.wait()


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """JSON documents one after another; the last may not be complete yet."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield found
        while at < len(text) and text[at].isspace():
            at += 1


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  the URL is our own
        return str(answer.read().decode())
