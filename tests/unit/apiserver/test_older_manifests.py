"""The server in memory takes what conversions make."""

from __future__ import annotations

import pytest

from dovetail import api
from dovetail.api.crds import crds
from dovetail.apiserver import MemoryKube
from dovetail.cloud.registry import extensions
from dovetail.kube.errors import InvalidError
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.api.older.manifests import CONVERTIBLE, applicable


@pytest.mark.parametrize("text", CONVERTIBLE.values(), ids=list(CONVERTIBLE))
async def test_converted_objects_are_taken(text: str) -> None:
    """Every object, by the rules of its definition."""
    added = extensions()
    kube = MemoryKube(VirtualTime(), definitions=tuple(crds(added)))
    trees = applicable(text)
    assert trees
    for tree in trees:
        kind = api.find_extended(str(tree["apiVersion"]), str(tree["kind"]), added)
        assert kind is not None
        await kube.create(kind, tree)


async def test_an_older_object_is_refused() -> None:
    """The server judges: as it stands, this pool has no group of its node class."""
    kube = MemoryKube(VirtualTime(), definitions=tuple(crds(extensions())))
    template: dict[str, api.Tree] = {"spec": {"nodeClassRef": {"name": "a"}, "requirements": []}}
    tree: dict[str, api.Tree] = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "a"},
        "spec": {"template": template},
    }
    with pytest.raises(InvalidError):
        await kube.create(api.KINDS["karpenter.sh", "NodePool"], tree)
