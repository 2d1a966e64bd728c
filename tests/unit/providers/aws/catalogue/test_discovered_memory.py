"""Memory that nodes have reported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dovetail.providers.aws.catalogue.discovered_memory import DiscoveredMemory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("m5.large", "ami-1")


def test_the_least_that_any_node_reported_counts() -> None:
    """A pod must fit on each of them."""
    memory = DiscoveredMemory()
    for amount in (100, 90, 95):
        memory.see(KEY, amount, NOW)
    memory.see(("m5.large", "ami-2"), 80, NOW)
    assert memory.amounts(NOW) == {KEY: 90, ("m5.large", "ami-2"): 80}


def test_reports_are_forgotten_after_sixty_days() -> None:
    """The next one counts alone."""
    memory = DiscoveredMemory()
    memory.see(KEY, 90, NOW)
    assert memory.amounts(NOW + timedelta(days=59)) == {KEY: 90}
    later = NOW + timedelta(days=60)
    memory.see(KEY, 100, later)
    assert memory.amounts(later) == {KEY: 100}
