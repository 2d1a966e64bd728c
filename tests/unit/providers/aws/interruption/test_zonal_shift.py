"""Which zones a cluster leaves, by what ARC says of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.providers.aws.interruption.zonal_shift import ManagedResource, shifted_zones

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_shifts_that_are_applied_and_not_over_count() -> None:
    """Those that somebody ordered, and those of ARC itself."""
    resource: ManagedResource = {
        "zonalShifts": [
            {"appliedStatus": "APPLIED", "awayFrom": "usw2-az1", "expiryTime": NOW + HOUR},
            {"appliedStatus": "APPLIED", "awayFrom": "usw2-az2", "expiryTime": NOW - HOUR},
            {"appliedStatus": "NOT_APPLIED", "awayFrom": "usw2-az3", "expiryTime": NOW + HOUR},
        ],
        "autoshifts": [
            {"appliedStatus": "APPLIED", "awayFrom": "usw2-az4"},
            {"appliedStatus": "NOT_APPLIED", "awayFrom": "usw2-az5"},
        ],
    }
    assert shifted_zones(resource, NOW) == {"usw2-az1", "usw2-az4"}
    assert shifted_zones({"zonalShifts": []}, NOW) == frozenset()
