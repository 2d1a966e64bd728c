from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from dovetail.decide.lifecycle import running
from dovetail.decide.lifecycle.running import PodChange
from dovetail.decide.lifecycle.step import STAY, ClaimPatch, Step
from tests.unit.decide.lifecycle.claims import (
    BORN,
    DAEMON,
    MIRROR,
    NOW,
    SECOND,
    initialized,
    pod,
)

POD = pod(created_at=BORN - 20 * SECOND, started_at=BORN - 10 * SECOND)
WAITING = msgspec.structs.replace(POD, node_name="", phase="Pending")
ENDED = msgspec.structs.replace(POD, phase="Succeeded")
LEAVING = msgspec.structs.replace(POD, deleting_at=NOW)


def at(moment: datetime) -> Step:
    """The moment is written down."""
    return Step(claims=(ClaimPatch("one", last_pod_event_at=moment),))


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(PodChange(None, POD), at(NOW), id="a bound pod appears"),
        pytest.param(PodChange(POD, None), at(NOW), id="a pod vanishes"),
        pytest.param(PodChange(WAITING, POD), at(NOW), id="a pod is bound"),
        pytest.param(PodChange(POD, ENDED), at(NOW), id="a pod ends"),
        pytest.param(PodChange(POD, LEAVING), at(NOW), id="a pod is deleted"),
        pytest.param(PodChange(POD, POD), STAY, id="anything else"),
        pytest.param(PodChange(LEAVING, LEAVING), STAY, id="it was going before"),
        pytest.param(PodChange(None, WAITING), STAY, id="a waiting pod appears"),
        pytest.param(PodChange(None, pod(owner=DAEMON)), STAY, id="a daemon appears"),
        pytest.param(PodChange(None, pod(owner=MIRROR)), at(NOW), id="a static pod appears"),
        pytest.param(PodChange(None, None), STAY, id="nothing at all"),
    ],
)
def test_a_pod_that_comes_or_goes_is_written_down(change: PodChange, want: Step) -> None:
    """So that the node is left in peace for a while; daemons do not count."""
    assert running.pod_event_step(initialized(), change, NOW) == want


def test_pod_events_are_written_at_most_every_ten_seconds() -> None:
    """A node that fills up would be written for every pod."""
    change = PodChange(None, POD)
    recent = initialized(last_pod_event_at=NOW - 9 * SECOND)
    assert running.pod_event_step(recent, change, NOW) == STAY
    older = initialized(last_pod_event_at=NOW - 10 * SECOND)
    assert running.pod_event_step(older, change, NOW) == at(NOW)


def test_a_restart_does_not_begin_all_waits_anew() -> None:
    """A pod that is found in a list has been there since it started."""
    found = PodChange(None, POD, is_listed=True)
    assert running.pod_event_step(initialized(), found, NOW) == at(BORN - 10 * SECOND)
    assert running.pod_event_step(initialized(last_pod_event_at=BORN), found, NOW) == STAY
