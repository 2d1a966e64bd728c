"""What does the chart of default NodePools make of its values?"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.cli import main
from tests.controlplane.charts import CHARTS, Tree, helm
from tests.controlplane.charts import rendered as rendered_chart

pytestmark = pytest.mark.xdist_group("controlplane")
CLUSTER = {"clusterName": "prod"}


def rendered(values: Tree | None = None) -> dict[tuple[str, str], Tree]:
    """The objects by kind and name."""
    trees = rendered_chart(CLUSTER | (values or {}), chart="dovetail-pools")
    return {(tree["kind"], tree["metadata"]["name"]): tree for tree in trees}


def pools(values: Tree | None = None) -> dict[str, Tree]:
    """The specs of the NodePools by name."""
    return {
        name: tree["spec"] for (kind, name), tree in rendered(values).items() if kind == "NodePool"
    }


def requirements(spec: Tree) -> dict[str, list[str]]:
    """What a NodePool requires of its nodes."""
    return {one["key"]: one["values"] for one in spec["template"]["spec"]["requirements"]}


def test_the_chart_has_nothing_that_helm_frowns_upon() -> None:
    """Not even a warning."""
    path = str(CHARTS / "dovetail-pools")
    result = helm("lint", "--strict", path, "--set", "clusterName=prod")
    assert result.returncode == 0, result.stdout + result.stderr
    ours, pools_chart = (
        yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
        for name in ("dovetail", "dovetail-pools")
    )
    assert pools_chart["version"] == ours["version"]
    assert pools_chart["appVersion"] == ours["appVersion"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {
            "namePrefix": "team-a-",
            "additionalLabels": {"team": "a"},
            "additionalAnnotations": {"contact": "a"},
            "nodeClass": {"tags": {"team": "a"}, "subnetSelectorTerms": [{"id": "subnet-0123"}]},
            "general": {"labels": {"team": "a"}, "taints": [{"key": "a", "effect": "NoSchedule"}]},
            "disruption": {"quietHours": {"schedule": ""}},
            "expireAfter": "Never",
        },
    ],
    ids=["as they come", "of a team"],
)
def test_validate_accepts_what_is_rendered(
    values: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules of the API server, and what only the controller knows."""
    path = tmp_path / "pools.yaml"
    path.write_text(yaml.safe_dump_all(rendered(values).values()))
    assert main(["validate", "-f", str(path)]) == 0, capsys.readouterr()
    assert "10 objects are fine." in capsys.readouterr().out


PAGE = (CHARTS.parent / "docs" / "pools.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", re.findall(r"--set (\S+=[^`\n]+)", PAGE))
def test_what_the_page_sets_is_rendered_and_valid(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every `--set` that can be copied from it."""
    given = shlex.split(f"--set {words} --set clusterName=my-cluster")
    result = helm("template", "pools", str(CHARTS / "dovetail-pools"), *given)
    assert result.returncode == 0, result.stderr
    path = tmp_path / "pools.yaml"
    path.write_text(result.stdout)
    assert main(["validate", "-f", str(path)]) == 0, capsys.readouterr()


def test_each_kind_architecture_and_capacity_type_has_a_pool() -> None:
    """Named after the three."""
    got = pools()
    assert {
        name: (
            requirements(spec)["kubernetes.io/arch"],
            requirements(spec)["karpenter.sh/capacity-type"],
            spec["template"]["spec"]["nodeClassRef"]["name"],
        )
        for name, spec in got.items()
    } == {
        f"system-service-{kind}-{arch}-{capacity}": ([arch], [capacity], f"system-service-{kind}")
        for kind in ("general", "accelerated")
        for arch in ("amd64", "arm64")
        for capacity in ("on-demand", "spot")
    }


def test_only_what_is_wanted_is_made() -> None:
    """By kind, architecture and capacity type."""
    values: Tree = {
        "namePrefix": "",
        "accelerated": {"enabled": False},
        "architectures": ["arm64"],
        "capacityTypes": ["spot"],
    }
    assert set(rendered(values)) == {
        ("NodePool", "general-arm64-spot"),
        ("EC2NodeClass", "general"),
    }


def test_node_classes_boot_bottlerocket_with_encrypted_disks() -> None:
    """They find their network by the cluster's name, and have its role."""
    for name in ("general", "accelerated"):
        spec = rendered()["EC2NodeClass", f"system-service-{name}"]["spec"]
        assert spec["amiSelectorTerms"] == [{"alias": "bottlerocket@latest"}]
        assert spec["role"] == "KarpenterNodeRole-prod"
        discovery = [{"tags": {"karpenter.sh/discovery": "prod"}}]
        assert spec["subnetSelectorTerms"] == spec["securityGroupSelectorTerms"] == discovery
        assert {disk["ebs"]["encrypted"] for disk in spec["blockDeviceMappings"]} == {True}
        assert spec["metadataOptions"]["httpTokens"] == "required"


def test_quiet_hours_are_a_budget_of_none() -> None:
    """Beside the one that holds always; without a schedule there are no quiet hours."""
    budgets: list[Any] = [spec["disruption"]["budgets"] for spec in pools().values()]
    always = {"nodes": "10%"}
    quiet = {
        "nodes": "0",
        "schedule": "0 7 * * mon-fri",
        "duration": "10h",
        "reasons": ["Drifted", "Underutilized"],
    }
    assert budgets == [[always, quiet]] * 8
    loud = pools({"disruption": {"quietHours": {"schedule": ""}}})
    assert [spec["disruption"]["budgets"] for spec in loud.values()] == [[always]] * 8


def test_limits_are_written_out() -> None:
    """Whole numbers stay whole, and others are not rounded."""
    limits = {"cpu": 1000000, "memory": "4000Gi", "example.com/half": 0.5}
    (spec, *_) = pools({"general": {"limits": limits}}).values()
    assert spec["limits"] == {"cpu": "1000000", "memory": "4000Gi", "example.com/half": "0.5"}


def test_pods_without_gpus_stay_away_from_accelerated_nodes() -> None:
    """By a taint."""
    for name, spec in pools().items():
        taints = spec["template"]["spec"].get("taints", [])
        want = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}] if "accelerated" in name else []
        assert taints == want


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"clusterName": ""}, "clusterName: expected the name of the EKS cluster"),
        ({"clusterName": "two words"}, "/clusterName"),
        ({"namePrefix": "Team-"}, "/namePrefix"),
        ({"namePrefix": "a" * 37}, "/namePrefix"),
        ({"architectures": []}, "/architectures"),
        ({"capacityTypes": ["cheap"]}, "/capacityTypes/0"),
        ({"nodeClass": {"amiAlias": "al2023@latest"}}, "/nodeClass/amiAlias"),
        ({"general": {"dataVolumeSize": "large"}}, "/general/dataVolumeSize"),
        ({"general": {"limit": {}}}, "limit"),
        ({"expireAfter": "a month"}, "/expireAfter"),
        ({"disruption": {"nodes": "110%"}}, "/disruption/nodes"),
        ({"disruption": {"quietHours": {"reasons": ["Bored"]}}}, "/disruption/quietHours/reasons"),
    ],
    ids=str,
)
def test_nonsense_is_refused(values: Tree, message: str) -> None:
    """With a message that names the value."""
    with pytest.raises(AssertionError, match="dovetail-pools") as refused:
        rendered(values)
    assert message in str(refused.value)


def test_every_value_is_in_the_schema() -> None:
    """And every value of the schema has its default in the file that users read."""
    schema = json.loads((CHARTS / "dovetail-pools" / "values.schema.json").read_text())
    values = yaml.safe_load((CHARTS / "dovetail-pools" / "values.yaml").read_text())
    kinds = schema["definitions"]["pools"]["properties"].keys()
    assert schema["properties"].keys() - {"global"} == values.keys()
    assert values["general"].keys() == values["accelerated"].keys() == kinds
    for name in ("nodeClass", "disruption"):
        assert schema["properties"][name]["properties"].keys() == values[name].keys()
