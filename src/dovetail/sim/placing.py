"""Chooses the node on which kube-scheduler would put a pod, by its filters and scores.

A pod that was promised a node (`nominatedNodeName`) is tried there first, and its promise keeps
room there from pods of equal or lower priority: room, ports and attachments, not the company of
other pods. Nobody is evicted for another.

Of the scores, room left and balance count once, preferences of nodes and pods twice, soft taints
three times. Of equal nodes kube-scheduler takes any; here it is the first by name, so that runs
repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from dovetail.model.node import Node
from dovetail.model.pod import Pod, PodKey
from dovetail.model.resources import CPU, MEMORY, total
from dovetail.model.taints import DISCOURAGED, Effect
from dovetail.model.verdict import Problem
from dovetail.model.volumes import NO_VOLUMES, PodVolumes
from dovetail.sim.company import Company, Namespaces, spread_selects, term_selects
from dovetail.sim.filters import Question, objection
from dovetail.sim.rooms import Room, Rooms
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

    def choose(self, pod: Pod) -> str:
        """The node for a pod, or nothing if none will do."""
        asked = self.storage.needs_of(pod) if pod.claim_names else NO_VOLUMES
        if isinstance(asked, Problem):
            return ""
        company = Company(pod, self.rooms, self.namespaces)
        promised = self.rooms.get(pod.nominated_node_name)
        if promised is not None and self._will_do(pod, asked, company, promised):
            return pod.nominated_node_name
        feasible = [
            (node, room)
            for node, room in self.rooms.nodes_with(pod.spec.requests.get(CPU, 0))
            if self._will_do(pod, asked, company, room)
        ]
        return best(Choice(pod, feasible, self.rooms, self.namespaces)) if feasible else ""

    def objections(self, pod: Pod) -> str:
        """Why no node will do, as kube-scheduler says it."""
        asked = self.storage.needs_of(pod)
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
            attached=self.storage.attached_claims(there) if asked.attachments else {},
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


_BEST: Final = 100.0


class Choice(msgspec.Struct, frozen=True):
    """A pod, and the nodes that would do."""

    pod: Pod
    feasible: Sequence[tuple[Node, Room]]
    rooms: Rooms
    namespaces: Namespaces


def best(choice: Choice) -> str:
    """The name of the best node."""
    if len(choice.feasible) == 1:
        return choice.feasible[0][0].name
    totals = {node.name: 0.0 for node, _ in choice.feasible}
    for weight, score, is_reversed in _SCORES:
        scores = score(choice)
        highest = max(scores.values(), default=0.0)
        lowest = min(min(scores.values(), default=0.0), 0.0)
        for name, value in scores.items():
            share = (value - lowest) / (highest - lowest) if highest > lowest else 0.0
            totals[name] += weight * _BEST * (1.0 - share if is_reversed else share)
    for name, value in _room(choice).items():
        totals[name] += value
    return min(totals, key=lambda name: (-round(totals[name], 6), name))


def _room(choice: Choice) -> dict[str, float]:
    """How much would be left, and how evenly; both between 0 and 100, as they are."""
    result: dict[str, float] = {}
    for node, room in choice.feasible:
        shares = []
        for name in (CPU, MEMORY):
            allocatable = node.allocatable.get(name, 0)
            asked = room.used.get(name, 0) + choice.pod.spec.requests.get(name, 0)
            shares.append(min(asked / allocatable, 1.0) if allocatable else 1.0)
        left = sum(1.0 - share for share in shares) / len(shares)
        balance = 1.0 - abs(shares[0] - shares[1]) / 2
        result[node.name] = _BEST * (left + balance)
    return result


def _preferred_nodes(choice: Choice) -> dict[str, float]:
    terms = choice.pod.spec.preferred_terms
    if not terms:
        return {}
    return {
        node.name: float(
            sum(weight for weight, node_term in terms if node_term.matches(node.labels, node.name))
        )
        for node, _ in choice.feasible
    }


def _soft_taints(choice: Choice) -> dict[str, float]:
    tolerations = choice.pod.spec.tolerations
    if not any(node.taints or node.is_discouraged for node, _ in choice.feasible):
        return {}
    is_deterred = not any(toleration.tolerates(DISCOURAGED) for toleration in tolerations)
    return {
        node.name: float(
            sum(
                taint.effect == Effect.PREFER_NO_SCHEDULE
                and not any(toleration.tolerates(taint) for toleration in tolerations)
                for taint in node.taints
            )
            + (node.is_discouraged and is_deterred)
        )
        for node, _ in choice.feasible
    }


def _crowd_scores(choice: Choice) -> dict[str, float]:
    """How many pods that a soft constraint counts are in the node's domains."""
    if all(spread.is_hard for spread in choice.pod.spec.spread):
        return {}
    result = dict.fromkeys((node.name for node, _ in choice.feasible), 0.0)
    for spread in choice.pod.spec.spread:
        if spread.is_hard:
            continue
        by_domain: dict[str, int] = {}
        for breed in choice.rooms.breeds():
            if spread_selects(spread, choice.pod, breed.sample):
                for node, n_pods in choice.rooms.places(breed):
                    domain = node.labels.get(spread.topology_key, "")
                    by_domain[domain] = by_domain.get(domain, 0) + n_pods
        for node, _ in choice.feasible:
            result[node.name] += by_domain.get(node.labels.get(spread.topology_key, ""), 0)
    return result


def _liked_company(choice: Choice) -> dict[str, float]:
    spec = choice.pod.spec
    wishes = [(weight, term) for weight, term in spec.preferred_affinity]
    wishes += [(-weight, term) for weight, term in spec.preferred_anti_affinity]
    if not wishes:
        return {}
    result = dict.fromkeys((node.name for node, _ in choice.feasible), 0.0)
    for weight, term in wishes:
        by_domain: dict[str, int] = {}
        for breed in choice.rooms.breeds():
            if term_selects(term, choice.pod, breed.sample, choice.namespaces):
                for node, n_pods in choice.rooms.places(breed):
                    domain = node.labels.get(term.topology_key, "")
                    by_domain[domain] = by_domain.get(domain, 0) + weight * n_pods
        for node, _ in choice.feasible:
            domain = node.labels.get(term.topology_key, "")
            result[node.name] += by_domain.get(domain, 0) if domain else 0
    return result


_Score = Callable[[Choice], Mapping[str, float]]
_SCORES: Final[tuple[tuple[int, _Score, bool], ...]] = (
    (3, _soft_taints, True),
    (2, _preferred_nodes, False),
    (2, _crowd_scores, True),
    (2, _liked_company, False),
)
