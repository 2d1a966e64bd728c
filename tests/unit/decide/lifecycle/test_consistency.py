from __future__ import annotations

import pytest

from dovetail.decide.lifecycle import running
from dovetail.decide.lifecycle.conditions import CONSISTENT_STATE_FOUND, hold
from dovetail.decide.lifecycle.step import STAY, EventType, Step, claim_with
from dovetail.model.claim import ClaimObject
from tests.unit.decide.lifecycle.claims import (
    BORN,
    MINUTE,
    NOW,
    initialized,
    node,
    registered,
    said_of,
    view,
)

CLAIM = initialized(
    requests={"cpu": 100, "memory": 1},
    capacity={"cpu": 4000, "memory": 2**30, "gpu": 1},
)


def test_a_node_that_is_as_large_as_ordered_is_consistent() -> None:
    """Ninety per cent will do; what was not asked for is not compared."""
    seen = view(CLAIM, node(capacity={"cpu": 3600, "memory": 2**30}))
    want = Step(conditions=(hold(CONSISTENT_STATE_FOUND),), look_again_at=NOW + 10 * MINUTE)
    assert running.consistency_step(seen, NOW) == want


def test_a_node_that_turned_out_smaller_is_told_of() -> None:
    """On the claim, with how much is missing, and looked at again in ten minutes."""
    seen = view(CLAIM, node(capacity={"cpu": 3599, "memory": 2**30}))
    step = running.consistency_step(seen, NOW)
    said = said_of(claim_with(CLAIM, step, NOW), CONSISTENT_STATE_FOUND)
    assert (said.status, said.reason) == ("False", "ConsistencyCheckFailed")
    assert said.message == "expected 4 of cpu, found 3599m (89%)"
    assert [(one.type, one.reason, one.message) for one in step.events] == [
        (EventType.WARNING, "FailedConsistencyCheck", said.message)
    ]
    assert step.look_again_at == NOW + 10 * MINUTE


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(registered(), id="not started"),
        pytest.param(initialized(deleting_at=BORN), id="going"),
    ],
)
def test_only_nodes_in_service_are_compared(one: ClaimObject) -> None:
    """A starting node has not reported, a going one does not matter."""
    assert running.consistency_step(view(one, node()), NOW) == STAY
    assert running.consistency_step(view(initialized()), NOW) == STAY
