"""Interrupts instances with two minutes' notice, at a rate or in a storm.

The node is drained at once, as the reference's interruption controller has it, its offering is not
asked for again for a while, and what still runs on it when the notice is over is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Final

from dovetail.model.backoff import Chance
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.departures import Departures
from dovetail.sim.fast.machines import Machines
from dovetail.sim.weather import NOTICE, Offers, Reclaims, Storm, Weather
from dovetail.state.changes import Refused

INTERRUPTED: Final = "Interrupted"


class Interruptions:
    """Instances that are taken back."""

    def __init__(
        self, cluster: FastCluster, machines: Machines, departures: Departures, chance: Chance
    ) -> None:
        self._cluster = cluster
        self._machines = machines
        self._departures = departures
        self._chance = chance
        self._reclaims: tuple[Reclaims, ...] = ()

    def begin(self, weather: Weather) -> None:
        """Plan storms, and draw the lot of every node that is there."""
        self._reclaims = weather.reclaims
        for storm in weather.storms:
            self._cluster.agenda.since_start(storm.at, partial(self._break, storm))
        for node in list(self._cluster.nodes.values()):
            self.draw(node)

    def draw(self, node: Node) -> None:
        """Draw when an instance is taken back, if ever."""
        agenda = self._cluster.agenda
        for reclaim in self._reclaims:
            if reclaim.per_hour <= 0 or not _is_of(node, reclaim.offers):
                continue
            hours = -math.log(1.0 - self._chance()) / reclaim.per_hour
            moment = max(agenda.elapsed, reclaim.during.begins) + timedelta(hours=hours)
            if reclaim.during.holds(moment):
                agenda.since_start(moment, partial(self._warn, node.name))

    def _break(self, storm: Storm) -> None:
        for node in self._nodes_of(storm.offers):
            if self._chance() < storm.share:
                self._warn(node.name)

    def _nodes_of(self, offers: Offers) -> Iterable[Node]:
        nodes = [node for node in self._cluster.nodes.values() if _is_of(node, offers)]
        return sorted(nodes, key=lambda node: node.name)

    def _warn(self, name: str) -> None:
        """The notice comes."""
        cluster = self._cluster
        node = cluster.nodes.get(name)
        if node is None:
            return
        cluster.figures.count("interrupted", cluster.now)
        refused = Refused(node.instance_type, node.zone, node.capacity_type, cluster.now)
        cluster.book.apply(refused)
        cluster.agenda.after(NOTICE, partial(self._lose, name))
        self._departures.begin(Disrupt(INTERRUPTED, (name,)))

    def _lose(self, name: str) -> None:
        """The notice is over."""
        cluster = self._cluster
        if name not in cluster.nodes:
            return
        for pod in cluster.pods_on(name):
            if pod.deleting_at is None and not pod.is_daemon:
                cluster.figures.evicted(INTERRUPTED, cluster.now)
                cluster.end(pod.key)
        self._departures.lost(name)
        self._machines.lose(name)


def _is_of(node: Node, offers: Offers) -> bool:
    return offers.mean(node.instance_type, node.zone, node.capacity_type)
