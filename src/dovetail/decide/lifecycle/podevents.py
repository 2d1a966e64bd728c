"""When did a pod last come to a node or leave it? Nodes are left in peace for a while after that.

(spec/core.md 5.9)
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.decide.lifecycle.conditions import whole_second
from dovetail.decide.lifecycle.patches import claim_patches
from dovetail.decide.lifecycle.step import STAY, Step
from dovetail.decide.lifecycle.timing import POD_EVENT_DEDUPE
from dovetail.model.claim import ClaimObject
from dovetail.model.pod import Pod


class PodChange(msgspec.Struct, frozen=True, gc=False):
    """A pod before and after. `is_listed`: it is no news, the pod was found in a list."""

    before: Pod | None
    after: Pod | None
    is_listed: bool = False


def step(claim: ClaimObject, change: PodChange, now: datetime) -> Step:
    """Write down the moment, at most once in ten seconds."""
    moment = _moment(change, now)
    if moment is None:
        return STAY
    last = claim.last_pod_event_at
    if last is not None and (moment <= last or now - last < POD_EVENT_DEDUPE):
        return STAY
    known = msgspec.structs.replace(claim, last_pod_event_at=whole_second(moment))
    return Step(claims=claim_patches(claim, known))


def _moment(change: PodChange, now: datetime) -> datetime | None:
    """When it happened, None if nothing did that counts."""
    pod = change.after or change.before
    if pod is None or pod.is_daemon or not pod.node_name:
        return None
    if change.is_listed:
        # The reference takes every pod of a list for news, so that a restart begins all waits
        # anew. A pod that was there before says itself since when.
        return pod.started_at or pod.created_at or now
    if change.before is None or change.after is None:
        return now
    return now if _turned(change.before, change.after) else None


def _turned(before: Pod, after: Pod) -> bool:
    """Whether it became bound, terminal or terminating."""
    return (
        (not before.node_name and bool(after.node_name))
        or (not before.is_terminal and after.is_terminal)
        or (before.deleting_at is None and after.deleting_at is not None)
    )
