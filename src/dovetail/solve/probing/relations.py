"""Indexes which terms concern which pods of a whole cluster, and where the pods run.

Worked out for all questions about a cluster, each term when it is first asked about. `Picked` is
what one question sees of it: some groups, without the nodes that are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import msgspec
import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.axes import Int
from dovetail.solve.encoding.groups import Group, Profile
from dovetail.solve.encoding.node_parts import NodePart
from dovetail.solve.encoding.terms import (
    Namespaces,
    ProfileIndex,
    Term,
    TermKind,
    anti_terms,
    port_term,
    stated_by,
    takes,
)
from dovetail.solve.puzzle import Puzzle

_CANONICAL: Final = msgspec.msgpack.Encoder(order="deterministic")


class Spots(NamedTuple):
    """How many pods stand on which nodes; nodes that have none are left out."""

    nodes: Int
    counts: Int

    def by_node(self, n_nodes: int, gone: Int) -> Int:
        """The same for every node, with nobody where nodes are gone."""
        count_n = np.zeros(n_nodes, dtype=np.int64)
        count_n[self.nodes] = self.counts
        count_n[gone] = 0
        return count_n


def _spots(count_by_node: dict[int, int]) -> Spots:
    spots = sorted(count_by_node.items())
    return Spots(
        np.array([node for node, _ in spots], dtype=np.int64),
        np.array([count for _, count in spots], dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class Tie:
    """A term, whom it selects and who states it, of those that run or come with their node."""

    number: int
    term: Term
    matched: Spots
    stating: Spots
    ports: Spots
    daemons: list[int]  # that it selects
    coming: list[int]  # daemon sets that state it
    sort_key: bytes


@dataclass(frozen=True, slots=True)
class Member:
    """A group, the ties that it makes, those of others that keep it away, and the node labels that
    it speaks of.
    """

    group: Group
    own: tuple[Tie, ...]
    shunned_by: tuple[Tie, ...]
    mentions: frozenset[str]

    def with_pods(self, pods: Iterable[Pod]) -> Member:
        """The same for these of its pods."""
        group = msgspec.structs.replace(self.group, pods=tuple(pods))
        return Member(group, self.own, self.shunned_by, self.mentions)


@dataclass(slots=True)
class _Shy:
    """Who keeps others away by a term: pods by node, and daemon sets."""

    nodes: dict[int, int] = field(default_factory=dict)
    daemons: list[int] = field(default_factory=list)


class Relations:
    """All that terms can see of a cluster."""

    def __init__(self, puzzle: Puzzle, pieces: Sequence[NodePart], keys: tuple[str, ...]) -> None:
        self._daemon_sets = puzzle.daemon_sets
        self._pieces = pieces
        self._keys = keys
        self._spots_of: dict[Profile, list[tuple[int, int]]] = {}
        for node, piece in enumerate(pieces):
            for profile, count in piece.profiles.items():
                self._spots_of.setdefault(profile, []).append((node, count))
        seen = {daemon_set.namespace for daemon_set in puzzle.daemon_sets}
        seen = seen.union(*(piece.namespaces for piece in pieces))
        self.namespaces = Namespaces(puzzle.namespaces, seen)
        self._daemons_of: dict[Profile, list[int]] = {}
        for number, daemon in enumerate(puzzle.daemon_sets):
            profile = (daemon.namespace, tuple(daemon.labels.get(key) for key in keys))
            self._daemons_of.setdefault(profile, []).append(number)
        self._profiles = list(dict.fromkeys((*self._spots_of, *self._daemons_of)))
        self._index = ProfileIndex(self._profiles, keys)
        self._shy = self._shy_terms()
        self._shy_index = Anchors(list(self._shy), keys)
        self._ties: dict[Term, Tie] = {}
        self._company: dict[Term, Spots] = {}

    def _shy_terms(self) -> dict[Term, _Shy]:
        """What pods that run, or daemon pods, keep away from themselves."""
        by_term: dict[Term, _Shy] = {}
        known: dict[tuple[int, str, int], list[Term]] = {}
        for node, piece in enumerate(self._pieces):
            for pod, count in piece.shy:
                key = (id(pod.spec), pod.namespace, id(pod.labels))
                if key not in known:
                    known[key] = anti_terms(pod, self.namespaces)
                for term in known[key]:
                    shy = by_term.setdefault(term, _Shy())
                    shy.nodes[node] = shy.nodes.get(node, 0) + count
        for number, daemon in enumerate(self._daemon_sets):
            for term in anti_terms(daemon, self.namespaces):
                if term.is_host:  # who comes first to a wider domain is not known
                    by_term.setdefault(term, _Shy()).daemons.append(number)
        return by_term

    def ties(self, group: Group) -> tuple[tuple[Tie, ...], tuple[Tie, ...]]:
        """What a group states, and by which terms of others it is kept away."""
        own = [self._tie(term) for term in stated_by(group, self.namespaces)]
        own += [self._tie(port_term(port)) for port in group.spec.host_ports]
        shy = [self._tie(term) for term in self._shy_index.terms_selecting(group.profile)]
        return tuple({tie.number: tie for tie in own}.values()), tuple(shy)

    def _tie(self, term: Term) -> Tie:
        tie = self._ties.get(term)
        if tie is None:
            shy = self._shy.get(term, _Shy())
            matched, daemons = self._select(term)
            tie = self._ties[term] = Tie(
                len(self._ties),
                term,
                matched,
                _spots(shy.nodes),
                _spots(self._taken_ports(term)),
                daemons,
                shy.daemons,
                _CANONICAL.encode(term),
            )
        return tie

    def _select(self, term: Term) -> tuple[Spots, list[int]]:
        if term.kind == TermKind.PORT:
            daemons = [n for n, daemon in enumerate(self._daemon_sets) if takes(daemon.spec, term)]
            return _spots({}), daemons
        counts: dict[int, int] = {}
        daemons = []
        for number in self._index.selected_profiles(term):
            profile = self._profiles[number]
            daemons += self._daemons_of.get(profile, ())
            for node, count in self._spots_of.get(profile, ()):
                counts[node] = counts.get(node, 0) + count
        return _spots(counts), daemons

    def _taken_ports(self, term: Term) -> dict[int, int]:
        if term.kind != TermKind.PORT:
            return {}
        taken = (
            (node, sum(takes(spec, term) for spec in piece.ports))
            for node, piece in enumerate(self._pieces)
            if piece.ports
        )
        return {node: count for node, count in taken if count}

    def company(self, term: Term) -> Spots:
        """The running pods that a wish selects."""
        if term not in self._company:
            self._company[term] = self._select(term)[0]
        return self._company[term]

    def anchors(self, terms: Sequence[Term]) -> Anchors:
        """Finds out which of these terms select a group."""
        return Anchors(terms, self._keys)


class Anchors:
    """Finds the terms that select a profile without looking at all of them."""

    def __init__(self, terms: Sequence[Term], keys: tuple[str, ...]) -> None:
        self._terms = terms
        self._position = {key: place for place, key in enumerate(keys)}
        self._by_value: dict[tuple[int, str], list[int]] = {}
        self._loose: list[int] = []
        for number, term in enumerate(terms):
            if term.kind == TermKind.PORT or term.selector.nothing:
                continue
            definite = [
                need for need in term.selector.expressions if need.values and not need.complement
            ]
            if not definite:
                self._loose.append(number)
                continue
            place = self._position[definite[0].key]
            for value in sorted(definite[0].values):
                self._by_value.setdefault((place, value), []).append(number)

    def numbers(self, profile: Profile) -> list[int]:
        """The places of the terms that select a profile, ascending."""
        namespace, values = profile
        likely = list(self._loose)
        for place, value in enumerate(values):
            if value is not None:
                likely += self._by_value.get((place, value), ())
        return sorted(
            number
            for number in likely
            if namespace in self._terms[number].namespaces
            and all(
                need.admits(values[self._position[need.key]])
                for need in self._terms[number].selector.expressions
            )
        )

    def terms_selecting(self, profile: Profile) -> list[Term]:
        """The terms that select a profile."""
        return [self._terms[number] for number in self.numbers(profile)]


class Picked:
    """The terms that concern some groups, once nodes are gone; numbered anew: as they are stated,
    then those of others in an order that depends on nothing else.
    """

    def __init__(
        self, relations: Relations, members: Sequence[Member], away: tuple[int, Int]
    ) -> None:
        self._relations = relations
        self.groups = [member.group for member in members]
        self._n_nodes, self._gone = away
        ties = {tie.number: tie for member in members for tie in member.own}
        others = {tie.number: tie for member in members for tie in member.shunned_by}
        for tie in sorted(others.values(), key=lambda tie: tie.sort_key):
            ties.setdefault(tie.number, tie)
        self._ties = list(ties.values())
        place = {number: at for at, number in enumerate(ties)}
        self.own_g = [sorted(place[tie.number] for tie in member.own) for member in members]
        self.terms = [tie.term for tie in self._ties]

    @property
    def namespaces(self) -> Namespaces:
        """Which namespaces a term means."""
        return self._relations.namespaces

    @cached_property
    def _selected_groups(self) -> list[list[int]]:
        """The groups that each term selects."""
        by_tie: list[list[int]] = [[] for _ in self._ties]
        anchors = self._relations.anchors(self.terms)
        for group, alike in enumerate(self.groups):
            for number in anchors.numbers(alike.profile):
                by_tie[number].append(group)
        for number, term in enumerate(self.terms):
            if term.kind == TermKind.PORT:
                by_tie[number] = [n for n, item in enumerate(self.groups) if takes(item.spec, term)]
        return by_tie

    def groups_stating(self) -> list[list[int]]:
        """The groups that state each term."""
        owners: list[list[int]] = [[] for _ in self._ties]
        for group, mine in enumerate(self.own_g):
            for term in mine:
                owners[term].append(group)
        return owners

    def selected_pods(self, number: int, term: Term) -> tuple[list[int], Int, list[int]]:
        """The groups, running pods by node, and daemon sets that a term selects."""
        del term
        tie = self._ties[number]
        return self._selected_groups[number], self._by_node(tie.matched), tie.daemons

    def owners(self, number: int) -> Int:
        """Running pods that state a term, by node."""
        return self._by_node(self._ties[number].stating)

    def daemon_sets_stating(self, number: int) -> list[int]:
        """The daemon sets that state a term."""
        return self._ties[number].coming

    def ports(self, number: int, term: Term) -> Int:
        """Pods on nodes that take the port of a term, by node."""
        del term
        return self._by_node(self._ties[number].ports)

    def seen_by(self, term: Term) -> tuple[list[int], Int]:
        """The groups, and the running pods by node, that a wish selects."""
        anchors = self._relations.anchors((term,))
        groups = [n for n, group in enumerate(self.groups) if anchors.numbers(group.profile)]
        return groups, self._by_node(self._relations.company(term))

    def _by_node(self, spots: Spots) -> Int:
        return spots.by_node(self._n_nodes, self._gone)
