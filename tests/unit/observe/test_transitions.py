from __future__ import annotations

from dovetail.decide.lifecycle.conditions import LAUNCHED, fail, hold
from dovetail.observe.condition_metrics import Subject, finalized_event, transition_events
from tests.unit.decide.lifecycle.claims import claim, initialized, registered

ONE = Subject("NodeClaim", "one", "uid-1")


def test_each_condition_that_turns_is_told() -> None:
    """Under its own name; what stays or is said for the first time is not."""
    before, after = registered().conditions, initialized(hold("Drifted")).conditions
    events = tuple(transition_events(ONE, before, after))
    assert [(one.name, one.reason, one.message) for one in events] == [
        ("one", "Initialized", "Initialized changed from Unknown to True (Initialized)"),
        ("one", "Ready", "Ready changed from Unknown to True (Ready)"),
    ]
    assert tuple(transition_events(ONE, after, after)) == ()


def test_a_message_is_told_too() -> None:
    """Why it turned."""
    before = claim(hold(LAUNCHED)).conditions
    after = claim(fail(LAUNCHED, "Lost", "no instance")).conditions
    launched = next(iter(transition_events(ONE, before, after)))
    assert launched.message == "Launched changed from True to False (Lost: no instance)"


def test_an_object_that_is_gone_is_told_of() -> None:
    """Last of all."""
    assert finalized_event(ONE).reason == "Finalized"
