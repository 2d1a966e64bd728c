"""Carries out disruptions: taints nodes, waits for their replacements, then drains them.

What is next for a claim, its Node and each pod is computed by the same functions of
`decide/lifecycle` that the controllers call. `Drains` holds the claims and the queue of evictions,
and carries out the steps in virtual time.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle import eviction, termination
from dovetail.decide.lifecycle.claim import ClaimContext, claim_step
from dovetail.decide.lifecycle.conditions import DISRUPTION_REASON
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.decide.lifecycle.eviction import EvictionAnswer, QueuedEviction
from dovetail.decide.lifecycle.step import (
    DeleteInstance,
    DeletePod,
    EnqueueEviction,
    EvictPod,
    RetryEviction,
    Step,
    claim_with,
)
from dovetail.model.claim import ClaimObject, ClaimView, NodeObject
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.pod import Pod, PodKey
from dovetail.sim.fast.claimed import claim_of
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.machines import Machines
from dovetail.state.changes import Disrupting, DisruptionEnded

TERMINATING: Final = "Terminating"  # somebody deleted it before the beginning


class Departures:
    """Nodes that are being taken away."""

    def __init__(self, cluster: FastCluster, machines: Machines) -> None:
        self._cluster = cluster
        self._machines = machines
        self._pending: list[tuple[Disrupt, set[str]]] = []  # and the replacements that still start
        self._drains = Drains(cluster, machines)
        self.lost = self._drains.forget  # a node is no more, whatever was meant to become of it

    def begin(self, disrupt: Disrupt) -> None:
        """Fence the nodes, order what comes instead, and go on once that has started."""
        cluster = self._cluster
        names = tuple(name for name in disrupt.nodes if self._may_go(name))
        if len(names) < len(disrupt.nodes) and disrupt.replacements:
            return
        if not names:
            return
        begun = msgspec.structs.replace(disrupt, nodes=names)
        cluster.book.apply(Disrupting(names, disrupt.reason, cluster.now))
        for name in names:
            self._fence(cluster.nodes[name])
        for launch in disrupt.replacements:
            self._machines.launch(launch)
        if disrupt.replacements:
            self._pending.append((begun, {item.name for item in disrupt.replacements}))
        else:
            self._drain(begun)

    def adopt(self) -> None:
        """Go on with nodes that were leaving already."""
        for node in list(self._cluster.nodes.values()):
            if node.deleting_at is not None and node.is_initialized:
                self._drains.begin(node, TERMINATING)

    def note_start(self, name: str) -> None:
        """A node has started: it may be what others wait for."""
        for disrupt, starting in self._pending:
            starting.discard(name)
            if not starting:
                self._drain(disrupt)
        self._pending = [pair for pair in self._pending if pair[1]]

    def note_failure(self, name: str) -> None:
        """A node will not come: whatever waits for it comes to nothing, for a while."""
        in_vain = [disrupt for disrupt, starting in self._pending if name in starting]
        self._pending = [pair for pair in self._pending if name not in pair[1]]
        for disrupt in in_vain:
            for going in disrupt.nodes:
                if going in self._cluster.nodes:
                    self._give_up(going, failed_at=self._cluster.now)

    def _fence(self, node: Node) -> None:
        fenced = msgspec.structs.replace(node, taints=(*node.taints, DISRUPTED))
        self._cluster.fence(fenced)

    def _may_go(self, name: str) -> bool:
        node = self._cluster.nodes.get(name)
        return (
            node is not None
            and node.is_initialized
            and node.deleting_at is None
            and DISRUPTED not in node.taints
        )

    def _drain(self, disrupt: Disrupt) -> None:
        for name in disrupt.nodes:
            node = self._cluster.nodes.get(name)
            if node is None:
                continue
            is_chosen_empty = disrupt.reason == DisruptionReason.EMPTY
            if is_chosen_empty and not is_empty(self._cluster.pods_on(name)):
                self._give_up(name)
                continue
            self._drains.begin(node, disrupt.reason)

    def _give_up(self, name: str, failed_at: datetime | None = None) -> None:
        """Take the fence down: somebody came before it was up, or nothing comes instead."""
        node = self._cluster.nodes[name]
        kept = tuple(taint for taint in node.taints if taint != DISRUPTED)
        self._cluster.fence(msgspec.structs.replace(node, taints=kept))
        self._cluster.book.apply(DisruptionEnded((name,), failed_at))


_READY = Condition("Ready", "True")


class Drains:
    """The claims of nodes that are being drained, and the pods that must leave them."""

    def __init__(self, cluster: FastCluster, machines: Machines) -> None:
        self._cluster = cluster
        self._machines = machines
        self._claims: dict[str, ClaimObject] = {}  # by node
        self._queue: dict[tuple[PodKey, str], QueuedEviction] = {}  # by pod and its uid

    def begin(self, node: Node, reason: str) -> None:
        """Delete the claim of a node, and with it the node once it is drained."""
        now = self._cluster.now
        deleted = msgspec.structs.replace(node, deleting_at=node.deleting_at or now)
        self._cluster.put_node(deleted)
        stated = Condition(DISRUPTION_REASON, "True", reason=reason, changed_at=now)
        claim = claim_of(deleted)
        claim = msgspec.structs.replace(claim, conditions=(*claim.conditions, stated))
        view = ClaimView(claim, (_node_object(deleted),))
        context = ClaimContext(ending=self._cluster.book.ending(node.provider_id))
        self._claims[node.name] = claim_with(claim, claim_step(view, context, now), now)
        self._drain(node.name)

    def forget(self, name: str) -> None:
        """The instance of a node has ended before the node was drained."""
        self._claims.pop(name, None)

    def _drain(self, name: str) -> None:
        """Carry out the next step of the termination of a node."""
        cluster, claim = self._cluster, self._claims.get(name)
        if claim is None:
            return
        node = cluster.nodes[name]
        view = termination.TerminationView(_node_object(node), (claim,), cluster.pods_on(name))
        step = termination.step(view, cluster.now)
        self._claims[name] = claim_with(claim, step, cluster.now)
        self._taint(node, step)
        for action in step.actions:
            match action:
                case EnqueueEviction():
                    self._enqueue(action)
                case DeleteInstance():
                    self.forget(name)
                    self._machines.end(name)
                case _:
                    continue
        if step.look_again_at is not None:
            cluster.agenda.at(step.look_again_at, partial(self._drain, name))

    def _taint(self, node: Node, step: Step) -> None:
        for patch in step.nodes:
            if patch.taints is not None:
                self._cluster.fence(msgspec.structs.replace(node, taints=patch.taints))

    def _enqueue(self, wanted: EnqueueEviction) -> None:
        key = (wanted.pod, wanted.uid)
        before = self._queue.get(key)
        entry = eviction.queue_entry(before, wanted)
        if entry != before:
            self._queue[key] = entry
            self._evict(key)

    def _evict(self, key: tuple[PodKey, str]) -> None:
        """Carry out the next step of the eviction of a pod."""
        cluster, entry = self._cluster, self._queue.pop(key, None)
        if entry is None:
            return
        pod = cluster.pods.get(entry.pod)
        step = eviction.step(entry, pod, cluster.now)
        if pod is not None and any(isinstance(action, EvictPod) for action in step.actions):
            step = self._ask(entry, pod)
        for action in step.actions:
            match action:
                case RetryEviction():
                    self._queue[key] = msgspec.structs.replace(entry, n_failures=action.n_failures)
                case DeletePod():
                    cluster.delete(action.pod, entry.reason, action.grace_seconds)
                case _:
                    continue
        if step.look_again_at is not None:
            cluster.agenda.at(step.look_again_at, partial(self._evict, key))

    def _ask(self, entry: QueuedEviction, pod: Pod) -> Step:
        is_evicted = self._cluster.evict(pod.key, entry.reason)
        answer = EvictionAnswer.EVICTED if is_evicted else EvictionAnswer.BLOCKED
        return eviction.after_answer(entry, pod, answer, self._cluster.now)


def _node_object(node: Node) -> NodeObject:
    """The Node as the laws of its termination see it."""
    return NodeObject(
        node.name,
        provider_id=node.provider_id,
        taints=node.taints,
        finalizers=(labels.TERMINATION_FINALIZER,),
        conditions=(_READY,) if node.is_ready else (),
        deleting_at=node.deleting_at,
    )
