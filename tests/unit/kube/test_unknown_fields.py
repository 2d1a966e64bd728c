"""Fields that custom resources do not have."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import api
from dovetail.kube.unknown_fields import unknown_fields
from dovetail.providers.aws.node_class.definition import KIND
from tests.unit.providers.aws.node_class.rows import SOUND

POOL = api.KINDS["karpenter.sh", "NodePool"]
TERMS = {"subnetSelectorTerms": [{"tags": {"Name": "a"}}, {"tag": {}}]}


@pytest.mark.parametrize(
    ("kind", "spec", "want"),
    [
        pytest.param(KIND, SOUND["spec"], [], id="a sound class"),
        pytest.param(
            KIND, {"userdata": ""}, ["spec.userdata: is unknown; expected userData"], id="a slip"
        ),
        pytest.param(
            KIND,
            TERMS,
            ["spec.subnetSelectorTerms[1].tag: is unknown; expected tags"],
            id="in a list; keys of tags are free",
        ),
        pytest.param(KIND, {"kubelet": {"shutdownGracePeriod": "30s"}}, [], id="kubelet is open"),
        pytest.param(
            KIND,
            {"placementGroupSelector": {"x": 1}},
            ["spec.placementGroupSelector.x: is unknown; expected one of id, name"],
            id="nothing alike",
        ),
        pytest.param(
            POOL, {"wieght": 3}, ["spec.wieght: is unknown; expected weight"], id="a NodePool"
        ),
        pytest.param(
            api.KINDS["", "Pod"], {"nodeNme": "a"}, [], id="kinds of Kubernetes are not ours"
        ),
        pytest.param(KIND, None, [], id="no spec"),
        pytest.param(KIND, ["a"], [], id="a spec that is a list"),
    ],
)
def test_an_unknown_field_is_named_with_what_was_meant(
    kind: api.Kind, spec: Any, want: list[str]
) -> None:
    """The API server would leave it out."""
    assert [str(problem) for problem in unknown_fields(kind, {"spec": spec})] == want
