"""Zonal shifts of clusters, as ARC tells of them."""

from __future__ import annotations

from datetime import timedelta

from tests.ec2.extension.wire import AwsError, Tree
from tests.ec2.extension.world import World


def describe(world: World, parameters: Tree) -> Tree:
    """GetManagedResource."""
    arn = parameters["resourceIdentifier"]
    if not world.is_managed_by_arc:
        raise AwsError("ResourceNotFoundException", f"{arn} is not a managed resource", 404)
    now = world.clock.now()
    shifts = [
        {
            "appliedStatus": "APPLIED",
            "zonalShiftId": f"shift-{zone}",
            "resourceIdentifier": arn,
            "awayFrom": zone,
            "expiryTime": now + timedelta(hours=1),
            "startTime": now - timedelta(minutes=1),
            "comment": "for tests",
        }
        for zone in sorted(world.shifted_zones)
    ]
    autoshifts = [
        {"appliedStatus": "APPLIED", "awayFrom": zone, "startTime": now}
        for zone in sorted(world.autoshifted_zones)
    ]
    return {
        "arn": arn,
        "appliedWeights": {},
        "zonalShifts": shifts,
        "autoshifts": autoshifts,
    }
