"""How does a problem look as arrays?

Everything that is the same for all probes of one problem is worked out here, once: rows and their
capacity, groups and their requests, who accepts whom, which terms tie which groups together, and
how many pods of each term already run where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.requirements import Requirement, Requirements
from dovetail.model.resources import CPU, MEMORY, PODS
from dovetail.model.topology import NodeTerm
from dovetail.solve.axes import UNLIMITED, Bool, Int
from dovetail.solve.columns import Columns
from dovetail.solve.groups import Group, distinct_specs, group_pods, read_labels
from dovetail.solve.offers import (
    Market,
    Mentions,
    definite,
    mentions,
    open_market,
    pool_requirements,
)
from dovetail.solve.puzzle import Puzzle
from dovetail.solve.ties import Ties, tie_groups

ATTACH: Final = "attach/"  # prefix of the resources that count attached volumes


@dataclass(frozen=True, slots=True)
class Origin:
    """What arrays were before minValues narrowed them, and which of its rows each row was."""

    enc: Encoded
    offer_o: Int
    mask_m: Int


@dataclass(frozen=True, slots=True)
class Encoded:
    """A problem as arrays; see `axes` for the letters."""

    problem: Puzzle
    market: Market
    groups: list[Group]
    resources: tuple[str, ...]
    columns: Columns
    requests_gr: Int
    count_g: Int
    priority_g: Int
    mask_g: Int  # which row of masks_me a group uses
    masks_me: Bool
    cap_or: Int  # allocatable less daemon sets
    overhead_or: Int
    price_o: Int
    plan_price_o: Int  # the price that the search compares: spot made robust, if asked for
    pool_o: Int
    type_o: Int
    weight_o: Int
    supply_o: Int
    cell_o: Int
    free_nr: Int
    cell_n: Int
    ties: Ties
    origin: Origin | None = None

    @property
    def n_offers(self) -> int:
        """How many rows can be bought."""
        return len(self.price_o)

    def mask_go(self, group: int) -> Bool:
        """The offers whose labels and taints a group accepts."""
        return self.masks_me[self.mask_g[group], : self.n_offers]

    def mask_gn(self, group: int) -> Bool:
        """The existing nodes whose labels and taints a group accepts."""
        return self.masks_me[self.mask_g[group], self.n_offers :]


def encode(problem: Puzzle) -> Encoded:
    """Turn nouns into arrays. O(pods) for grouping, O(groups + offers) for the rest."""
    specs = distinct_specs((*problem.pods, *problem.bound))
    keys = read_labels(specs)
    groups = group_pods(problem.pods, keys, problem.volumes)
    said = _said(problem, groups, specs)
    market = open_market(problem.node_pools, problem.instance_types, said)
    columns = _columns(problem, market, said)
    resources = _resources(groups)
    masks_me, mask_g = _masks(columns, groups)
    overhead_or, daemons_do = _overhead(problem.daemon_sets, columns, market, resources)
    price_o = np.array([one.offering.price_nanousd for one in market.offers], dtype=np.int64)
    cells_e, domains_ck = _cells(columns, said.topology_keys)
    n_offers = len(market.offers)
    ties = tie_groups(
        problem,
        groups,
        keys,
        columns=columns,
        domains_ck=domains_ck,
        topology_keys=said.topology_keys,
        cell_n=cells_e[n_offers:],
        daemons_do=daemons_do,
    )
    return Encoded(
        problem=problem,
        market=market,
        groups=groups,
        resources=resources,
        columns=columns,
        requests_gr=np.array(
            [_requests(group, resources) for group in groups], dtype=np.int64
        ).reshape(len(groups), len(resources)),
        count_g=np.array([len(group.pods) for group in groups], dtype=np.int64),
        priority_g=np.array([group.spec.priority for group in groups], dtype=np.int64),
        mask_g=mask_g,
        masks_me=masks_me,
        cap_or=_allocatable(market, resources) - overhead_or,
        overhead_or=overhead_or,
        price_o=price_o,
        plan_price_o=price_o,
        pool_o=np.array([one.pool for one in market.offers], dtype=np.int64),
        type_o=np.array([one.type for one in market.offers], dtype=np.int64),
        weight_o=np.array([market.pools[one.pool].weight for one in market.offers], dtype=np.int64),
        supply_o=_supply(problem, market),
        cell_o=cells_e[:n_offers],
        free_nr=_free(problem, columns, resources, n_offers),
        cell_n=cells_e[n_offers:],
        ties=ties,
    )


def _said(problem: Puzzle, groups: Sequence[Group], specs: Iterable[PodSpec]) -> Mentions:
    """Everything that anybody says about node labels."""
    topology = [key for group in groups for key in _hard_topology_keys(group.spec)]
    topology += [term.topology_key for spec in specs for term in spec.anti_affinity]
    expressions: list[Requirement] = []
    for spec in (*distinct_specs(problem.pods), *(one.spec for one in problem.daemon_sets)):
        expressions += _node_expressions(spec)
    for group in groups:
        for terms in group.volumes.alternatives:
            expressions += [one for term in terms for one in term.expressions]
    return mentions(expressions, [labels.normalize(key) for key in topology])


def _hard_topology_keys(spec: PodSpec) -> Iterable[str]:
    yield from (one.topology_key for one in spec.spread if one.is_hard)
    yield from (one.topology_key for one in (*spec.affinity, *spec.anti_affinity))


def _node_expressions(spec: PodSpec) -> list[Requirement]:
    found = [
        Requirement(labels.normalize(key), False, frozenset({value}))
        for key, value in spec.node_selector.items()
    ]
    terms: list[NodeTerm] = [*spec.required_terms, *(term for _, term in spec.preferred_terms)]
    return found + [one for term in terms for one in term.expressions]


def _columns(problem: Puzzle, market: Market, said: Mentions) -> Columns:
    nodes = problem.nodes
    n_offers = len(market.offers)
    columns = Columns(n_offers + len(nodes))
    offered = _OfferLabels(market)
    keys = set(said.values_by_key) | {labels.REGISTERED, labels.INITIALIZED}
    normalized = [
        {labels.normalize(key): value for key, value in node.labels.items()} for node in nodes
    ]
    for key in sorted(keys):
        codes, values = offered.values(key)
        columns.add_coded(key, codes, values, [held.get(key) for held in normalized])
    columns.add(labels.NODE_NAME_FIELD, [None] * n_offers + [node.name for node in nodes])
    columns.add_taints(
        [market.pools[one.pool].taints for one in market.offers] + [node.taints for node in nodes]
    )
    return columns


class _OfferLabels:
    """The definite labels of all offers, worked out once per distinct combination of layers."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._layers = [pool_requirements(pool) for pool in market.pools]
        codes: dict[int, int] = {}
        self._offered: list[Requirements] = []
        for one in market.offers:
            if id(one.offering.requirements) not in codes:
                codes[id(one.offering.requirements)] = len(self._offered)
                self._offered.append(one.offering.requirements)
        self._rows = np.array(
            [
                (one.pool, one.type, codes[id(one.offering.requirements)], one.choice)
                for one in market.offers
            ],
            dtype=np.int64,
        ).reshape(len(market.offers), 4)
        self._chosen = [dict(choice) for choice in market.choices]

    def values(self, key: str) -> tuple[Int, list[str | None]]:
        """The value of one label for every offer: codes, and what they stand for."""
        market = self._market
        if key in labels.SIMULATION_ONLY:
            return np.zeros(len(market.offers), dtype=np.int64), ["true"]
        kinds: dict[Requirement | None, int] = {}
        kind_t = np.array(
            [kinds.setdefault(kind.requirements.get(key), len(kinds)) for kind in market.types],
            dtype=np.int64,
        )
        parts: dict[Requirement | None, int] = {}
        part_f = np.array(
            [parts.setdefault(one.get(key), len(parts)) for one in self._offered], dtype=np.int64
        )
        pool, kind, offered, choice = self._rows.T
        code = ((pool * len(kinds) + kind_t[kind]) * len(parts) + part_f[offered]) * len(
            self._chosen
        ) + choice
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        found = [self._value(key, int(row)) for row in first]
        return inverse.reshape(-1), found

    def _value(self, key: str, row: int) -> str | None:
        one = self._market.offers[row]
        if key in self._chosen[one.choice]:
            return self._chosen[one.choice][key]
        kind = self._market.types[one.type].requirements
        return definite(key, (self._layers[one.pool], kind, one.offering.requirements))[1]


def _resources(groups: Sequence[Group]) -> tuple[str, ...]:
    asked = {name for group in groups for name, amount in group.spec.requests.items() if amount}
    drivers = {ATTACH + driver for group in groups for driver, _ in group.volumes.attachments}
    first = (CPU, MEMORY, PODS)
    return (*first, *sorted((asked | drivers) - set(first)))


def _requests(group: Group, resources: tuple[str, ...]) -> list[int]:
    attached = {ATTACH + driver: len(claims) for driver, claims in group.volumes.attachments}
    held = group.spec.requests
    return [attached.get(name, held.get(name, 0)) for name in resources]


def _vector(amounts: Iterable[tuple[str, int]], resources: tuple[str, ...]) -> list[int]:
    held = dict(amounts)
    return [held.get(name, int(UNLIMITED) if name.startswith(ATTACH) else 0) for name in resources]


def _allocatable(market: Market, resources: tuple[str, ...]) -> Int:
    rows = [
        _vector(
            [
                *kind.allocatable.items(),
                *((ATTACH + driver, limit) for driver, limit in kind.attach_limits.items()),
            ],
            resources,
        )
        for kind in market.types
    ]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
    return table[np.array([one.type for one in market.offers], dtype=np.int64)].reshape(
        len(market.offers), len(resources)
    )


def _masks(columns: Columns, groups: Sequence[Group]) -> tuple[Bool, Int]:
    """Which entities each group's own wishes admit: one row per distinct set of wishes."""
    number_of: dict[bytes, int] = {}
    rows: list[Bool] = []
    numbers = []
    for group in groups:
        mask = group_mask(columns, group)
        key = np.packbits(mask).tobytes()
        if key not in number_of:
            number_of[key] = len(rows)
            rows.append(mask)
        numbers.append(number_of[key])
    masks = np.array(rows, dtype=bool).reshape(len(rows), columns.n_entities)
    return masks, np.array(numbers, dtype=np.int64)


def group_mask(columns: Columns, group: Group) -> Bool:
    """Where a pod's node selector, affinity, tolerations and volumes let it go."""
    spec = group.spec
    mask = columns.admitted_by_affinity(spec.node_selector, spec.required_terms)
    mask = mask & columns.tolerated(spec.tolerations)
    for terms in group.volumes.alternatives:
        mask &= columns.admitted_by_any(terms)
    return mask


def _overhead(
    daemons: Sequence[DaemonSet], columns: Columns, market: Market, resources: tuple[str, ...]
) -> tuple[Int, Bool]:
    """What daemon sets take of every new node, and which of them run there."""
    n_offers = len(market.offers)
    overhead = np.zeros((n_offers, len(resources)), dtype=np.int64)
    runs = np.zeros((len(daemons), n_offers), dtype=bool)
    for number, daemon in enumerate(daemons):
        runs[number] = daemon_mask(columns, daemon)[:n_offers]
        asked = [daemon.spec.requests.get(name, 0) for name in resources]
        overhead += np.outer(runs[number], np.array(asked, dtype=np.int64))
    return overhead, runs


def daemon_mask(columns: Columns, daemon: DaemonSet) -> Bool:
    """Where a daemon set's pods run."""
    spec = daemon.spec
    admitted = columns.admitted_by_affinity(spec.node_selector, spec.required_terms)
    return admitted & columns.tolerated(spec.tolerations)


def _supply(problem: Puzzle, market: Market) -> Int:
    """How many nodes of each offer can be had: reservations are finite."""
    supply = np.full(len(market.offers), UNLIMITED, dtype=np.int64)
    for number, one in enumerate(market.offers):
        if one.offering.capacity_type == labels.RESERVED:
            used = problem.reserved_by_id.get(one.offering.reservation_id, 0)
            supply[number] = max(0, one.offering.reservation_capacity - used)
    return supply


def _cells(columns: Columns, keys: tuple[str, ...]) -> tuple[Int, Int]:
    """The combination of topology domains of every entity; domains are -1 where a label is absent."""
    if not keys:
        return np.zeros(columns.n_entities, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    domain_ke = []
    for key in keys:
        codes, values = columns.codes(key)
        order = sorted(value for value in values if value is not None)
        rank = {value: place for place, value in enumerate(order)}
        domain_ke.append(
            np.array([-1 if value is None else rank[value] for value in values])[codes]
        )
    stacked = np.array(domain_ke, dtype=np.int64).T
    domains_ck, cells = np.unique(stacked, axis=0, return_inverse=True)
    return cells.reshape(-1).astype(np.int64), domains_ck


def _free(problem: Puzzle, columns: Columns, resources: tuple[str, ...], n_offers: int) -> Int:
    """What every existing node has left for waiting pods."""
    place = {node.name: number for number, node in enumerate(problem.nodes)}
    rows = [
        _vector(
            [
                *node.allocatable.items(),
                *((ATTACH + driver, limit) for driver, limit in node.attach_limits.items()),
            ],
            resources,
        )
        for node in problem.nodes
    ]
    free = np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
    daemon_use = np.zeros_like(free)
    vectors: dict[int, Int] = {}
    for pod in problem.bound:
        number = place.get(pod.node_name)
        if number is None:
            continue
        asked = vectors.get(id(pod.spec))
        if asked is None:
            held = pod.spec.requests
            asked = np.array([held.get(name, 0) for name in resources], dtype=np.int64)
            vectors[id(pod.spec)] = asked
        free[number] -= asked
        if pod.is_daemon:
            daemon_use[number] += asked
    if len(rows):
        free -= np.maximum(_daemon_need(problem, columns, resources, n_offers) - daemon_use, 0)
        free -= _attached(problem, resources, place)
    return free


def _daemon_need(
    problem: Puzzle, columns: Columns, resources: tuple[str, ...], n_offers: int
) -> Int:
    need = np.zeros((len(problem.nodes), len(resources)), dtype=np.int64)
    for daemon in problem.daemon_sets:
        runs = daemon_mask(columns, daemon)[n_offers:]
        asked = [daemon.spec.requests.get(name, 0) for name in resources]
        need += np.outer(runs, np.array(asked, dtype=np.int64))
    return need


def _attached(problem: Puzzle, resources: tuple[str, ...], place: dict[str, int]) -> Int:
    """Attached volumes of running pods: a claim that several share on a node counts once."""
    used = np.zeros((len(problem.nodes), len(resources)), dtype=np.int64)
    if not problem.bound_volumes:
        return used
    slot = {name: number for number, name in enumerate(resources)}
    seen: set[tuple[int, str, str]] = set()
    for pod in problem.bound:
        number = place.get(pod.node_name)
        asked = problem.bound_volumes.get(pod.key)
        if number is None or asked is None:
            continue
        for driver, claims in asked.attachments:
            for claim in claims:
                if ATTACH + driver in slot and (number, driver, claim) not in seen:
                    seen.add((number, driver, claim))
                    used[number, slot[ATTACH + driver]] += 1
    return used


def bound_pods_that_count(pods: Iterable[Pod]) -> list[Pod]:
    """Running pods that selectors count: neither finished nor going."""
    return [pod for pod in pods if not pod.is_terminal and pod.deleting_at is None]
