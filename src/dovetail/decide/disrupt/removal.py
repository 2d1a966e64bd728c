"""Computes what would happen if one node were removed now: where its pods go, and at what price.

Whoever asks need not want it gone: nothing is decided here. Pods that wait come first, as in any
plan; then the node is taken out and the same solver says what becomes of its pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from dovetail.decide.apply import begin
from dovetail.decide.candidates import is_movable
from dovetail.decide.disrupt.candidates import scene_of
from dovetail.decide.disrupt.emptiness import is_reschedulable
from dovetail.decide.disrupt.probe import Move, Stuck, ground_of, probe
from dovetail.decide.disrupt.why import cause
from dovetail.decide.nodes import leaving_nodes
from dovetail.decide.pools import node_saving, price_of, prices
from dovetail.decide.provision import named_launches, provision
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason, Launch, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable


class Fate(StrEnum):
    """What becomes of a pod when its node goes."""

    MOVES = "Moves"
    STUCK = "HasNoPlace"
    HELD = "MayNotBeDisturbed"
    PART_OF_NODE = "BelongsToTheNode"
    ENDING = "Ends"


class Removal(msgspec.Struct, frozen=True):
    """A cluster without one of its nodes: who would go where, what would have to be launched, who
    would have no place, and what all that would save an hour, of the provider's prices and of node
    prices.
    """

    places: tuple[Nominate, ...] = ()
    launches: tuple[Launch, ...] = ()
    unplaced: tuple[Unschedulable, ...] = ()
    saving_nanousd: int = 0
    node_saving_nanousd: int = 0

    @property
    def destination_by_pod(self) -> Mapping[str, str]:
        """The node that each pod would get, there already or to come."""
        by_nodes = {pod: place.node for place in self.places for pod in place.pods}
        return by_nodes | {pod: launch.name for launch in self.launches for pod in launch.pods}


def removal(node: Node, snapshot: Snapshot, plan: Plan, now: datetime) -> Removal | None:
    """What it would come to; None for a node that is on its way out already."""
    if node.name in leaving_nodes(snapshot):
        return None
    world = begin(snapshot, msgspec.structs.replace(plan, disruptions=()), now)
    saves = cause(node, scene_of(world, plan, now)) == DisruptionReason.UNDERUTILIZED
    outcome = probe(ground_of(world, now, is_saving=saves), (node.name,))
    if isinstance(outcome, Stuck):
        return Removal(unplaced=_unplaced_verdicts(outcome, world, now))
    return _removal_of(node, outcome, world, plan)


def _removal_of(node: Node, move: Move, world: Snapshot, plan: Plan) -> Removal:
    launches = named_launches(move.replacements, world, plan.launches)
    paid = sum(launch.price_nanousd for launch in launches)
    return Removal(
        places=move.places,
        launches=launches,
        saving_nanousd=price_of(node, prices(world)) - paid,
        node_saving_nanousd=node_saving(world, (node,), launches),
    )


def _unplaced_verdicts(stuck: Stuck, world: Snapshot, now: datetime) -> tuple[Unschedulable, ...]:
    """Who would have no place, with all that keeps each pool from making one."""
    gone = Disrupt(DisruptionReason.UNDERUTILIZED, stuck.nodes)
    plan = provision(begin(world, Plan(disruptions=(gone,)), now), now)
    theirs = {pod.key for pod in world.pods if pod.node_name in stuck.nodes}
    told = tuple(verdict for verdict in plan.unschedulable if verdict.pod in theirs)
    # Nodes that still start, or are not quiet, are no places for a move though they are for pods.
    alone = Unschedulable(stuck.pod, f"It cannot run on any other node: {stuck.why}.")
    return told or (alone,)


def fate(pod: Pod, outcome: Removal, snapshot: Snapshot, now: datetime) -> Fate:
    """What becomes of a pod of the node that is removed."""
    if pod.is_daemon or pod.is_mirror:
        return Fate.PART_OF_NODE
    if not is_reschedulable(pod):
        return Fate.ENDING
    if any(verdict.pod == pod.key for verdict in outcome.unplaced):
        return Fate.STUCK
    is_free = is_movable(pod, snapshot.disruption_budgets, now)
    return Fate.MOVES if is_free else Fate.HELD
