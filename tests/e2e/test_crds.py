"""Does a real API server take our CRDs, and hold objects to their rules?"""

from __future__ import annotations

import json

import pytest

from tests.controlplane.plane import ControlPlane
from tests.unit.api.manifests import BUFFER, CLAIM, KWOK, OVERLAY, POOL, Tree, spoiled
from tests.unit.api.test_validation import BAD

pytestmark = pytest.mark.xdist_group("controlplane")

SOUND = (POOL, CLAIM, OVERLAY, BUFFER, KWOK)
# What a schema does not say: the controller tells it in the object's status.
AT_RUN_TIME = {
    ("metadata.annotations", "expected a whole number"),
    ("metadata.annotations", "expected dollars an hour"),
    ("metadata.annotations", 'expected dollars an hour from "0" to "1000"'),
    ("metadata.annotations", "expected a duration"),
    ("spec.template.metadata.labels.x~karpenter~kwok~sh/y", "expected another label"),
    ("spec.template.metadata.labels.a/b/c", "is no label key"),
    ("spec.template.spec.requirements.2.key", "is no label key"),
    ("spec.template.spec.requirements.0", "at least 1 of the capacity types"),
    ("spec.template.spec.requirements.0", "at least 2 of the capacity types"),
    ("spec.template.spec.taints.0.value", "at most 63"),
    ("spec.template.spec.startupTaints.0.effect", "is there twice"),
    ("spec.template.spec.expireAfter", "292 years"),
    ("spec.disruption.budgets.0.nodes", "expected at most 2147483647"),
    ("spec.disruption.budgets.0.schedule", "'9-8' is no hour"),
    ("spec.limits.cpu", "expected 0 or more"),
    ("spec.limits.a b", "is no resource name"),
    ("spec.taints", "is there twice"),
    ("spec.podTemplateRef", "expected podTemplateRef or scalableRef"),
    ("spec", "expected one of Deployment"),
    ("spec", "expected apps"),
}


@pytest.fixture(scope="module", autouse=True)
def _namespace(plane: ControlPlane) -> None:
    """For objects that live in one."""
    plane.kubectl("create", "namespace", "web")


def tried(plane: ControlPlane, tree: Tree) -> str:
    """What the server says to an object, without keeping it."""
    words = ("create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")
    return plane.kubectl(*words, given=json.dumps(tree), check=False)


@pytest.mark.parametrize("tree", SOUND, ids=lambda tree: str(tree["kind"]))
def test_a_sound_object_is_taken(plane: ControlPlane, tree: Tree) -> None:
    """With every field that it may have."""
    named = {**tree, "metadata": {**tree["metadata"], "name": "sound"}}  # others may have its name
    assert tried(plane, named).strip().endswith("/sound")


@pytest.mark.parametrize(
    ("tree", "path", "value", "message"),
    [(tree, path, value, message) for tree, path, value, _, message in BAD],
    ids=[f"{number}: {tree['kind']} {path}" for number, (tree, path, *_) in enumerate(BAD)],
)
def test_an_object_that_breaks_a_rule_is_refused(
    plane: ControlPlane, tree: Tree, path: str, value: object, message: str
) -> None:
    """One for each rule of the schema."""
    said = tried(plane, spoiled(tree, path, value))
    is_refused = "rror" in said or "nvalid" in said
    assert is_refused != ((path, message) in AT_RUN_TIME), said


@pytest.mark.parametrize(
    "schedule", ["@daily", " 0,30 8-17/2 ? Jan,FEB mon-5 ", "*/5 00 1,,15 * *", "59 23 31 12 6"]
)
def test_a_schedule_that_can_be_read_is_taken(plane: ControlPlane, schedule: str) -> None:
    """However it is written."""
    said = tried(plane, spoiled(POOL, "spec.disruption.budgets.0.schedule", schedule))
    assert "rror" not in said
    assert "nvalid" not in said


def test_a_schedule_that_cannot_be_read_is_refused_in_words(plane: ControlPlane) -> None:
    """The field is named, and what was expected."""
    said = tried(plane, spoiled(POOL, "spec.disruption.budgets.0.schedule", "0 24 * * *"))
    assert "spec.disruption.budgets[0].schedule" in said
    assert "expected minute 0 to 59, hour 0 to 23" in said


def reference(**other: str) -> Tree:
    """A reference to the node class, somehow changed."""
    return {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default", **other}


@pytest.mark.parametrize(
    ("tree", "change", "is_fine"),
    [
        (POOL, {"template": {"spec": {"nodeClassRef": reference(name="other")}}}, True),
        (POOL, {"template": {"spec": {"nodeClassRef": reference(kind="Other")}}}, False),
        (POOL, {"template": {"spec": {"nodeClassRef": reference(group="other.sh")}}}, False),
        (POOL, {"replicas": 2, "weight": None, "limits": None}, False),
        (POOL, {"weight": 7}, True),
        (CLAIM, {"resources": {"requests": {"cpu": "2"}}}, False),
    ],
    ids=["class", "kind of class", "group of class", "static", "weight", "claim"],
)
def test_what_must_not_change_does_not(
    plane: ControlPlane, tree: Tree, change: Tree, *, is_fine: bool
) -> None:
    """A pool stays with its kind of node class, and dynamic or static; a claim stays as it is."""
    plane.kubectl("apply", "-f", "-", given=json.dumps(tree))
    name = f"{tree['kind'].lower()}s.karpenter.sh/{tree['metadata']['name']}"
    patch = json.dumps({"spec": change})
    try:
        said = plane.kubectl("patch", name, "--type=merge", "-p", patch, check=False)
    finally:  # a claim that stays would be launched by the next controller
        plane.kubectl("delete", name)
    assert ("nvalid" not in said) == is_fine, said
