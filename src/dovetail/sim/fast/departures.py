"""Carries out disruptions: taints nodes, waits for their replacements, then has them drained."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.draining import DISRUPTED
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.draining import Drains
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

    def joined(self, name: str) -> None:
        """A node has started: it may be what others wait for."""
        for disrupt, starting in self._pending:
            starting.discard(name)
            if not starting:
                self._drain(disrupt)
        self._pending = [pair for pair in self._pending if pair[1]]

    def failed(self, name: str) -> None:
        """A node will not come: whatever waits for it comes to nothing, for a while."""
        in_vain = [disrupt for disrupt, starting in self._pending if name in starting]
        self._pending = [pair for pair in self._pending if name not in pair[1]]
        for disrupt in in_vain:
            for going in disrupt.nodes:
                if going in self._cluster.nodes:
                    self._give_up(going, failed_at=self._cluster.now)

    def lost(self, name: str) -> None:
        """A node is no more, whatever was meant to become of it."""
        self._drains.forget(name)

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
