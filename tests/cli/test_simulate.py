"""dovetail simulate: what it prints, what it writes, and what it says of bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.cli import main
from tests.unit.sim.scenario.files import POOL, SMALL, written

ROOT = Path(__file__).parents[2]
SIMULATIONS = sorted((ROOT / "simulations").glob("*.yaml"))


@pytest.fixture
def day(tmp_path: Path) -> str:
    """A scenario that is over in a moment."""
    return written(tmp_path, SMALL)


def data(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """What a command prints as JSON."""
    assert main(["simulate", *argv, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command says that cannot do what it is asked."""
    assert main(["simulate", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_a_table_has_money_evictions_waiting_and_utilisation(
    day: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data on stdout, nothing else."""
    assert main(["simulate", day]) == 0
    out, err = capsys.readouterr()
    rows = {line.rpartition("   ")[0].strip() for line in out.splitlines()}
    want = {"cost", "evictions", "pending, median", "pending, 99th", "cpu utilisation"}
    assert want <= rows
    assert err == ""


def test_json_and_yaml_say_the_same(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the same order."""
    held = data(capsys, day)
    assert main(["simulate", day, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == held
    assert held["runs"][0]["figures"]["podsBound"] == 6


def test_comparing_one_scenario_sets_dovetail_beside_the_reference(
    day: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reference first, so that differences are Dovetail's."""
    held = data(capsys, day, "--compare", "--workers", "1")
    assert [one["policy"] for one in held["runs"]] == ["reference", "dovetail"]
    cost = held["differences"]["cost"]
    assert cost["difference"] == pytest.approx(cost["second"] - cost["first"])


def test_comparing_two_scenarios_sets_them_side_by_side(
    day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both under the policy that was asked for."""
    more = written(tmp_path, SMALL.replace("replicas: 6", "replicas: 12"), "more.yaml")
    held = data(capsys, "--compare", day, more, "--workers", "1", "--policy", "reference")
    assert [one["scenario"] for one in held["runs"]] == [day, more]
    assert {one["policy"] for one in held["runs"]} == {"reference"}
    assert held["differences"]["podsBound"]["difference"] == 6


def test_seeds_run_on_several_cores_and_come_to_the_same(
    day: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process of its own changes nothing."""
    alone = data(capsys, day, "--seeds", "1-2", "--workers", "1")
    together = data(capsys, day, "--seeds", "1-2", "--workers", "2")
    assert together == alone
    assert alone["runs"][0]["seeds"] == [1, 2]


def test_values_are_varied_in_every_combination(
    day: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is a run of its own."""
    argv = ("--vary", "workloads.web.replicas=2,4", "--vary", "policy.effort=0,1")
    held = data(capsys, day, *argv, "--set", "lasts=30m", "--workers", "1")
    found = [tuple(one["settings"].values()) for one in held["runs"]]
    assert found == [("2", "0"), ("2", "1"), ("4", "0"), ("4", "1")]
    assert [one["figures"]["podsBound"] for one in held["runs"]] == [2, 2, 4, 4]
    assert {one["lasts"] for one in held["runs"]} == {"30m0s"}


def test_a_page_is_written_beside_the_table(
    day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And talked about on stderr."""
    file = tmp_path / "day.html"
    assert main(["simulate", day, "--html", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out
    assert err == f"Wrote {file}\n"
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_dump_is_read_beside_the_scenario_and_unknown_kinds_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pods of the dump run on, and may follow a curve."""
    dump = """
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
  - {apiVersion: example.com/v1, kind: Widget, metadata: {name: one}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec: {containers: [{name: shop, image: x, resources: {requests: {cpu: 500m}}}]}
"""
    day = written(
        tmp_path, f"lasts: 1h\n{POOL}workloads: {{s: {{of: default/shop, replicas: 5}}}}\n"
    )
    assert main(["simulate", day, "-f", written(tmp_path, dump, "dump.yaml"), "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"][0]["figures"]["podsBound"] == 5
    assert "Skipped 2 objects of other kinds" in err


def test_bad_rows_of_a_trace_are_told_and_the_rest_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their line."""
    written(tmp_path, "time,workload,replicas\n0,web,2\n10m,web,many\n", "trace.csv")
    text = f"lasts: 30m\ntrace: trace.csv\n{POOL}workloads: {{web: {{requests: {{cpu: 1}}}}}}\n"
    assert main(["simulate", written(tmp_path, text), "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"][0]["figures"]["podsBound"] == 2
    assert re.search(r"trace\.csv: line 3: replicas 'many' is no number", err)


BAD_FLAGS = {
    "two files without --compare": (["a.yaml", "b.yaml"], "expected at most 1, not 2"),
    "the same file twice": (["a.yaml", "a.yaml", "--compare"], "expected two different files"),
    "a policy that nobody has": (["a.yaml", "--policy", "luck"], "expected dovetail or reference"),
    "seeds that run backwards": (["a.yaml", "--seeds", "5-1"], "expected a range such as 1-20"),
    "both kinds of seeds": (["a.yaml", "--seed", "1", "--seeds", "1-2"], "expected either --seed"),
    "a setting without a value": (["a.yaml", "--set", "lasts"], "expected FIELD=VALUE"),
    "a page in no directory": (["a.yaml", "--html", "/nowhere/x.html"], "cannot be written"),
    "a file that is not there": (["nowhere.yaml"], "nowhere.yaml: no such file"),
}


@pytest.mark.parametrize(("argv", "want"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags_are_explained(
    argv: list[str], want: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2."""
    assert want in " ".join(refused(capsys, *argv).replace("│", " ").split())


def test_a_scenario_without_a_pool_says_where_one_belongs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing could ever be launched."""
    said = refused(capsys, written(tmp_path, "lasts: 1h"))
    assert "no NodePool; expected one under `manifests`" in said


def test_a_scenario_of_one_plan_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those have given and want."""
    said = refused(capsys, written(tmp_path, "because: x\ngiven: {}\nwant: {nodes: 0}"))
    assert "because: unknown field" in said


@pytest.mark.parametrize("file", SIMULATIONS, ids=lambda file: file.stem)
def test_every_shipped_simulation_compares_with_the_reference(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six hours of it, on a page; every pod gets its node."""
    page = tmp_path / "page.html"
    argv = (str(file), "--compare", "--set", "lasts=6h", "--html", str(page), "--workers", "1")
    held = data(capsys, *argv)
    assert [one["policy"] for one in held["runs"]] == ["reference", "dovetail"]
    assert all(one["figures"]["cost"] > 0 for one in held["runs"])
    assert "reference" in page.read_text(encoding="utf-8")


def test_simulations_are_shipped() -> None:
    """The test above has something to run."""
    assert len(SIMULATIONS) >= 4
