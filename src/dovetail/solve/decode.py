"""Which pods, by name, go to which node? Arrays back to nouns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from dovetail.model.pod import Pod
from dovetail.model.resources import total
from dovetail.solve.attempt import Attempt
from dovetail.solve.axes import Int
from dovetail.solve.bins import EXISTING
from dovetail.solve.company import after_company, is_wanted
from dovetail.solve.contents import loads
from dovetail.solve.flexibility import alternatives
from dovetail.solve.offers import Offer, definite, pool_requirements
from dovetail.solve.puzzle import PlannedNode
from dovetail.solve.standing import ATTACH, daemon_mask
from dovetail.solve.terms import Kind

Share = tuple[int, tuple[Pod, ...]]  # a group, and those of its pods that share a node
Piles = dict[tuple[int, int], list[tuple[int, tuple[Pod, ...]]]]  # by group and cell: node, pods


class Names:
    """Hands out the pods of each unit, in order."""

    def __init__(self, attempt: Attempt) -> None:
        self._groups = attempt.enc.groups
        self._next_g = [0] * len(self._groups)
        self._held = [list(reversed(unit.members)) for unit in attempt.units]

    def take(self, number: int, count: int) -> list[Share]:
        """The next pods of a unit, by group."""
        result: list[Share] = []
        members = self._held[number]
        while count:
            group, held = members[-1]
            taken = min(held, count)
            start = self._next_g[group]
            result.append((group, self._groups[group].pods[start : start + taken]))
            self._next_g[group] = start + taken
            if held > taken:
                members[-1] = (group, held - taken)
            else:
                members.pop()
            count -= taken
        return result


def decode(
    attempt: Attempt,
) -> tuple[list[PlannedNode], list[tuple[str, tuple[Pod, ...]]], list[str]]:
    """Nodes to launch, pods for existing nodes, and an order in which all can be bound."""
    names = Names(attempt)
    bins = attempt.bins
    by_node = loads(attempt.bins.log)
    choices = alternatives(attempt)
    nodes = _Launches(attempt)
    launches: list[PlannedNode] = []
    placed: list[tuple[str, tuple[Pod, ...]]] = []
    piles: Piles = defaultdict(list)
    starters = _starters(attempt)
    early: list[str] = []
    cells, offers = bins.cell[: bins.n].tolist(), bins.offer[: bins.n].tolist()
    for node in sorted(by_node):
        held: list[Share] = []
        for number, count in sorted(by_node[node].items()):
            held += names.take(number, count)
        for group, pods in held:
            piles[group, cells[node]].append((node, pods))
            if starters and (group, node) in starters:
                early += [pod.key for pod in pods]
        if offers[node] == EXISTING:
            everybody = tuple(pod for _, pods in held for pod in pods)
            placed.append((attempt.enc.problem.nodes[node].name, everybody))
        else:
            launches.append(nodes.planned(node, held, choices[node]))
    turns = _order(attempt, _queues(attempt, piles))
    if early:
        first = set(early)
        turns = [*early, *(key for key in turns if key not in first)]
    return launches, placed, _with_company(attempt, turns, piles)


Names3 = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class _Launches:
    """Makes planned nodes; what many nodes have in common is worked out once."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._names: dict[tuple[int, int], Names3] = {}
        self._type_names = np.array([one.name for one in attempt.enc.market.types], dtype=object)
        enc, bins = attempt.enc, attempt.bins
        counted = [place for place, name in enumerate(enc.resources) if not name.startswith(ATTACH)]
        counted.sort(key=lambda place: enc.resources[place])
        self._resources = [enc.resources[place] for place in counted]
        new = slice(bins.n_existing, bins.n)
        self._used_n = (enc.cap_or[bins.offer[new]] - bins.free[:, new].T)[:, counted].tolist()
        self._labels: dict[int, dict[str, str]] = {}
        self._daemons: dict[int, dict[str, int]] = {}

    def planned(self, node: int, held: list[Share], choice: tuple[Int, bool]) -> PlannedNode:
        """One node with its pods."""
        market = self._attempt.enc.market
        offer = int(self._attempt.bins.offer[node])
        one = market.offers[offer]
        fallbacks, is_relaxed = choice
        key = (offer, id(fallbacks))
        if key not in self._names:
            self._names[key] = self._named(offer, fallbacks)
        kinds, zones, capacity_types = self._names[key]
        if offer not in self._labels:
            self._labels[offer] = node_labels(self._attempt, one)
            self._daemons[offer] = self._daemon_requests(offer)
        return PlannedNode(
            node_pool=market.pools[one.pool],
            instance_type=market.types[one.type],
            offering=one.offering,
            alternatives=kinds,
            zones=zones,
            capacity_types=capacity_types,
            labels=self._labels[offer],
            requests=self._requests(offer, node),
            pods=tuple(pod for _, pods in held for pod in pods),
            is_min_values_relaxed=is_relaxed,
        )

    def _named(self, offer: int, fallbacks: Int) -> Names3:
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
            one.spec.requests
            for one in enc.problem.daemon_sets
            if daemon_mask(enc.columns, one)[offer]
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


def in_order(numbers: Int, n_numbers: int) -> Int:
    """The distinct ones of many numbers, in the order in which they come."""
    first = np.full(n_numbers, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    found = np.flatnonzero(first < len(numbers))
    return found[np.argsort(first[found])]


def node_labels(attempt: Attempt, one: Offer) -> dict[str, str]:
    """Every label that the new node will carry, as far as it is definite."""
    market = attempt.enc.market
    pool = market.pools[one.pool]
    layers = (
        pool_requirements(pool),
        market.types[one.type].requirements,
        one.offering.requirements,
    )
    found: dict[str, str] = {}
    for key in sorted({key for layer in layers for key in layer}):
        fixed, value = definite(key, layers)
        if fixed and value is not None:
            found[key] = value
    for key, value in market.choices[one.choice]:
        if value is not None:
            found[key] = value
        else:
            found.pop(key, None)
    return found


def _starters(attempt: Attempt) -> set[tuple[int, int]]:
    """(group, node) of pods that want company on their node and have none but their own kind:
    if there will be such company elsewhere, they come first, while there is none.
    """
    ties, bins = attempt.enc.ties, attempt.bins
    found: set[tuple[int, int]] = set()
    for group, own in enumerate(ties.host_own_g):
        for number in own:
            if ties.hosts[number].kind == Kind.AFFINITY:
                match, stating = bins.match[number, : bins.n], bins.own[number, : bins.n]
                if np.count_nonzero(match) < 2:
                    continue
                alone = np.flatnonzero((stating > 0) & (match == stating))
                found |= {(group, node) for node in alone.tolist()}
    return found


def _queues(attempt: Attempt, piles: Piles) -> dict[tuple[int, int], list[Pod]]:
    """The pods of every group in every cell; those of a host spread node by node in turns, so that
    no node runs ahead.
    """
    hosts = attempt.enc.ties.hosts
    is_spread_g = [
        any(hosts[term].kind == Kind.SPREAD for term in own) if own else False
        for own in attempt.enc.ties.host_own_g
    ]
    return {
        key: _in_turns(held) if is_spread_g[key[0]] else [pod for _, pods in held for pod in pods]
        for key, held in piles.items()
    }


def _in_turns(held: Sequence[tuple[int, tuple[Pod, ...]]]) -> list[Pod]:
    """The first pod of every node, then the second of each, and so on."""
    pile_by_node: dict[int, list[Pod]] = {}
    for node, pods in held:
        pile_by_node.setdefault(node, []).extend(pods)
    turns = zip_longest(*pile_by_node.values())
    return [pod for turn in turns for pod in turn if pod is not None]


def _order(attempt: Attempt, queues: dict[tuple[int, int], list[Pod]]) -> list[str]:
    """Pods that were placed in bulk, then those whose turn matters, as they were settled."""
    n_stepped: dict[tuple[int, int], int] = defaultdict(int)
    for group, cell, count in attempt.steps:
        n_stepped[group, cell] += count
    order: list[Pod] = []
    place = {}
    for key, held in queues.items():
        place[key] = max(0, len(held) - n_stepped[key])
        order += held[: place[key]]
    for group, cell, count in attempt.steps:
        start = place.get((group, cell), 0)
        order += queues.get((group, cell), [])[start : start + count]
        place[group, cell] = start + count
    return [pod.key for pod in order]


def _with_company(attempt: Attempt, turns: list[str], piles: Piles) -> list[str]:
    """The turns, so that nobody comes before the company that it wants on its node."""
    if not is_wanted(attempt):
        return turns
    places = {
        pod.key: (group, node)
        for (group, _), held in piles.items()
        for node, pods in held
        for pod in pods
    }
    return after_company(attempt, turns, places)


def unplaced(attempt: Attempt, waiting: dict[int, int]) -> list[Pod]:
    """The pods that stay out: the last ones of their groups."""
    result: list[Pod] = []
    for group, count in sorted(waiting.items()):
        pods = attempt.enc.groups[group].pods
        result += pods[len(pods) - count :]
    return result
