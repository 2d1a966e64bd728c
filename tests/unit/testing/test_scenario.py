from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.testing import is_scenario, load, parse

MINIMAL = {
    "because": "one pod, one node",
    "given": {"pods": [{"name": "web"}]},
    "want": {"nodes": 1},
}


def test_a_scenario_has_a_standard_pool_types_and_moment() -> None:
    """What a scenario does not care about need not be said."""
    scenario = parse(MINIMAL, "x.yaml")
    assert [pool.name for pool in scenario.snapshot.node_pools] == ["default"]
    offered = scenario.snapshot.instance_types["default"]
    assert [one.name for one in offered] == ["large", "medium", "small"]
    assert scenario.now == datetime(2026, 1, 1, tzinfo=UTC)


def test_manifests_pass_through_the_border() -> None:
    """Plain Kubernetes objects are read as `dovetail plan` reads them, beside the shorthand."""
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "api"}},
            "template": {
                "metadata": {"labels": {"app": "api"}},
                "spec": {
                    "containers": [{"name": "main", "resources": {"requests": {"cpu": "1500m"}}}]
                },
            },
        },
    }
    given = {"pods": [{"name": "web"}], "manifests": [workload]}
    scenario = parse({**MINIMAL, "given": given}, "x.yaml")
    cpu = {pod.key: pod.spec.requests["cpu"] for pod in scenario.snapshot.pods}
    assert cpu == {"default/api-0": 1500, "default/api-1": 1500, "default/web": 100}
    assert [pool.name for pool in scenario.snapshot.node_pools] == ["default"]


def test_a_pool_among_the_manifests_replaces_the_standard_one() -> None:
    """Who brings a NodePool does not get another."""
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "mine"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.kwok.sh",
                        "kind": "KWOKNodeClass",
                        "name": "default",
                    },
                    "requirements": [],
                }
            }
        },
    }
    scenario = parse({**MINIMAL, "given": {"manifests": [pool]}}, "x.yaml")
    assert [one.name for one in scenario.snapshot.node_pools] == ["mine"]
    assert len(scenario.snapshot.instance_types["mine"]) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"want": {}}, "`want` is empty", id="nothing wanted"),
        pytest.param({"because": " "}, "`because` is empty", id="no law"),
        pytest.param({"now": "2026-01-01T00:00:00"}, "time zone", id="no time zone"),
        pytest.param({"given": {"pod": []}}, "pod", id="unknown word"),
        pytest.param({"given": {"pods": [{"name": "a", "cpu": "much"}]}}, "much", id="bad amount"),
        pytest.param(
            {"given": {"pools": {"default": {"types": ["huge"]}}}}, "huge", id="unknown type"
        ),
        pytest.param({"want": {"unschedulable": {"a": "Mood"}}}, "Mood", id="unknown reason"),
        pytest.param({"given": {"catalog": "/no/such/file.json"}}, "file.json", id="no catalogue"),
    ],
)
def test_a_bad_scenario_is_refused_by_file_and_field(change: dict[str, object], said: str) -> None:
    """The message names the file and what is wrong in it."""
    with pytest.raises(InputError) as caught:
        parse({**MINIMAL, **change}, "bad.yaml")
    assert said in str(caught.value)


def test_a_file_that_is_no_yaml_is_refused_by_name(tmp_path: Path) -> None:
    """So is one that cannot be read."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("given: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.yaml"):
        load(broken)
    with pytest.raises(InputError, match=r"absent\.yaml"):
        load(tmp_path / "absent.yaml")


def test_scenarios_are_told_from_manifests() -> None:
    """A Kubernetes object is no scenario."""
    assert is_scenario(MINIMAL)
    assert not is_scenario({"apiVersion": "v1", "kind": "Pod", "given": {}})
    assert not is_scenario([MINIMAL])
