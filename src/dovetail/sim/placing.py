"""Chooses the node on which kube-scheduler would put a pod, by its filters and scores.

A pod that was promised a node (`nominatedNodeName`) is tried there first, and its promise keeps
room there from pods of equal or lower priority: room, ports and attachments, not the company of
other pods. Nobody is evicted for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.resources import CPU, total
from dovetail.model.verdict import Problem
from dovetail.model.volumes import NO_VOLUMES, PodVolumes
from dovetail.sim.company import Company
from dovetail.sim.filters import Question, objection
from dovetail.sim.rooms import Room, Rooms
from dovetail.sim.scores import Choice, best
from dovetail.sim.volumes import Storage

_NOTHING: Final[Mapping[str, int]] = {}


class Placing:
    """All that a scheduler knows when it looks for a place."""

    def __init__(self) -> None:
        self.rooms = Rooms()
        self.storage = Storage(())
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._promises: dict[str, dict[PodKey, Pod]] = {}  # by the name of the node

    def promise(self, pod: Pod) -> None:
        """The pod waits; if it was promised a node, that is kept for it."""
        if pod.nominated_node_name:
            self._promises.setdefault(pod.nominated_node_name, {})[pod.key] = pod

    def take_back(self, pod: Pod) -> None:
        """The pod waits no more."""
        promised = self._promises.get(pod.nominated_node_name)
        if promised:
            promised.pop(pod.key, None)

    def chosen(self, pod: Pod) -> str:
        """The node for a pod, or nothing if none will do."""
        asked = self.storage.asked(pod) if pod.claim_names else NO_VOLUMES
        if isinstance(asked, Problem):
            return ""
        company = Company(pod, self.rooms, self.namespaces)
        promised = self.rooms.get(pod.nominated_node_name)
        if promised is not None and self._will_do(pod, asked, company, promised):
            return pod.nominated_node_name
        feasible = [
            (node, room)
            for node, room in self.rooms.roomy(pod.spec.requests.get(CPU, 0))
            if self._will_do(pod, asked, company, room)
        ]
        return best(Choice(pod, feasible, self.rooms, self.namespaces)) if feasible else ""

    def objections(self, pod: Pod) -> str:
        """Why no node will do, as kube-scheduler says it."""
        asked = self.storage.asked(pod)
        if isinstance(asked, Problem):
            return asked.message
        company = Company(pod, self.rooms, self.namespaces)
        reasons = Counter(
            objection(self._question(pod, asked, node, room)) or company.objection(node)
            for node, room in self.rooms.nodes()
        )
        stated = ", ".join(f"{n_nodes} {why}" for why, n_nodes in sorted(reasons.items()))
        return f"0/{sum(reasons.values())} nodes are available: {stated or 'there are none'}."

    def _will_do(self, pod: Pod, asked: PodVolumes, company: Company, room: Room) -> bool:
        """The same as that nobody objects, with what decides most often first."""
        node = room.node
        if node is None or not room.holds(
            pod.spec.requests, self._promised_requests(pod, node.name)
        ):
            return False
        if not room.suits(pod.spec):
            return False
        if pod.spec.host_ports or pod.claim_names:
            question = self._question(pod, asked, node, room)
            if objection(question):
                return False
        return not company.objection(node)

    def _question(self, pod: Pod, asked: PodVolumes, node: Node, room: Room) -> Question:
        promised = self._promised_pods(pod, node.name)
        there = (*room.pods.values(), *promised)
        kept = total((room.used, *(item.spec.requests for item in promised)))
        return Question(
            pod=pod,
            node=node,
            there=there,
            used=kept if promised else room.used,
            volumes=asked,
            attached=self.storage.attached(there) if asked.attachments else {},
        )

    def _promised_requests(self, pod: Pod, node_name: str) -> Mapping[str, int]:
        if not self._promises.get(node_name):
            return _NOTHING
        return total(item.spec.requests for item in self._promised_pods(pod, node_name))

    def _promised_pods(self, pod: Pod, node_name: str) -> list[Pod]:
        """Others that wait for room that was promised to them."""
        others = self._promises.get(node_name)
        if not others:
            return []
        return [
            other
            for other in others.values()
            if other.key != pod.key and other.spec.priority >= pod.spec.priority
        ]
