"""How is the image's command tried where no image can be built? In bubblewrap, on this machine.

The steps of the Dockerfile are carried out as they stand; only the base image is replaced by the
system and the Python that the tests run on.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.controlplane import binaries
from tests.e2e.controller_logs import recorded
from tests.e2e.dockerfile import Stage

ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.base_prefix)
PATIENCE_SECONDS = 240  # a busy machine is slow
SHELLS = ("bash", "dash", "ash", "ksh", "zsh", "busybox")


def build(stage: Stage, folder: Path) -> None:
    """Carry out a stage; what it leaves below /opt is in the folder."""
    at = "/"
    for instruction, argument in stage.steps:
        match instruction:
            case "WORKDIR":
                at = argument
                _inside(folder, at).mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, goal = shlex.split(argument)
                for source in sources:
                    _copy(source, _inside(folder, at) / goal)
            case "RUN":
                _run(argument, at, folder)
            case _:
                msg = f"{instruction}: expected only what the test knows how to do"
                raise AssertionError(msg)


def _inside(folder: Path, path: str) -> Path:
    assert path.startswith("/opt/"), path
    return folder / path.removeprefix("/opt/")


def _copy(source: str, goal: Path) -> None:
    """As Docker copies: the contents of a folder, or a file into a folder; nothing ignored."""
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, goal, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        return
    goal.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / source, goal)


def _run(command: str, at: str, folder: Path) -> None:
    """A step of a build: the network is there, the machine can be read, only /opt be written."""
    hidden = {"opt", "tmp", "proc", "dev"}
    words = [str(binaries.bubblewrap()), "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108  # of the sandbox
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.name not in hidden:
            words += ["--ro-bind", str(path), str(path)]
    downloads = binaries.cache() / "pip"
    downloads.mkdir(parents=True, exist_ok=True)
    words += ["--bind", str(folder), "/opt", "--ro-bind", str(PYTHON), str(PYTHON)]
    words += [
        "--bind",
        str(downloads),
        "/opt/downloads",
        "--setenv",
        "PIP_CACHE_DIR",
        "/opt/downloads",
    ]
    words += ["--setenv", "PATH", f"{PYTHON}/bin:/usr/local/bin:/usr/bin:/bin", "--chdir", at]
    done = subprocess.run(
        [*words, "/bin/sh", "-ec", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@dataclass(frozen=True)
class Running:
    """A command under way: bubblewrap, the process inside, and what it has said."""

    outer: subprocess.Popen[bytes]
    inner: int
    output: TextIO

    def stop(self) -> int:
        """End it as Kubernetes does; its exit code."""
        os.kill(self.inner, signal.SIGTERM)
        return self.outer.wait(timeout=PATIENCE_SECONDS)

    def said(self) -> str:
        """Its output so far."""
        return _output(self.output)


def _output(file: TextIO) -> str:
    file.seek(0)
    return file.read()


@dataclass(frozen=True)
class Container:
    """What a pod of the image would be: its files, its user, its variables, and nothing else.

    With `writable`, folders of the machine take the place of the user's usual places to write to.
    """

    installed: Path
    stage: Stage
    writable: Path | None = None

    def words(self, *command: str, reads: tuple[Path, ...] = ()) -> list[str]:
        """The command line that runs a command in it; `reads` are files mounted into it."""
        user, _, group = self.stage.said("USER")[-1].partition(":")
        words = [str(binaries.bubblewrap()), "--unshare-all", "--share-net", "--die-with-parent"]
        words += ["--uid", user, "--gid", group, "--cap-drop", "ALL", "--clearenv", "--new-session"]
        words += self._files()
        for path in reads:
            words += ["--ro-bind", str(path), str(path)]
        for name, value in self.stage.environment.items():
            words += ["--setenv", name, value]
        words += ["--chdir", "/"] if self.writable else ["--remount-ro", "/", "--chdir", "/"]
        return [*words, "--", *command]

    @contextmanager
    def running(self, *command: str, reads: tuple[Path, ...] = ()) -> Iterator[Running]:
        """A command that runs as a container's first process, for as long as the block lasts."""
        told, tell = os.pipe()
        words = self.words(*command, reads=reads)
        words[1:1] = ["--as-pid-1", "--json-status-fd", str(tell)]
        with tempfile.TemporaryFile("w+") as output, os.fdopen(told) as status:
            process = subprocess.Popen(
                words, stdout=output, stderr=subprocess.STDOUT, pass_fds=[tell]
            )
            os.close(tell)
            with recorded(f"container-{process.pid}", lambda: _output(output)):
                try:
                    yield Running(process, json.loads(status.readline())["child-pid"], output)
                finally:
                    process.kill()
                    process.wait()

    def run(self, *command: str, reads: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        words = self.words(*command, reads=reads)
        return subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
        )

    def _files(self) -> list[str]:
        words = ["--ro-bind", "/usr", "/usr"]
        for name in ("bin", "lib", "lib64", "sbin"):
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        for shell in SHELLS:
            path = Path("/usr/bin") / shell
            if path.exists() and not path.is_symlink():
                words += ["--ro-bind", "/dev/null", str(path)]
        if self.writable:
            for place in ("tmp", "home", "var/tmp", "root", "run"):
                (self.writable / place).mkdir(parents=True, exist_ok=True)
                words += ["--bind", str(self.writable / place), f"/{place}"]
        words += [] if str(PYTHON) == "/usr" else ["--ro-bind", str(PYTHON), str(PYTHON)]
        bind = "--bind" if self.writable else "--ro-bind"
        words += [bind, str(self.installed), "/opt/dovetail", "--dev", "/dev", "--proc", "/proc"]
        return words
