"""What the AWS provider brings to offline commands."""

from __future__ import annotations

import pytest

from dovetail import api
from dovetail.providers.aws.catalogue.offline import instance_types
from dovetail.providers.aws.plugin import PLUGIN
from dovetail.testing import node_pool
from tests.unit.providers.aws.catalogue.setting import node_class


def test_a_plan_uses_the_node_class_of_the_manifests() -> None:
    """Its kubelet settings change what fits on a node."""
    assert PLUGIN.offline is not None
    types = PLUGIN.offline(node_pool(), node_class(kubelet={"maxPods": 4}))
    assert {one.capacity["pods"] for one in types} == {4}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(None, id="the manifests have none"),
        pytest.param(api.Object(), id="of another kind"),
    ],
)
def test_without_a_node_class_the_plain_catalogue_serves(given: api.Object | None) -> None:
    """The same types as `--catalog aws`."""
    assert PLUGIN.offline is not None
    assert PLUGIN.offline(node_pool(), given) is instance_types()
    assert PLUGIN.catalogues[0].instance_types() is instance_types()
