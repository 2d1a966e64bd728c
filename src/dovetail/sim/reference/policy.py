"""Decides as the reference does, in its order and at its times.

Pods that wait are provisioned for whenever it is asked. Every ten seconds the methods of disruption
are tried in order, and the first that finds something wins: emptiness, drift, many nodes together,
then one by one. What consolidation finds waits for 15 seconds and is done if it still holds then;
nothing else is looked for meanwhile. A method that found nothing is not tried again before
something has changed, or five minutes have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.candidates import pending_pods
from dovetail.decide.disrupt.budgets import Allowance, allowances
from dovetail.decide.disrupt.candidates import Scene, scene_of
from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.nodes import leaving_nodes
from dovetail.decide.pools import running_price
from dovetail.model.node import Node
from dovetail.model.plan import Cost, Disrupt, DisruptionReason, Launch, Nominate, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from dovetail.sim.reference.candidates import Eligibility, Removable, is_consolidatable, is_idle
from dovetail.sim.reference.claims import launches
from dovetail.sim.reference.consolidation import (
    Command,
    SimBase,
    command_for,
    many,
    one_by_one,
    places_of,
    simulate,
)
from dovetail.sim.reference.first_fit import FirstFit
from dovetail.sim.reference.standing import Occupancy


def provision_plan(standing: Occupancy, snapshot: Snapshot, now: datetime) -> Plan:
    """Nodes for the pods that wait, and for those whose node is leaving."""
    queue = pending_pods(snapshot, now)
    if not queue.pods:
        return Plan(cost=_cost(snapshot, 0))
    gone = leaving_nodes(snapshot)
    places = [place for place in standing.places.values() if place.name not in gone]
    by_name = {place.name: place for place in places}
    standing.tallies.begin_trial()
    fit = FirstFit(standing, places)
    for pod in queue.reserved:  # promised to them, so nobody else's
        fit.keep(pod, by_name.get(pod.node_name))
    fitted = fit.run(queue.pods)
    fit.give_back()
    standing.tallies.end_trial()
    made = tuple(launches(fitted.claims, snapshot.revision))
    return Plan(
        launches=made,
        nominations=tuple(
            Nominate(name, tuple(pod.key for pod in pods))
            for name, pods in sorted(fitted.places.items())
        ),
        unschedulable=tuple(
            Unschedulable(pod.key, "It fits nowhere.")
            for pod in sorted(fitted.failed, key=lambda pod: pod.key)
        ),
        cost=_cost(snapshot, sum(launch.price_nanousd for launch in made)),
        binding_order=fitted.order,
        n_pods=len(queue.pods) + len(queue.refused),
    )


def _cost(snapshot: Snapshot, new: int) -> Cost:
    before = running_price(snapshot)
    return Cost(new_nanousd=new, cluster_before_nanousd=before, cluster_after_nanousd=before + new)


_POLL: Final = timedelta(seconds=10)
_VALID_AFTER: Final = timedelta(seconds=15)
_REFRESH: Final = timedelta(minutes=5)
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)

_Method = Callable[[SimBase, Sequence[Removable], Mapping[str, Allowance]], Command | None]


class _Proposed(msgspec.Struct, frozen=True):
    """What is waited for to be done."""

    reason: DisruptionReason
    command: Command
    since: datetime


class Reference:
    """The reference's policy, with the memory that its processes have."""

    def __init__(self) -> None:
        self._standing = Occupancy()
        self._eligibility = Eligibility()
        self._proposed: _Proposed | None = None
        self._polls_at = _EARLIEST
        self._fruitless: dict[str, tuple[int, datetime]] = {}

    def __call__(self, snapshot: Snapshot, now: datetime) -> Plan:
        """Everything that it would do now, and when to ask again."""
        self._standing.look(snapshot, now)
        plan = provision_plan(self._standing, snapshot, now)
        due_at = self._due_at()
        if now < due_at:
            return msgspec.structs.replace(plan, wake_at=due_at)
        disruptions = self._disruptions(snapshot, plan, now)
        self._polls_at = now if disruptions else now + _POLL
        return msgspec.structs.replace(
            plan, disruptions=disruptions, wake_at=self._wakes_at(disruptions, snapshot, now)
        )

    def _due_at(self) -> datetime:
        if self._proposed is not None:
            return self._proposed.since + _VALID_AFTER
        return self._polls_at

    def _wakes_at(
        self, disruptions: tuple[Disrupt, ...], snapshot: Snapshot, now: datetime
    ) -> datetime | None:
        if self._proposed is not None or disruptions:
            return self._due_at()
        if not snapshot.nodes:
            return None
        # Whatever changes wakes it anyway; without a change nothing is looked for again so soon.
        return soonest(*(at + _REFRESH for _, at in self._fruitless.values())) or now + _POLL

    # ---- methods

    def _disruptions(self, snapshot: Snapshot, plan: Plan, now: datetime) -> tuple[Disrupt, ...]:
        scene = scene_of(snapshot, plan, now)
        ground = SimBase(
            snapshot, self._standing, leaving_nodes(snapshot), pending_pods(snapshot, now)
        )
        pools = {pool.name: pool for pool in snapshot.node_pools}
        if self._proposed is not None:
            proposed, self._proposed = self._proposed, None
            return self._validate(proposed, ground, scene, pools, plan)
        candidates = self._eligibility.quiet_nodes(self._standing, scene)
        empty = [candidate for candidate in candidates if is_idle(candidate, pools)]
        if self._proposes(DisruptionReason.EMPTY, _together(empty, _budgets(scene, "Empty")), now):
            return ()
        drifted = self._drift_disruption(ground, scene, plan)
        if drifted is not None:
            return (drifted,)
        busy = [candidate for candidate in candidates if is_consolidatable(candidate, pools)]
        for name, method in (("multi", many), ("single", one_by_one)):
            if self._is_spent(name, now):
                continue
            command = method(ground, busy, _budgets(scene, DisruptionReason.UNDERUTILIZED))
            if self._proposes(DisruptionReason.UNDERUTILIZED, command, now):
                return ()
            self._fruitless[name] = (self._standing.n_changes, now)
        return ()

    def _is_spent(self, name: str, now: datetime) -> bool:
        """Whether the method found nothing and nothing has changed since."""
        last = self._fruitless.get(name)
        return last is not None and last[0] == self._standing.n_changes and now < last[1] + _REFRESH

    def _proposes(self, reason: DisruptionReason, command: Command | None, now: datetime) -> bool:
        if command is None:
            return False
        self._proposed = _Proposed(reason, command, now)
        return True

    def _drift_disruption(self, ground: SimBase, scene: Scene, plan: Plan) -> Disrupt | None:
        """The node that drifted first, of those whose pods have a place (6.6)."""
        places = [
            place for place in self._standing.places.values() if _drifted_at(place.node) is not None
        ]
        removables = self._eligibility.among(places, self._standing, scene, are_pods_ignored=True)
        marked = (
            [(_drifted_at(item.node) or _EARLIEST, item) for item in removables] if places else []
        )
        budgets = _budgets(scene, DisruptionReason.DRIFTED)
        for _, item in sorted(marked, key=lambda pair: (bool(pair[1].pods), pair[0], pair[1].turn)):
            if not budgets[item.node.node_pool].n_remaining:
                continue
            fitted = simulate(ground, [item], is_consolidating=False)
            if fitted is not None:
                made = launches(fitted.claims, ground.snapshot.revision, len(plan.launches))
                command = Command((item,), places=places_of(fitted, [item]))
                return _disrupt(DisruptionReason.DRIFTED, command, tuple(made))
        return None

    # ---- validation

    def _validate(
        self,
        proposed: _Proposed,
        ground: SimBase,
        scene: Scene,
        pools: Mapping[str, NodePool],
        plan: Plan,
    ) -> tuple[Disrupt, ...]:
        """What was proposed, if it is still right; of empty nodes, those that still are."""
        fits = is_idle if proposed.reason == DisruptionReason.EMPTY else is_consolidatable
        names = set(proposed.command.nodes)
        again = [
            removable
            for removable in self._eligibility.quiet_nodes(self._standing, scene)
            if removable.node.name in names and fits(removable, pools)
        ]
        budgets = _budgets(scene, proposed.reason)
        if proposed.reason == DisruptionReason.EMPTY:
            command = _together(again, budgets)
            return () if command is None else (_disrupt(proposed.reason, command, ()),)
        if len(again) < len(names) or _exceeds(again, budgets):
            return ()
        order = {name: at for at, name in enumerate(proposed.command.nodes)}
        fresh = command_for(ground, sorted(again, key=lambda removable: order[removable.node.name]))
        if fresh is None or not _is_same(proposed.command, fresh):
            return ()
        made = _with_names(fresh.replacement, ground.snapshot, plan)
        return (_disrupt(proposed.reason, fresh, made),)


def _budgets(scene: Scene, reason: str) -> dict[str, Allowance]:
    return allowances(scene.snapshot, reason, scene.now)


def _together(candidates: Sequence[Removable], budgets: Mapping[str, Allowance]) -> Command | None:
    """As many empty nodes as budgets allow, the dearest first."""
    left = {pool: budget.n_remaining for pool, budget in budgets.items()}
    taken = []
    for candidate in sorted(candidates, key=lambda removable: removable.turn):
        if left.get(candidate.node.node_pool, 0) > 0:
            left[candidate.node.node_pool] -= 1
            taken.append(candidate)
    return Command(tuple(taken)) if taken else None


def _exceeds(candidates: Sequence[Removable], budgets: Mapping[str, Allowance]) -> bool:
    pools = [candidate.node.node_pool for candidate in candidates]
    return any(budgets[pool].n_remaining < pools.count(pool) for pool in set(pools))


def _is_same(before: Command, after: Command) -> bool:
    """Whether as much comes as was expected, of types that would still do."""
    if before.replacement is None or after.replacement is None:
        return before.replacement is after.replacement
    return set(before.replacement.instance_types) <= set(after.replacement.instance_types)


def _with_names(launch: Launch | None, snapshot: Snapshot, plan: Plan) -> tuple[Launch, ...]:
    """The replacement with a name that no other node has."""
    if launch is None:
        return ()
    name = f"{launch.node_pool}-{snapshot.revision}-{len(plan.launches) + 1}"
    result = {**launch.labels, labels.HOSTNAME: name}
    return (msgspec.structs.replace(launch, name=name, labels=result),)


def _disrupt(reason: DisruptionReason, command: Command, made: tuple[Launch, ...]) -> Disrupt:
    paid = sum(launch.price_nanousd for launch in made)
    return Disrupt(
        reason=reason,
        nodes=command.nodes,
        replacements=made,
        pods=tuple(sorted(pod.key for candidate in command.candidates for pod in candidate.pods)),
        saving_nanousd=sum(candidate.price_nanousd for candidate in command.candidates) - paid,
        places=command.places,
    )


def _drifted_at(node: Node) -> datetime | None:
    for condition in node.conditions:
        if condition.type == DRIFTED and condition.status == "True":
            return condition.changed_at or _EARLIEST
    return None
