"""Patches of node classes and claims."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from dovetail import api
from dovetail.providers.aws.node_class.types import (
    CapacityReservation,
    EC2NodeClass,
    EC2NodeClassStatus,
    Subnet,
)
from dovetail.providers.aws.status.patches import (
    FINALIZER,
    release_patch,
    stamp_patch,
    status_patch,
    status_tree,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = api.ObjectMeta(name="default", resource_version="7")
CONDITION = api.Condition(type="Ready", last_transition_time=NOW)
STATUS = EC2NodeClassStatus(
    subnets=(Subnet(id="subnet-1", zone="a", zone_id="1"),), instance_profile="p"
)


def test_a_status_that_is_the_same_is_not_written() -> None:
    """Nobody who watches is woken."""
    assert status_patch(EC2NodeClass(metadata=META, status=STATUS), STATUS) is None


def test_only_what_changes_is_written_under_the_version_that_was_read() -> None:
    """What is gone is taken away; whoever was faster wins."""
    after = EC2NodeClassStatus(instance_profile="q", subnets=())
    got = status_patch(EC2NodeClass(metadata=META, status=STATUS), after)
    assert got is not None
    assert got.subresource == "status"
    assert got.body == {
        "metadata": {"resourceVersion": "7"},
        "status": {"instanceProfile": "q", "subnets": None},
    }


def test_fields_that_the_definition_requires_are_written_even_if_they_are_usual() -> None:
    """Reading it back changes nothing."""
    status = EC2NodeClassStatus(
        conditions=(CONDITION,), capacity_reservations=(CapacityReservation(id="cr-1"),)
    )
    assert status_tree(status) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 0,
            }
        ],
        "capacityReservations": [
            {
                "id": "cr-1",
                "reservationType": "default",
                "interruptible": False,
                "state": "active",
            }
        ],
    }
    text = msgspec.json.encode(status_tree(status))
    assert api.decode(EC2NodeClassStatus, text) == status


def test_the_finalizer_joins_those_of_others_and_leaves_them() -> None:
    """Once it is there, nothing is written."""
    meta = msgspec.structs.replace(META, finalizers=("other",))
    node_class = EC2NodeClass(metadata=meta)
    got = stamp_patch(node_class, hashed="1", version="v5")
    assert got is not None
    assert isinstance(got.body, dict)
    change = got.body["metadata"]
    assert isinstance(change, dict)
    assert change["finalizers"] == ["other", FINALIZER]
    stamped = msgspec.structs.replace(
        meta,
        finalizers=("other", FINALIZER),
        annotations=msgspec.convert(change["annotations"], dict[str, str]),
    )
    node_class = EC2NodeClass(metadata=stamped)
    assert stamp_patch(node_class, hashed="1", version="v5") is None
    released = release_patch(node_class).body
    assert released == {"metadata": {"resourceVersion": "7", "finalizers": ["other"]}}
