"""What a provider reports reaches the controller, also what it reports early."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from dovetail.cloud.meters import ProviderMetric
from dovetail.decide.lifecycle.step import Event
from dovetail.live.providing import EarlyMeters, ProviderVoice
from dovetail.model.ending import InstanceEnding
from dovetail.observe.provider_meters import ProviderSeries

EVENT = Event("Node", "n", "Flooded", "water")
ENDING = InstanceEnding("cloud://n", "Flooded", "water")


def test_what_is_reported_before_the_controller_is_there_is_kept() -> None:
    """A provider is made first; each report arrives once."""
    voice = ProviderVoice()
    events: list[Event] = []
    endings: list[InstanceEnding] = []
    voice.tell(EVENT)
    voice.announce(ENDING)
    voice.connect(events.append, endings.append, lambda: None)
    assert (events, endings) == ([EVENT], [ENDING])
    voice.tell(EVENT)
    voice.announce(ENDING)
    assert (events, endings) == ([EVENT, EVENT], [ENDING, ENDING])


def test_changed_instance_types_are_reported_once_there_is_a_controller() -> None:
    """Before that nothing is kept: a controller asks for all types when it starts."""
    voice = ProviderVoice()
    changes: list[str] = []
    voice.refresh_types()
    voice.connect(lambda _: None, lambda _: None, lambda: changes.append("changed"))
    assert changes == []
    voice.refresh_types()
    assert changes == ["changed"]


def test_what_a_provider_counts_is_in_the_scrape_also_what_it_counted_early() -> None:
    """Under the names that its plugin gives, with the prefix of all metrics."""
    floods = ProviderMetric("floods_total", "Floods.", ("meadow",))
    dry = ProviderMetric("dry_seconds", "Time without a flood.", buckets=(1.0, 60.0))
    registry, meters = CollectorRegistry(), EarlyMeters()
    meters.count("floods_total", meadow="south")
    meters.connect(ProviderSeries((floods, dry), registry))
    meters.count("floods_total", meadow="south")
    meters.observe("dry_seconds", 30.0)
    text = generate_latest(registry).decode()
    assert 'karpenter_floods_total{meadow="south"} 2.0' in text
    assert 'karpenter_dry_seconds_bucket{le="60.0"} 1.0' in text
