"""How is a kube-scheduler set up to judge a plan, and when has it said all it has to say?

It scores nodes as it does by default, which prefers the emptiest, or by MostAllocated, which
prefers the fullest. Its own queues say when it is done: nobody waits for a turn, and all pods that
are not bound have been found unschedulable.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

import msgspec

from benchmarks.live.programs import free_port
from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane

NAME: Final = "kube-scheduler"
_POLL_SECONDS: Final = 0.25
_IN_QUEUE: Final = re.compile(r'^scheduler_pending_pods\{queue="(\w+)"\} (\S+)$', re.MULTILINE)
_RESOURCES: Final = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})


class Scoring(StrEnum):
    """Which nodes kube-scheduler prefers among those with room, in the words of its settings."""

    DEFAULT = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


class Queues(msgspec.Struct, frozen=True):
    """How many pods are where, in the scheduler's own count. Whoever is held by a gate is gated."""

    active: int = 0
    backoff: int = 0
    unschedulable: int = 0
    gated: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether nobody's turn will come by itself."""
        return not (self.active or self.backoff or self.gated)


class Scheduler(msgspec.Struct, frozen=True):
    """A kube-scheduler that runs."""

    plane: ControlPlane
    port: int

    def queues(self) -> Queues:
        """Who waits for what, just now."""
        trusted = ssl.create_default_context(cafile=str(self.plane.folder / "ca.crt"))
        url = f"https://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, context=trusted, timeout=10) as answer:
            return read_queues(answer.read().decode())

    async def until_listening(self, deadline: float) -> None:
        """Return when it answers; raise TimeoutError, or what it said when it ended."""
        while True:
            try:
                await asyncio.to_thread(self.queues)
            except OSError:
                process = self.plane.processes[NAME]
                if process.poll() is not None or time.monotonic() > deadline:
                    said = (self.plane.folder / f"{NAME}.log").read_text()[-2000:]
                    msg = f"kube-scheduler did not begin:\n{said}"
                    raise TimeoutError(msg) from None
                await asyncio.sleep(_POLL_SECONDS)
            else:
                return


def read_queues(metrics: str) -> Queues:
    """What the scheduler's metrics say of its queues; one without an entry is empty."""
    found = {name: int(float(number)) for name, number in _IN_QUEUE.findall(metrics)}
    return msgspec.convert(found, Queues)


@contextmanager
def scheduling(plane: ControlPlane, scoring: Scoring) -> Iterator[Scheduler]:
    """A kube-scheduler for a plane that has none, for as long as the block lasts."""
    path = plane.folder / "judge.json"
    path.write_text(json.dumps(configuration(str(plane.kubeconfig), scoring)))
    port = free_port()
    flags = {
        "config": path,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": plane.folder / "server.crt",
        "tls-private-key-file": plane.folder / "server.key",
        "authorization-always-allow-paths": "/healthz,/readyz,/metrics",
    }
    words = [f"--{flag}={value}" for flag, value in flags.items()]
    with (plane.folder / f"{NAME}.log").open("wb") as log:
        command = [str(binaries.folder() / NAME), *words]
        plane.processes[NAME] = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield Scheduler(plane, port)
    finally:
        plane.kill(NAME)


def configuration(kubeconfig: str, scoring: Scoring) -> dict[str, object]:
    """The settings of a scheduler that differs from the usual in its scoring at most."""
    found: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
    }
    if scoring is not Scoring.DEFAULT:
        strategy = {"type": str(scoring), "resources": list(_RESOURCES)}
        plugin = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
        found["profiles"] = [{"schedulerName": "default-scheduler", "pluginConfig": [plugin]}]
    return found
