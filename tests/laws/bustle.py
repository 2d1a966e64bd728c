"""A cluster in which plans are carried out bit by bit, while life goes on around them.

Nodes take their time to start, some never do, and what they were to replace stays. Pods are evicted
when their budgets let them go, and bound when their node is there; others come and go. Nodes fall
silent, and are heard again. So plans are made while much is under way, and at each of them budgets
must hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final

import msgspec

from dovetail.decide.evictions import with_evictions
from dovetail.model.ledger import Departure, Nomination, Setback
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from tests.laws.life import departed, quiet, started, with_daemons
from tests.laws.market import one_in
from tests.laws.strategies import NOW
from tests.oracle.disruptions import fakes, is_held, needs_a_node
from tests.oracle.hosts import is_protected, present_world
from tests.oracle.scheduler import refusal
from tests.oracle.static import to_come

PROMISED_FOR: Final = timedelta(minutes=10)
SET_BACK_FOR: Final = timedelta(minutes=1)
PAUSES: Final = (5, 15, 30, 120, 600)  # in seconds


@dataclass(frozen=True)
class Command:
    """Nodes that go once others have started."""

    nodes: tuple[str, ...]
    replacements: tuple[str, ...]


class Bustle:
    """The cluster, what is under way in it, and what time it is."""

    def __init__(self, snapshot: Snapshot, chance: Random) -> None:
        self.snapshot = snapshot
        self.now = NOW
        self._chance = chance
        self._commands: list[Command] = []
        self._usual = {(one.namespace, one.name): one for one in snapshot.disruption_budgets}

    # ------------------------------------------------------------------ what a plan begins

    def begin(self, plan: Plan) -> None:
        """Let everything begin that the plan says."""
        launches = [*plan.launches, *(new for one in plan.disruptions for new in one.replacements)]
        ledger = self.snapshot.ledger
        going = tuple(
            Departure(name, one.reason, self.now) for one in plan.disruptions for name in one.nodes
        )
        reserved = dict(ledger.reserved_by_id)
        for one in launches:
            if one.reservation_id:
                reserved[one.reservation_id] = reserved.get(one.reservation_id, 0) + 1
        self._change(
            nodes=(*self.snapshot.nodes, *map(self._ordered, launches)),
            ledger=msgspec.structs.replace(
                ledger,
                proposals=plan.proposals,
                disrupting=(*ledger.disrupting, *going),
                nominations=self._promised(plan, launches),
                reserved_by_id=reserved,
            ),
            revision=self.snapshot.revision + 1,
        )
        self._commands += [_command(one) for one in plan.disruptions]

    def _ordered(self, launch: Launch) -> Node:
        node = to_come(self.snapshot, launch)
        return msgspec.structs.replace(node, provider_id=f"machine://{launch.name}")

    def _promised(self, plan: Plan, launches: list[Launch]) -> tuple[Nomination, ...]:
        """Promises that still hold, one for each pod at most."""
        held = self.snapshot.ledger.nominations
        kept = [one for one in held if one.until > self.now]
        last = {one.pod_uid: one for one in (*kept, *self._promises(plan, launches))}
        return tuple(last.values())

    def _promises(self, plan: Plan, launches: list[Launch]) -> list[Nomination]:
        places = [place for one in plan.disruptions for place in one.places]
        found = [(one.node, one.pods) for one in (*plan.nominations, *places)]
        found += [(one.name, one.pods) for one in launches]
        uid = {pod.key: pod.uid for pod in self.snapshot.pods}
        until = self.now + PROMISED_FOR
        return [Nomination(uid[key], node, until) for node, pods in found for key in pods]

    # ------------------------------------------------------------------ what happens then

    def go_on(self) -> None:
        """Let time pass, and a little of everything happen."""
        self._nodes_start()
        self._nodes_are_deleted()
        self._pods_are_evicted()
        self._pods_are_bound()
        self._pods_come_and_go()
        self._nodes_fall_silent()
        self.snapshot = with_daemons(quiet(departed(self.snapshot)))
        self.now += timedelta(seconds=self._chance.choice(PAUSES))

    def _change(self, **changes: object) -> None:
        self.snapshot = msgspec.structs.replace(self.snapshot, **changes)

    def _nodes_start(self) -> None:
        nodes = (
            node if one_in(self._chance, 3) else started(node, self.snapshot)
            for node in self.snapshot.nodes
        )
        self._change(nodes=tuple(nodes))

    def _nodes_are_deleted(self) -> None:
        """Commands whose replacements have started go on; some come to nothing."""
        ready = {node.name for node in self.snapshot.nodes if node.is_initialized}
        waiting = []
        for one in self._commands:
            if one.replacements and one_in(self._chance, 10):
                self._give_up(one)
            elif ready.issuperset(one.replacements):
                self._delete(one.nodes)
            else:
                waiting.append(one)
        self._commands = waiting

    def _delete(self, names: tuple[str, ...]) -> None:
        nodes = (
            msgspec.structs.replace(node, deleting_at=self.now) if node.name in names else node
            for node in self.snapshot.nodes
        )
        self._change(nodes=tuple(nodes))

    def _give_up(self, one: Command) -> None:
        """A replacement has failed: it is gone, and the nodes stay."""
        failed, ledger = one.replacements[0], self.snapshot.ledger
        until = self.now + SET_BACK_FOR
        used = [pod for pod in self.snapshot.pods if pod.node_name == failed]
        self._change(
            nodes=tuple(node for node in self.snapshot.nodes if node.name != failed or used),
            ledger=msgspec.structs.replace(
                ledger,
                disrupting=tuple(two for two in ledger.disrupting if two.node not in one.nodes),
                nominations=tuple(two for two in ledger.nominations if two.node != failed),
                setbacks=(*ledger.setbacks, *(Setback(name, until) for name in one.nodes)),
            ),
        )

    def _pods_are_evicted(self) -> None:
        """Each node that is deleted loses the pods that may leave now, one after the other."""
        going = {node.name for node in self.snapshot.nodes if node.deleting_at is not None}
        for pod in self.snapshot.pods:
            if pod.node_name not in going or not needs_a_node(pod) or one_in(self._chance, 4):
                continue
            if is_protected(pod, self.now) or is_held(self.snapshot, pod, self.now):
                continue
            self._evict(pod)

    def _evict(self, pod: Pod) -> None:
        again = msgspec.structs.replace(
            pod,
            node_name="",
            phase="Pending",
            created_at=self.now,
            started_at=None,
            deleting_at=None,
        )
        self._change(
            pods=tuple(again if one is pod else one for one in self.snapshot.pods),
            ledger=with_evictions(self.snapshot.ledger, [pod], self.now),
            disruption_budgets=tuple(_used(one, pod) for one in self.snapshot.disruption_budgets),
        )

    def _pods_are_bound(self) -> None:
        """Pods go where they were promised room, once the node has started; some go elsewhere."""
        unreal = fakes(self.snapshot)
        promised = {one.pod_uid: one.node for one in self.snapshot.ledger.nominations}
        world = present_world(self.snapshot)
        up = {node.name for node in self.snapshot.nodes if node.is_initialized and node.is_ready}
        bound: dict[str, str] = {}
        for pod in self.snapshot.pods:
            if pod.node_name or pod.key in unreal or pod.deleting_at or pod.is_terminal:
                continue
            place = promised.get(pod.uid, "")
            for host in world.hosts.values():
                if pod in world.bound[host.name]:
                    world.unbind(pod, host.name)  # it stood where it was promised to
            wanted = [place] if place in world.hosts else sorted(world.hosts)
            for name in wanted if not one_in(self._chance, 4) else ():
                if name in up and refusal(world, pod, world.hosts[name]) is None:
                    world.bind(pod, name)
                    bound[pod.key] = name
                    break
        self._bind(bound)

    def _bind(self, where: dict[str, str]) -> None:
        uids = {pod.uid for pod in self.snapshot.pods if pod.key in where}
        ledger = self.snapshot.ledger
        self._change(
            pods=tuple(
                msgspec.structs.replace(
                    pod,
                    node_name=where[pod.key],
                    nominated_node_name="",
                    phase="Running",
                    started_at=self.now,
                )
                if pod.key in where
                else pod
                for pod in self.snapshot.pods
            ),
            ledger=msgspec.structs.replace(
                ledger,
                nominations=tuple(one for one in ledger.nominations if one.pod_uid not in uids),
            ),
        )

    def _pods_come_and_go(self) -> None:
        """Workloads shrink and grow, pods end, and budgets of pods let somebody go again."""
        chance, unreal = self._chance, fakes(self.snapshot)
        kept = []
        for pod in self.snapshot.pods:
            if pod.deleting_at is not None and not pod.is_daemon:
                continue
            is_dismissed = not pod.is_daemon and pod.key not in unreal and one_in(chance, 30)
            if not is_dismissed:
                kept.append(pod)
        budgets = tuple(
            self._usual[one.namespace, one.name] if one_in(chance, 2) else one
            for one in self.snapshot.disruption_budgets
        )
        self._change(pods=tuple(kept), disruption_budgets=budgets)

    def _nodes_fall_silent(self) -> None:
        nodes = (
            msgspec.structs.replace(node, is_ready=not node.is_ready)
            if node.is_initialized and one_in(self._chance, 5 if not node.is_ready else 40)
            else node
            for node in self.snapshot.nodes
        )
        self._change(nodes=tuple(nodes))


def _command(one: Disrupt) -> Command:
    return Command(one.nodes, tuple(new.name for new in one.replacements))


def _used(budget: DisruptionBudget, pod: Pod) -> DisruptionBudget:
    """The budget once the pod is evicted."""
    if budget.namespace != pod.namespace or not budget.selector.matches(pod.labels):
        return budget
    n_left = max(0, budget.disruptions_allowed - 1)
    return msgspec.structs.replace(budget, disruptions_allowed=n_left)
