"""Who is measured? Dovetail's controller and the reference's, each as its own process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.peers.reference import cache

REFERENCE: Final = "sigs.k8s.io/karpenter/kwok@v1.14.1"
_PATIENCE_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Program:
    """A controller that runs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    metrics_port: int
    health_port: int

    def rss_mb(self) -> float:
        """The memory that it holds now, in megabytes (10^6 bytes)."""
        return self._kib("VmRSS") * 1024 / 1e6

    def peak_mb(self) -> float:
        """The most memory that it has held."""
        return self._kib("VmHWM") * 1024 / 1e6

    def cpu_seconds(self) -> float:
        """How long it has kept a core busy so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _kib(self, field: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
        return 0


@contextmanager
def dovetail(kubeconfig: Path, folder: Path, *flags: str) -> Iterator[Program]:
    """Dovetail's controller, ready."""
    ports = free_port(), free_port()
    command = [
        *(sys.executable, "-m", "dovetail.cli", "run", "--provider", "kwok"),
        *("--kubeconfig", str(kubeconfig), "--disable-leader-election"),
        *("--metrics-port", str(ports[0]), "--health-probe-port", str(ports[1])),
        *flags,
    ]
    with _running("Dovetail", command, {}, folder, ports) as program:
        yield program


@contextmanager
def reference(kubeconfig: Path, folder: Path) -> Iterator[Program]:
    """The Go program, ready."""
    ports = free_port(), free_port()
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(ports[0]),
        "HEALTH_PROBE_PORT": str(ports[1]),
        "SYSTEM_NAMESPACE": "kube-system",
    }
    with _running("Go", [str(built_reference())], environment, folder, ports) as program:
        yield program


def built_reference() -> Path:
    """The Go program, built now if it is not there yet (some minutes, once)."""
    place = cache()
    binary = place / "kwok"
    if not binary.exists():
        print(f"building {REFERENCE} (once) ...", file=sys.stderr, flush=True)
        environment = {**os.environ, "GOBIN": str(place)}
        subprocess.run(["go", "install", REFERENCE], env=environment, check=True)  # noqa: S607  go is found on PATH
    return binary


@contextmanager
def _running(
    name: str,
    command: list[str],
    environment: Mapping[str, str],
    folder: Path,
    ports: tuple[int, int],
) -> Iterator[Program]:
    log = folder / f"{name.lower()}-{ports[0]}.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=sink, env={**os.environ, **environment}
        )
    program = Program(name, process, log, *ports)
    try:
        _wait_until_ready(program)
        yield program
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(program: Program) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_ready(program):
        if program.process.poll() is not None or time.monotonic() > deadline:
            tail = program.log.read_text()[-2000:]
            msg = f"{program.name} did not become ready:\n{tail}"
            raise RuntimeError(msg)
        time.sleep(0.05)


def is_ready(program: Program) -> bool:
    """Whether it says so itself."""
    url = f"http://127.0.0.1:{program.health_port}/readyz"
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
