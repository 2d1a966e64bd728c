"""Indexes pending groups, running pods and daemon sets by what selectors see of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.solve.axes import Int
from dovetail.solve.encoding.groups import Group, Profile, is_about_pods, profile_of
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


class Interner:
    """Numbers for terms, in order of first sight."""

    def __init__(self) -> None:
        self.number_of: dict[Term, int] = {}
        self.owners: list[list[int]] = []

    def number(self, term: Term) -> int:
        """The number of a term."""
        number = self.number_of.setdefault(term, len(self.owners))
        if number == len(self.owners):
            self.owners.append([])
        return number

    def terms_by_group(self, groups: Sequence[Group], namespaces: Namespaces) -> list[list[int]]:
        """The terms that each group states, ports among them."""
        own_g: list[list[int]] = []
        known: dict[tuple[object, ...], list[int]] = {}
        for number, group in enumerate(groups):
            spec, mine = group.spec, list[int]()
            if is_about_pods(spec) or spec.host_ports:
                wishes = _wishes(group)
                mine = known.get(wishes, mine)
                if not mine:
                    terms = stated_by(group, namespaces)
                    terms += [port_term(port) for port in spec.host_ports]
                    mine = known[wishes] = sorted({self.number(term) for term in terms})
            own_g.append(mine)
            for term in mine:
                self.owners[term].append(number)
        return own_g


def _wishes(group: Group) -> tuple[object, ...]:
    """All that decides which terms a group states."""
    spec = group.spec
    between = (spec.spread, spec.affinity, spec.anti_affinity, spec.host_ports)
    selector = tuple(sorted(spec.node_selector.items())) if spec.node_selector else ()
    return (group.profile, *between, selector, spec.required_terms, spec.tolerations)


class PodProfiles:
    """Who is where: profiles of waiting groups, running pods and daemon sets."""

    def __init__(
        self,
        problem: Puzzle,
        groups: Sequence[Group],
        keys: tuple[str, ...],
        namespaces: Namespaces,
    ) -> None:
        self.problem = problem
        self.groups = groups
        self.namespaces = namespaces
        self.place = {node.name: number for number, node in enumerate(problem.nodes)}
        self.counted = [
            pod
            for pod in problem.bound
            if pod.node_name in self.place and not pod.is_terminal and pod.deleting_at is None
        ]
        self.profiles: list[Profile] = []
        self.groups_of: list[list[int]] = []
        self.nodes_of: list[dict[int, int]] = []
        self.daemons_of: list[list[int]] = []
        numbers: dict[Profile, int] = {}
        for number, group in enumerate(groups):
            self.groups_of[self._number(group.profile, numbers)].append(number)
        self.waiting = set(range(len(self.profiles)))
        self._count_running(keys, numbers)
        for number, daemon in enumerate(problem.daemon_sets if keys else ()):
            profile = (daemon.namespace, tuple(daemon.labels.get(key) for key in keys))
            self.daemons_of[self._number(profile, numbers)].append(number)
        self.index = ProfileIndex(self.profiles, keys)
        self.running_owners: dict[int, list[int]] = {}
        self.coming_owners: dict[int, list[int]] = {}

    def _count_running(self, keys: tuple[str, ...], numbers: dict[Profile, int]) -> None:
        """How many pods of each profile run on which node; many pods share their labels."""
        number_of: dict[tuple[int, str], int] = {}
        for pod in self.counted if keys else ():
            key = (id(pod.labels), pod.namespace)
            number = number_of.get(key)
            if number is None:
                number = number_of[key] = self._number(profile_of(pod, keys), numbers)
            counts = self.nodes_of[number]
            node = self.place[pod.node_name]
            counts[node] = counts.get(node, 0) + 1

    def _number(self, profile: Profile, numbers: dict[Profile, int]) -> int:
        if profile not in numbers:
            numbers[profile] = len(self.profiles)
            self.profiles.append(profile)
            self.groups_of.append([])
            self.nodes_of.append({})
            self.daemons_of.append([])
        return numbers[profile]

    def add_running_owners(self, interner: Interner) -> None:
        """Terms of running pods that keep some waiting pod away, and where those pods are."""
        terms: dict[tuple[int, str, tuple[tuple[str, str], ...]], list[Term]] = {}
        stating = [pod for pod in self.counted if pod.spec.anti_affinity]
        for pod in sorted(stating, key=lambda pod: (pod.namespace, pod.name)):
            key = (id(pod.spec), pod.namespace, tuple(sorted(pod.labels.items())))
            if key not in terms:
                terms[key] = [
                    term
                    for term in anti_terms(pod, self.namespaces)
                    if term in interner.number_of
                    or not self.waiting.isdisjoint(self.index.selected_profiles(term))
                ]
            for term in terms[key]:
                number = interner.number(term)
                self.running_owners.setdefault(number, []).append(self.place[pod.node_name])

    def add_coming_owners(self, interner: Interner) -> None:
        """Terms of daemon sets that keep some waiting pod off their nodes.

        Only nodes: who comes first to a wider domain is not known.
        """
        for number, daemon in enumerate(self.problem.daemon_sets):
            for term in anti_terms(daemon, self.namespaces):
                if term.is_host and not self.waiting.isdisjoint(self.index.selected_profiles(term)):
                    self.coming_owners.setdefault(interner.number(term), []).append(number)

    def selected_pods(self, number: int, term: Term) -> tuple[list[int], Int, list[int]]:
        """The waiting groups, running pods by node, and daemon sets that a term selects."""
        del number
        if term.kind == TermKind.PORT:
            groups = [n for n, group in enumerate(self.groups) if takes(group.spec, term)]
            daemons = [
                n for n, daemon in enumerate(self.problem.daemon_sets) if takes(daemon.spec, term)
            ]
            return groups, self._zeros(), daemons
        return self.seen_by(term)

    def seen_by(self, term: Term) -> tuple[list[int], Int, list[int]]:
        """The same, by the labels of pods."""
        match_n = self._zeros()
        groups: list[int] = []
        daemons = []
        for profile in self.index.selected_profiles(term):
            groups += self.groups_of[profile]
            daemons += self.daemons_of[profile]
            for node, count in self.nodes_of[profile].items():
                match_n[node] += count
        return sorted(groups), match_n, daemons

    def owners(self, number: int) -> Int:
        """Running pods that state a term, by node."""
        own_n = self._zeros()
        np.add.at(own_n, self.running_owners.get(number, []), 1)
        return own_n

    def daemon_sets_stating(self, number: int) -> list[int]:
        """The daemon sets that state a term."""
        return self.coming_owners.get(number, [])

    def ports(self, number: int, term: Term) -> Int:
        """Pods on nodes that take the port of a term, by node."""
        del number
        own_n = self._zeros()
        for pod in self.problem.bound:
            if pod.spec.host_ports and pod.node_name in self.place and not pod.is_terminal:
                own_n[self.place[pod.node_name]] += takes(pod.spec, term)
        return own_n

    def _zeros(self) -> Int:
        return np.zeros(len(self.place), dtype=np.int64)
