"""Does a real API server take what conversions make?"""

from __future__ import annotations

import json

import pytest

from tests.controlplane.plane import ControlPlane
from tests.unit.api.older.manifests import CONVERTIBLE, applicable
from tests.unit.providers.aws.node_class.definition import definition

pytestmark = pytest.mark.xdist_group("controlplane")

CRD = "crd/ec2nodeclasses.karpenter.k8s.aws"


@pytest.fixture(scope="module", autouse=True)
def _definitions(plane: ControlPlane) -> None:
    """Those of the AWS provider, beside the ones that are there."""
    given = json.dumps(definition())
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=given)
    plane.kubectl("wait", "--for=condition=Established", CRD, "--timeout=60s")


@pytest.mark.parametrize("text", CONVERTIBLE.values(), ids=list(CONVERTIBLE))
def test_converted_objects_are_taken(plane: ControlPlane, text: str) -> None:
    """Every object, with all of its fields known."""
    trees = applicable(text)
    assert trees
    for tree in trees:
        words = ("create", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")
        answer = plane.kubectl(*words, given=json.dumps(tree), check=False)
        metadata = tree["metadata"]
        assert isinstance(metadata, dict)
        assert answer.strip().endswith(f"/{metadata['name']}"), answer


def test_an_older_object_is_refused(plane: ControlPlane) -> None:
    """The server serves no older version."""
    text = CONVERTIBLE["a Provisioner with a provider"]
    words = ("create", "--dry-run=server", "-o", "name", "-f", "-")
    assert "no matches for kind" in plane.kubectl(*words, given=text, check=False)
