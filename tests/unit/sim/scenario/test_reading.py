from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.sim.scenario.reading import ScenarioText, load, scenario, with_settings
from dovetail.sim.scenario.written import WrittenCurve, WrittenScenario, WrittenStep
from tests.unit.sim.scenario.files import SMALL, written


def read(text: str, folder: Path) -> WrittenScenario:
    """What a file with this text says."""
    return scenario(load(written(folder, text)))


def complaint(text: str, folder: Path) -> str:
    """What is said of a file that cannot be used, without the folder's name."""
    with pytest.raises(InputError) as caught:
        read(text, folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_everything_but_the_cluster_has_a_default(tmp_path: Path) -> None:
    """A day, with seed 1."""
    found = read("title: x", tmp_path)
    assert (found.lasts, found.seed) == (timedelta(hours=24), 1)


def test_replicas_are_a_number_steps_or_a_wave(tmp_path: Path) -> None:
    """Each form is told apart by its shape."""
    text = """
    workloads:
      a: {replicas: 3}
      b: {replicas: [{at: 6h, pods: 2}]}
      c: {replicas: {low: 1, high: 4, noise: 5%}}
    """
    found = read(text, tmp_path).workloads
    assert found["a"].replicas == 3
    assert found["b"].replicas == (WrittenStep(at=timedelta(hours=6), pods=2),)
    wave = found["c"].replicas
    assert isinstance(wave, WrittenCurve)
    assert (wave.low, wave.high, wave.noise) == (1, 4, 0.05)


BAD = {
    "an unknown field with a near one": (
        "workload: {}",
        "day.yaml: workload: unknown field; did you mean workloads?",
    ),
    "an unknown field deep inside": (
        "workloads: {web: {replica: 3}}",
        "day.yaml: workloads.web.replica: unknown field; did you mean replicas?",
    ),
    "a time without a unit": (
        "lasts: 24",
        "day.yaml: lasts: found 24; expected a time such as 30m, 6h or 1d12h, up to 366d",
    ),
    "a time that goes back": (
        "lasts: -1h",
        "day.yaml: lasts: found '-1h'; expected a time such as 30m, 6h or 1d12h, up to 366d",
    ),
    "a list where a mapping belongs": (
        "workloads: [web]",
        "day.yaml: workloads: found a list; expected a mapping",
    ),
    "a missing field": (
        "workloads: {web: {replicas: {low: 3}}}",
        "day.yaml: workloads.web.replicas.high: missing; expected a whole number",
    ),
    "a bad item of a list": (
        "failures: [{storm: lots}]",
        "day.yaml: failures[0].storm: found 'lots'; expected a share such as 25% or 0.25",
    ),
    "a moment that is none": (
        "start: monday",
        "day.yaml: start: found 'monday'; expected a moment such as 2026-01-05T00:00:00Z",
    ),
    "a word that is none of the known": (
        "policy: {preferencePolicy: Maybe}",
        "day.yaml: policy.preferencePolicy: found 'Maybe'; expected one of Respect, Ignore",
    ),
    "a warm-up that counts nothing": (
        "{lasts: 1h, warmUp: 1h}",
        "day.yaml: warmUp: nothing would be counted; expected less than `lasts`",
    ),
    "two documents": (
        "lasts: 1h\n---\nlasts: 2h",
        "day.yaml: found 2 documents; expected one mapping, see docs/simulate.md",
    ),
    "text that is no YAML": (
        "lasts: [\n",
        (
            "day.yaml: line 2, column 1: malformed YAML (while parsing a flow node, did not find "
            "expected node content); expected well-formed YAML"
        ),
    ),
    "cron works that never rest": (
        "cronWorks: {x: {every: 0s}}",
        "day.yaml: cronWorks.x.every: expected at least 1s; leave it out for pods that come once",
    ),
}


@pytest.mark.parametrize(("text", "want"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named_with_what_was_expected(
    text: str, want: str, tmp_path: Path
) -> None:
    """File, field, what was found, what was expected."""
    assert complaint(text, tmp_path) == want


def test_a_file_that_is_not_there_is_named() -> None:
    """With what it should have been."""
    with pytest.raises(InputError, match=r"nowhere\.yaml: no such file; expected a scenario"):
        load("nowhere.yaml")


def test_a_setting_changes_one_field_and_no_other(tmp_path: Path) -> None:
    """Fields that were not there are made."""
    text = load(written(tmp_path, SMALL))
    found = scenario(
        with_settings(text, [("policy.evictionCost", "0s"), ("workloads.web.replicas", "9")])
    )
    assert found.policy.eviction_cost == "0s"
    assert found.workloads["web"].replicas == 9
    assert found.lasts == timedelta(hours=1)
    assert text == load(text.file)


def test_a_setting_below_a_value_is_refused() -> None:
    """A path leads through mappings."""
    text = ScenarioText("day.yaml", {"lasts": "1h"})
    with pytest.raises(InputError, match=r"lasts is no mapping; expected a path of fields"):
        with_settings(text, [("lasts.x", "1")])
