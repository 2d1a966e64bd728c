"""Generating NodePools from files and flags: what is printed, written and the exit code."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import yaml

from dovetail.cli import main
from dovetail.generator import request_schema

REQUEST: Final = "name: payments\ncpu: 64\nfamilies: [m7g]\nnodeClass: {name: default}\n"
BAD: Final = "nam: payments\ncpu: -4\nzones: [us-west-2a, us-west-2a]\nnodeClass: {name: a}\n"
NEEDED: Final = ("--name", "payments", "--cpu", "64", "--node-class", "default")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `dovetail new nodepool` in this process; `stdin` is what it may read."""

    def runner(*argv: str, stdin: str = "", command: tuple[str, ...] = ("new", "nodepool")) -> Ran:
        held = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", held)
        code = main((*command, *argv))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return runner


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    """A request that can be met."""
    path = tmp_path / "request.yaml"
    path.write_text(REQUEST, encoding="utf-8")
    return path


def test_a_request_file_is_a_nodepool_on_stdout(run: Run, request_file: Path) -> None:
    """Nothing else is printed; `dovetail validate` accepts it."""
    done = run("-f", str(request_file))
    assert (done.code, done.err) == (0, "")
    [pool] = yaml.safe_load_all(done.out)
    assert (pool["kind"], pool["metadata"]["name"]) == ("NodePool", "payments")
    checked = run("-f", "-", stdin=done.out, command=("validate",))
    assert (checked.code, checked.out, checked.err) == (0, "1 object is fine.\n", "")


def test_standard_input_json_and_the_result_itself_are_requests_too(
    run: Run, request_file: Path
) -> None:
    """All of them come to the same bytes."""
    want = run("-f", str(request_file)).out
    assert run("-f", "-", stdin=REQUEST).out == want
    assert run("-f", "-", stdin=json.dumps(yaml.safe_load(REQUEST))).out == want
    assert run("-f", "-", stdin=want).out == want


def test_flags_come_to_the_same_bytes_as_a_file(run: Run, tmp_path: Path) -> None:
    """Each flag is a field of the request."""
    path = tmp_path / "request.yaml"
    path.write_text(
        """
        name: payments
        provider: aws
        cpu: 64
        memory: 256Gi
        families: [m7g, c7g]
        architectures: [arm64]
        cpuPerNode: {min: 2, max: 32}
        memoryPerNode: {min: 4Gi, max: 128Gi}
        spot: allowed
        zones: [us-west-2a, us-west-2b]
        labels: {team: payments, tier: web}
        taints: [{key: dedicated, value: payments, effect: NoSchedule}]
        quietHours: [mon-fri 08:00-18:00, "sat,sun 10:00-12:00"]
        weight: 7
        nodeClass: {name: a, role: r, cluster: web, image: al2023@v20260101, disk: 50Gi}
        """,
        encoding="utf-8",
    )
    done = run(
        *("--name", "payments", "--provider", "aws", "--cpu", "64", "--memory", "256Gi"),
        *("--family", "m7g,c7g", "--arch", "arm64", "--min-node-cpu", "2", "--max-node-cpu", "32"),
        *("--min-node-memory", "4Gi", "--max-node-memory", "128Gi", "--spot", "allowed"),
        *("--zone", "us-west-2a", "--zone", "us-west-2b", "--label", "team=payments"),
        *("--label", "tier=web", "--taint", "dedicated=payments:NoSchedule", "--weight", "7"),
        *("--quiet-hours", "mon-fri 08:00-18:00", "--quiet-hours", "sat,sun 10:00-12:00"),
        *("--node-class", "a", "--role", "r", "--cluster", "web"),
        *("--image", "al2023@v20260101", "--disk", "50Gi"),
    )
    assert (done.code, done.err) == (0, "")
    assert done.out == run("-f", str(path)).out


def test_gpus_are_a_flag(run: Run) -> None:
    """With a warning about pods that need none."""
    done = run("--name", "a", "--gpus", "8", "--node-class", "b")
    assert done.code == 0
    assert "warning: taints: nodes with GPUs have no taint" in done.err
    assert yaml.safe_load(done.out)["spec"]["limits"] == {"nvidia.com/gpu": "8"}


def test_every_problem_of_a_file_names_file_and_field(run: Run, tmp_path: Path) -> None:
    """Nothing is printed but problems, and the exit code is 2."""
    path = tmp_path / "bad.yaml"
    path.write_text(BAD, encoding="utf-8")
    done = run("-f", str(path))
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert [line.partition(": ")[2].split(": ")[:2] for line in lines[:-1]] == [
        [str(path), field] for field in ("nam", "name", "cpu", "zones[1]")
    ]
    assert lines[-1] == "4 problems found."


def test_every_problem_of_flags_names_the_flag(run: Run) -> None:
    """Of an item of a list also which."""
    done = run(
        *("--name", "A", "--cpu", "-4", "--taint", "a", "--zone", "us-west-2a,us-west-2a"),
        *("--min-node-cpu", "8", "--max-node-cpu", "4", "--provider", "cloudy"),
    )
    assert (done.code, done.out) == (2, "")
    assert [line.removeprefix("error: ").partition(": ")[0] for line in done.err.splitlines()] == [
        "--name",
        "--provider",
        "--cpu",
        "--min-node-cpu, --max-node-cpu",
        "--zone[1]",
        "--taint[0].effect",
        "6 problems found.",
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param((), "expected -f REQUEST, flags such as", id="nothing"),
        pytest.param(("-f", "a.yaml", "--cpu", "4"), "not both", id="file and flags"),
        pytest.param((*NEEDED, "--check"), "expected --out FILE", id="check of nothing"),
        pytest.param((*NEEDED, "--label", "team"), "'team' has no value", id="half a label"),
        pytest.param((*NEEDED, "--label", "a=1", "--label", "a=2"), "twice", id="label twice"),
        pytest.param((*NEEDED, "--gpus", "many"), "--gpus", id="gpus"),
        pytest.param(("-f", "nowhere.yaml"), "nowhere.yaml: no such file", id="no file"),
    ],
)
def test_wrong_usage_ends_with_2(run: Run, argv: tuple[str, ...], message: str) -> None:
    """And says what was expected."""
    done = run(*argv)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("name: a\n---\nname: b\n", "found 2 documents", id="two requests"),
        pytest.param("# nothing\n", "found 0 documents", id="comments"),
        pytest.param("", "empty", id="empty"),
        pytest.param("a: [", "malformed YAML", id="no YAML"),
        pytest.param("name: a\nname: b\n", "name", id="a key twice"),
        pytest.param("[1, 2]", "found a list; expected the fields", id="a list"),
        pytest.param("apiVersion: karpenter.sh/v1\nkind: NodePool\n", "apiVersion", id="a pool"),
    ],
)
def test_a_file_that_is_no_request_is_refused(run: Run, text: str, message: str) -> None:
    """With its name."""
    done = run("-f", "-", stdin=text)
    assert (done.code, done.out) == (2, "")
    assert "standard input" in done.err
    assert message in done.err


def test_writing_twice_changes_nothing(run: Run, request_file: Path, tmp_path: Path) -> None:
    """Neither from the request nor from the result."""
    out = tmp_path / "pool.yaml"
    first = run("-f", str(request_file), "--out", str(out))
    assert (first.code, first.out) == (0, f"{out}: written\n")
    text, at = out.read_bytes(), out.stat().st_mtime_ns
    for source in (request_file, out):
        again = run("-f", str(source), "--out", str(out))
        assert (again.code, again.out) == (0, f"{out}: unchanged\n")
        assert (out.read_bytes(), out.stat().st_mtime_ns) == (text, at)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool.yaml", "request.yaml"]


def test_check_says_whether_the_file_would_change(
    run: Run, request_file: Path, tmp_path: Path
) -> None:
    """And writes nothing."""
    out = tmp_path / "pool.yaml"
    argv = ("-f", str(request_file), "--out", str(out))
    done = run(*argv, "--check")
    assert (done.code, done.out, out.exists()) == (1, f"{out}: would be written\n", False)
    run(*argv)
    assert run(*argv, "--check").code == 0
    request_file.write_text(REQUEST.replace("64", "96"), encoding="utf-8")
    before = out.read_text(encoding="utf-8")
    done = run(*argv, "--check")
    assert (done.code, done.out) == (1, f"{out}: would be changed\n")
    assert out.read_text(encoding="utf-8") == before
    assert run(*argv).out == f"{out}: changed\n"
    assert out.read_text(encoding="utf-8") == before.replace("64\n", "96\n").replace('"64"', '"96"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: ConfigMap\n", "something that was not generated", id="not generated"),
        pytest.param("", "something that was not generated", id="empty"),
        pytest.param(None, "holds the NodePool orders", id="another pool"),
    ],
)
def test_a_file_that_holds_something_else_is_not_replaced(
    run: Run, request_file: Path, tmp_path: Path, text: str | None, message: str
) -> None:
    """The request may have been given the wrong path."""
    out = tmp_path / "pool.yaml"
    other = run("--name", "orders", "--cpu", "8", "--node-class", "a").out
    out.write_text(other if text is None else text, encoding="utf-8")
    before = out.read_bytes()
    done = run("-f", str(request_file), "--out", str(out))
    assert (done.code, done.out) == (2, "")
    assert f"{out}: holds" in done.err
    assert message in done.err
    assert out.read_bytes() == before


def test_a_file_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    """With its name and the reason."""
    done = run(*NEEDED, "--out", str(tmp_path / "no" / "pool.yaml"))
    assert (done.code, done.out) == (2, "")
    assert "pool.yaml: cannot be written: No such file or directory" in done.err


def test_the_schema_is_printed(run: Run) -> None:
    """As JSON, without a request."""
    done = run("--schema")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == request_schema()


def test_help_introduces_the_command(run: Run) -> None:
    """With examples, and among the commands."""
    done = run("--help")
    assert done.code == 0
    for word in ("--filename", "--out", "--check", "--schema", "--taint", "Example"):
        assert word in done.out
    assert "nodepool" in run("--help", command=("new",)).out
    assert "dovetail new nodepool" in run("--help", command=()).out


class TypedInput(io.TextIOWrapper):
    """A terminal on which lines are typed."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions go to stderr, the result to stdout as from a file."""
    answers = ["payments", "", "64", "", "", "m7g", *[""] * 7, "default"]
    typed = TypedInput(io.BytesIO("\n".join([*answers, ""]).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", typed)
    code = main(("new", "nodepool"))
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "Name of the NodePool: " in err
    assert yaml.safe_load(out)["metadata"] == {"name": "payments"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(REQUEST.encode())))
    assert main(("new", "nodepool", "-f", "-")) == 0
    assert capsys.readouterr().out == out


def test_a_request_that_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    """With what was expected."""
    path = tmp_path / "request.yaml"
    path.write_bytes(b"name: \xff\n")
    done = run("-f", str(path))
    assert (done.code, done.out) == (2, "")
    assert f"{path}: not UTF-8; expected one request" in done.err


def test_a_directory_is_not_replaced(run: Run, tmp_path: Path) -> None:
    """As little as a file that holds something else."""
    done = run(*NEEDED, "--out", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path}: cannot be read" in done.err


def test_a_generated_file_whose_request_was_broken_is_not_replaced(
    run: Run, tmp_path: Path
) -> None:
    """It can be of any pool."""
    out = tmp_path / "pool.yaml"
    out.write_text(run(*NEEDED).out.replace("name: payments", "name: [", 1), encoding="utf-8")
    done = run(*NEEDED, "--out", str(out))
    assert (done.code, done.out) == (2, "")
    assert "holds something that was not generated" in done.err
