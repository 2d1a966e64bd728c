"""What an operator may set, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.model.topology import NOTHING, Spread
from dovetail.settings.readings import FEATURE_GATES, feature_gates
from dovetail.settings.scheduler import default_spread

ZONE = "topology.kubernetes.io/zone"


def written(folder: Path, text: str) -> str:
    """A configuration file with this text."""
    path = folder / "scheduler.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def one_constraint(fields: str) -> str:
    """A configuration with a single constraint."""
    return f"podTopologySpread: {{defaultConstraints: [{{{fields}}}]}}"


SOUND = f"maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: ScheduleAnyway"


def test_default_constraints_become_spread_without_a_selector(tmp_path: Path) -> None:
    """The selector is deduced later, from services and owners."""
    path = written(tmp_path, one_constraint(SOUND))
    assert default_spread(path) == (Spread(ZONE, NOTHING, is_hard=False),)


def test_json_is_yaml_too(tmp_path: Path) -> None:
    """Either format is read."""
    text = (
        '{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 3, "topologyKey": "rack",'
        ' "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}]}}'
    )
    path = written(tmp_path, text)
    assert default_spread(path) == (Spread("rack", NOTHING, max_skew=3, min_domains=2),)


def test_no_file_means_no_defaults(tmp_path: Path) -> None:
    """Neither does an empty one."""
    assert default_spread("") == ()
    assert default_spread(written(tmp_path, "")) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("podTopologySpred: {}", ["podTopologySpred"], id="an unknown field"),
        pytest.param("[1, 2]", ["object"], id="not an object"),
        pytest.param("{a: [", ["YAML"], id="malformed"),
        pytest.param(
            one_constraint(f"maxSkew: 0, topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule"),
            ["defaultConstraints[0].maxSkew", "above 0"],
            id="skew of zero",
        ),
        pytest.param(
            one_constraint("maxSkew: 1, topologyKey: a b, whenUnsatisfiable: DoNotSchedule"),
            ["topologyKey", "label key"],
            id="key that is no label",
        ),
        pytest.param(
            one_constraint(f"maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: Never"),
            ["whenUnsatisfiable", "Never"],
            id="unknown word",
        ),
        pytest.param(
            one_constraint(f"{SOUND}, labelSelector: {{}}"), ["labelSelector"], id="a selector"
        ),
        pytest.param(
            one_constraint(f"{SOUND}, matchLabelKeys: [a]"), ["matchLabelKeys"], id="label keys"
        ),
        pytest.param(
            one_constraint(f"{SOUND}, minDomains: 2"), ["minDomains"], id="minDomains when soft"
        ),
        pytest.param(
            f"podTopologySpread: {{defaultConstraints: [{{{SOUND}}}, {{{SOUND}}}]}}",
            ["defaultConstraints[1]", "only once"],
            id="twice the same",
        ),
    ],
)
def test_a_bad_configuration_is_refused_by_file_and_field(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    """The message names the file, the field and what was expected."""
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        default_spread(path)
    assert path in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_missing_configuration_file_is_refused() -> None:
    """By its name."""
    with pytest.raises(InputError, match=r"not-there\.yaml"):
        default_spread("not-there.yaml")


def test_feature_gates_overlay_the_defaults() -> None:
    """Unknown gates are let through, white space is tolerated."""
    gates = feature_gates(" NodeOverlay = true , Newer=false,")
    assert gates == {**FEATURE_GATES, "NodeOverlay": True, "Newer": False}


@pytest.mark.parametrize("text", ["NodeOverlay", "NodeOverlay=yes", "=true"])
def test_a_gate_without_a_truth_value_is_refused(text: str) -> None:
    """Only true and false are understood."""
    with pytest.raises(InputError, match="expected Name=true"):
        feature_gates(text)
