"""Tests what is wrong with an EC2NodeClass beyond its definition."""

from __future__ import annotations

import pytest

from dovetail import api
from dovetail.apiserver import MemoryKube
from dovetail.kube.errors import InvalidError
from dovetail.providers.aws.node_class.definition import KIND
from dovetail.providers.aws.node_class.types import EC2NodeClass
from dovetail.providers.aws.node_class.validation import node_class_problems, resolved_family
from dovetail.providers.aws.plugin import PLUGIN
from tests.unit.api.manifests import Tree, spoiled
from tests.unit.kube.surroundings import VirtualClock
from tests.unit.providers.aws.node_class.rows import ROWS, SOUND, Case


def read(tree: Tree) -> EC2NodeClass:
    """The class of a manifest."""
    return api.decode(EC2NodeClass, tree)


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, "AL2023", id="that of the alias"),
        pytest.param({"amiFamily": "Custom"}, "Custom", id="amiFamily goes before the alias"),
        pytest.param(
            {"amiSelectorTerms": [{"alias": "windows2025@latest"}]}, "Windows2025", id="Windows"
        ),
        pytest.param(
            {"amiSelectorTerms": [{"id": "ami-1"}], "amiFamily": "AL2"}, "AL2", id="no alias"
        ),
        pytest.param({"amiSelectorTerms": [{"id": "ami-1"}]}, "Custom", id="neither"),
    ],
)
def test_the_family_is_that_of_the_reference(spec: Tree, want: str) -> None:
    """It is part of the drift hash."""
    assert resolved_family(read({**SOUND, "spec": SOUND["spec"] | spec}).spec) == want


@pytest.mark.parametrize(
    ("kubelet", "field", "message"),
    [
        pytest.param({"maxPod": 1}, "spec.kubelet.maxPod", "is unknown", id="a key"),
        pytest.param(
            {"maxPods": "cores"}, "spec.kubelet.maxPods", "'cores' is unknown", id="an expression"
        ),
        pytest.param(
            {"registerWithTaints": []}, "spec.kubelet.registerWithTaints", "NodePool", id="t"
        ),
    ],
)
def test_kubelet_settings_that_cannot_be_applied_are_problems(
    kubelet: Tree, field: str, message: str
) -> None:
    """`dovetail validate` reports what the status would."""
    (problem,) = node_class_problems(read(spoiled(SOUND, "spec.kubelet", kubelet)))
    assert problem.field == field
    assert message in problem.message


def test_kubelet_settings_are_judged_by_the_family() -> None:
    """AL2023 takes any key, Bottlerocket does not."""
    tree = spoiled(SOUND, "spec.kubelet", {"shutdownGracePeriod": "30s"})
    assert list(node_class_problems(read(tree))) == []
    other = spoiled(tree, "spec.amiSelectorTerms", [{"alias": "bottlerocket@latest"}])
    (problem,) = node_class_problems(read(other))
    assert problem.field == "spec.kubelet.shutdownGracePeriod"


ALL = [
    pytest.param(case, id=f"{field}: {case.name}")
    for field, cases in ROWS.items()
    for case in cases
]


@pytest.mark.parametrize("case", ALL)
def test_validation_finds_what_the_definition_refuses(case: Case) -> None:
    """One call finds all, wherever a rule is written."""
    try:
        found = api.problems(read(case.tree), (PLUGIN.extension,))
    except api.DecodeError as error:
        found = [error.problem]
    assert bool(found) == bool(case.field), found


@pytest.mark.parametrize("case", ALL)
async def test_the_server_in_memory_refuses_the_same_classes(case: Case) -> None:
    """Tests without a control plane see what a real one would say."""
    kube = MemoryKube(VirtualClock(), extensions=(PLUGIN.extension,))
    if not case.field:
        assert await kube.create(KIND, case.tree)
        return
    with pytest.raises(InvalidError):
        await kube.create(KIND, case.tree)


async def test_the_server_in_memory_stores_what_only_a_controller_can_judge() -> None:
    """As a real server does: the status of the class reports it."""
    kube = MemoryKube(VirtualClock(), extensions=(PLUGIN.extension,))
    tree = spoiled(SOUND, "spec.kubelet", {"registerWithTaints": []})
    assert await kube.create(KIND, tree)
    assert api.problems(read(tree), (PLUGIN.extension,))


USER_DATA = [
    ("al2023", "#!/bin/bash\ntrue\n", ""),
    ("al2023", "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\na", "MIME"),
    ("al2023", "#!/bin/sh\n" + "x" * 16384, "bytes or more; expected at most 16384"),
    ("bottlerocket", "[settings", "TOML"),
    ("windows2022", "<powershell>\na\n</powershell>", "PowerShell without tags"),
]


@pytest.mark.parametrize(
    ("family", "text", "want"),
    USER_DATA,
    ids=[f"{row[0]}: {row[2] or 'sound'}" for row in USER_DATA],
)
def test_user_data_is_judged_by_its_family(family: str, text: str, want: str) -> None:
    """Before a node fails to join because of it."""
    tree = spoiled(SOUND, "spec.amiSelectorTerms", [{"alias": f"{family}@latest"}])
    found = list(node_class_problems(read(spoiled(tree, "spec.userData", text))))
    assert [problem.field for problem in found] == (["spec.userData"] if want else [])
    assert all(want in problem.message for problem in found)


def test_other_kinds_have_no_such_problems() -> None:
    """The rules are for EC2NodeClass alone."""
    assert list(node_class_problems(api.Object())) == []
