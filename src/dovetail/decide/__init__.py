"""decide — what should change, given this cluster at this moment.

Rule 1: every law that can change a plan lives in this package or in `solve`.
Rule 2: nothing here can see the outside: no clock, no client, no log. What a decision needs to
        know is in the snapshot; what it concludes is in the plan.

Example: two pods of 1 cpu wait, one node has 1 cpu free. One pod is nominated to that node, one new
node is launched for the other, and the plan says what it costs and what nobody could undercut.
Room that is about to be free counts for pods that wait, but nobody is moved into it.
Nodes that were just given pods are left alone; of the others, those that nobody needs may go. What
pools with replicas launch or give up is settled first: pods are planned for with that under way.
Nodes whose instances will soon be gone are leaving: all of their pods are planned for at once.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.decide.apply import begin
from dovetail.decide.candidates import runs_out_at, with_room_of_parting
from dovetail.decide.disrupt import disrupt
from dovetail.decide.endings import with_due_endings
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.provision import provision
from dovetail.decide.static import join, static
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot


def decide(snapshot: Snapshot, now: datetime) -> Plan:
    """Return everything worth doing now, why, and when to ask again."""
    snapshot = with_due_endings(snapshot, now)
    fixed = static(snapshot, now)
    seen = with_room_of_parting(begin(snapshot, fixed, now), now)
    plan = join(snapshot, fixed, provision(seen, now))
    plan = disrupt(snapshot, plan, now)
    wake_at = soonest(plan.wake_at, runs_out_at(snapshot, now))
    return msgspec.structs.replace(plan, wake_at=wake_at)
