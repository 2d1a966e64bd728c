from __future__ import annotations

import pytest

from dovetail import labels
from dovetail.decide.lifecycle.protection import Protection, protection
from dovetail.model.pod import Pod
from tests.unit.decide.lifecycle.claims import BORN, DAEMON, MINUTE, NOW, SECOND, pod


def asking(stated: str, **fields: object) -> Pod:
    """A pod with that annotation, started at BORN."""
    told = {labels.DO_NOT_DISRUPT: stated}
    return pod(**{"annotations": told, "started_at": BORN, **fields})


@pytest.mark.parametrize(
    ("one", "is_active", "want_events"),
    [
        pytest.param(pod(), False, [], id="nothing said"),
        pytest.param(asking("true"), True, [], id="for ever"),
        pytest.param(asking("true", owner=DAEMON), True, [], id="a daemon too"),
        pytest.param(asking("true", phase="Succeeded"), False, [], id="it has ended"),
        pytest.param(asking("true", deleting_at=BORN), False, [], id="it is going"),
        pytest.param(asking("2m"), True, ["DoNotDisruptUntil"], id="for a while"),
        pytest.param(asking("2m", started_at=None), True, [], id="from a start to come"),
        pytest.param(asking("1m"), False, ["DoNotDisruptGracePeriodElapsed"], id="time is up"),
        pytest.param(asking("false"), False, ["InvalidDoNotDisruptAnnotation"], id="not a time"),
        pytest.param(asking("0s"), False, ["InvalidDoNotDisruptAnnotation"], id="no time"),
        pytest.param(asking("-1m"), False, ["InvalidDoNotDisruptAnnotation"], id="less than none"),
    ],
)
def test_a_pod_is_protected_by_its_annotation(
    one: Pod,
    is_active: bool,  # noqa: FBT001  a column of the table
    want_events: list[str],
) -> None:
    """`true` for ever, a duration from its start on, anything else not at all."""
    found = protection(one, NOW)
    assert found.is_active is is_active
    assert [event.reason for event in found.events] == want_events


def test_a_protection_says_when_it_ends() -> None:
    """To the second: then the pod may go."""
    one = asking("2m")
    until = BORN + 2 * MINUTE
    assert protection(one, until - SECOND).until == until
    assert not protection(one, until).is_active
    assert protection(pod(), NOW) == Protection()
