from __future__ import annotations

from datetime import timedelta

import pytest

from dovetail.decide.lifecycle import running
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE, ClearCondition, hold
from dovetail.decide.lifecycle.step import STAY, Step
from dovetail.model.claim import ClaimObject
from dovetail.model.pool import Disruption, NodePool
from tests.unit.decide.lifecycle.claims import BORN, NOW, SECOND, initialized, registered

CLEARED = Step(conditions=(ClearCondition(CONSOLIDATABLE),))
QUIET = Step(conditions=(hold(CONSOLIDATABLE),))
ZERO = timedelta(0)
WINDOW = 90 * SECOND


@pytest.mark.parametrize(
    ("one", "quiet_for", "want"),
    [
        pytest.param(initialized(), ZERO, QUIET, id="at once"),
        pytest.param(
            initialized(last_pod_event_at=NOW + SECOND), ZERO, QUIET, id="at once, whatever comes"
        ),
        pytest.param(initialized(), None, CLEARED, id="never"),
        pytest.param(registered(), ZERO, CLEARED, id="not before it has started"),
        pytest.param(
            initialized(),
            WINDOW,
            CLEARED.then(Step(look_again_at=BORN + WINDOW)),
            id="a while after it started",
        ),
        pytest.param(
            initialized(last_pod_event_at=NOW - SECOND),
            WINDOW,
            CLEARED.then(Step(look_again_at=NOW - SECOND + WINDOW)),
            id="a while after the last pod came or went",
        ),
        pytest.param(initialized(last_pod_event_at=NOW - WINDOW), WINDOW, QUIET, id="then it is"),
    ],
)
def test_a_node_may_be_consolidated_once_it_has_been_quiet(
    one: ClaimObject, quiet_for: timedelta | None, want: Step
) -> None:
    """For as long as its pool wants."""
    pool = NodePool("default", disruption=Disruption(consolidate_after=quiet_for))
    assert running.consolidatable_step(one, pool, NOW) == want


def test_nodes_of_static_pools_are_never_consolidated() -> None:
    """Nothing is said of them."""
    assert running.consolidatable_step(initialized(), NodePool("default", replicas=2), NOW) == STAY
