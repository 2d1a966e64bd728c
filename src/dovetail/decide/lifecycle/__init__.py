"""lifecycle — what comes next for one claim, Node or NodePool (spec/core.md 5, 7.5, 7.6).

Each law is a `step(view, now) -> Step` in a file of its own: what to write, what to do, what to
tell and when to look again. `advance` runs those of a claim in their order; each sees what the
ones before it concluded, so that a claim may take several steps in one pass.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.lifecycle import finalization, initialization, launch, liveness, registration
from dovetail.decide.lifecycle.actions import CreateInstance
from dovetail.decide.lifecycle.patches import claim_patches
from dovetail.decide.lifecycle.step import STAY, Step, view_after
from dovetail.model.claim import ClaimView

__all__ = ["advance"]

_LAWS: Final = (launch.step, registration.step, initialization.step, liveness.step)


def advance(view: ClaimView, now: datetime) -> Step:
    """The next step of one claim, from its launch to its end."""
    claim = view.claim
    if claim.deleting_at is not None:
        return finalization.step(view, now)
    if labels.TERMINATION_FINALIZER not in claim.finalizers:
        # Written before anything is launched: a claim must not vanish while it has an instance.
        held = (*claim.finalizers, labels.TERMINATION_FINALIZER)
        kept = msgspec.structs.replace(claim, finalizers=held)
        return Step(claims=claim_patches(claim, kept), look_again_at=now)
    whole = STAY
    for law in _LAWS:
        part = law(view, now)
        whole = whole.then(part)
        if part.ends_claim:
            return _without_launch(whole)
        view = view_after(view, part, now)
    return whole


def _without_launch(step: Step) -> Step:
    """What is deleted for want of an instance needs none any more."""
    left = tuple(one for one in step.actions if not isinstance(one, CreateInstance))
    return msgspec.structs.replace(step, actions=left)
