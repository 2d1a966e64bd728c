"""Which groups does each term tie together, and how many such pods run where already?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail import labels
from dovetail.model.pod import Pod
from dovetail.model.topology import NodePolicy
from dovetail.solve.axes import Bool, Int
from dovetail.solve.columns import Columns
from dovetail.solve.groups import Group, Profile, profile_of
from dovetail.solve.puzzle import Puzzle
from dovetail.solve.terms import (
    Kind,
    Namespaces,
    ProfileIndex,
    Term,
    anti_terms,
    port_term,
    stated_by,
    takes,
)


@dataclass(frozen=True, slots=True)
class HostTerm:
    """A constraint between pods on one node, and the pods of it that run already."""

    kind: Kind
    max_skew: int
    match_n: Int  # running pods that it selects, by existing node
    own_n: Int  # running pods that state it
    eligible_n: Bool  # the nodes over which a spread takes its minimum
    match_o: Int | None = None  # daemon pods on a new node, by offer (None: none anywhere)
    own_o: Int | None = None


@dataclass(frozen=True, slots=True)
class ZoneTerm:
    """A constraint between pods in one domain, and the pods of it that run already."""

    kind: Kind
    key: int  # which topology key, as a column of domains_ck
    max_skew: int
    min_domains: int
    match_d: Int
    own_d: Int
    seen_d: Bool  # domains that existing nodes make, for a spread's minimum
    counts_ignored: bool  # the spread counts nodes the pod could not use


@dataclass(frozen=True, slots=True)
class Ties:
    """All terms, and for every group which it states and which select it."""

    hosts: list[HostTerm]
    zones: list[ZoneTerm]
    host_own_g: list[list[int]]
    host_match_g: list[list[int]]
    zone_own_g: list[list[int]]
    zone_match_g: list[list[int]]
    domains_ck: Int
    n_domains_k: list[int] = field(default_factory=list)


class _Interner:
    """Numbers for terms, in order of first sight."""

    def __init__(self) -> None:
        self.number_of: dict[Term, int] = {}
        self.owners: list[list[int]] = []

    def number(self, term: Term) -> int:
        if term not in self.number_of:
            self.number_of[term] = len(self.owners)
            self.owners.append([])
        return self.number_of[term]


def tie_groups(
    problem: Puzzle,
    groups: Sequence[Group],
    keys: tuple[str, ...],
    *,
    columns: Columns,
    domains_ck: Int,
    topology_keys: tuple[str, ...],
    cell_n: Int,
    daemons_do: Bool,
) -> Ties:
    """Work out every term. O(terms x what they select), not terms x groups."""
    seen = {group.namespace for group in groups} | {pod.namespace for pod in problem.bound}
    namespaces = Namespaces(problem.namespaces, seen)
    interner = _Interner()
    own_g: list[list[int]] = []
    for number, group in enumerate(groups):
        mine = [interner.number(term) for term in stated_by(group, namespaces)]
        mine += [interner.number(port_term(port)) for port in group.spec.host_ports]
        own_g.append(sorted(set(mine)))
        for term in own_g[-1]:
            interner.owners[term].append(number)
    scene = _Scene(problem, groups, keys, namespaces)
    scene.add_running_owners(interner)
    terms = list(interner.number_of)
    return _assemble(
        terms,
        own_g,
        interner.owners,
        scene=scene,
        columns=columns,
        domains_ck=domains_ck,
        topology_keys=topology_keys,
        cell_n=cell_n,
        daemons_do=daemons_do,
    )


class _Scene:
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
        for pod in self.counted if keys else ():
            held = self.nodes_of[self._number(profile_of(pod, keys), numbers)]
            node = self.place[pod.node_name]
            held[node] = held.get(node, 0) + 1
        for number, daemon in enumerate(problem.daemon_sets if keys else ()):
            profile = (daemon.namespace, tuple(daemon.labels.get(key) for key in keys))
            self.daemons_of[self._number(profile, numbers)].append(number)
        self.index = ProfileIndex(self.profiles, keys)
        self.running_owners: dict[int, list[int]] = {}

    def _number(self, profile: Profile, numbers: dict[Profile, int]) -> int:
        if profile not in numbers:
            numbers[profile] = len(self.profiles)
            self.profiles.append(profile)
            self.groups_of.append([])
            self.nodes_of.append({})
            self.daemons_of.append([])
        return numbers[profile]

    def add_running_owners(self, interner: _Interner) -> None:
        """Terms of running pods that keep some waiting pod away, and where those pods are."""
        held: dict[tuple[int, str, tuple[tuple[str, str], ...]], list[Term]] = {}
        stating = [pod for pod in self.counted if pod.spec.anti_affinity]
        for pod in sorted(stating, key=lambda pod: (pod.namespace, pod.name)):
            key = (id(pod.spec), pod.namespace, tuple(sorted(pod.labels.items())))
            if key not in held:
                held[key] = [
                    term
                    for term in anti_terms(pod, self.namespaces)
                    if term in interner.number_of
                    or not self.waiting.isdisjoint(self.index.selected(term))
                ]
            for term in held[key]:
                number = interner.number(term)
                self.running_owners.setdefault(number, []).append(self.place[pod.node_name])

    def ports_taken(self, term: Term) -> list[int]:
        """The nodes on which the term's port is taken, by running or coming daemon pods too."""
        return [
            self.place[pod.node_name]
            for pod in self.problem.bound
            if pod.spec.host_ports and pod.node_name in self.place and not pod.is_terminal
            if takes(pod.spec, term)
        ]


def _assemble(
    terms: list[Term],
    own_g: list[list[int]],
    owners: list[list[int]],
    *,
    scene: _Scene,
    columns: Columns,
    domains_ck: Int,
    topology_keys: tuple[str, ...],
    cell_n: Int,
    daemons_do: Bool,
) -> Ties:
    hosts: list[HostTerm] = []
    zones: list[ZoneTerm] = []
    place_of: list[int] = []
    n_groups = len(scene.groups)
    match_all: list[list[int]] = [[] for _ in range(n_groups)]
    # At least one, so that a key that no node carries can still be looked up.
    n_domains = [
        max(1, int(domains_ck[:, key].max(initial=-1)) + 1) for key in range(len(topology_keys))
    ]
    for number, term in enumerate(terms):
        matched, match_n, daemons = _selected(term, scene)
        for group in matched:
            match_all[group].append(number)
        eligible_n = _filter(term, owners[number], scene, columns)
        if term.is_host:
            own_n = np.zeros(len(scene.place), dtype=np.int64)
            np.add.at(own_n, scene.running_owners.get(number, []), 1)
            if term.kind == Kind.PORT:
                np.add.at(own_n, scene.ports_taken(term), 1)
                match_n = own_n
            place_of.append(len(hosts))
            hosts.append(
                HostTerm(
                    term.kind,
                    term.max_skew,
                    match_n,
                    own_n,
                    eligible_n,
                    *_daemon_presence(term, daemons, scene, daemons_do),
                )
            )
        else:
            key = topology_keys.index(labels.normalize(term.topology_key))
            domain_n = domains_ck[cell_n, key]
            place_of.append(len(zones))
            zones.append(
                _zone_term(
                    term,
                    key,
                    n_domains[key],
                    (match_n, domain_n, eligible_n),
                    scene.running_owners.get(number, []),
                )
            )
    split_own = _split(own_g, terms, place_of)
    split_match = _split(match_all, terms, place_of)
    return Ties(
        hosts,
        zones,
        split_own[0],
        split_match[0],
        split_own[1],
        split_match[1],
        domains_ck,
        n_domains,
    )


def _split(
    numbers_g: list[list[int]], terms: list[Term], place_of: list[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Term numbers by group, host terms apart from zone terms."""
    hosts = [[place_of[t] for t in mine if terms[t].is_host] for mine in numbers_g]
    zones = [[place_of[t] for t in mine if not terms[t].is_host] for mine in numbers_g]
    return hosts, zones


def _selected(term: Term, scene: _Scene) -> tuple[list[int], Int, list[int]]:
    """The waiting groups, running pods by node, and daemon sets that a term selects."""
    match_n = np.zeros(len(scene.place), dtype=np.int64)
    if term.kind == Kind.PORT:
        groups = [n for n, group in enumerate(scene.groups) if takes(group.spec, term)]
        daemons = [n for n, one in enumerate(scene.problem.daemon_sets) if takes(one.spec, term)]
        return groups, match_n, daemons
    found: list[int] = []
    daemons = []
    for profile in scene.index.selected(term):
        found += scene.groups_of[profile]
        daemons += scene.daemons_of[profile]
        for node, count in scene.nodes_of[profile].items():
            match_n[node] += count
    return sorted(found), match_n, daemons


def _filter(term: Term, owners: list[int], scene: _Scene, columns: Columns) -> Bool:
    """The existing nodes that a spread counts; all of them for other terms."""
    eligible = np.ones(columns.n_entities, dtype=bool)
    if term.kind == Kind.SPREAD and owners:
        spec = scene.groups[owners[0]].spec
        if term.node_affinity_policy == NodePolicy.HONOR:
            eligible &= columns.admitted_by_affinity(spec.node_selector, spec.required_terms)
        if term.node_taints_policy == NodePolicy.HONOR:
            eligible &= columns.tolerated(spec.tolerations)
    return eligible[columns.n_entities - len(scene.place) :]


def _daemon_presence(
    term: Term, daemons: list[int], scene: _Scene, daemons_do: Bool
) -> tuple[Int | None, Int | None]:
    """How many daemon pods on a new node of each offer the term selects, or that state it."""
    match_o = daemons_do[daemons].sum(axis=0) if daemons else None
    stating = daemons if term.kind == Kind.PORT else []
    own_o = daemons_do[stating].sum(axis=0) if stating else None
    return match_o, own_o


def _zone_term(
    term: Term, key: int, n_domains: int, counted: tuple[Int, Int, Bool], running: list[int]
) -> ZoneTerm:
    match_n, domain_n, eligible_n = counted
    has_label = domain_n >= 0
    counts = eligible_n & has_label
    match_d = np.bincount(domain_n[counts], weights=match_n[counts], minlength=n_domains)
    own_n = np.zeros(len(domain_n), dtype=np.int64)
    np.add.at(own_n, running, 1)
    own_d = np.bincount(domain_n[has_label], weights=own_n[has_label], minlength=n_domains)
    seen_d = np.zeros(n_domains, dtype=bool)
    seen_d[domain_n[counts]] = True
    return ZoneTerm(
        term.kind,
        key,
        term.max_skew,
        term.min_domains,
        match_d.astype(np.int64),
        own_d.astype(np.int64),
        seen_d,
        NodePolicy.IGNORE in (term.node_affinity_policy,),
    )


def daemon_pods(pods: Sequence[Pod]) -> list[Pod]:
    """The pods that daemon sets own."""
    return [pod for pod in pods if pod.is_daemon]
