"""disrupt — decides which nodes are removed by choice, and when.

    candidates   what keeps a node from being disrupted at all
    blockers     the same in words
    budgets      how many nodes of a pool may go at once
    emptiness    nodes that nobody needs
    drift        nodes that their pool would not make like this any more
    consolidation  nodes whose pods could run for less money elsewhere
    walk         which moves are made, one after another
    savings      whether one move saves money for sure
    probe        what would happen if some nodes went, and which parts of that depend on each other
    replacing    what may come instead of nodes that go, so that it is sure to be cheaper
    cost         what moving pods costs the cluster, and what a move must save to pay for it
    calm         who is better left alone for now
    discouraged  nodes that new pods should rather keep off, so that they empty by themselves
    course       what was decided so far, and what follows for the next method
    why          why each node stays, also those that no plan speaks of

Each method looks at the snapshot and at what the same plan has already decided, and returns its
`Findings`. Waiting is data: a node that could go is a proposal in the ledger, and goes once that
has stood for long enough.
"""

from __future__ import annotations

from datetime import datetime

from dovetail.decide.disrupt.candidates import scene_of
from dovetail.decide.disrupt.consolidation import consolidation
from dovetail.decide.disrupt.course import Course, start, with_findings
from dovetail.decide.disrupt.discouraged import discourage
from dovetail.decide.disrupt.drift import drift, static_drift
from dovetail.decide.disrupt.emptiness import emptiness
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.snapshot import Snapshot


def disrupt(snapshot: Snapshot, plan: Plan, now: datetime) -> Plan:
    """The plan for waiting pods, and with it what may go meanwhile."""
    chosen = snapshot.policy.disrupts_for
    course = Course(snapshot, plan, scene_of(snapshot, plan, now))
    if DisruptionReason.EMPTY in chosen:
        course = with_findings(course, emptiness(course.scene))
    if DisruptionReason.DRIFTED in chosen:
        course = drift(static_drift(start(course)))
    if DisruptionReason.UNDERUTILIZED in chosen:
        course = discourage(consolidation(start(course)))
    return course.plan
