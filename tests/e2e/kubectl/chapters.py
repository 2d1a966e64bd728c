"""What is typed? Chapters of a session: files to begin with, then one command after the other.

A step is a line for kubectl, or a mapping: `run` is the line, `given` its standard input, `editor`
what `kubectl edit` calls, and `until` how many lines a watch shows before it is left, while the
lines of `meanwhile` are typed elsewhere. A few say what of their own must differ: `ending` compares
only so many last lines, `after` only what follows a line, `masks` hides what follows from the time,
and `only_real` and `only_ours` are lines that one of the two has to itself.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from tests.controlplane import binaries
from tests.e2e.kubectl.screen import Screen

_FOLDER = Path(__file__).parent / "session"
_PATIENCE_SECONDS = 240


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One command as it is typed, without the word kubectl."""

    run: str
    given: str = ""
    editor: str = ""
    until: int = 0
    meanwhile: tuple[str, ...] = ()
    ending: int = 0
    after: str = ""
    masks: dict[str, str] = {}
    only_real: tuple[str, ...] = ()
    only_ours: tuple[str, ...] = ()

    def compared(self, screen: Screen) -> list[str]:
        """The lines of a screen that must be the same on both."""
        shown = screen.masked()
        out, err = shown.out, shown.err
        for pattern, mask in self.masks.items():
            out, err = (re.sub(pattern, mask, text) for text in (out, err))
        if self.after:
            out = out.partition(self.after)[2]
        lines = Screen(shown.code, out, err).lines()
        apart = {f"out: {line}" for line in (*self.only_real, *self.only_ours)}
        kept = [line for line in lines if line not in apart]
        return kept[-self.ending :] if self.ending else kept


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands that belong together, and the files they name."""

    about: str
    steps: tuple[str | Step, ...]
    files: dict[str, str] = {}

    def typed(self) -> Iterator[Step]:
        """Every step."""
        for one in self.steps:
            yield Step(one) if isinstance(one, str) else one

    def lay_out(self, folder: Path) -> None:
        """Put the files there."""
        for name, text in self.files.items():
            (folder / name).write_text(text)


def names() -> list[str]:
    """All chapters in their order."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def chapter(name: str) -> Chapter:
    """One of them."""
    tree = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return msgspec.convert(tree, Chapter)


def typed(step: Step, folder: Path) -> Screen:
    """What a step shows, typed in a cluster's own folder."""
    if step.until:
        return _watched(step, folder)
    done = subprocess.run(
        _command(step.run),
        input=step.given,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=_environment(folder, step.editor),
        timeout=_PATIENCE_SECONDS,
    )
    return Screen(done.returncode, done.stdout, done.stderr)


def _watched(step: Step, folder: Path) -> Screen:
    """The first lines of a watch. What is typed meanwhile begins when it has shown one."""
    environment = _environment(folder, "")
    watching = subprocess.Popen(
        _command(step.run), stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
    )
    giving_up = threading.Timer(_PATIENCE_SECONDS, watching.kill)
    giving_up.start()
    with watching:
        assert watching.stdout is not None
        shown = [watching.stdout.readline()]
        for line in step.meanwhile:
            typed(Step(line), folder)
        while len(shown) < step.until:
            shown.append(watching.stdout.readline())
        watching.kill()
    giving_up.cancel()
    return Screen(0, "".join(shown), "")


def _command(line: str) -> list[str]:
    return [str(binaries.folder() / "kubectl"), *shlex.split(line)]


def _environment(folder: Path, editor: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "KUBECACHEDIR": str(folder / "cache"),
        "EDITOR": editor,
        "TZ": "UTC",
    }
