"""The promises of the command line that scripts rely on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from dovetail.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOW = ("--now", "2026-01-01T00:00:00Z")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process; `stdin` is what it may read."""

    def runner(*argv: str, stdin: str = "") -> Ran:
        held = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", held)
        code = main(argv)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return runner


@pytest.fixture(scope="module")
def demo() -> dict[str, Any]:
    """The plan of the demo, as a script would read it."""
    done = subprocess.run(
        [sys.executable, "-m", "dovetail.cli", "plan", "-f", "examples/demo", "-o", "json", *NOW],
        cwd=ROOT,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    whole: dict[str, Any] = json.loads(done.stdout)
    return whole


CLAIM_TYPES = {
    "name": str,
    "nodePool": str,
    "instanceType": str,
    "zone": str,
    "capacityType": str,
    "pricePerHour": float,
    "instanceTypes": list,
    "requests": dict,
    "pods": list,
}


def test_the_object_has_every_promised_field(demo: dict[str, Any]) -> None:
    """New fields may come; these stay."""
    want = ["nodeClaims", "existingNodes", "unschedulable", "disruptions", "cost", "stats"]
    assert list(demo)[: len(want)] == want


def test_every_node_claim_has_every_promised_field(demo: dict[str, Any]) -> None:
    """With the promised types; the chosen type is the first of the list."""
    assert demo["nodeClaims"]
    for claim in demo["nodeClaims"]:
        assert {name: type(claim[name]) for name in CLAIM_TYPES} == CLAIM_TYPES
        assert claim["instanceTypes"][0] == claim["instanceType"]
        assert set(claim["requests"]) >= {"cpu", "memory"}
        assert claim["pods"]


def test_every_pod_appears_exactly_once(demo: dict[str, Any]) -> None:
    """On a new node, on an existing one, or among those that wait."""
    placed = [
        pod
        for kind in ("nodeClaims", "existingNodes")
        for node in demo[kind]
        for pod in node["pods"]
    ]
    pods = placed + [one["pod"] for one in demo["unschedulable"]]
    assert len(pods) == len(set(pods)) == demo["stats"]["pods"]
    assert all(pod.count("/") == 1 for pod in pods)


def test_the_demo_has_two_pods_that_wait_with_instructive_reasons(demo: dict[str, Any]) -> None:
    """One forgot a toleration, the other asks for too much memory."""
    waiting = {one["pod"]: one for one in demo["unschedulable"]}
    assert set(waiting) == {"demo-research/notebook", "demo-batch/month-end-report"}
    notebook, report = (
        waiting["demo-research/notebook"],
        waiting["demo-batch/month-end-report"],
    )
    assert "dedicated=gpu" in notebook["fix"]
    assert {one["reason"] for one in notebook["reasons"]} >= {"TaintNotTolerated"}
    assert {one["nodePool"] for one in report["reasons"]} == {"demo-general", "demo-gpu"}
    assert "memory" in report["summary"] + report["fix"]


def test_every_waiting_pod_has_a_sentence_and_reasons(demo: dict[str, Any]) -> None:
    """Reasons are CamelCase words with a message and a count."""
    for one in demo["unschedulable"]:
        assert set(one) >= {"pod", "summary", "reasons", "fix"}
        assert one["summary"].endswith(".")
        for reason in one["reasons"]:
            assert set(reason) >= {"nodePool", "reason", "message", "instanceTypesLeft"}
            assert reason["reason"].isalpha()
            assert reason["reason"][0].isupper()
            assert isinstance(reason["instanceTypesLeft"], int)


def test_the_cost_adds_up(demo: dict[str, Any]) -> None:
    """New nodes sum to newPerHour; the bound is below it; after = before + new - savings."""
    cost = demo["cost"]
    assert cost["newPerHour"] == pytest.approx(sum(c["pricePerHour"] for c in demo["nodeClaims"]))
    assert 0 < cost["lowerBoundPerHour"] <= cost["newPerHour"]
    saved = sum(one["savingPerHour"] for one in demo["disruptions"])
    assert cost["clusterAfterPerHour"] == pytest.approx(
        cost["clusterBeforePerHour"] + cost["newPerHour"] - saved
    )


def test_stats_count_and_time(demo: dict[str, Any]) -> None:
    """Pods, groups and seconds."""
    stats = demo["stats"]
    assert isinstance(stats["pods"], int)
    assert isinstance(stats["groups"], int)
    assert 0 < stats["groups"] <= stats["pods"]
    for name in ("readSeconds", "encodeSeconds", "solveSeconds"):
        assert isinstance(stats[name], float)
        assert stats[name] >= 0


def test_room_on_the_existing_node_is_used(demo: dict[str, Any]) -> None:
    """Waiting pods go to nodes already there before any is bought."""
    assert [node["name"] for node in demo["existingNodes"]] == ["demo-node-1"]
    assert demo["existingNodes"][0]["pods"]


def test_synthetic_spot_prices_are_said_to_be_synthetic(demo: dict[str, Any]) -> None:
    """The demo buys spot from the aws catalogue, so the note travels with the data."""
    assert any(claim["capacityType"] == "spot" for claim in demo["nodeClaims"])
    assert any("synthetic" in note for note in demo["notes"])


def without_stats(text: str) -> dict[str, Any]:
    """The part of the output that must not change."""
    whole: dict[str, Any] = json.loads(text)
    del whole["stats"]
    return whole


def test_two_runs_print_the_same_but_for_stats(run: Run) -> None:
    """Given the time, the answer is fixed, whatever the order of the input."""
    argv = ("plan", "-o", "json", *NOW)
    files = [str(path) for path in sorted((EXAMPLES / "demo").glob("*.yaml"))]
    forward = run(*argv, *(part for path in files for part in ("-f", path)))
    backward = run(*argv, *(part for path in reversed(files) for part in ("-f", path)))
    assert forward.code == backward.code == 0
    assert json.dumps(without_stats(forward.out)) == json.dumps(without_stats(backward.out))


def test_yaml_is_the_same_object(run: Run) -> None:
    """Only the spelling differs."""
    argv = ("plan", "-f", str(EXAMPLES / "01-first-plan"), *NOW)
    as_json = json.loads(run(*argv, "-o", "json").out)
    as_yaml = yaml.safe_load(run(*argv, "-o", "yaml").out)
    del as_json["stats"], as_yaml["stats"]
    assert as_yaml == as_json


def test_the_certificate_comes_when_asked_for(run: Run) -> None:
    """And proves the very bound that the cost states."""
    argv = ("plan", "-f", str(EXAMPLES / "01-first-plan"), "-o", "json", *NOW)
    assert "certificate" not in json.loads(run(*argv).out)
    whole = json.loads(run(*argv, "--certificate").out)
    bound = whole["certificate"]["boundNanousd"]
    assert whole["cost"]["lowerBoundPerHour"] == pytest.approx(bound / 1e9)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_every_example_plans_and_is_explained(run: Run, name: str) -> None:
    """Each folder has a README and works in every form."""
    assert (EXAMPLES / name / "README.md").read_text(encoding="utf-8").startswith("# ")
    for form in ("table", "wide", "json"):
        done = run("plan", "-f", str(EXAMPLES / name), "-o", form, *NOW)
        assert done.code == 0, done.err
        assert done.out


def test_all_examples_plan_as_one_cluster(run: Run) -> None:
    """Names do not collide between folders."""
    done = run("plan", "-f", str(EXAMPLES), "-o", "json", *NOW)
    assert done.code == 0, done.err
    whole = json.loads(done.out)
    assert whole["nodeClaims"]
    assert set(whole["cost"]) >= {"newPerHour", "lowerBoundPerHour"}


def test_every_pod_of_why_not_waits_for_its_own_reason(run: Run) -> None:
    """The example keeps its promise: each pod another reason, each with help."""
    done = run("plan", "-f", str(EXAMPLES / "04-why-not"), "-o", "json", *NOW)
    whole = json.loads(done.out)
    waiting = {one["pod"].partition("/")[2]: one for one in whole["unschedulable"]}
    assert set(waiting) == {
        "no-such-zone",
        "not-tolerated",
        "too-large",
        "over-the-limit",
        "no-such-claim",
        "gated",
    }
    assert whole["nodeClaims"] == []
    assert all(one["summary"] for one in waiting.values())
    assert "limits.cpu" in waiting["over-the-limit"]["fix"]
    assert "dedicated=licences" in waiting["not-tolerated"]["fix"]
    assert "not-there" in waiting["no-such-claim"]["summary"]


def test_unknown_kinds_are_skipped_and_counted_on_stderr(run: Run) -> None:
    """They are talk, not data, and no error."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    pod = (EXAMPLES / "01-first-plan" / "hello.yaml").read_text(encoding="utf-8")
    done = run("plan", "-f", "-", "-o", "json", *NOW, stdin=f"{text}---\n{pod}")
    assert done.code == 0, done.err
    assert "ConfigMap" in done.err
    assert "ConfigMap" not in done.out


def test_standard_input_is_read_as_a_file(run: Run) -> None:
    """As kubectl writes it: a List."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{n}", "namespace": "x"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        }
        for n in range(3)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    done = run("plan", "-f", "-", "-o", "json", *NOW, stdin=text)
    assert done.code == 0, done.err
    assert json.loads(done.out)["stats"]["pods"] == 3


def test_feature_gates_are_accepted_and_said_to_bind_run_only(run: Run) -> None:
    """A script that passes run's flags keeps working."""
    argv = ("plan", "-f", str(EXAMPLES / "01-first-plan"), *NOW)
    done = run(*argv, "--feature-gates", "NodeOverlay=true")
    assert done.code == 0
    assert "'run' only" in done.err


def test_the_environment_names_policies_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that is none is refused from there as well."""
    monkeypatch.setenv("PREFERENCE_POLICY", "Sometimes")
    done = run("plan", "-f", str(EXAMPLES / "01-first-plan"))
    assert done.code == 2
    assert "PREFERENCE_POLICY" in done.err
    assert done.out == ""


def test_default_spread_constraints_are_taken_from_the_file(run: Run, tmp_path: Path) -> None:
    """Pods without constraints of their own are spread as the cluster's scheduler would."""
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "podTopologySpread: {defaultConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule,"
        " topologyKey: topology.kubernetes.io/zone}]}",
        encoding="utf-8",
    )
    argv = ("plan", "-f", str(EXAMPLES / "01-first-plan"), "-o", "json", *NOW)
    spread = json.loads(run(*argv, "--scheduler-config", str(config)).out)["nodeClaims"]
    free = json.loads(run(*argv).out)["nodeClaims"]
    assert len({claim["zone"] for claim in spread}) == 4
    assert len({claim["zone"] for claim in free}) < 4


def test_no_colour_codes_reach_a_pipe(run: Run) -> None:
    """Tables in files are plain text."""
    assert "\x1b" not in run("plan", "-f", str(EXAMPLES / "demo"), *NOW).out


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_the_table_fits_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """Narrow terminals fold rather than spill; what counts stays readable."""
    monkeypatch.setenv("COLUMNS", columns)
    done = run("plan", "-f", str(EXAMPLES / "demo"), *NOW)
    table, _, _ = done.out.partition("cannot be placed")
    assert all(len(line) <= int(columns) for line in table.splitlines())
    assert "optimal" in done.out or "optimum" in done.out or "lower bound" in done.out
    assert "synthetic" in done.out


def test_wide_shows_more_columns(run: Run) -> None:
    """Pods and fallback types."""
    argv = ("plan", "-f", str(EXAMPLES / "demo"), *NOW)
    assert "fallback types" not in run(*argv).out
    assert "fallback types" in run(*argv, "-o", "wide").out


def test_crds_are_one_stream_for_kubectl(run: Run) -> None:
    """Every document is a CustomResourceDefinition."""
    done = run("crds")
    assert done.code == 0
    kinds = {
        crd["spec"]["names"]["kind"]
        for crd in yaml.safe_load_all(done.out)
        if crd["kind"] == "CustomResourceDefinition"
    }
    assert kinds >= {"NodePool", "NodeClaim", "NodeOverlay"}


@pytest.mark.parametrize("name", ["generic", "aws"])
def test_a_printed_catalogue_reads_back(run: Run, tmp_path: Path, name: str) -> None:
    """What `catalog -o json` prints is what `--catalog FILE` reads."""
    printed = run("catalog", "--catalog", name, "-o", "json")
    assert printed.code == 0
    path = tmp_path / "types.json"
    path.write_text(printed.out, encoding="utf-8")
    again = run("catalog", "--catalog", str(path), "-o", "json")
    assert again.out == printed.out


def test_the_aws_catalogue_says_that_spot_is_synthetic(run: Run) -> None:
    """Beside the table on stdout, and on stderr when stdout is data."""
    argv = ("catalog", "--catalog", "aws", "--family", "m7g")
    table = run(*argv)
    assert "synthetic" in table.out
    assert "m7g.large" in table.out
    assert "m6g.large" not in table.out
    assert "synthetic" in run(*argv, "-o", "json").err
    assert "synthetic" not in run("catalog").out


def test_a_reader_that_goes_away_ends_the_program_quietly() -> None:
    """`dovetail catalog | head` leaves no traceback."""
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail.cli", "catalog", "--catalog", "aws", "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read().decode()
    assert "Traceback" not in said
    assert process.returncode == 141


FLAGS = {
    "plan": (
        "--filename",
        "--output",
        "--catalog",
        "--now",
        "--no-disrupt",
        "--preference-policy",
        "--min-values-policy",
        "--feature-gates",
        "--scheduler-config",
        "--spot-robustness",
        "--effort",
        "--certificate",
        "PREFERENCE_POLICY",
        "MIN_VALUES_POLICY",
        "FEATURE_GATES",
        "SCHEDULER_CONFIG",
    ),
    "nodes": ("--filename", "--once", "--sort", "--filter", "--kubeconfig", "--context"),
    "cost": ("--filename", "--by", "--label", "--catalog", "--kubeconfig", "--context"),
    "validate": ("--filename",),
    "catalog": ("--catalog", "--family", "--arch", "--min-cpu", "--min-memory", "--resource"),
    "crds": ("kubectl apply",),
    "convert": ("--filename", "--check", "--in-place", "--ignore-defaults", "--role"),
}


@pytest.mark.parametrize("command", FLAGS)
def test_help_names_every_flag_and_shows_an_example(run: Run, command: str) -> None:
    """Help teaches: flags, environment names, and lines to copy."""
    done = run(command, "--help")
    assert done.code == 0
    for word in (*FLAGS[command], "Example", f"dovetail {command}"):
        assert word in done.out


def test_the_main_help_introduces_every_command(run: Run) -> None:
    """And begins with first steps."""
    done = run("--help")
    assert done.code == 0
    for word in (*FLAGS, "First steps", "--version"):
        assert word in done.out


def test_the_version_is_the_packages(run: Run) -> None:
    """One line."""
    done = run("--version")
    assert done.code == 0
    assert done.out.startswith("dovetail ")
