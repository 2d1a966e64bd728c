from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import finalization
from dovetail.decide.lifecycle.conditions import INSTANCE_TERMINATING, hold
from dovetail.decide.lifecycle.step import (
    STAY,
    ClaimPatch,
    DeleteInstance,
    DeleteNode,
    EventType,
    Milestone,
    Step,
)
from dovetail.model.claim import ClaimObject, InstanceState, Launched, Launching
from tests.unit.decide.lifecycle.claims import (
    BORN,
    MINUTE,
    NOW,
    PROVIDER_ID,
    SECOND,
    claim,
    launched,
    node,
    registered,
    view,
)

GONE = InstanceState.GONE
RELEASED = ClaimPatch("one", finalizers=())


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(registered(), id="it is not being deleted"),
        pytest.param(registered(deleting_at=BORN, finalizers=("other",)), id="not ours to hold"),
    ],
)
def test_only_deleted_claims_that_we_hold_are_finalized(one: ClaimObject) -> None:
    """Nothing is to be done for the others."""
    assert finalization.step(view(one, node()), NOW) == STAY


def test_the_node_goes_first() -> None:
    """It is drained in its own time; nothing else happens until it is gone."""
    one = registered(deleting_at=BORN)
    assert finalization.step(view(one, node()), NOW) == Step(actions=(DeleteNode("n1", "node-1"),))
    assert finalization.step(view(one, node(deleting_at=BORN)), NOW) == STAY


def test_a_node_that_never_registered_is_not_waited_for() -> None:
    """It goes with its instance."""
    one = launched(deleting_at=BORN)
    step = finalization.step(view(one, node()), NOW)
    assert step.actions == (DeleteInstance(PROVIDER_ID, "one"),)


def test_the_instance_goes_next_and_is_asked_for_until_it_is_gone() -> None:
    """Every five seconds."""
    one = registered(deleting_at=BORN)
    want = Step(
        conditions=(hold(INSTANCE_TERMINATING),),
        actions=(DeleteInstance(PROVIDER_ID, "one"),),
        look_again_at=NOW + 5 * SECOND,
    )
    assert finalization.step(view(one), NOW) == want
    assert finalization.step(view(one, instance=InstanceState.TERMINATING), NOW) == want


def test_then_the_claim_is_let_go() -> None:
    """Only our own finalizer is taken off."""
    one = registered(deleting_at=BORN, finalizers=("a", labels.TERMINATION_FINALIZER, "b"))
    assert finalization.step(view(one, instance=GONE), NOW) == Step(
        claims=(ClaimPatch("one", finalizers=("a", "b")),),
        milestones=(Milestone.INSTANCE_TERMINATED, Milestone.CLAIM_TERMINATED),
    )


def test_a_claim_without_an_instance_is_let_go_at_once() -> None:
    """There is nothing to end."""
    assert finalization.step(view(claim(deleting_at=BORN)), NOW) == Step(
        claims=(RELEASED,), milestones=(Milestone.CLAIM_TERMINATED,)
    )


def test_an_instance_that_was_not_written_down_is_ended_all_the_same() -> None:
    """The claim was deleted while its launch was under way."""
    seen = view(claim(deleting_at=BORN), outcome=Launched("kwok://late"))
    assert finalization.step(seen, NOW).actions == (DeleteInstance("kwok://late", "one"),)


def test_a_claim_is_held_while_its_launch_is_under_way() -> None:
    """Else nobody would end what comes of it."""
    assert finalization.step(view(claim(deleting_at=BORN), outcome=Launching()), NOW) == STAY


def test_a_grace_period_becomes_a_deadline_when_the_claim_is_deleted() -> None:
    """Once, counted from the deletion, with an event."""
    going = registered(deleting_at=BORN, termination_grace_period=timedelta(minutes=30))
    step = finalization.step(view(going, node()), NOW)
    stamp = {"karpenter.sh/nodeclaim-termination-timestamp": "2026-01-01T00:30:00Z"}
    assert step.claims == (ClaimPatch("one", annotations=stamp),)
    assert [(one.kind, one.type, one.reason) for one in step.events] == [
        ("NodeClaim", EventType.WARNING, "TerminationGracePeriodExpiring")
    ]
    assert "2026-01-01T00:30:00Z" in step.events[0].message
    assert step.actions == (DeleteNode("n1", "node-1"),)
    dated = msgspec.structs.replace(going, annotations=stamp)
    assert finalization.step(view(dated, node(deleting_at=BORN)), NOW) == STAY


@pytest.mark.parametrize(
    ("stamp", "want"),
    [
        pytest.param("2026-01-01T00:01:00Z", BORN + MINUTE, id="as Kubernetes writes it"),
        pytest.param("2026-01-01T02:01:00+02:00", BORN + MINUTE, id="in another zone"),
        pytest.param("2026-01-01T00:01:00", BORN + MINUTE, id="in none"),
        pytest.param("soon", None, id="nonsense is no deadline"),
    ],
)
def test_a_deadline_is_read_from_the_claim(stamp: str, want: datetime | None) -> None:
    """What nobody can read sets no limit."""
    one = claim(annotations={labels.TERMINATION_TIMESTAMP: stamp})
    assert finalization.termination_deadline(one) == want


def test_without_a_claim_there_is_no_deadline() -> None:
    """Nor without the annotation."""
    assert finalization.termination_deadline(None) is None
    assert finalization.termination_deadline(claim()) is None
