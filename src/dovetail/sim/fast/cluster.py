"""Holds the simulated cluster and the snapshot of it that decisions see.

What did not change since the last snapshot is the very same object in the next, so that decisions
find again what they worked out before (`decide/nodes.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from dovetail.controllers.provisioning.loop import LONGEST
from dovetail.decide.disrupt.cost import deletion_cost, may_yield
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE, INITIALIZED, SetCondition
from dovetail.decide.lifecycle.running import PodChange, consolidatable_step, pod_event_at
from dovetail.model.claim import ClaimObject
from dovetail.model.node import Condition, Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.sim.fast.figures import Figures
from dovetail.sim.fast.windows import Agenda
from dovetail.sim.placing import Placing
from dovetail.state.ledger import Book, nominated_for
from dovetail.state.shelf import Key

_QUIET: Final = Condition(CONSOLIDATABLE, "True")


class FastKeeper:
    """Whoever makes pods hears what becomes of them. By itself it does nothing about it."""

    ends_after = timedelta(0)  # how long its pods take to end

    def was_bound(self, pod: Pod) -> None:
        """It has a node."""

    def became_ready(self, pod: Pod) -> None:
        """It runs and is ready."""

    def is_leaving(self, pod: Pod) -> None:
        """It was told to end."""

    def is_gone(self, pod: Pod) -> None:
        """It is no more, or has succeeded."""

    def lets_go(self, pod: Pod) -> bool:
        """Whether its disruption budget allows an eviction now."""
        del pod
        return True


DAEMON: Final = FastKeeper()  # daemon pods come and go with their nodes


class FastCluster:
    """Nodes, pods, promises and budgets."""

    def __init__(self, agenda: Agenda, given: Snapshot, figures: Figures) -> None:
        self.agenda = agenda
        self.figures = figures
        self.given = given
        self.placing = Placing()
        self.placing.namespaces.update(given.namespaces)
        self.pods: dict[PodKey, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.book = Book(nominated_for(LONGEST))
        self.touched: Callable[[bool], None] = lambda _: None  # whether pods came that wait
        self.wait: Callable[[Pod], None] = lambda _: None
        self.keepers: dict[PodKey, FastKeeper] = {}
        self.yielding: dict[str, int] = {}  # what pods of these nodes cost to give up
        self._pools = {pool.name: pool for pool in given.node_pools}
        self._budgets = {(item.namespace, item.name): item for item in given.disruption_budgets}
        self._initialized_at: dict[str, datetime] = {}
        self._pods: tuple[Pod, ...] | None = None
        self._nodes: tuple[Node, ...] | None = None
        self._frozen_budgets: tuple[DisruptionBudget, ...] | None = given.disruption_budgets
        self._revision = given.revision

    @property
    def now(self) -> datetime:
        """The present moment."""
        return self.agenda.now

    # ---- what decisions see

    def snapshot(self) -> Snapshot:
        """Everything, frozen."""
        now = self.now
        self._revision = max(self._revision + 1, int(now.timestamp()))
        if self._pods is None:
            self._pods = tuple(self.pods.values())
        if self._nodes is None:
            self._nodes = tuple(self.nodes.values())
        if self._frozen_budgets is None:
            self._frozen_budgets = tuple(budget for _, budget in sorted(self._budgets.items()))
        return msgspec.structs.replace(
            self.given,
            pods=self._pods,
            nodes=self._nodes,
            disruption_budgets=self._frozen_budgets,
            ledger=self.book.ledger(self._nodes, self.given.ledger.reserved_by_id, now),
            revision=self._revision,
        )

    # ---- pods

    def make(self, pod: Pod, keeper: FastKeeper) -> None:
        """A pod comes, and waits."""
        self.keepers[pod.key] = keeper
        self._put(pod)
        self._pass()
        self.figures.n_waiting += 1
        self.figures.n_pods += 1
        self.wait(pod)
        self.touched(True)

    def bind(self, key: PodKey, node_name: str) -> None:
        """A pod gets its node, and starts."""
        before = self.pods[key]
        pod = msgspec.structs.replace(
            before,
            node_name=node_name,
            nominated_node_name="",
            phase="Running",
            started_at=self.now,
            is_ready=False,
        )
        self._pass()
        self.figures.n_waiting -= 1
        if before.created_at is not None:
            self.figures.count_wait(self.now - before.created_at, self.now)
        self.figures.count("bound", self.now)
        self.settle(pod)
        self.keepers[key].was_bound(pod)

    def settle(self, pod: Pod) -> None:
        """A pod is on its node from now on."""
        before = self.pods.get(pod.key)
        self._put(pod)
        self._pass()
        self.figures.asked.update(pod.spec.requests)
        self.placing.rooms.put_pod(pod, pod.node_name)
        self.book.follow(_key(pod), before, pod)
        self._notify(pod)

    def mark_ready(self, key: PodKey, uid: str) -> None:
        """A pod runs and is ready, unless it has gone meanwhile."""
        pod = self.pods.get(key)
        if pod is None or pod.uid != uid or pod.deleting_at is not None or pod.is_ready:
            return
        pod = msgspec.structs.replace(pod, is_ready=True)
        self._put(pod)
        self.placing.rooms.put_pod(pod, pod.node_name)
        self.keepers[key].became_ready(pod)
        self.touched(False)

    def end(self, key: PodKey) -> None:
        """Tell a pod to end."""
        before = self.pods[key]
        if before.deleting_at is not None:
            return
        keeper = self.keepers[key]
        if not before.node_name:
            self.drop(key)
            keeper.is_leaving(before)
            keeper.is_gone(before)
            return
        pod = msgspec.structs.replace(
            before,
            deleting_at=self.now + timedelta(seconds=before.spec.termination_grace_seconds),
            is_ready=False,
        )
        self._put(pod)
        self.placing.rooms.put_pod(pod, pod.node_name)
        self._notify(pod)
        self.agenda.after(keeper.ends_after, partial(self.part, key, pod.uid))
        keeper.is_leaving(pod)

    def part(self, key: PodKey, uid: str) -> None:
        """A pod is no more."""
        pod = self.pods.get(key)
        if pod is None or pod.uid != uid:
            return
        keeper = self.keepers[key]
        self.drop(key)
        keeper.is_gone(pod)

    def finish(self, key: PodKey) -> None:
        """A pod has succeeded; it needs no room any more, but is still listed."""
        pod = self.pods[key]
        self._make_room(pod)
        ended = msgspec.structs.replace(pod, phase="Succeeded", ends_at=self.now, is_ready=False)
        self._put(ended)

    def drop(self, key: PodKey) -> None:
        """Forget a pod."""
        pod = self.pods.pop(key)
        self.keepers.pop(key, None)
        self._pods = None
        if not pod.is_terminal:
            self._make_room(pod)
            self.book.follow(_key(pod), pod, None)

    def _make_room(self, pod: Pod) -> None:
        self._pass()
        self.figures.n_pods -= 1
        if pod.node_name:
            self.figures.asked.subtract(pod.spec.requests)
            self.placing.rooms.drop_pod(pod.key)
            self._notify(pod)
        else:
            self.figures.n_waiting -= 1
            self.touched(False)

    def evict(self, key: PodKey, reason: str) -> bool:
        """Ask a pod to leave; whether its budget allows it."""
        pod = self.pods[key]
        if not self.keepers[key].lets_go(pod):
            return False
        self._count_eviction(pod, reason)
        self.end(key)
        return True

    def delete(self, key: PodKey, reason: str, grace_seconds: int) -> None:
        """Tell a pod to end within so many seconds, whatever protects it."""
        pod = self.pods[key]
        if pod.deleting_at is None:
            self._count_eviction(pod, reason)
            self.end(key)
        self.agenda.after(timedelta(seconds=grace_seconds), partial(self.part, key, pod.uid))

    def _count_eviction(self, pod: Pod, reason: str) -> None:
        if not pod.is_daemon:
            self.figures.count_eviction(reason, self.now)
            self.book.evictions.add(pod.workload, pod.uid, self.now)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """Everybody on a node."""
        room = self.placing.rooms.get(node_name)
        return tuple(room.pods.values()) if room is not None else ()

    def _put(self, pod: Pod) -> None:
        self.pods[pod.key] = pod
        self._pods = None

    # ---- nodes

    def put_node(self, node: Node) -> None:
        """A node is like this now."""
        self.nodes[node.name] = node
        self._nodes = None
        self.touched(False)

    def join(self, node: Node) -> None:
        """A node has started, and takes pods."""
        self._pass()
        self._initialized_at[node.name] = self.now
        self.figures.offered.update(node.allocatable)
        self.placing.rooms.put_node(node)
        self.put_node(node)
        self._settle(node.name)

    def fence(self, node: Node) -> None:
        """A node is like this now, for the scheduler too."""
        self.placing.rooms.put_node(node)
        self.put_node(node)

    def discourage(self, names: frozenset[str]) -> None:
        """The scheduler rather keeps off these nodes, and off no others."""
        for node in list(self.nodes.values()):
            if node.is_initialized and node.is_discouraged != (node.name in names):
                changed = msgspec.structs.replace(node, is_discouraged=node.name in names)
                self.placing.rooms.put_node(changed)
                self.nodes[node.name] = changed
                self._nodes = None

    def deletion_cost(self, pod: Pod) -> int:
        """Which pods to give up first: its own word counts, then that of its node."""
        if may_yield(pod):
            return self.yielding.get(pod.node_name, 0)
        return deletion_cost(pod.annotations)

    def drop_node(self, name: str) -> None:
        """A node is no more."""
        node = self.nodes.pop(name)
        self._nodes = None
        self._pass()
        for pod in [item for item in self.pods.values() if item.node_name == name]:
            self.part(pod.key, pod.uid)
        if self._initialized_at.pop(name, None) is not None:
            self.figures.offered.subtract(node.allocatable)
        self.placing.rooms.drop_node(name)
        self.touched(False)

    def set_budget(self, budget: DisruptionBudget) -> None:
        """So many pods may be evicted now."""
        key = (budget.namespace, budget.name)
        if self._budgets.get(key) != budget:
            self._budgets[key] = budget
            self._frozen_budgets = None

    def _notify(self, pod: Pod) -> None:
        """A pod has come to its node or leaves it."""
        self.touched(False)
        node = self.nodes.get(pod.node_name)
        if node is None or pod.is_daemon:
            return
        moment = pod_event_at(node.last_pod_event_at, PodChange(None, pod), self.now)
        if moment is not None:
            self.put_node(msgspec.structs.replace(node, last_pod_event_at=moment))
            self._settle(node.name)

    def _settle(self, name: str) -> None:
        """Say whether a node has been quiet for as long as its pool wants."""
        node = self.nodes.get(name)
        since = self._initialized_at.get(name)
        if node is None or since is None or node.node_pool not in self._pools:
            return
        claim = ClaimObject(
            node.node_claim,
            conditions=(Condition(INITIALIZED, "True", changed_at=since),),
            last_pod_event_at=node.last_pod_event_at,
        )
        step = consolidatable_step(claim, self._pools[node.node_pool], self.now)
        is_quiet = any(isinstance(condition, SetCondition) for condition in step.conditions)
        others = tuple(item for item in node.conditions if item.type != CONSOLIDATABLE)
        was_quiet = len(others) < len(node.conditions)
        if is_quiet != was_quiet:
            conditions = (*others, _QUIET) if is_quiet else others
            self.put_node(msgspec.structs.replace(node, conditions=conditions))
        if step.look_again_at is not None:
            self.agenda.at(step.look_again_at, partial(self._settle, name))

    def _pass(self) -> None:
        self.figures.pass_to(self.now)


def _key(pod: Pod) -> Key:
    return pod.namespace, pod.name
