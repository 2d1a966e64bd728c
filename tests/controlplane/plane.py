"""How is a real control plane started, and how does it end?

Everything binds to 127.0.0.1 on free ports, keeps its files in one folder, and is killed by its own
process id: on SIGTERM an API server would wait for open watches.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.controlplane import binaries

_PATIENCE_SECONDS = 120
_LEFT_OUT = ("node-lifecycle-controller", "node-ipam-controller", "cloud-node-lifecycle-controller")


@dataclass
class ControlPlane:
    """A running control plane: where it is, how to reach it, and its processes."""

    folder: Path
    port: int
    etcd: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where the API is."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig for an administrator with a client certificate."""
        return self.folder / "kubeconfig"

    def kubectl(self, *words: str, given: str = "", check: bool = True) -> str:
        """What kubectl prints, as an administrator."""
        kubectl = str(binaries.folder() / "kubectl")
        command = [kubectl, "--kubeconfig", str(self.kubeconfig), *words]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        if check and done.returncode:
            msg = f"kubectl {' '.join(words)}: {done.stderr}"
            raise AssertionError(msg)
        return done.stdout if check else done.stdout + done.stderr

    def kill(self, name: str) -> None:
        """End one of its processes at once."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()


@contextmanager
def running(*, schedules: bool = True) -> Iterator[ControlPlane]:
    """A control plane for as long as the block lasts; without a scheduler and controllers, if
    only the API is wanted.
    """
    built = binaries.folder()
    folder = Path(tempfile.mkdtemp(prefix="dovetail-plane-"))
    plane = ControlPlane(folder, _free_port())
    try:
        subprocess.run([built / "keys", folder], check=True)
        plane.kubeconfig.write_text(json.dumps(_kubeconfig(plane)))
        _start_etcd_and_api(plane, built)
        if schedules:
            start_scheduler(plane, built)
            start_controllers(plane)
        yield plane
    finally:
        for name in list(plane.processes):
            plane.kill(name)
        shutil.rmtree(folder, ignore_errors=True)


def _start_etcd_and_api(plane: ControlPlane, built: Path) -> None:
    client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    etcd = {
        "data-dir": plane.folder / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
        "log-level": "error",
    }
    _start(plane, built, "etcd", etcd)
    plane.etcd = client
    start_api(plane, built)


def start_api(plane: ControlPlane, built: Path | None = None) -> None:
    """Start the API server (again), and wait until it answers."""
    api = {
        "etcd-servers": plane.etcd,
        "bind-address": "127.0.0.1",
        "secure-port": plane.port,
        "tls-cert-file": plane.folder / "server.crt",
        "tls-private-key-file": plane.folder / "server.key",
        "client-ca-file": plane.folder / "ca.crt",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": plane.folder / "accounts.pub",
        "service-account-signing-key-file": plane.folder / "accounts.key",
        "service-cluster-ip-range": "10.0.0.0/24",
        "authorization-mode": "RBAC",
        "disable-admission-plugins": "ServiceAccount",
        "allow-privileged": "true",
        "max-requests-inflight": 2000,
        "max-mutating-requests-inflight": 1000,
    }
    _start(plane, built or binaries.folder(), "kube-apiserver", api)
    _wait_until_ready(plane)


def start_scheduler(
    plane: ControlPlane, built: Path | None = None, *, spreads: Sequence[object] = ()
) -> None:
    """Start the scheduler (again), with these constraints for pods that state no spread."""
    config: dict[str, object] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
    }
    if spreads:
        defaults = {"defaultingType": "List", "defaultConstraints": list(spreads)}
        plugin = {"name": "PodTopologySpread", "args": defaults}
        config["profiles"] = [{"pluginConfig": [plugin]}]
    path = plane.folder / "scheduler.json"
    path.write_text(json.dumps(config))
    flags = {"config": path, "bind-address": "127.0.0.1", "secure-port": _free_port()}
    _start(plane, built or binaries.folder(), "kube-scheduler", flags)


def start_controllers(plane: ControlPlane, only: tuple[str, ...] = ()) -> None:
    """Start the controllers, all that tests can do with or `only` some."""
    flags = {
        "kubeconfig": plane.kubeconfig,
        "controllers": ",".join(only or ["*", *(f"-{name}" for name in _LEFT_OUT)]),
        "service-account-private-key-file": plane.folder / "accounts.key",
        "root-ca-file": plane.folder / "ca.crt",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "secure-port": _free_port(),
        "kube-api-qps": 1000,
        "kube-api-burst": 2000,
    }
    _start(plane, binaries.folder(), "kube-controller-manager", flags)


def _start(plane: ControlPlane, built: Path, name: str, flags: dict[str, object]) -> None:
    words = [f"--{flag}={value}" for flag, value in flags.items()]
    log = (plane.folder / f"{name}.log").open("wb")
    with log:
        plane.processes[name] = subprocess.Popen([built / name, *words], stdout=log, stderr=log)


def _wait_until_ready(plane: ControlPlane) -> None:
    trusted = ssl.create_default_context(cafile=str(plane.folder / "ca.crt"))
    trusted.load_cert_chain(plane.folder / "admin.crt", plane.folder / "admin.key")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(  # noqa: S310  # the URL is our own
                f"{plane.url}/readyz", context=trusted, timeout=5
            ):
                return
        except OSError:
            if plane.processes["kube-apiserver"].poll() is not None or time.monotonic() > deadline:
                log = (plane.folder / "kube-apiserver.log").read_text()[-2000:]
                msg = f"the API server did not become ready:\n{log}"
                raise AssertionError(msg) from None
            time.sleep(0.1)


def _kubeconfig(plane: ControlPlane) -> dict[str, object]:
    def data(name: str) -> str:
        return base64.b64encode((plane.folder / name).read_bytes()).decode()

    user = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}
    cluster = {"server": plane.url, "certificate-authority-data": data("ca.crt")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "admin"}}],
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
