"""`dovetail run` as a user starts it: its flags, its mistakes, and its life on a real cluster."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from dovetail.api.crds import render
from dovetail.cli import main
from dovetail.cli.run import spelled_out
from dovetail.settings.flags import FLAGS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.plane import running as control_plane

LEASE = "dovetail-run-test"
PATIENCE_SECONDS = 60
T = TypeVar("T")


def test_the_help_names_every_flag_with_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    """Under headings, with what holds when nobody says."""
    assert main(["run", "--help"]) == 0
    text = capsys.readouterr().out
    words = " ".join(text.split())
    for flag in FLAGS:
        assert f"--{flag.name} {flag.metavar}" in words
        assert flag.environment in words
        assert f"\n{flag.panel}:\n" in text
    assert text.count("Leader election:") == 1


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(["--kubelets"], ["--kubelets=true"], id="alone"),
        pytest.param(["--kubelets", "false"], ["--kubelets=false"], id="with its value"),
        pytest.param(["--kubelets=false"], ["--kubelets=false"], id="with an equals sign"),
        pytest.param(
            ["--kubelets", "--dry-run"], ["--kubelets=true", "--dry-run=true"], id="side by side"
        ),
        pytest.param(["--provider", "kwok"], ["--provider", "kwok"], id="not a switch"),
        pytest.param(["--", "--kubelets"], ["--", "--kubelets"], id="no flag any more"),
    ],
)
def test_a_bare_switch_means_true(given: list[str], want: list[str]) -> None:
    """As for Go's flags."""
    assert list(spelled_out(given)) == want


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--kubeconfig", "not-there"], "not-there", id="no such kubeconfig"),
        pytest.param(["--metrics-port", "x"], "--metrics-port: expected a whole", id="a number"),
        pytest.param(["--enable-profiling=1"], "--enable-profiling: expected true", id="a truth"),
        pytest.param(["--log-level", "loud"], "--log-level: expected debug", id="a word"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with exit code 2."""
    assert main(["run", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert told in shown.err


def test_without_any_cluster_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And how to name one."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["run"]) == 2
    assert "expected --kubeconfig, KUBECONFIG or ~/.kube/config" in capsys.readouterr().err


def test_a_provider_that_is_not_installed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those that are."""
    path = kubeconfig_for(tmp_path, "http://127.0.0.1:1")
    assert main(["run", "--kubeconfig", str(path), "--provider", "nimbus"]) == 2
    told = capsys.readouterr().err
    assert "nimbus" in told
    assert "kwok" in told


class Run:
    """One process, with what it says."""

    def __init__(self, kubeconfig: Path, log: Path, *words: str) -> None:
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        ports = ["--metrics-port", "0", "--health-probe-port", "0"]
        command = [sys.executable, "-m", "dovetail.cli", "run", "--kubeconfig", str(kubeconfig)]
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [*command, *ports, "--leader-election-name", LEASE, *words],
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def lines(self, message: str) -> list[dict[str, object]]:
        """What it said under this message."""
        whole = self._log.read_text().rpartition("\n")[0].splitlines()
        found = [json.loads(line) for line in whole if line.startswith("{")]
        return [line for line in found if line["message"] == message]

    def said(self, message: str) -> dict[str, object]:
        """What it said under this message, once it has."""
        return eventually(lambda: self.lines(message), self._log)[0]

    def asked(self, path: str, port: str = "health_port") -> tuple[int, str]:
        """What it answers."""
        at = self.said("serving")[port]
        try:
            url = f"http://127.0.0.1:{at}{path}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(PATIENCE_SECONDS)


def eventually(look: Callable[[], T], log: Path) -> T:
    """What is found, once anything is."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    return found


@contextmanager
def running(kubeconfig: Path, log: Path, *words: str) -> Iterator[Run]:
    """A process for as long as the block lasts."""
    run = Run(kubeconfig, log, *words)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def kubeconfig_for(folder: Path, server: str) -> Path:
    """A kubeconfig for a server without any credentials."""
    path = folder / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "x",
                "clusters": [{"name": "x", "cluster": {"server": server}}],
                "contexts": [{"name": "x", "context": {"cluster": "x"}}],
            }
        )
    )
    return path


def test_a_cluster_that_cannot_be_reached_is_told_and_waited_for(tmp_path: Path) -> None:
    """In the log and by /readyz, which name the server; a signal ends the wait."""
    path = kubeconfig_for(tmp_path, "http://127.0.0.1:1")
    with running(path, tmp_path / "log") as run:
        assert "http://127.0.0.1:1" in str(run.said("not ready")["problem"])
        status, text = run.asked("/readyz")
        assert status == 503
        assert "http://127.0.0.1:1 cannot be asked for nodepools.karpenter.sh" in text
        assert run.asked("/healthz") == (200, "ok\n")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Both are there when the process looks: the first asks for an end, the second is one."""
    path = kubeconfig_for(tmp_path, "http://127.0.0.1:1")
    with running(path, tmp_path / "log") as run:
        run.said("serving")
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            run.process.send_signal(number)
        assert run.ended() in {128 + signal.SIGTERM, 128 + signal.SIGINT}


def lease(plane: ControlPlane) -> dict[str, object]:
    """What the lease says."""
    found: dict[str, object] = json.loads(
        plane.kubectl("get", "lease", LEASE, "-n", "default", "-o", "jsonpath={.spec}")
    )
    return found


@pytest.mark.xdist_group("controlplane")
def test_it_leads_answers_and_lets_the_lease_go_at_the_end(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """The whole life of a single replica, ended by SIGTERM."""
    with running(plane.kubeconfig, tmp_path / "log", "--enable-profiling") as run:
        identity = run.said("became leader")["identity"]
        assert lease(plane)["holderIdentity"] == identity
        assert run.asked("/healthz") == (200, "ok\n")
        eventually(lambda: run.asked("/readyz")[0] == 200, tmp_path / "log")
        status, text = run.asked("/metrics", "metrics_port")
        assert (status, "# TYPE karpenter_" in text) == (200, True)
        assert "thread MainThread" in run.asked("/debug/pprof/goroutine", "metrics_port")[1]
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0
        assert run.lines("stopping")
        assert lease(plane).get("holderIdentity", "") == ""


@pytest.mark.xdist_group("controlplane")
def test_it_shows_the_cluster_where_a_port_is_given(plane: ControlPlane, tmp_path: Path) -> None:
    """On loopback, and with what is known of a real cluster."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    lone = ("--disable-leader-election", "--dashboard-port", port)
    with running(plane.kubeconfig, tmp_path / "log", *lone) as run:
        address = str(run.said("showing the cluster")["address"])
        assert address == f"http://127.0.0.1:{port}/"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/stream", timeout=30) as told:
            change = json.loads(told.readline().removeprefix(b"data: "))
        assert "totals" in change
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0


@pytest.mark.xdist_group("controlplane")
def test_without_election_it_works_and_takes_no_lease(plane: ControlPlane, tmp_path: Path) -> None:
    """What follows from the cluster is told by whoever works."""
    lone = ("--disable-leader-election", "--leader-election-name", "nobody-takes-this")
    with running(plane.kubeconfig, tmp_path / "log", *lone) as run:
        name = "karpenter_cluster_state_node_count"
        eventually(lambda: name in run.asked("/metrics", "metrics_port")[1], tmp_path / "log")
        assert run.lines("became leader") == []
        assert "nobody-takes-this" not in plane.kubectl("get", "lease", "-A", "-o", "name")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0


@pytest.mark.xdist_group("controlplane")
def test_a_second_replica_takes_over_from_one_that_was_killed(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """It waits while the first works, and leads once the lease has run out."""
    with running(plane.kubeconfig, tmp_path / "one") as one:
        first = one.said("became leader")["identity"]
        with running(plane.kubeconfig, tmp_path / "two") as two:
            assert two.said("another replica leads")["leader"] == first
            transitions = lease(plane)["leaseTransitions"]
            one.process.kill()
            second = two.said("became leader")["identity"]
            held = lease(plane)
            assert (held["holderIdentity"], held["leaseTransitions"]) == (
                second,
                int(str(transitions)) + 1,
            )
            two.process.send_signal(signal.SIGINT)
            assert two.ended() == 0


@pytest.mark.xdist_group("controlplane")
def test_who_loses_the_lease_ends_with_an_error(plane: ControlPlane, tmp_path: Path) -> None:
    """Another program wrote its name into it; the lease stays with whoever that is."""
    with running(plane.kubeconfig, tmp_path / "log") as run:
        run.said("became leader")
        patch = {"spec": {"holderIdentity": "other", "renewTime": "2099-01-01T00:00:00.000000Z"}}
        plane.kubectl("patch", "lease", LEASE, "-n", "default", "--type=merge",
                      "-p", json.dumps(patch))  # fmt: skip
        assert run.ended() == 1
        assert "other" in str(run.said("lost leadership")["problem"])
        assert lease(plane)["holderIdentity"] == "other"
    plane.kubectl("delete", "lease", LEASE, "-n", "default")


@pytest.mark.xdist_group("controlplane")
def test_missing_definitions_are_named_by_readyz(tmp_path: Path) -> None:
    """With how to install them; they are found once they are there."""
    log = tmp_path / "log"
    with control_plane(schedules=False) as empty, running(empty.kubeconfig, log) as run:
        assert "not installed" in str(run.said("not ready")["problem"])
        status, text = run.asked("/readyz")
        assert status == 503
        for name in ("nodepools", "nodeclaims"):
            assert f"the CRD {name}.karpenter.sh is not installed" in text
        assert "dovetail crds | kubectl apply" in text
        empty.kubectl("apply", "--server-side", "-f", "-", given=render())
        eventually(lambda: run.asked("/readyz")[0] == 200, log)
