"""Where does a scenario's cluster come from? Shorthand directly, manifests through the border."""

from __future__ import annotations

from dovetail.model.instance import InstanceType
from dovetail.model.snapshot import Snapshot
from dovetail.testing.given import Given


def snapshot_of(given: Given) -> Snapshot:
    """The cluster that a scenario starts from."""
    types: tuple[InstanceType, ...] = given.own_types()
    return given.snapshot(types)
