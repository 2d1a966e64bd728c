"""A cluster written as kubectl lists it is the same cluster when it is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from benchmarks.peers.from_bytes import FORMS, LIMITS, PARTS, best, main, measure, told, write
from benchmarks.results import Result
from benchmarks.runs import Trials
from benchmarks.scenarios import fleet
from dovetail.decide import decide

N_PODS = 120
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("form", FORMS)
def test_a_plan_from_bytes_is_the_plan_of_the_cluster_that_was_written(
    tmp_path: Path, form: str
) -> None:
    """The same groups, nodes and price; every pod has a place."""
    snapshot = fleet(N_PODS)
    plan = decide(snapshot, NOW)
    found = measure(*write(snapshot, tmp_path, form))
    assert found.failures == ()
    assert found.figures["pods"] == N_PODS
    assert found.figures["groups"] == plan.n_groups
    assert found.figures["nodes"] == len(plan.launches)
    assert found.figures["$/h"] == pytest.approx(plan.cost.new_nanousd / 1e9)


def test_both_forms_say_the_same_and_only_kubectls_is_indented(tmp_path: Path) -> None:
    """By four blanks a level, as kubectl does."""
    texts = {form: write(fleet(20), tmp_path, form)[0].read_bytes() for form in FORMS}
    trees = [json.loads(text) for text in texts.values()]
    assert trees[0] == trees[1]
    assert texts["kubectl"].decode() == json.dumps(trees[0], indent=4) + "\n"
    assert b"\n" not in texts["compact"]


def test_a_listed_pod_carries_what_a_cluster_adds(tmp_path: Path) -> None:
    """A dump of terse pods would be read too fast to mean anything."""
    cluster, _ = write(fleet(20), tmp_path, "compact")
    pods = [one for one in json.loads(cluster.read_bytes())["items"] if one["kind"] == "Pod"]
    assert len(pods) == 20
    for one in pods:
        assert one["metadata"]["ownerReferences"]
        assert one["spec"]["containers"][0]["volumeMounts"]
        assert one["spec"]["tolerations"][-1]["tolerationSeconds"] == 300
        assert one["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert len({one["metadata"]["uid"] for one in pods}) == 20
    assert cluster.stat().st_size / len(pods) > 2_000


def test_the_time_has_parts_and_the_memory_a_peak(tmp_path: Path) -> None:
    """The parts are not more than the whole."""
    figures = measure(*write(fleet(20), tmp_path, "compact")).figures
    assert 0 < sum(figures[name] for name in PARTS) <= figures["seconds"]
    assert figures["peak MB"] >= figures["idle MB"] > 0


def test_it_runs_in_a_process_of_its_own_and_is_held_against_limits() -> None:
    """Which are for 150,000 pods, and hold for fewer."""
    found = best(20, Trials(1, 1), "compact")
    assert found.failures == ()
    assert found.limits == LIMITS
    assert found.figures["pods"] == 20


def test_what_exceeds_its_limit_is_named() -> None:
    """Beside the figures."""
    result = Result("x", {"seconds": 11.5, "peak MB": 900.0}, LIMITS)
    assert told(result).splitlines() == [
        "seconds                    11.50  (at most 10)",
        "peak MB                      900  (at most 1,500)",
        "MISS: seconds 11.5 exceeds 10",
    ]


def test_the_command_says_by_its_exit_code_whether_it_was_good_enough(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """And as the process that reads, it prints a result."""
    cluster, types = write(fleet(20), tmp_path, "compact")
    assert main(["read", str(cluster), str(types), "1", "1"]) == 0
    found = msgspec.json.decode(capsysbinary.readouterr().out, type=Result)
    assert found.figures["pods"] == 20
    code = main(["20", "--form", "compact"])
    out = capsysbinary.readouterr().out
    assert all(part.encode() in out for part in PARTS)
    assert (b"MISS" in out) == bool(code)
