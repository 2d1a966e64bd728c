"""Decides whether the nodes of a disruption may go once it is under way (spec/core.md 6.12).

Replacements are waited for, but not for ever. Once all have started, the nodes that go are looked
at once more: who protected a node or a pod meanwhile, or closed its pool's budgets, is heard. A
budget of pods that allows nobody to go just now is waited for too; other disruptions use it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.disrupt.budgets import allowances
from dovetail.decide.disrupt.candidates import Scene, disruption_verdict, scene_of
from dovetail.decide.disrupt.course import over_budget
from dovetail.decide.lifecycle.conditions import INITIALIZED, LAUNCHED, conditions_of_claim
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker

SHORTEST_WAIT: Final = timedelta(minutes=10)
LONGEST_WAIT: Final = timedelta(hours=1)
_WAIT_FOR_EACH: Final = timedelta(milliseconds=80)


class Unready(msgspec.Struct, frozen=True, gc=False):
    """Replacements that have yet to start, by name: those to be launched, and those launched."""

    unlaunched: tuple[str, ...] = ()
    starting: tuple[str, ...] = ()


class Futile(msgspec.Struct, frozen=True, gc=False):
    """Replacements that will not come, and why."""

    why: str
    is_late: bool = False


def patience(n_candidates: int) -> timedelta:
    """How long replacements are waited for while so many nodes are about to go."""
    return min(max(_WAIT_FOR_EACH * n_candidates, SHORTEST_WAIT), LONGEST_WAIT)


def outlook(
    replacements: Mapping[str, ClaimObject | None], now: datetime, *, is_late: bool
) -> Unready | Futile | None:
    """What is still waited for; None once all replacements have started."""
    for name, claim in sorted(replacements.items()):
        if claim is None or claim.deleting_at is not None:
            return Futile(f"replacement {name} does not exist any more")
    found = {name: conditions_of_claim(one, now) for name, one in replacements.items() if one}
    unready = [name for name in sorted(found) if not found[name].is_true(INITIALIZED)]
    if not unready:
        return None
    if is_late:
        return Futile(f"replacement {unready[0]} did not start in time", is_late=True)
    launched = {name for name in unready if found[name].is_true(LAUNCHED)}
    return Unready(
        tuple(name for name in unready if name not in launched),
        tuple(name for name in unready if name in launched),
    )


def second_look(
    snapshot: Snapshot, names: Iterable[str], reason: str, now: datetime
) -> tuple[Blocked, ...]:
    """What keeps these nodes now that they are about to go; their own marks do not count."""
    going = frozenset(names)
    scene = scene_of(snapshot, Plan(), now)
    scene = msgspec.structs.replace(
        scene,
        disrupting={node: why for node, why in scene.disrupting.items() if node not in going},
        leaving=scene.leaving - going,
    )
    found = (_objection(node, scene, reason) for node in snapshot.nodes if node.name in going)
    return tuple(one for one in found if one is not None)


def is_passing(blocked: Blocked) -> bool:
    """Whether it is worth waiting for this to change."""
    return blocked.reason == Blocker.DISRUPTION_BUDGET


def _objection(node: Node, scene: Scene, reason: str) -> Blocked | None:
    # Drift is done in any case where a drain ends in any case (spec/core.md 6.2).
    is_sure = reason == DisruptionReason.DRIFTED and node.termination_grace_period is not None
    found = disruption_verdict(node, scene, ignores_pods=is_sure)
    if found is not None:
        return found
    budget = allowances(scene.snapshot, reason, scene.now)[node.node_pool]
    if budget.n_allowed:
        return None
    return over_budget(node, DisruptionReason(reason), budget)
