"""What decisions make of reserved offerings and partitions."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dovetail import labels
from dovetail.decide import decide
from dovetail.model.instance import InstanceType
from dovetail.model.requirements import Requirement, requirement
from dovetail.providers.aws.catalogue.inputs import PlacementGroupFacts
from dovetail.providers.aws.node_class.types import CapacityReservation
from dovetail.testing import node_pool, pod, snapshot
from tests.unit.providers.aws.catalogue.setting import A, machine, node_class, resolved

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PARTITION = "karpenter.k8s.aws/placement-group-partition"


def launched(kind: InstanceType, *asked: Requirement, label: str) -> list[tuple[str, str | None]]:
    """Capacity type and label of the nodes for two pods that need one each."""
    pool = msgspec.structs.replace(node_pool(), requirements=asked)
    pods = [pod(f"p{number}", cpu="1500m") for number in range(2)]
    plan = decide(snapshot(pods, node_pools=[pool], types=[kind]), NOW)
    return sorted((one.capacity_type, one.labels.get(label)) for one in plan.launches)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param((), [("reserved", "cr-1"), ("spot", None)], id="the reservation first"),
        pytest.param(
            (requirement(labels.RESERVATION_ID, "In", ["cr-1"]),),
            [("reserved", "cr-1")],
            id="a pool that asks for the reservation gets nothing else",
        ),
        pytest.param(
            (requirement(labels.RESERVATION_ID, "DoesNotExist"),),
            [("spot", None), ("spot", None)],
            id="a pool that asks for no reservation still gets the type",
        ),
    ],
)
def test_a_reservation_is_used_up_and_no_further(
    asked: tuple[Requirement, ...], want: list[tuple[str, str | None]]
) -> None:
    """One instance is left in it."""
    reservation = CapacityReservation(id="cr-1", instance_type="m5.large", availability_zone=A)
    given = node_class(reservations=(reservation,))
    kind = resolved(machine(), given, reservation_counts={"cr-1": 1})
    assert launched(kind, *asked, label=labels.RESERVATION_ID) == want


def test_a_pool_can_ask_for_a_partition() -> None:
    """The nodes carry its label."""
    groups = {"default": PlacementGroupFacts("pg-1", "partition", 3)}
    kind = resolved(machine(), node_class(), placement_groups=groups)
    asked = requirement(PARTITION, "In", ["2"])
    assert launched(kind, asked, label=PARTITION) == [("spot", "2"), ("spot", "2")]
