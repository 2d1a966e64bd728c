"""Removes nodes: taints them, waits for replacements, drains them, ends their instances.

(spec/core.md 5.12, 5.13, 6.12) Pods leave in tiers, each when its disruption budget lets it; what
is refused is asked for again, ever more slowly.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.draining import DISRUPTED, is_evictable, is_waiting, leaving_next
from dovetail.decide.lifecycle.timing import DRAIN_POLL, EVICTION_BACKOFF, MIN_DRAIN
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.machines import Machines
from dovetail.state.changes import Disrupting, DisruptionEnded

TERMINATING: Final = "Terminating"  # somebody deleted it before the beginning


class _Leaving(msgspec.Struct):
    """A node that is being drained: why, since when nobody is left, and how often in vain."""

    reason: str
    empty_at: datetime | None = None
    n_refused: int = 0


class Departures:
    """Nodes that are being taken away."""

    def __init__(self, cluster: FastCluster, machines: Machines) -> None:
        self._cluster = cluster
        self._machines = machines
        self._pending: list[tuple[Disrupt, set[str]]] = []  # and the replacements that still start
        self._leaving: dict[str, _Leaving] = {}

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
            self._pending.append((begun, {one.name for one in disrupt.replacements}))
        else:
            self._drain(begun)

    def adopt(self) -> None:
        """Go on with nodes that were leaving already."""
        for node in list(self._cluster.nodes.values()):
            if node.deleting_at is not None and node.is_initialized:
                if DISRUPTED not in node.taints:
                    self._fence(node)
                self._leaving[node.name] = _Leaving(TERMINATING)
                self._look(node.name)

    def joined(self, name: str) -> None:
        """A node has started: it may be what others wait for."""
        for disrupt, starting in self._pending:
            starting.discard(name)
            if not starting:
                self._drain(disrupt)
        self._pending = [one for one in self._pending if one[1]]

    def failed(self, name: str) -> None:
        """A node will not come: whatever waits for it comes to nothing, for a while."""
        in_vain = [disrupt for disrupt, starting in self._pending if name in starting]
        self._pending = [one for one in self._pending if name not in one[1]]
        for disrupt in in_vain:
            for going in disrupt.nodes:
                if going in self._cluster.nodes:
                    self._give_up(going, failed_at=self._cluster.now)

    def lost(self, name: str) -> None:
        """A node is no more, whatever was meant to become of it."""
        self._leaving.pop(name, None)

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
            self._cluster.put_node(msgspec.structs.replace(node, deleting_at=self._cluster.now))
            self._leaving[name] = _Leaving(disrupt.reason)
            self._look(name)

    def _give_up(self, name: str, failed_at: datetime | None = None) -> None:
        """Take the fence down: somebody came before it was up, or nothing comes instead."""
        node = self._cluster.nodes[name]
        kept = tuple(one for one in node.taints if one != DISRUPTED)
        self._cluster.fence(msgspec.structs.replace(node, taints=kept))
        self._cluster.book.apply(DisruptionEnded((name,), failed_at))

    # ---- draining

    def _look(self, name: str) -> None:
        """See to a node that is being drained."""
        cluster, held = self._cluster, self._leaving.get(name)
        if held is None:
            return
        now, pods = cluster.now, cluster.pods_on(name)
        if any(is_waiting(pod, now) for pod in pods):
            held.empty_at = None
            self._evict(name, held)
            return
        held.empty_at = held.empty_at or now
        if now - held.empty_at >= MIN_DRAIN:
            del self._leaving[name]
            self._machines.end(name)
        else:
            cluster.agenda.at(held.empty_at + MIN_DRAIN, partial(self._look, name))

    def _evict(self, name: str, held: _Leaving) -> None:
        cluster = self._cluster
        now = cluster.now
        is_refused = False
        for pod in leaving_next(cluster.pods_on(name), now):
            if pod.deleting_at is not None:
                continue
            if pod.is_daemon:
                cluster.part(pod.key, pod.uid)
            elif not is_evictable(pod, now) or not cluster.evict(pod.key, held.reason):
                is_refused = True
        held.n_refused = held.n_refused + 1 if is_refused else 0
        wait = EVICTION_BACKOFF.after(held.n_refused) if is_refused else DRAIN_POLL
        cluster.agenda.after(max(wait, DRAIN_POLL), partial(self._look, name))
