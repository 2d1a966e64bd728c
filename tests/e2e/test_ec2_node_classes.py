"""Does a real API server take the definition of EC2NodeClass, and judge classes as Python does?"""

from __future__ import annotations

import json

import pytest

from tests.controlplane.plane import ControlPlane
from tests.unit.api.manifests import Tree, spoiled
from tests.unit.providers.aws.node_class.definition import definition
from tests.unit.providers.aws.node_class.rows import METADATA, PRIMARY, ROWS, SOUND, Case

pytestmark = pytest.mark.xdist_group("controlplane")

CRD = "crd/ec2nodeclasses.karpenter.k8s.aws"
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
CASES = {
    f"case-{number}": (field, case)
    for number, (field, case) in enumerate(
        (field, case) for field, cases in ROWS.items() for case in cases
    )
}


@pytest.fixture(scope="module")
def verdicts(plane: ControlPlane) -> dict[str, str]:
    """What the server says to each class, by name; empty for those that it accepts."""
    given = json.dumps(definition())
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=given)
    plane.kubectl("wait", "--for=condition=Established", CRD, "--timeout=60s")
    return {name: refusal(plane, name, case) for name, (_, case) in CASES.items()}


def refusal(plane: ControlPlane, name: str, case: Case) -> str:
    """What the server says to a class that it refuses."""
    tree = spoiled(case.tree, "metadata.name", name)
    words = ("create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")
    answer = plane.kubectl(*words, given=json.dumps(tree), check=False)
    return "" if answer.strip() == f"ec2nodeclass.karpenter.k8s.aws/{name}" else answer


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name, (_, case) in CASES.items()],
    ids=[f"{field}: {case.name}" for field, case in CASES.values()],
)
def test_the_server_accepts_and_refuses_the_same_classes(
    verdicts: dict[str, str], name: str, case: Case
) -> None:
    """Every rule in CEL and in the schema says what its twin in Python says."""
    assert bool(verdicts[name]) == bool(case.field), verdicts[name]
    if verdicts[name]:
        assert "nvalid" in verdicts[name] or "unmarshal" in verdicts[name], verdicts[name]
    assert "compil" not in verdicts[name]


def test_the_server_fills_in_how_metadata_is_reached(
    plane: ControlPlane, verdicts: dict[str, str]
) -> None:
    """All of it where nothing is said, and what is left out of the rest."""
    assert verdicts
    assert stored(plane, SOUND)["spec"]["metadataOptions"] == METADATA
    partly = stored(plane, spoiled(SOUND, "spec.metadataOptions", {"httpTokens": "optional"}))
    assert partly["spec"]["metadataOptions"] == METADATA | {"httpTokens": "optional"}


def test_the_server_keeps_any_key_of_kubelet(plane: ControlPlane, verdicts: dict[str, str]) -> None:
    """Families that pass the map through need all of it."""
    assert verdicts
    kubelet = {"maxPods": "vcpus * 10", "logging": {"verbosity": 4}, "featureGates": {"X": True}}
    assert stored(plane, spoiled(SOUND, "spec.kubelet", kubelet))["spec"]["kubelet"] == kubelet


@pytest.mark.parametrize("field", sorted(PRIMARY))
def test_the_server_wants_every_field_of_an_interface(
    plane: ControlPlane, verdicts: dict[str, str], field: str
) -> None:
    """Python reads a field that is missing as 0, or as interface."""
    assert verdicts
    interface = {key: value for key, value in PRIMARY.items() if key != field}
    answer = refusal(plane, "partly", Case("partly", {"networkInterfaces": [interface]}))
    assert f"spec.networkInterfaces[0].{field}: Required value" in answer


def stored(plane: ControlPlane, tree: Tree) -> Tree:
    """The class as the server would store it."""
    words = ("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-")
    answer: Tree = json.loads(plane.kubectl(*words, given=json.dumps(tree)))
    return answer


def test_kubectl_finds_a_class_by_its_short_name_and_writes_its_status_apart(
    plane: ControlPlane, verdicts: dict[str, str]
) -> None:
    """The columns are those that users know; the spec is not written with the status."""
    assert verdicts
    plane.kubectl("create", "-f", "-", given=json.dumps(SOUND))
    try:
        patch = json.dumps({"spec": {"role": "other"}, "status": {"conditions": [READY]}})
        words = ("patch", "ec2nc", "default", "--subresource=status", "--type=merge", "-p", patch)
        plane.kubectl(*words)
        header, row = plane.kubectl("get", "ec2ncs", "-o", "wide").splitlines()
    finally:
        plane.kubectl("delete", "ec2nc", "default")
    assert header.split() == ["NAME", "READY", "AGE", "ROLE"]
    name, is_ready, _, role = row.split()
    assert (name, is_ready, role) == ("default", "True", "nodes")
