"""`dovetail nodes` as a user starts it: on manifests, on a live cluster, and at a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.cli import main
from tests.cli.clusters import EXAMPLE, Cluster, example, serving, waiting_pod

NOW = ("--now", "2026-03-02T06:00:00Z")
PATIENCE_SECONDS = 60
GIVEN_BACK = b"\x1b[?25h\x1b[?1049l"  # the cursor, and the screen as it was


@pytest.fixture(autouse=True)
def _no_other_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the machine of the test is configured for."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints."""
    assert main(["nodes", *words]) == 0
    return capsys.readouterr().out


def test_manifests_are_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each node, and the sums."""
    lines = printed(capsys, "-f", str(EXAMPLE), *NOW).splitlines()
    assert lines[0].split()[:2] == ["NAME", "STATE"]
    assert [line.split()[0] for line in lines[1:5]] == ["hall-1", "hall-2", "hall-3", "hall-4"]
    assert lines[1].split()[-1] == "24h"
    assert lines[-1].startswith("4 nodes, 5 pods, 0 pending; $0.6515 an hour")


def test_flags_sort_and_filter(capsys: pytest.CaptureFixture[str]) -> None:
    """As the keys do."""
    words = ("-f", str(EXAMPLE), *NOW, "--sort", "cpu", "--filter", "c-8x steady")
    lines = printed(capsys, *words).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["hall-2", "hall-1"]
    assert lines[3] == ""


def test_data_is_the_same_in_json_and_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the spelling differs."""
    words = ("-f", str(EXAMPLE), *NOW)
    as_json = json.loads(printed(capsys, *words, "-o", "json"))
    assert as_json == yaml.safe_load(printed(capsys, *words, "-o", "yaml"))
    assert [one["name"] for one in as_json["nodes"]] == ["hall-1", "hall-2", "hall-3", "hall-4"]
    assert as_json["totals"]["nodes"] == 4


@pytest.mark.parametrize("columns", ["30", "60", "100"])
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """Narrow ones show less."""
    monkeypatch.setenv("COLUMNS", columns)
    lines = printed(capsys, "-f", str(EXAMPLE), "-o", "wide").splitlines()
    assert max(map(len, lines)) <= int(columns)


def test_a_live_cluster_is_read_and_nothing_else(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where stdout is no terminal, once."""
    with serving(tmp_path, [*example(), waiting_pod("new")]) as cluster:
        shown = json.loads(printed(capsys, "--kubeconfig", str(cluster.kubeconfig), "-o", "json"))
        table = printed(capsys, "--kubeconfig", str(cluster.kubeconfig))
        assert cluster.requests
        assert cluster.writes == []
    assert [one["name"] for one in shown["nodes"]] == ["hall-1", "hall-2", "hall-3", "hall-4"]
    assert (shown["totals"]["waiting"], shown["totals"]["pods"]) == (1, 5)
    assert shown["totals"]["pricePerHour"] == pytest.approx(0.651539608)
    assert "4 nodes, 5 pods, 1 pending" in table


def test_kinds_that_may_not_be_read_are_taken_as_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """And that is said; without nodes there would be nothing to show."""
    with serving(tmp_path, example(), forbidden=("persistentvolumes",)) as cluster:
        assert main(["nodes", "--kubeconfig", str(cluster.kubeconfig)]) == 0
        out, err = capsys.readouterr()
    assert "hall-1" in out
    assert "Not allowed to read PersistentVolume" in err
    with serving(tmp_path, example(), forbidden=("nodes",)) as cluster:
        assert main(["nodes", "--kubeconfig", str(cluster.kubeconfig)]) == 2
        out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"error: {cluster.url}: cannot read Nodes: not yours" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--kubeconfig", "not-there"], "not-there", id="no such kubeconfig"),
        pytest.param([], "expected --kubeconfig, KUBECONFIG", id="no cluster at all"),
        pytest.param(["--now", "2026-01-01"], "expected -f PATH", id="another time, live"),
        pytest.param(["-f", "x", "--context", "y"], "not both", id="both"),
        pytest.param(["--sort", "shoe size"], "--sort", id="an order that is none"),
        pytest.param(
            ["-f", str(EXAMPLE), "--catalog", "gcp"], "no catalogue 'gcp'", id="no catalogue"
        ),
    ],
)
def test_a_mistake_is_told_and_nothing_printed(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with exit code 2."""
    assert main(["nodes", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


def test_a_cluster_that_cannot_be_reached_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In one line, at once."""
    cluster = Cluster(1, [], tmp_path)
    assert main(["nodes", "--kubeconfig", str(cluster.kubeconfig)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: http://127.0.0.1:1: cannot read ")
    assert err.count("\n") == 1


# ------------------------------------------------------------------ at a terminal


class Screen:
    """A terminal with the command in it: what was drawn last, and keys to press."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.drawn = b""

    @property
    def is_stopped(self) -> bool:
        """Whether it waits to be called back."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def press(self, keys: bytes) -> None:
        """Type something."""
        os.write(self._master, keys)

    def resize(self, columns: int, lines: int) -> None:
        """As when somebody pulls at the window."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)
        self.process.send_signal(signal.SIGWINCH)

    def lines(self) -> list[str]:
        """The last picture that is whole."""
        pictures = self.drawn.split(b"\x1b[H")
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", pictures[-1].decode(errors="replace"))
        return [line.strip("\r") for line in text.split("\n")]

    def see(self, is_there: Callable[[list[str]], bool]) -> list[str]:
        """The picture, once it is like that."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_there(found := self.lines()):
            assert time.monotonic() < until, found
            if select.select([self._master], [], [], 0.05)[0]:
                self.drawn += os.read(self._master, 65536)
        return found

    def rest(self) -> bytes:
        """Everything up to the end of the command."""
        assert self.process.wait(PATIENCE_SECONDS) == 0
        while select.select([self._master], [], [], 0.2)[0]:
            try:
                self.drawn += os.read(self._master, 65536)
            except OSError:  # the other side is closed
                break
        return self.drawn


@contextmanager
def at_a_terminal(cluster: Cluster, columns: int = 120, lines: int = 10) -> Iterator[Screen]:
    """The command in a terminal of that size, for as long as the block lasts."""
    master, slave = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-m", "dovetail.cli", "nodes", "--kubeconfig"]
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [*command, str(cluster.kubeconfig)],
        stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    try:
        yield Screen(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def names(lines: list[str]) -> list[str]:
    """The nodes of a picture."""
    return [line.split()[0] for line in lines[3:-1] if line.strip()]


def test_at_a_terminal_the_nodes_are_drawn_again_as_things_change(tmp_path: Path) -> None:
    """Keys sort and filter, a new pod shows, a new size too; q gives the terminal back."""
    with serving(tmp_path, example()) as cluster, at_a_terminal(cluster) as screen:
        screen.see(lambda lines: names(lines) == ["hall-1", "hall-2", "hall-3", "hall-4"])
        screen.press(b"c")
        screen.see(lambda lines: names(lines) == ["hall-2", "hall-1", "hall-4", "hall-3"])
        screen.press(b"/c-4x\r")
        screen.see(lambda lines: names(lines) == ["hall-4", "hall-3"])
        cluster.ask("POST", "/api/v1/namespaces/steady/pods", _pod_on("hall-3"))
        # A picture may be half drawn when it is read: all of it is waited for.
        foot = "1-2 of 2  by cpu  filter: c-4x"
        screen.see(lambda lines: "6 pods" in lines[0] and lines[-1].startswith(foot))
        screen.resize(30, 6)
        screen.see(lambda lines: len(lines) == 6 and max(map(len, lines)) <= 30)
        screen.press(b"q")
        end = screen.rest()
        assert end.startswith(b"\x1b[?1049h")
        assert end.endswith(GIVEN_BACK)
        assert [one for one in cluster.writes if one[0] != "POST"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_terminal_is_as_before(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As q does."""
    with serving(tmp_path, example()) as cluster, at_a_terminal(cluster) as screen:
        screen.see(lambda lines: len(names(lines)) == 4)
        screen.process.send_signal(number)
        assert screen.rest().endswith(GIVEN_BACK)


def test_ctrl_z_lends_the_terminal_to_the_shell(tmp_path: Path) -> None:
    """And when called back, the picture is there again."""
    with serving(tmp_path, example()) as cluster, at_a_terminal(cluster) as screen:
        screen.see(lambda lines: len(names(lines)) == 4)
        screen.process.send_signal(signal.SIGTSTP)
        screen.see(lambda _: screen.is_stopped and screen.drawn.endswith(GIVEN_BACK))
        screen.drawn = b""
        screen.process.send_signal(signal.SIGCONT)
        screen.see(lambda lines: len(names(lines)) == 4)
        screen.press(b"q")
        assert screen.rest().startswith(b"\x1b[?1049h")


def _pod_on(node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "late", "namespace": "steady"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }
