"""The command that converts older manifests: what it prints, writes and ends with."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import yaml

from dovetail.cli import main

ROOT: Final = Path(__file__).parents[2]
EXAMPLE: Final = ROOT / "examples" / "09-older-manifests"
PAGE: Final = (ROOT / "docs" / "convert.md").read_text(encoding="utf-8")
NOW: Final = ("--now", "2026-01-01T00:00:00Z")
TEMPLATE: Final = (
    "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\n"
    "spec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}}\n"
)


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process; `stdin` is what it may read."""

    def runner(*argv: str, stdin: str = "", command: str = "convert") -> Ran:
        held = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", held)
        code = main((command, *argv))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return runner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example, where it can be written."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "manifests"))


def test_the_result_goes_to_stdout_and_warnings_to_stderr(run: Run) -> None:
    """Each with file, document, object and field."""
    done = run("-f", str(EXAMPLE / "provisioners.yaml"))
    assert done.code == 0
    kinds = [tree["kind"] for tree in yaml.safe_load_all(done.out)]
    assert kinds == ["NodePool", "NodePool", "NodePool", "EC2NodeClass", "EC2NodeClass"]
    lines = done.err.splitlines()
    assert lines
    shape = re.compile(r"warning: \S+provisioners\.yaml, document \d: \w+ [\w-]+: (spec\S*): .+")
    assert [line for line in lines if not shape.fullmatch(line)] == []


def test_a_directory_is_one_stream_and_standard_input_is_a_file(run: Run) -> None:
    """All documents of all files; what is converted validates without a word."""
    done = run(str(EXAMPLE))
    trees = list(yaml.safe_load_all(done.out))
    assert len(trees) == 8
    again = run("-f", "-", stdin=done.out)
    assert (again.code, again.out, again.err) == (0, done.out, "")
    checked = run("-f", "-", stdin=done.out, command="validate")
    assert (checked.code, checked.out, checked.err) == (0, "8 objects are fine.\n", "")


def test_check_prints_what_would_change_and_ends_with_1(run: Run, folder: Path) -> None:
    """And writes nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run("--check", str(folder))
    assert done.code == 1
    first = f"{folder}/provisioners.yaml, document 1: Provisioner older-cpu (karpenter.sh/v1alpha5)"
    assert done.out.splitlines()[0] == f"{first} -> NodePool older-cpu (karpenter.sh/v1)"
    assert len(done.out.splitlines()) == 6
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_check_ends_with_0_where_nothing_would_change(run: Run) -> None:
    """And prints nothing."""
    assert run("--check", str(ROOT / "examples" / "07-budgets")) == Ran(0, "", "")


def test_files_are_converted_in_place_once(run: Run, folder: Path) -> None:
    """With their modes; files that do not change are not written."""
    path, pool = folder / "provisioners.yaml", folder / "other.yaml"
    path.chmod(0o640)
    shutil.copy(ROOT / "examples" / "01-first-plan" / "pool.yaml", pool)
    os.utime(pool, (1, 1))
    done = run("--in-place", str(folder))
    assert done.code == 0
    assert len(done.out.splitlines()) == 6
    assert path.stat().st_mode & 0o777 == 0o640
    assert pool.stat().st_mtime == 1
    text = path.read_text()
    assert text.startswith(
        "# Three Provisioners, told apart by a label: CPU, memory and GPU nodes."
    )
    assert "expireAfter: 604800s # a week, for new images" in text
    assert sorted(one.name for one in folder.iterdir()) == [
        "README.md",
        "other.yaml",
        "provisioners.yaml",
        "workloads.yaml",
    ]
    assert run("--in-place", str(folder)) == Ran(0, "", "")
    assert path.read_text() == text


def test_a_link_stays_a_link(run: Run, folder: Path) -> None:
    """The file that it leads to is written."""
    link = folder.parent / "link.yaml"
    link.symlink_to(folder / "provisioners.yaml")
    assert run("-i", str(link)).code == 0
    assert link.is_symlink()
    assert "NodePool" in (folder / "provisioners.yaml").read_text()


def test_what_cannot_be_converted_ends_with_2_and_the_rest_is_converted(run: Run) -> None:
    """The object stays as it is."""
    claim = (EXAMPLE / "workloads.yaml").read_text(encoding="utf-8")
    done = run("-f", "-", stdin=f"{TEMPLATE}---\n{claim}")
    assert done.code == 2
    assert done.out.startswith(TEMPLATE)
    assert "karpenter.sh/nodepool: older-gpu" in done.out
    assert (
        "error: standard input, document 1: AWSNodeTemplate a: spec.instanceProfile: names no "
        "identity of nodes, nor is there a role; expected one of both, or --role NAME or "
        "--instance-profile NAME\n"
    ) in done.err


@pytest.mark.parametrize(
    ("flag", "field"), [("--role", "role"), ("--instance-profile", "instanceProfile")]
)
def test_an_identity_is_taken_from_a_flag(run: Run, flag: str, field: str) -> None:
    """For templates that rely on the global settings."""
    done = run("-f", "-", flag, "nodes", stdin=TEMPLATE)
    assert done.code == 0
    assert yaml.safe_load(done.out)["spec"][field] == "nodes"


def test_defaults_can_be_ignored(run: Run) -> None:
    """As with the original tool."""
    done = run("--ignore-defaults", str(EXAMPLE / "provisioners.yaml"))
    assert "kubernetes.io/arch" not in done.out
    assert "defaults of v1alpha5" not in done.err


@pytest.mark.parametrize(
    ("argv", "want"),
    [
        (("--in-place", "-f", "-"), "standard input cannot be written back"),
        (("--role", "a", "--instance-profile", "b", "x.yaml"), "not both"),
        ((), "expected at least one -f PATH"),
        (("nowhere.yaml",), "nowhere.yaml: no such file or directory"),
    ],
    ids=["standard input in place", "two identities", "no file", "no such file"],
)
def test_bad_usage_ends_with_2_and_one_message(run: Run, argv: tuple[str, ...], want: str) -> None:
    """And nothing on stdout."""
    done = run(*argv)
    assert done.code == 2
    assert want in " ".join(done.err.replace("│", " ").split())
    assert done.out.strip() == ""


def test_a_file_that_cannot_be_read_does_not_stop_the_others(run: Run, folder: Path) -> None:
    """It is named, and the exit code is 2."""
    (folder / "broken.yaml").write_text("a: [\n")
    done = run(str(folder))
    assert done.code == 2
    assert f"error: {folder}/broken.yaml, document 1: line 2, column 1: malformed YAML" in done.err
    assert "NodePool" in done.out


def test_a_single_file_of_v1_is_printed_to_the_byte(run: Run) -> None:
    """Comments and layout, whatever they are."""
    path = ROOT / "examples" / "07-budgets" / "pools.yaml"
    assert run(str(path)).out == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["plan", "validate", "budgets"])
def test_other_commands_read_older_manifests_and_say_so(run: Run, command: str) -> None:
    """With the number of warnings, on stderr."""
    argv = ("-f", str(EXAMPLE), *(NOW if command == "plan" else ()))
    done = run(*argv, command=command)
    assert done.code == 0
    want = "Read as v1: AWSNodeTemplate (1), Job (1), Provisioner (3), StatefulSet (1), with"
    assert want in done.err
    assert "Read as v1" not in done.out


def test_a_plan_puts_each_pod_on_the_pool_of_its_provisioner(run: Run) -> None:
    """By the label of the team, and by the name of the Provisioner."""
    done = run("-f", str(EXAMPLE), "-o", "json", *NOW, command="plan")
    whole = yaml.safe_load(done.out)
    assert whole["unschedulable"] == []
    pools = {pod: claim["nodePool"] for claim in whole["nodeClaims"] for pod in claim["pods"]}
    assert {pools[f"example-older/training-{n}"] for n in range(2)} == {"older-gpu"}
    assert {pools[f"example-older/index-{n}"] for n in range(2)} == {"older-memory"}
    assert {pools[f"example-older/encoder-{n}"] for n in range(6)} == {"older-cpu"}


def test_validate_lists_every_warning(run: Run) -> None:
    """Each on a line of its own."""
    done = run("-f", str(EXAMPLE), command="validate")
    n_warnings = int(re.findall(r"with (\d+) warnings", done.err)[0])
    assert done.err.count("\nwarning: ") == n_warnings > 0
    assert done.out == "8 objects are fine.\n"


def test_a_simulation_reads_older_manifests_and_says_so(run: Run, tmp_path: Path) -> None:
    """As the cluster that it starts from."""
    scenario = tmp_path / "day.yaml"
    scenario.write_text(
        "title: Ten minutes\nstart: 2026-01-05T00:00:00Z\nlasts: 10m\nwarmUp: 0s\n"
        f"cluster: [{EXAMPLE / 'provisioners.yaml'}]\n"
        "workloads: {web: {requests: {cpu: '1', memory: 1Gi}, replicas: {low: 2, high: 2}}}\n"
    )
    done = run(str(scenario), "--workers", "1", command="simulate")
    assert done.code == 0, done.err
    assert "Read as v1: AWSNodeTemplate (1), Provisioner (3), with" in done.err


def test_every_flag_is_documented(run: Run) -> None:
    """Whoever adds a flag says what it does."""
    flags = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", run("--help").out, re.MULTILINE)
    assert "--check" in flags
    assert [flag for flag in flags if flag not in PAGE] == []
