"""No two public classes share a name."""

from __future__ import annotations

from tests.house.modules import modules, shared_class_names

# Still shared. This list only shrinks: whoever renames one of them removes it here.
STILL_SHARED = {
    "Candidate",
    "Case",
    "Choice",
    "Cluster",
    "Course",
    "Demand",
    "Ground",
    "Keeper",
    "LaunchFailed",
    "Launched",
    "Pace",
    "Place",
    "Report",
    "Sample",
    "Shared",
    "Shelf",
    "Standing",
    "Tally",
    "Workload",
}


def test_no_two_public_classes_share_a_name() -> None:
    """A name in a traceback or a search leads to one class. Wire types wear their module."""
    assert set(shared_class_names(modules())) == STILL_SHARED
