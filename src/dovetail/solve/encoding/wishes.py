"""Encodes preferences of pods: preferred affinity, soft taints and soft spreads.

Preferred node affinity and soft taints (PreferNoSchedule) give every entity a score of its own.
Preferred affinity, preferred anti-affinity and soft spread (ScheduleAnyway) are about company: each
pod selected in the same domain counts for or against it. Groups that wish alike share a number;
number 0 wishes for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dovetail import labels
from dovetail.model.pod import PodSpec
from dovetail.model.policy import PreferencePolicy
from dovetail.model.taints import Effect
from dovetail.solve.axes import Int
from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.encoding.groups import Group, Profile, distinct_specs, profile_of, read_labels
from dovetail.solve.encoding.market_labels import label_column
from dovetail.solve.encoding.terms import (
    Namespaces,
    ProfileIndex,
    Term,
    TermKind,
    pod_term,
    spread_term,
)

_SOFT_TAINT: Final = 150  # a taint counts more than one preferred term, as in kube-scheduler
_SOFT_SPREAD: Final = 20


@dataclass(frozen=True, slots=True)
class PodPreference:
    """A wish about other pods: their number in the domain times `weight`."""

    weight: int  # negative: the fewer the better
    is_host: bool
    domain_e: Int  # the domain of every entity, -1 where it has none; of no use to host terms
    match_n: Int  # running pods that it selects, by existing node


@dataclass(frozen=True, slots=True)
class Wishes:
    """Scores and company (by number) for every group; `rows` are the distinct scores, of which
    each distinct wish (s) has one.
    """

    wish_g: Int
    row_s: list[int]
    rows: list[Int]
    company: list[PodPreference]
    own_g: list[tuple[int, ...]]
    match_g: list[tuple[int, ...]]

    def scores(self, wish: int) -> Int:
        """How much a wish likes every entity."""
        return self.rows[self.row_s[wish]]

    def has_scores(self, wish: int) -> bool:
        """Whether a wish likes some entities better than others."""
        return self.row_s[wish] != 0


def wishes_of(enc: Encoded) -> Wishes | None:
    """What the groups wish for; None where nobody wishes or wishes are to be ignored."""
    if enc.problem.policy.preference_policy == PreferencePolicy.IGNORE:
        return None
    soft_taints = any(
        taint.effect == Effect.PREFER_NO_SCHEDULE for row in enc.columns.taints for taint in row
    )
    if not soft_taints and not any(_has_wishes(group.spec) for group in enc.groups):
        return None
    scores = _Scores(enc, has_soft_taints=soft_taints)
    company, own_g, match_g = _company(enc)
    number_of: dict[tuple[object, ...], int] = {(0, (), ()): 0}
    row_s = [0]
    wish_g = np.zeros(len(enc.groups), dtype=np.int64)
    for number, group in enumerate(enc.groups):
        code = scores.of(group.spec)
        key = (code, own_g[number], match_g[number])
        if key not in number_of:
            number_of[key] = len(row_s)
            row_s.append(code)
        wish_g[number] = number_of[key]
    if len(row_s) < 2:
        return None
    return Wishes(wish_g, row_s, scores.rows, company, own_g, match_g)


def _has_wishes(spec: PodSpec) -> bool:
    return bool(
        spec.preferred_terms
        or spec.preferred_affinity
        or spec.preferred_anti_affinity
        or any(not spread.is_hard for spread in spec.spread)
    )


class _Scores:
    """Scores of entities by what a template says; equal ones have equal codes, nothing is 0."""

    def __init__(self, enc: Encoded, *, has_soft_taints: bool) -> None:
        self._columns = enc.columns
        self._has_soft_taints = has_soft_taints
        self._code_of: dict[bytes, int] = {b"": 0}
        self._by_spec: dict[int, int] = {}
        self.rows = [np.zeros(enc.columns.n_entities, dtype=np.int64)]  # by code

    def of(self, spec: PodSpec) -> int:
        """The code of how much a pod of this template likes every entity."""
        if not spec.preferred_terms and not self._has_soft_taints:
            return 0
        if id(spec) not in self._by_spec:
            score = np.zeros(self._columns.n_entities, dtype=np.int64)
            for weight, term in spec.preferred_terms:
                score += weight * self._columns.matches_term(term)
            if self._has_soft_taints:
                score -= _SOFT_TAINT * self._columns.has_soft_taint(spec.tolerations)
            # Where everything is liked alike, nothing is preferred.
            key = score.tobytes() if len(score) and (score != score[0]).any() else b""
            code = self._by_spec[id(spec)] = self._code_of.setdefault(key, len(self.rows))
            if code == len(self.rows):
                self.rows.append(score)
        return self._by_spec[id(spec)]


def _company(
    enc: Encoded,
) -> tuple[list[PodPreference], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The wishes about other pods: who has them, and whom they are about."""
    groups = enc.groups
    nothing: list[tuple[int, ...]] = [() for _ in groups]
    running = _Crowd(enc) if enc.running is None else enc.running
    number_of: dict[tuple[Term, int], int] = {}
    own_g: list[tuple[int, ...]] = []
    for group in groups:
        terms = _soft_terms(group, running.namespaces)
        own_g.append(tuple(sorted({number_of.setdefault(pair, len(number_of)) for pair in terms})))
    if not number_of:
        return [], nothing, nothing
    match_g: list[list[int]] = [[] for _ in groups]
    company = []
    domains: dict[str, Int] = {}
    for number, (term, weight) in enumerate(number_of):
        matched, match_n = running.seen_by(term)
        for tie in matched:
            match_g[tie].append(number)
        key = labels.normalize(term.topology_key)
        if key not in domains:
            domains[key] = _domains(enc, key)
        company.append(PodPreference(weight, term.is_host, domains[key], match_n))
    return company, own_g, [tuple(mine) for mine in match_g]


class _Crowd:
    """Who runs where, by what selectors can see of them."""

    def __init__(self, enc: Encoded) -> None:
        problem = enc.problem
        seen = {group.namespace for group in enc.groups} | {pod.namespace for pod in problem.bound}
        self.namespaces = Namespaces(problem.namespaces, seen)
        self._enc = enc

    @cached_property
    def _places(self) -> list[list[int]]:
        return list(self._nodes_by_profile.values())

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        problem = self._enc.problem
        return read_labels(distinct_specs((*problem.pods, *problem.bound)), problem.daemon_sets)

    @cached_property
    def _nodes_by_profile(self) -> dict[Profile, list[int]]:
        return _running_nodes(self._enc, self._keys)

    @cached_property
    def _index(self) -> ProfileIndex:
        profiles = [group.profile for group in self._enc.groups]
        return ProfileIndex([*profiles, *self._nodes_by_profile], self._keys)

    def seen_by(self, term: Term) -> tuple[list[int], Int]:
        """The waiting groups, and the running pods by node, that a term selects."""
        n_groups = len(self._enc.groups)
        match_n = np.zeros(len(self._enc.problem.nodes), dtype=np.int64)
        profiles = self._index.selected_profiles(term)
        for profile in profiles:
            if profile >= n_groups:
                np.add.at(match_n, self._places[profile - n_groups], 1)
        return [profile for profile in profiles if profile < n_groups], match_n


def _soft_terms(group: Group, namespaces: Namespaces) -> Iterator[tuple[Term, int]]:
    spec = group.spec
    for weight, term in spec.preferred_affinity:
        yield pod_term(TermKind.AFFINITY, term, group, namespaces), weight
    for weight, term in spec.preferred_anti_affinity:
        yield pod_term(TermKind.ANTI, term, group, namespaces), -weight
    for spread in spec.spread:
        if not spread.is_hard:
            yield spread_term(spread, group), -_SOFT_SPREAD


def _running_nodes(enc: Encoded, keys: tuple[str, ...]) -> dict[Profile, list[int]]:
    """The nodes of running pods, by what selectors can see of them; one entry for each pod."""
    place = {node.name: number for number, node in enumerate(enc.problem.nodes)}
    nodes_by_profile: dict[Profile, list[int]] = {}
    for pod in enc.problem.bound:
        if pod.node_name in place and not pod.is_terminal and pod.deleting_at is None:
            nodes_by_profile.setdefault(profile_of(pod, keys), []).append(place[pod.node_name])
    return nodes_by_profile


def _domains(enc: Encoded, key: str) -> Int:
    """The domain of every entity for a topology key, as numbers; -1 where it has none."""
    if key == labels.HOSTNAME:
        return np.full(enc.columns.n_entities, -1, dtype=np.int64)
    if enc.running is not None:
        codes, values = enc.columns.codes(key)
        return np.array([-1 if not value else n for n, value in enumerate(values)], np.int64)[codes]
    codes, values = label_column(enc.market, key)
    code_of = {value: n for n, value in enumerate(dict.fromkeys(v for v in values if v))}
    domain_o = np.array([code_of.get(value or "", -1) for value in values], dtype=np.int64)[codes]
    more: list[int] = []
    for node in enc.problem.nodes:
        named = {labels.normalize(name): value for name, value in node.labels.items()}
        value = named.get(key)
        more.append(-1 if not value else code_of.setdefault(value, len(code_of)))
    return np.concatenate([domain_o, np.array(more, dtype=np.int64)])
