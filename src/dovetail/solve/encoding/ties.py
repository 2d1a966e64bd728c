"""Encodes which groups each term concerns, and how many such pods already run where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dovetail import labels
from dovetail.model.pod import PodSpec
from dovetail.model.topology import NodePolicy
from dovetail.solve.axes import Bool, Int
from dovetail.solve.encoding.groups import Group
from dovetail.solve.encoding.matching import Columns
from dovetail.solve.encoding.profiles import Interner, PodProfiles
from dovetail.solve.encoding.terms import Namespaces, Term, TermKind, spread_keys
from dovetail.solve.puzzle import Puzzle


@dataclass(frozen=True, slots=True)
class TermContext:
    """What terms stand on: entities, their cells, who accepts them, which daemons will come."""

    n_offers: int
    topology_keys: tuple[str, ...]
    cell_e: Int
    domains_ck: Int
    coming_de: Bool
    masks_me: Bool
    mask_g: Int
    filters: Filters
    gone: Int | None = None  # existing nodes that count nowhere


class Filters:
    """The entities that spreads count, by what decides it; worked out once."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._held: dict[tuple[str, str, bytes, tuple[str, ...]], Bool] = {}
        self.everywhere = np.ones(columns.n_entities, dtype=bool)

    def counted_entities(self, term: Term, spec: PodSpec) -> Bool:
        """The entities that a spread of such a pod counts."""
        if term.kind != TermKind.SPREAD or not term.filter_key:
            return self.everywhere
        policies = (term.node_affinity_policy, term.node_taints_policy)
        key = (*policies, term.filter_key, spread_keys(spec))
        if key not in self._held:
            self._held[key] = self._eligible(term, spec)
        return self._held[key]

    def _eligible(self, term: Term, spec: PodSpec) -> Bool:
        columns = self._columns
        eligible = self.everywhere.copy()
        if term.node_affinity_policy == NodePolicy.HONOR:
            eligible &= columns.matches_affinity(spec.node_selector, spec.required_terms)
        if term.node_taints_policy == NodePolicy.HONOR:
            eligible &= columns.tolerates(spec.tolerations)
        for name in spread_keys(spec):
            codes, values = columns.codes(labels.normalize(name))
            if name != labels.HOSTNAME:
                eligible &= np.array([value is not None for value in values], dtype=bool)[codes]
        return self.everywhere if eligible.all() else eligible


class PodLookup(Protocol):
    """Who is where, as far as terms ask."""

    @property
    def groups(self) -> Sequence[Group]:
        """The pods that wait, by group."""
        ...

    def selected_pods(self, number: int, term: Term) -> tuple[list[int], Int, list[int]]:
        """The waiting groups, running pods by node, and daemon sets that a term selects."""
        ...

    def owners(self, number: int) -> Int:
        """Running pods that state a term, by node."""
        ...

    def daemon_sets_stating(self, number: int) -> Sequence[int]:
        """The daemon sets that state a term."""
        ...

    def ports(self, number: int, term: Term) -> Int:
        """Running pods that take the port of a term, by node."""
        ...


@dataclass(frozen=True, slots=True)
class HostTerm:
    """A constraint between pods on one node, and the pods of it that run already."""

    kind: TermKind
    max_skew: int
    min_domains: int
    match_n: Int  # running pods that it selects, by existing node
    own_n: Int  # running pods that state it
    eligible_n: Bool  # the nodes over which a spread takes its minimum
    eligible_o: Bool
    match_o: Int | None = None  # daemon pods on a new node, by offer (None: none anywhere)
    own_o: Int | None = None


@dataclass(frozen=True, slots=True)
class ZoneTerm:
    """A constraint between pods in one domain, and the pods of it that run already."""

    kind: TermKind
    key: int  # which topology key, as a column of domains_ck
    max_skew: int
    min_domains: int
    match_d: Int
    own_d: Int
    seen_d: Bool  # domains that existing nodes make, for a spread's minimum
    eligible_o: Bool  # offers whose nodes a spread counts
    counts_c: Bool  # cells in which the pods it selects are counted
    groups: tuple[int, ...]  # that state it or are selected by it


@dataclass(frozen=True, slots=True)
class Ties:
    """All terms, and for every group which it states and which select it.

    `mixed` are the filters of spreads that count only some nodes of a cell: cells must be divided
    by them before anything can be counted.
    """

    hosts: list[HostTerm]
    zones: list[ZoneTerm]
    host_own_g: list[list[int]]
    host_match_g: list[list[int]]
    zone_own_g: list[list[int]]
    zone_match_g: list[list[int]]
    domains_ck: Int
    mixed: list[Bool]


def tie_groups(
    problem: Puzzle, groups: Sequence[Group], keys: tuple[str, ...], context: TermContext
) -> Ties:
    """Work out every term. O(terms x what they select), not terms x groups."""
    seen = {group.namespace for group in groups} | {pod.namespace for pod in problem.bound}
    seen |= {daemon.namespace for daemon in problem.daemon_sets}
    namespaces = Namespaces(problem.namespaces, seen)
    interner = Interner()
    own_g = interner.terms_by_group(groups, namespaces)
    lookup = PodProfiles(problem, groups, keys, namespaces)
    lookup.add_running_owners(interner)
    lookup.add_coming_owners(interner)
    return Assembly(lookup, context, interner.owners).ties(list(interner.number_of), own_g)


class Assembly:
    """Turns terms into arrays, one after another."""

    def __init__(self, lookup: PodLookup, context: TermContext, owners: list[list[int]]) -> None:
        self.lookup = lookup
        self.context = context
        self.owners = owners
        self.hosts: list[HostTerm] = []
        self.zones: list[ZoneTerm] = []
        self.mixed: list[Bool] = []
        self._keys: dict[str, tuple[int, Int, int]] = {}
        self._counting: dict[tuple[int, tuple[int, ...]], Bool] = {}
        self._offers: dict[int, Bool] = {}

    def ties(self, terms: list[Term], own_g: list[list[int]]) -> Ties:
        """All terms in order."""
        match_g: list[list[int]] = [[] for _ in self.lookup.groups]
        place_of: list[int] = []
        for number, term in enumerate(terms):
            matched, match_n, daemons = self.lookup.selected_pods(number, term)
            for group in matched:
                match_g[group].append(number)
            if term.is_host:
                place_of.append(len(self.hosts))
                self._add_host(term, number, match_n, daemons)
            else:
                place_of.append(len(self.zones))
                self._add_zone(term, number, match_n, matched)
        own, match = (
            _split_by_level(own_g, terms, place_of),
            _split_by_level(match_g, terms, place_of),
        )
        return Ties(
            self.hosts,
            self.zones,
            own[0],
            match[0],
            own[1],
            match[1],
            self.context.domains_ck,
            self.mixed,
        )

    def _add_host(self, term: Term, number: int, match_n: Int, daemons: list[int]) -> None:
        n_offers = self.context.n_offers
        eligible_e = self._filter(term, self.owners[number])
        coming_e = self.context.coming_de[daemons].sum(axis=0) if daemons else None
        own_n = self.lookup.owners(number)
        coming_n = 0 if coming_e is None else coming_e[n_offers:]
        match_n = match_n + coming_n
        if term.kind == TermKind.PORT:
            own_n = match_n = own_n + self.lookup.ports(number, term) + coming_n
        match_o = None if coming_e is None else coming_e[:n_offers]
        own_o = match_o if term.kind == TermKind.PORT else None
        shy = self.lookup.daemon_sets_stating(number)
        if shy:
            owners_e = self.context.coming_de[shy].sum(axis=0)
            own_n, own_o = own_n + owners_e[n_offers:], owners_e[:n_offers]
        self.hosts.append(
            HostTerm(
                term.kind,
                term.max_skew,
                term.min_domains,
                match_n,
                own_n,
                self._without_removed(eligible_e[n_offers:]),
                self._of_offers(eligible_e),
                match_o,
                own_o,
            )
        )

    def _add_zone(self, term: Term, number: int, match_n: Int, matched: list[int]) -> None:
        key, domain_n, n_domains = self._domains(term.topology_key)
        eligible_e = self._filter(term, self.owners[number])
        has_label = domain_n >= 0
        counts = self._without_removed(eligible_e[self.context.n_offers :]) & has_label
        match_d = np.bincount(domain_n[counts], weights=match_n[counts], minlength=n_domains)
        own_n = self.lookup.owners(number)
        own_d = np.bincount(domain_n[has_label], weights=own_n[has_label], minlength=n_domains)
        seen_d = np.zeros(n_domains, dtype=bool)
        seen_d[domain_n[counts]] = True
        self.zones.append(
            ZoneTerm(
                term.kind,
                key,
                term.max_skew,
                term.min_domains,
                match_d.astype(np.int64),
                own_d.astype(np.int64),
                seen_d,
                self._of_offers(eligible_e),
                self._counting_cells(eligible_e, matched),
                tuple(sorted({*matched, *self.owners[number]})),
            )
        )

    def _domains(self, topology_key: str) -> tuple[int, Int, int]:
        """A topology key's number, the domain of every node, and how many domains there are."""
        context = self.context
        if topology_key not in self._keys:
            key = context.topology_keys.index(labels.normalize(topology_key))
            domain_n = context.domains_ck[context.cell_e[context.n_offers :], key]
            # At least one, so that a key that no node carries can still be looked up.
            n_domains = max(1, int(context.domains_ck[:, key].max(initial=-1)) + 1)
            self._keys[topology_key] = (key, domain_n, n_domains)
        return self._keys[topology_key]

    def _of_offers(self, eligible_e: Bool) -> Bool:
        """The part that is about offers; the same object for the same filter, which is kept."""
        if id(eligible_e) not in self._offers:
            self._offers[id(eligible_e)] = eligible_e[: self.context.n_offers]
        return self._offers[id(eligible_e)]

    def _without_removed(self, eligible_n: Bool) -> Bool:
        """The same nodes without those that are gone."""
        if self.context.gone is None:
            return eligible_n
        eligible_n = eligible_n.copy()
        eligible_n[self.context.gone] = False
        return eligible_n

    def _counting_cells(self, eligible_e: Bool, matched: list[int]) -> Bool:
        """The cells whose nodes a spread counts, as far as the pods it selects can go there."""
        context = self.context
        if eligible_e is context.filters.everywhere:
            return np.ones(len(context.domains_ck), dtype=bool)
        masks = tuple(np.unique(context.mask_g[matched]).tolist())
        known = self._counting.get((id(eligible_e), masks))
        if known is not None:
            return known
        reach_e = context.masks_me[list(masks)].any(axis=0)
        n_cells = len(context.domains_ck)
        counted = np.bincount(context.cell_e[reach_e & eligible_e], minlength=n_cells) > 0
        ignored = np.bincount(context.cell_e[reach_e & ~eligible_e], minlength=n_cells) > 0
        if (counted & ignored).any() and not any(mask is eligible_e for mask in self.mixed):
            self.mixed.append(eligible_e)
        self._counting[id(eligible_e), masks] = counted
        return counted

    def _filter(self, term: Term, owners: list[int]) -> Bool:
        """The entities that a spread counts; all of them for other terms."""
        filters = self.context.filters
        if not owners:
            return filters.everywhere
        return filters.counted_entities(term, self.lookup.groups[owners[0]].spec)


def _split_by_level(
    numbers_g: list[list[int]], terms: list[Term], place_of: list[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Term numbers by group, host terms apart from zone terms."""
    is_host = [term.is_host for term in terms]
    hosts = [[place_of[t] for t in mine if is_host[t]] for mine in numbers_g]
    zones = [[place_of[t] for t in mine if not is_host[t]] for mine in numbers_g]
    return hosts, zones


def sights(ties: Ties, n_offers: int) -> Int:
    """A number for each offer: nodes of equal numbers are counted by the same spreads."""
    code_o = np.zeros(n_offers, dtype=np.int64)
    seen: set[bytes] = set()
    zones = [term.eligible_o for term in ties.zones if term.kind == TermKind.SPREAD]
    hosts = [term.eligible_o for term in ties.hosts if term.kind == TermKind.SPREAD]
    for eligible_o in {id(mask): mask for mask in (*zones, *hosts)}.values():
        key = b"" if eligible_o.all() else np.packbits(eligible_o).tobytes()
        if key and key not in seen:
            seen.add(key)
            split_o = 2 * code_o + eligible_o
            code_o = (np.cumsum(np.bincount(split_o) > 0) - 1)[split_o]
    return code_o
