"""Objects from YAML, as short as the laws they illustrate."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from dovetail import api
from dovetail.model.instance import InstanceType
from dovetail.model.policy import Policy
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.state.freeze import snapshot

Freeze = Callable[..., Snapshot]


def objects_of(text: str) -> list[api.Object]:
    """The objects of a YAML stream, decoded but not checked."""
    found = []
    for tree in yaml.safe_load_all(text):
        kind = api.find(tree["apiVersion"], tree["kind"])
        assert kind is not None, tree["kind"]
        found.append(api.read(kind, tree))
    return found


@pytest.fixture
def freeze() -> Freeze:
    """The snapshot of YAML manifests; keyword `types` are what every pool could launch."""

    def frozen(text: str, types: tuple[InstanceType, ...] = ()) -> Snapshot:
        def of_pool(_: NodePool) -> tuple[InstanceType, ...]:
            return types

        return snapshot(objects_of(text), instance_types=of_pool, policy=Policy())

    return frozen
