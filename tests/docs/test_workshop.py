"""Every step of docs/workshop can be typed at a demo that runs, and prints what the step shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.cli import main
from tests.controlplane import binaries
from tests.demo_process import PYTHONPATH, running_demo
from tests.docs.workshop_steps import FOLDER, Step, steps, without_variations

pytestmark = pytest.mark.xdist_group("controlplane")
ROOT = Path(__file__).parents[2]
STEPS = steps()
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
_PATIENCE_SECONDS = 300
_OBJECTS = "kubectl get nodeclaims,nodes,pods,deployments,pdb -o name"
_POOLS = "kubectl get nodepools,kwoknodeclasses -o jsonpath='{.items[*].spec}'"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder from which to type commands, beside a demo that runs as the index says."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl").symlink_to(binaries.folder() / "kubectl")
    command = folder / "bin" / "dovetail"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m dovetail.cli "$@"\n')
    command.chmod(0o755)
    [flags] = re.findall(r"^make demo DEMO=\"(.+)\"$", INDEX, re.MULTILINE)
    with running_demo(*shlex.split(flags)) as kubeconfig:
        (folder / "kubeconfig").symlink_to(kubeconfig)
        yield folder


def _type(command: str, folder: Path) -> str:
    """What a command prints on a terminal. It must succeed."""
    process = subprocess.run(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": PYTHONPATH,
            "KUBECONFIG": str(folder / "kubeconfig"),
        },
        timeout=_PATIENCE_SECONDS,
    )
    assert process.returncode == 0, f"{command}\n{process.stdout}"
    return process.stdout


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.path.stem)
def test_every_step_prints_what_it_shows_and_leaves_an_empty_cluster(
    step: Step, shell: Path
) -> None:
    """Command by command; so steps can be typed in any order."""
    pools = _type(_POOLS, shell)
    for exchange in step.exchanges():
        printed = "".join(_type(command, shell) for command in exchange.commands)
        if exchange.printed is not None:
            got = [*exchange.commands, *without_variations(printed)]
            assert got == [*exchange.commands, *without_variations(exchange.printed)]
    assert (_type(_OBJECTS, shell), _type(_POOLS, shell)) == ("", pools)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.path.stem)
def test_every_step_shows_output_and_has_an_exercise(step: Step) -> None:
    """The test above has something to compare."""
    assert len([exchange for exchange in step.exchanges() if exchange.printed]) >= 3
    headings = re.findall(r"^## (.+)$", step.text, re.MULTILINE)
    assert headings[0] == "What you will see"
    assert headings[-1] == "Exercise"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.path.stem)
def test_yaml_of_a_step_is_part_of_a_file_that_it_applies(step: Step) -> None:
    """Word for word, but for the indentation of the part."""
    files = [re.sub(r"^ +", "", path.read_text("utf-8"), flags=re.MULTILINE) for path in MANIFESTS]
    for shown in step.manifests():
        flat = re.sub(r"^ +", "", shown, flags=re.MULTILINE)
        assert any(flat in text for text in files), shown


def test_the_index_lists_every_step() -> None:
    """In order, with its title."""
    listed = re.findall(r"^\d+\. \[(.+)\]\((.+)\)", INDEX, re.MULTILINE)
    assert listed == [(step.title, step.path.name) for step in STEPS]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_every_manifest_is_valid(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Together with the cluster of the workshop, unless it changes a NodePool of that."""
    text = path.read_text(encoding="utf-8")
    changes = re.search(r"^  name: (general|gpu)$", text, re.MULTILINE)
    around = [] if changes else ["-f", str(FOLDER / "cluster")]
    assert main(["validate", "-f", str(path), *around]) == 0, capsys.readouterr().err


def test_every_manifest_is_used_by_a_step() -> None:
    """Steps and files do not part."""
    texts = "".join(step.text for step in STEPS)
    assert [path.name for path in MANIFESTS if f"docs/workshop/{path.name}" not in texts] == []
