"""Interrupts instances with two minutes' notice, at a rate or in a storm.

The end of an instance is announced as by a provider: its node is replaced and drained by the laws
of `decide/endings`, and its offering is not launched again for a while. The reference drains it at
once, and knows no end. What still runs on it when the notice is over is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Final

from dovetail.decide.endings import drained_at
from dovetail.model.backoff import Chance
from dovetail.model.ending import InstanceEnding, ReclaimedOffering
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt
from dovetail.sim.fast.cluster import FastCluster
from dovetail.sim.fast.departures import Departures
from dovetail.sim.fast.machines import Machines
from dovetail.sim.weather import NOTICE, Offers, Reclaims, Storm, Weather
from dovetail.state.changes import EndingAnnounced, EndingsPlanned, Refused

INTERRUPTED: Final = "Interrupted"


class Interruptions:
    """Instances that are taken back. With `are_planned` their nodes are replaced before they are
    drained.
    """

    def __init__(
        self,
        cluster: FastCluster,
        machines: Machines,
        departures: Departures,
        chance: Chance,
        *,
        are_planned: bool = True,
    ) -> None:
        self._cluster = cluster
        self._machines = machines
        self._departures = departures
        self._chance = chance
        self._are_planned = are_planned
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
        cluster.agenda.after(NOTICE, partial(self._lose, name))
        if self._are_planned:
            self._announce(node)
            return
        refused = Refused(node.instance_type, node.zone, node.capacity_type, cluster.now)
        cluster.book.apply(refused)
        self._departures.begin(Disrupt(INTERRUPTED, (name,)))

    def _announce(self, node: Node) -> None:
        cluster = self._cluster
        ending = InstanceEnding(
            node.provider_id,
            INTERRUPTED,
            "the cloud takes the instance back",
            at=cluster.now + NOTICE,
            reclaimed=ReclaimedOffering(node.instance_type, node.zone, node.capacity_type),
        )
        cluster.book.apply(EndingAnnounced(ending, cluster.now))
        cluster.touched(True)
        self._drain(node.name)

    def plan_for(self, endings: Iterable[InstanceEnding]) -> None:
        """A decision has planned for these."""
        ids = tuple(ending.provider_id for ending in endings)
        if not ids:
            return
        self._cluster.book.apply(EndingsPlanned(ids))
        for node in [node for node in self._cluster.nodes.values() if node.provider_id in ids]:
            self._drain(node.name)

    def _drain(self, name: str) -> None:
        """Drain the node, or come back when that is due."""
        cluster = self._cluster
        node = cluster.nodes.get(name)
        known = None if node is None else cluster.book.ending(node.provider_id)
        if known is None:
            return
        moment = drained_at(known)
        if cluster.now < moment:
            cluster.agenda.at(moment, partial(self._drain, name))
        else:
            self._departures.begin(Disrupt(INTERRUPTED, (name,)))

    def _lose(self, name: str) -> None:
        """The notice is over."""
        cluster = self._cluster
        if name not in cluster.nodes:
            return
        for pod in cluster.pods_on(name):
            if pod.deleting_at is None and not pod.is_daemon:
                cluster.figures.count_eviction(INTERRUPTED, cluster.now)
                cluster.end(pod.key)
        self._departures.lost(name)
        self._machines.lose(name)


def _is_of(node: Node, offers: Offers) -> bool:
    return offers.mean(node.instance_type, node.zone, node.capacity_type)
