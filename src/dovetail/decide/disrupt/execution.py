"""Decides whether the nodes of a disruption may go once it is under way.

Replacements are waited for, within limits. Before nodes are deleted, they are validated once more:
whether a node or one of its pods was protected meanwhile, and whether the budgets of the pool still
allow it. Nodes without replacements need as many disruptions as they are. Nodes whose replacements
have started are kept only by budgets that allow no disruption at all. A PodDisruptionBudget that
allows no eviction at this time is waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.decide.disrupt.budgets import allowances
from dovetail.decide.disrupt.candidates import disruption_verdict, scene_of
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
    by_name = {name: conditions_of_claim(item, now) for name, item in replacements.items() if item}
    unready = [name for name in sorted(by_name) if not by_name[name].is_true(INITIALIZED)]
    if not unready:
        return None
    if is_late:
        return Futile(f"replacement {unready[0]} did not start in time", is_late=True)
    launched = {name for name in unready if by_name[name].is_true(LAUNCHED)}
    return Unready(
        tuple(name for name in unready if name not in launched),
        tuple(name for name in unready if name in launched),
    )


def second_look(
    snapshot: Snapshot, names: Iterable[str], reason: str, now: datetime
) -> tuple[Blocked, ...]:
    """What keeps nodes whose replacements have started. Their own marks do not count. A budget that
    has shrunk but is not zero does not keep them: they are part of what it allows already.
    """
    going = tuple(names)
    cluster = _without_departures(snapshot, going)
    objections = _objections(cluster, going, reason, now)
    budgets = allowances(cluster, reason, now)
    for node in _nodes(cluster, going):
        if node.name not in objections and not budgets[node.node_pool].n_allowed:
            objections[node.name] = over_budget(
                node, DisruptionReason(reason), budgets[node.node_pool]
            )
    return tuple(objections[name] for name in going if name in objections)


def removal_objections(
    snapshot: Snapshot, names: Iterable[str], reason: str, now: datetime
) -> tuple[Blocked, ...]:
    """What keeps nodes that are removed without replacements, once no pod can come to them any
    more. Of several nodes the first may go, as many as the budgets of their pool still allow.
    """
    going = tuple(names)
    cluster = _without_departures(snapshot, going)
    objections = _objections(cluster, going, reason, now)
    budgets = allowances(cluster, reason, now)
    n_taken: Counter[str] = Counter()
    for node in _nodes(cluster, going):
        if node.name in objections:
            continue
        budget = budgets[node.node_pool]
        if n_taken[node.node_pool] < budget.n_remaining:
            n_taken[node.node_pool] += 1
        else:
            objections[node.name] = over_budget(node, DisruptionReason(reason), budget)
    return tuple(objections[name] for name in going if name in objections)


def is_passing(blocked: Blocked) -> bool:
    """Whether it is worth waiting for this to change: PodDisruptionBudgets are waited for, and no
    budget of a NodePool is.
    """
    return blocked.reason == Blocker.POD_DISRUPTION_BUDGET


def _without_departures(snapshot: Snapshot, going: Collection[str]) -> Snapshot:
    """The cluster as if these nodes were not being disrupted."""
    others = tuple(item for item in snapshot.ledger.disrupting if item.node not in going)
    ledger = msgspec.structs.replace(snapshot.ledger, disrupting=others)
    return msgspec.structs.replace(snapshot, ledger=ledger)


def _nodes(snapshot: Snapshot, names: Iterable[str]) -> list[Node]:
    """The nodes of these names that are there, in this order."""
    by_name = {node.name: node for node in snapshot.nodes}
    return [by_name[name] for name in names if name in by_name]


def _objections(
    snapshot: Snapshot, going: Iterable[str], reason: str, now: datetime
) -> dict[str, Blocked]:
    """What keeps nodes besides budgets, by name."""
    scene = scene_of(snapshot, Plan(), now)
    objections = {}
    for node in _nodes(snapshot, going):
        # Where a drain ends in any case, drift does not wait for pods.
        is_bounded = reason == DisruptionReason.DRIFTED and (
            node.termination_grace_period is not None
        )
        verdict = disruption_verdict(node, scene, ignores_pods=is_bounded)
        if verdict is not None:
            objections[node.name] = verdict
    return objections
