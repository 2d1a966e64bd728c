"""Defines one whole decision: snapshot, plan and time, to be asked about later."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot


class Decision(msgspec.Struct, frozen=True, gc=False):
    """A snapshot, the moment, the plan that came of them, and how long that took.

    `number` counts the decisions of a journal. A journal does not keep the proof of the bound: its
    plans have an empty certificate, and `certificate_digest` tells whether another is the same one.
    """

    number: int
    now: datetime
    seconds: float
    snapshot: Snapshot
    plan: Plan
    certificate_digest: str = ""
