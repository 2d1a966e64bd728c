"""A claim's whole life, law after law."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle.claim import advance
from dovetail.decide.lifecycle.conditions import INITIALIZED, LAUNCHED, REGISTERED, ROOT
from dovetail.decide.lifecycle.step import (
    ClaimPatch,
    CreateInstance,
    DeleteClaim,
    NoteRegistration,
    Step,
    view_after,
)
from dovetail.model.claim import ClaimView, Launched, LaunchFailed, LaunchFailure
from tests.unit.decide.lifecycle.claims import (
    BORN,
    MINUTE,
    NOW,
    PROVIDER_ID,
    SECOND,
    UNREGISTERED,
    claim,
    initialized,
    node,
    said_of,
    view,
)


def statuses(seen: ClaimView, now: datetime) -> list[str]:
    """What the claim says of its way."""
    return [said_of(seen.claim, one, now).status for one in (LAUNCHED, REGISTERED, INITIALIZED)]


def test_a_claim_is_held_before_anything_is_launched_for_it() -> None:
    """Else it could vanish while its instance comes up."""
    step = advance(view(claim(finalizers=("other",))), NOW)
    held = ClaimPatch("one", finalizers=("other", "karpenter.sh/termination"))
    assert step == Step(claims=(held,), look_again_at=NOW)


def test_a_claim_goes_from_order_to_service() -> None:
    """Launched, registered, initialized; a Node that is ready takes the last two steps at once."""
    seen = view(claim())
    first = advance(seen, NOW)
    assert first.actions == (CreateInstance("one", "uid-1"),)
    assert first.look_again_at == BORN + 5 * MINUTE

    seen = msgspec.structs.replace(
        view_after(seen, first, NOW), outcome=Launched(PROVIDER_ID, capacity={"cpu": 4000})
    )
    second = advance(seen, NOW + SECOND)
    assert second.look_again_at == BORN + 15 * MINUTE
    assert second.actions == ()
    seen = view_after(seen, second, NOW + SECOND)
    assert statuses(seen, NOW) == ["True", "Unknown", "Unknown"]

    joined = node(taints=(UNREGISTERED,))
    seen = msgspec.structs.replace(seen, outcome=None, nodes=(joined,))
    third = advance(seen, NOW + MINUTE)
    assert len(third.nodes) == 1
    assert third.nodes[0].labels == {labels.REGISTERED: "true", labels.INITIALIZED: "true"}
    assert third.look_again_at is None
    seen = view_after(seen, third, NOW + MINUTE)
    assert statuses(seen, NOW) == ["True", "True", "True"]
    assert said_of(seen.claim, ROOT).status == "True"


def test_a_claim_in_service_rests() -> None:
    """Looking at it once more changes nothing and asks for nothing."""
    seen = view(initialized(), node())
    step = advance(seen, NOW)
    assert view_after(seen, step, NOW) == seen
    assert (step.actions, step.events, step.look_again_at) == ((), (), None)


def test_a_claim_that_goes_is_not_looked_at_further() -> None:
    """Once is enough to delete it."""
    failed = LaunchFailed(LaunchFailure.INSUFFICIENT_CAPACITY, "none left")
    step = advance(view(claim(), outcome=failed), BORN + 20 * MINUTE)
    assert step.actions == (DeleteClaim("one", "uid-1", "insufficient_capacity"),)
    assert step.conditions == ()


def test_a_failed_launch_is_tried_again_until_its_time_is_up() -> None:
    """The next look is the sooner of the two."""
    failed = LaunchFailed(LaunchFailure.OTHER, "timeout", n_failures=7)
    late = BORN + 4 * MINUTE + 30 * SECOND
    assert advance(view(claim(), outcome=failed), late).look_again_at == BORN + 5 * MINUTE
    assert advance(view(claim(), outcome=failed), NOW).look_again_at == NOW + MINUTE


def test_what_was_not_launched_in_time_is_not_launched_any_more() -> None:
    """It is deleted, and its pool is told."""
    step = advance(view(claim()), BORN + 5 * MINUTE)
    assert [type(one) for one in step.actions] == [NoteRegistration, DeleteClaim]


def test_a_deleted_claim_is_finalized() -> None:
    """Whatever it was about to do."""
    step = advance(view(claim(deleting_at=NOW)), NOW)
    assert step.claims == (ClaimPatch("one", finalizers=()),)
