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
from tests.e2e.controller_logs import recorded

PATIENCE_SECONDS = 240  # a busy machine is slow; only a law that is broken waits for so long
TIMEOUT = f"--timeout={PATIENCE_SECONDS}s"  # for kubectl wait, delete and rollout
_POLL_SECONDS = 0.25
_QUIET_SECONDS = 5
_QUIET_DECISIONS = 2  # other objects may still change a little

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

    def is_quiet(self) -> bool:
        """Whether it hardly decides anything for a few seconds from now."""
        before = self.n_decisions()
        time.sleep(_QUIET_SECONDS)
        return self.n_decisions() - before <= _QUIET_DECISIONS

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
    provider: str = "kwok",
) -> Iterator[Running]:
    """A controller for as long as the block lasts, with kwok nodes and stand-in kubelets unless
    another provider is named. Its lease is in the namespace that is its home.
    """
    metrics, health = free_port(), free_port()
    log = plane.folder / f"controller-{metrics}.log"
    command = [
        *(sys.executable, "-m", "dovetail.cli", "run", "--provider", provider),
        *(("--kubelets",) if provider == "kwok" else ()),
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
    with recorded(log.stem, lambda: log.read_text(errors="replace")):
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


@dataclass(frozen=True)
class Watch:
    """Every change to objects of a kind since it began, in order, each with its `type` and
    `object`: a list, and then a watch from the version of that list. A machine that is slow delays
    changes, but loses none.
    """

    plane: ControlPlane
    kind: str
    words: tuple[str, ...]
    process: subprocess.Popen[bytes]
    path: Path

    def __call__(self) -> Objects:
        """All changes until now: what kubectl lists now has been seen by the watch as well."""
        before = _last_versions(self.so_far())
        listed = _versions(objects(self.plane, self.kind, *self.words))
        changes: Objects = []

        def has_caught_up() -> bool:
            assert self.process.poll() is None, f"the watch of {self.kind} has ended"
            changes[:] = self.so_far()
            seen = _last_versions(changes)
            is_newest = all(seen.get(uid, 0) >= version for uid, version in listed.items())
            return is_newest and not (before.keys() - listed.keys()) & seen.keys()

        until(has_caught_up, f"the watch of {self.kind} has caught up")
        return changes

    def so_far(self) -> Objects:
        """The changes that have been delivered."""
        return list(_documents(self.path.read_text()))


def _versions(found: Objects) -> dict[str, int]:
    """The resource version of each object, by uid."""
    return {one["metadata"]["uid"]: int(one["metadata"]["resourceVersion"]) for one in found}


def _last_versions(changes: Objects) -> dict[str, int]:
    """The newest version of each object that has not been deleted, by uid."""
    deleted = _versions([one["object"] for one in changes if one["type"] == "DELETED"])
    newest = _versions([one["object"] for one in changes])
    return {uid: version for uid, version in newest.items() if uid not in deleted}


@contextmanager
def watching(plane: ControlPlane, kind: str, *words: str) -> Iterator[Watch]:
    """A watch of a kind with kubectl, for as long as the block lasts."""
    path = plane.folder / f"watch-{kind}-{free_port()}.json"
    kubectl = [str(binaries.folder() / "kubectl"), "--kubeconfig", str(plane.kubeconfig)]
    asked = ("get", kind, "--watch", "--output-watch-events", "-o", "json", *words)
    with path.open("wb") as sink:
        process = subprocess.Popen([*kubectl, *asked], stdout=sink, stderr=subprocess.DEVNULL)
    try:
        yield Watch(plane, kind, words, process, path)
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
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310  the URL is our own
        return str(answer.read().decode())
