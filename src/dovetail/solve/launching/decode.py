"""Decodes a finished plan: arrays become planned nodes with their pods by name."""

from __future__ import annotations

import numpy as np

from dovetail.model.pod import Pod
from dovetail.model.resources import total
from dovetail.solve.axes import Int
from dovetail.solve.encoding.existing import ATTACH, daemon_mask
from dovetail.solve.encoding.offers import Offer, definite, pool_requirements
from dovetail.solve.launching.choices import LaunchChoice, choices, in_order
from dovetail.solve.launching.company import after_company, is_wanted
from dovetail.solve.launching.seating import Seats, in_turn, seats
from dovetail.solve.packing.attempt import Attempt
from dovetail.solve.packing.bins import EXISTING
from dovetail.solve.puzzle import PlannedNode
from dovetail.solve.zones.first_pods import followers, starters

Placed = list[tuple[str, tuple[Pod, ...]]]  # by name of the node
Names3 = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def decode(attempt: Attempt) -> tuple[list[PlannedNode], Placed, list[str]]:
    """Nodes to launch, pods for existing nodes, and an order in which all can be bound."""
    seated = seats(attempt)
    chosen = choices(attempt)
    nodes = _Launches(attempt)
    launches: list[PlannedNode] = []
    placed: Placed = []
    offers = attempt.bins.offer[: attempt.bins.n].tolist()
    for node, pods in seated.by_node():
        if offers[node] == EXISTING:
            placed.append((attempt.enc.problem.nodes[node].name, pods))
        else:
            launches.append(nodes.planned_node(node, pods, chosen[node]))
    return launches, placed, _order(attempt, seated)


class _Launches:
    """Makes planned nodes; what many nodes have in common is worked out once."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._names: dict[tuple[int, int], Names3] = {}
        self._names_by_content: dict[tuple[int, bytes], Names3] = {}
        self._type_names = np.array([kind.name for kind in attempt.enc.market.types], dtype=object)
        enc, bins = attempt.enc, attempt.bins
        counted = [place for place, name in enumerate(enc.resources) if not name.startswith(ATTACH)]
        counted.sort(key=lambda place: enc.resources[place])
        self._resources = [enc.resources[place] for place in counted]
        new = slice(bins.n_existing, bins.n)
        self._used_n = (enc.cap_or[bins.offer[new]] - bins.free[:, new].T)[:, counted].tolist()
        self._labels: dict[int, dict[str, str]] = {}
        self._daemons: dict[int, dict[str, int]] = {}

    def planned_node(self, node: int, pods: tuple[Pod, ...], choice: LaunchChoice) -> PlannedNode:
        """One node with its pods."""
        market = self._attempt.enc.market
        offer, fallbacks = choice.offer, choice.fallbacks
        launched = market.offers[offer]
        key = (offer, id(fallbacks))
        if key not in self._names:
            self._names[key] = self._intern_names(offer, fallbacks)
        kinds, zones, capacity_types = self._names[key]
        if offer not in self._labels:
            self._labels[offer] = node_labels(self._attempt, launched)
            self._daemons[offer] = self._daemon_requests(offer)
        return PlannedNode(
            node_pool=market.pools[launched.pool],
            instance_type=market.types[launched.type],
            offering=launched.offering,
            alternatives=kinds,
            zones=zones,
            capacity_types=capacity_types,
            labels=self._labels[offer],
            requests=self._requests(offer, node),
            pods=pods,
            is_min_values_relaxed=choice.is_relaxed,
        )

    def _intern_names(self, offer: int, fallbacks: Int) -> Names3:
        """The same names for the same fallbacks, in one object: plans hold hundreds of them."""
        key = (offer, fallbacks.tobytes())
        if key not in self._names_by_content:
            self._names_by_content[key] = self._names_of(offer, fallbacks)
        return self._names_by_content[key]

    def _names_of(self, offer: int, fallbacks: Int) -> Names3:
        """The types, zones and capacity types of an offer and its fallbacks, by name."""
        enc, market = self._attempt.enc, self._attempt.enc.market
        every = np.concatenate([np.array([offer], dtype=np.int64), fallbacks])
        kinds = in_order(enc.type_o[every], len(market.types))  # of price
        ranked = kinds[: enc.problem.policy.max_instance_types]
        is_way = np.zeros(len(market.ways), dtype=bool)
        is_way[market.way_o[every]] = True
        ways = [way for way, is_named in zip(market.ways, is_way.tolist(), strict=True) if is_named]
        return (
            tuple(self._type_names[ranked].tolist()),
            tuple(sorted({zone for _, zone in ways})),
            tuple(sorted({capacity_type for capacity_type, _ in ways})),
        )

    def _daemon_requests(self, offer: int) -> dict[str, int]:
        enc = self._attempt.enc
        return total(
            daemon_set.spec.requests
            for daemon_set in enc.problem.daemon_sets
            if daemon_mask(enc.columns, daemon_set)[offer]
        )

    def _requests(self, offer: int, node: int) -> dict[str, int]:
        """What pods and daemon sets take of the node."""
        used = zip(self._resources, self._used_n[node - self._attempt.bins.n_existing], strict=True)
        taken = {name: amount for name, amount in used if amount}
        daemons = self._daemons[offer]
        if not daemons:
            return taken
        result = total((daemons, taken))
        return {name: result[name] for name in sorted(result)}


def node_labels(attempt: Attempt, offer: Offer) -> dict[str, str]:
    """Every label that the new node will carry, as far as it is definite."""
    market = attempt.enc.market
    pool = market.pools[offer.pool]
    layers = (
        pool_requirements(pool),
        market.types[offer.type].requirements,
        offer.offering.requirements,
    )
    by_key: dict[str, str] = {}
    for key in sorted({key for layer in layers for key in layer}):
        fixed, value = definite(key, layers)
        if fixed and value is not None:
            by_key[key] = value
    for key, value in market.choices[offer.choice]:
        if value is not None:
            by_key[key] = value
        else:
            by_key.pop(key, None)
    return by_key


def _order(attempt: Attempt, seated: Seats) -> list[str]:
    """Who is bound after whom, by name."""
    keys = [pod.key for pod in seated.pods]
    turns = [keys[seat] for seat in in_turn(attempt, seated).tolist()]
    if not is_wanted(attempt):
        return turns
    places = list(zip(seated.group_s.tolist(), seated.node_s.tolist(), strict=True))
    starters = _starters(attempt)
    early = [key for key, place in zip(keys, places, strict=True) if place in starters]
    first = set(early)
    turns = [*early, *(key for key in turns if key not in first)]
    return after_company(attempt, turns, dict(zip(keys, places, strict=True)))


def _starters(attempt: Attempt) -> set[tuple[int, int]]:
    """(group, node) of pods that have to be bound first, since there will be pods elsewhere that
    match the affinity terms of theirs.
    """
    bins = attempt.bins
    return {
        (group, pod.node)
        for pod in starters(attempt, followers(attempt))[0]
        if (np.count_nonzero(bins.match[list(pod.wanted), : bins.n], axis=1) > 1).any()
        for group, _ in pod.unit.members
    }


def unplaced_pods(attempt: Attempt, waiting: dict[int, int]) -> list[Pod]:
    """The pods that stay out: the last ones of their groups."""
    result: list[Pod] = []
    for group, count in sorted(waiting.items()):
        pods = attempt.enc.groups[group].pods
        result += pods[len(pods) - count :]
    return result
