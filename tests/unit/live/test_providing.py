"""What a provider reports reaches the controller, also what it reports early."""

from __future__ import annotations

from dovetail.decide.lifecycle.step import Event
from dovetail.live.providing import ProviderVoice
from dovetail.model.ending import InstanceEnding

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
    voice.types_changed()
    voice.connect(lambda _: None, lambda _: None, lambda: changes.append("changed"))
    assert changes == []
    voice.types_changed()
    assert changes == ["changed"]
