"""Turns a problem into arrays. What is the same for all probes of it is worked out here, once.

These are rows and their capacity, groups and their requests, who accepts whom, which terms tie
which groups together, and how many pods of each term already run where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod
from dovetail.model.resources import CPU, MEMORY, PODS
from dovetail.solve.axes import UNLIMITED, Bool, Float, Int
from dovetail.solve.encoding.existing import (
    ATTACH,
    SharedClaims,
    attached_volumes,
    coming_daemons,
    free_room,
    shared_claims,
    vector,
)
from dovetail.solve.encoding.groups import Group, distinct_specs, group_pods, read_labels
from dovetail.solve.encoding.market_labels import label_column
from dovetail.solve.encoding.matching import Columns
from dovetail.solve.encoding.mentions import label_mentions
from dovetail.solve.encoding.node_parts import expected_labels
from dovetail.solve.encoding.offers import Mentions, OfferTable, open_market
from dovetail.solve.encoding.terms import Namespaces, Term
from dovetail.solve.encoding.ties import Filters, TermContext, Ties, sights, tie_groups
from dovetail.solve.puzzle import Puzzle


@dataclass(frozen=True, slots=True)
class Origin:
    """What arrays were before minValues narrowed them, and which of its rows each row was."""

    enc: Encoded
    offer_o: Int
    mask_m: Int
    largest_by_resource: Mapping[str, Int]  # of a row's siblings, where limits count it


class Running(Protocol):
    """Who runs where, as far as wishes about company ask."""

    @property
    def namespaces(self) -> Namespaces:
        """Which namespaces a term means."""
        ...

    def seen_by(self, term: Term) -> tuple[list[int], Int]:
        """The waiting groups, and the running pods by node, that a term selects."""
        ...


@dataclass(frozen=True)
class Encoded:
    """A problem as arrays; see `axes` for the letters."""

    problem: Puzzle
    market: OfferTable
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
    plan_price_o: Int  # the price that the search compares: spot made robust, if asked for
    weight_o: Int
    supply_o: Int
    cell_o: Int
    free_nr: Int
    cell_n: Int
    ties: Ties
    claims: SharedClaims  # those that several pods share
    origin: Origin | None = None
    running: Running | None = None  # None: `problem.bound` says it all

    @property
    def n_offers(self) -> int:
        """How many rows can be bought."""
        return len(self.market.price_o)

    @cached_property
    def mean_r(self) -> Float:
        """About what a new node has: makes resources comparable."""
        if not self.n_offers:
            return np.ones(len(self.resources))
        mean: Float = np.maximum(self.cap_or.mean(axis=0), 1.0)
        return mean

    @cached_property
    def weights(self) -> list[int]:
        """The weights of pools that have anything to offer, heaviest first."""
        return sorted(map(int, np.unique(self.weight_o)), reverse=True)

    @cached_property
    def sight_o(self) -> Int:
        """A number for each offer: nodes of equal numbers are counted by the same spreads."""
        return sights(self.ties, self.n_offers)

    @property
    def price_o(self) -> Int:
        """What each offer costs."""
        return self.market.price_o

    @property
    def pool_o(self) -> Int:
        """The pool of each offer."""
        return self.market.pool_o

    @property
    def type_o(self) -> Int:
        """The instance type of each offer."""
        return self.market.type_o

    def mask_go(self, group: int) -> Bool:
        """The offers whose labels and taints a group accepts."""
        return self.masks_me[self.mask_g[group], : self.n_offers]

    def mask_gn(self, group: int) -> Bool:
        """The existing nodes whose labels and taints a group accepts."""
        return self.masks_me[self.mask_g[group], self.n_offers :]


def encode(problem: Puzzle, bystanders: Sequence[Pod] = ()) -> Encoded:
    """Turn nouns into arrays. O(pods) for grouping, O(groups + offers) for the rest.

    Bystanders are not planned for, but new nodes have definite values of the labels that they name.
    """
    specs = distinct_specs((*problem.pods, *problem.bound))
    keys = read_labels(specs, problem.daemon_sets)
    groups = group_pods(problem.pods, keys, problem.volumes, problem.bound_volumes)
    mentioned = label_mentions(problem, groups, specs, bystanders)
    market = open_market(problem.node_pools, problem.instance_types, mentioned, problem.policy)
    columns = _columns(problem, market, mentioned)
    resources = resources_of(groups)
    masks_me, mask_g = _masks(columns, groups)
    n_offers = len(market.offers)
    weight_p = np.array([pool.weight for pool in market.pools], dtype=np.int64)
    coming_de = coming_daemons(problem, columns, n_offers)
    overhead_or = overhead_of(problem.daemon_sets, coming_de[:, :n_offers], resources)
    cells = cells_of(columns, mentioned.topology_keys)
    filters = Filters(columns)
    context = TermContext(
        n_offers, mentioned.topology_keys, *cells, coming_de, masks_me, mask_g, filters
    )
    cells_e, ties = _cells_and_ties(problem, groups, keys, context)
    return Encoded(
        problem=problem,
        market=market,
        groups=groups,
        resources=resources,
        columns=columns,
        requests_gr=requests_of(groups, resources),
        count_g=np.array([len(group.pods) for group in groups], dtype=np.int64),
        priority_g=np.array([group.spec.priority for group in groups], dtype=np.int64),
        mask_g=mask_g,
        masks_me=masks_me,
        cap_or=allocatable_of(market, resources) - overhead_or,
        overhead_or=overhead_or,
        plan_price_o=market.price_o,
        weight_o=weight_p[market.pool_o],
        supply_o=supply_of(problem, market),
        cell_o=cells_e[:n_offers],
        free_nr=free_room(problem, resources, coming_de[:, n_offers:]),
        cell_n=cells_e[n_offers:],
        ties=ties,
        claims=shared_claims(groups, resources, len(problem.nodes), attached_volumes(problem)),
    )


def _cells_and_ties(
    problem: Puzzle, groups: list[Group], keys: tuple[str, ...], context: TermContext
) -> tuple[Int, Ties]:
    """The cell of every entity, and the terms; cells are divided where a term tells them apart."""
    ties = tie_groups(problem, groups, keys, context)
    if ties.mixed:
        context = divide_cells(context, ties.mixed)
        ties = tie_groups(problem, groups, keys, context)
    return context.cell_e, ties


def _columns(problem: Puzzle, market: OfferTable, mentioned: Mentions) -> Columns:
    nodes = problem.nodes
    n_offers = len(market.offers)
    columns = Columns(n_offers + len(nodes))
    keys = set(mentioned.values_by_key) | {labels.REGISTERED, labels.INITIALIZED}
    normalized = [expected_labels(node) for node in nodes]
    for key in sorted(keys):
        codes, values = label_column(market, key)
        columns.add(key, codes, values, [node_labels.get(key) for node_labels in normalized])
    names = [node.name for node in nodes]
    columns.add(labels.NODE_NAME_FIELD, np.zeros(n_offers, dtype=np.int64), [None], names)
    taints = [pool.taints for pool in market.pools]
    columns.add_taints(market.pool_o, taints, [node.taints for node in nodes])
    return columns


def resources_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """What anybody asks for, the common resources first."""
    asked = {name for group in groups for name, amount in group.spec.requests.items() if amount}
    drivers = {ATTACH + driver for group in groups for driver, _ in group.volumes.attachments}
    first = (CPU, MEMORY, PODS)
    return (*first, *sorted((asked | drivers) - set(first)))


def requests_of(groups: Sequence[Group], resources: tuple[str, ...]) -> Int:
    """What one pod of every group asks for, attached volumes included."""
    rows = []
    for group in groups:
        requests = group.spec.requests
        if group.volumes.attachments:
            # A claim that several pods share has a name, and is counted once per node elsewhere.
            attached = {
                ATTACH + driver: sum(not claim for claim in claims)
                for driver, claims in group.volumes.attachments
            }
            requests = {**requests, **attached}
        rows.append([requests.get(name, 0) for name in resources])
    return np.array(rows, dtype=np.int64).reshape(len(groups), len(resources))


def allocatable_of(market: OfferTable, resources: tuple[str, ...]) -> Int:
    """What an empty node of every offer has."""
    rows = [
        vector(
            [
                *kind.allocatable.items(),
                *((ATTACH + driver, limit) for driver, limit in kind.attach_limits.items()),
            ],
            resources,
        )
        for kind in market.types
    ]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(resources))
    return table[market.type_o].reshape(len(market.offers), len(resources))


def _masks(columns: Columns, groups: Sequence[Group]) -> tuple[Bool, Int]:
    """Which entities each group's own wishes admit: one row per distinct set of wishes."""
    number_of: dict[bytes, int] = {}
    number_of_wishes: dict[tuple[object, ...], int] = {}
    rows: list[Bool] = []
    numbers = []
    for group in groups:
        spec = group.spec
        chosen = tuple(sorted(spec.node_selector.items())) if spec.node_selector else ()
        wishes = (chosen, spec.required_terms, spec.tolerations, group.volumes.alternatives)
        number = number_of_wishes.get(wishes)
        if number is None:
            mask = group_mask(columns, group)
            number = number_of.setdefault(np.packbits(mask).tobytes(), len(rows))
            number_of_wishes[wishes] = number
            if number == len(rows):
                rows.append(mask)
        numbers.append(number)
    masks = np.array(rows, dtype=bool).reshape(len(rows), columns.n_entities)
    return masks, np.array(numbers, dtype=np.int64)


def group_mask(columns: Columns, group: Group) -> Bool:
    """Where a pod's node selector, affinity, tolerations and volumes let it go."""
    spec = group.spec
    mask = columns.matches_affinity(spec.node_selector, spec.required_terms)
    mask = mask & columns.tolerates(spec.tolerations)
    for terms in group.volumes.alternatives:
        mask &= columns.matches_any_term(terms)
    return mask


def overhead_of(daemons: Sequence[DaemonSet], runs_do: Bool, resources: tuple[str, ...]) -> Int:
    """What daemon sets take of every new node."""
    overhead = np.zeros((runs_do.shape[1], len(resources)), dtype=np.int64)
    for number, daemon in enumerate(daemons):
        asked = [daemon.spec.requests.get(name, 0) for name in resources]
        overhead += np.outer(runs_do[number], np.array(asked, dtype=np.int64))
    return overhead


def supply_of(problem: Puzzle, market: OfferTable) -> Int:
    """How many nodes of each offer can be had: reservations are finite."""
    supply = np.full(len(market.offers), UNLIMITED, dtype=np.int64)
    reserved_w = np.array([kind == labels.RESERVED for kind, _ in market.ways], dtype=bool)
    for number in np.flatnonzero(reserved_w[market.way_o]).tolist():
        offering = market.offers[number].offering
        used = problem.reserved_by_id.get(offering.reservation_id, 0)
        supply[number] = max(0, offering.reservation_capacity - used)
    return supply


def cells_of(columns: Columns, keys: tuple[str, ...]) -> tuple[Int, Int]:
    """The combination of topology domains of every entity; -1 stands for an absent label."""
    cell_e = np.zeros(columns.n_entities, dtype=np.int64)
    domains_ck = np.zeros((1, 0), dtype=np.int64)
    for key in keys:
        codes, values = columns.codes(key)
        order = sorted(value for value in values if value is not None)
        rank = {value: place for place, value in enumerate(order)}
        place_v = np.array([0 if value is None else 1 + rank[value] for value in values], np.int64)
        size = len(order) + 1
        kept, cell_e = _dense(cell_e * size + place_v[codes], len(domains_ck) * size)
        domain = (kept % size - 1)[:, None]
        domains_ck = np.concatenate([domains_ck[kept // size], domain], axis=1)
    return cell_e, domains_ck


def _dense(code_e: Int, n_codes: int) -> tuple[Int, Int]:
    """The codes that occur, ascending, and the place of each entity's among them."""
    occurs = np.bincount(code_e, minlength=n_codes) > 0
    place: Int = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), place[code_e]


def divide_cells(context: TermContext, masks: Sequence[Bool]) -> TermContext:
    """Cells divided so that each mask holds for all entities of a cell, or for none."""
    code_e, n_codes = np.zeros(len(context.cell_e), dtype=np.int64), 1
    for mask in masks:
        kept, code_e = _dense(2 * code_e + mask, 2 * n_codes)
        n_codes = len(kept)
    pairs, cell_e = _dense(context.cell_e * n_codes + code_e, len(context.domains_ck) * n_codes)
    return replace(context, cell_e=cell_e, domains_ck=context.domains_ck[pairs // max(n_codes, 1)])
