"""Does a real API server take our CRDs, and hold objects to their rules?"""

from __future__ import annotations

import json

import pytest

from dovetail.api.crds import render
from tests.controlplane.plane import ControlPlane
from tests.unit.api.manifests import BUFFER, CLAIM, KWOK, OVERLAY, POOL, Tree, spoiled
from tests.unit.api.test_validation import BAD

pytestmark = pytest.mark.xdist_group("controlplane")

SOUND = (POOL, CLAIM, OVERLAY, BUFFER, KWOK)
# What a schema cannot say: the controller tells it in the status of the object (spec/core.md 1.2).
AT_RUN_TIME = (
    "expected each key and effect once",
    "capacity type",
)


@pytest.fixture(scope="module", autouse=True)
def _crds(plane: ControlPlane) -> None:
    """As a user would install them."""
    plane.kubectl("apply", "--server-side", "-f", "-", given=render())
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def tried(plane: ControlPlane, tree: Tree) -> str:
    """What the server says to an object, without keeping it."""
    words = ("create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")
    return plane.kubectl(*words, given=json.dumps(tree), check=False)


@pytest.mark.parametrize("tree", SOUND, ids=lambda tree: str(tree["kind"]))
def test_a_sound_object_is_taken(plane: ControlPlane, tree: Tree) -> None:
    """With every field that it may have."""
    assert tried(plane, tree).strip().endswith(tree["metadata"]["name"])


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
    assert is_refused != any(known in message for known in AT_RUN_TIME), said
