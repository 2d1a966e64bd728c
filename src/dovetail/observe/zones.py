"""Says in which zone a pending pod must run: one zone, several (`flexible`), or `none`.

What counts is what binds: the pod's own node selector and affinity, its volumes, and where spread,
affinity and anti-affinity over zones would let it go just now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.nodes import census
from dovetail.decide.volumes import pod_volumes
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.requirements import Requirement
from dovetail.model.snapshot import Snapshot
from dovetail.model.topology import LabelSelector, NodePolicy, NodeTerm, PodTerm, Spread, narrow
from dovetail.model.verdict import Problem

FLEXIBLE: Final = "flexible"
NONE: Final = "none"

_CountsByZone = Mapping[str, int]


class _Tenants(msgspec.Struct, frozen=True):
    """Bound pods with the same labels, and how many there are in each zone."""

    namespace: str
    labels: Mapping[str, str]
    n_by_zone: Counter[str]


def zones_of_waiting(snapshot: Snapshot) -> dict[str, int]:
    """How many waiting pods must run in each zone; `flexible` and `none` beside the zones."""
    zones = _Zones(snapshot)
    counts: Counter[str] = Counter()
    known: dict[tuple[int, str, int, tuple[str, ...]], str] = {}
    for pod in census(snapshot.pods).unbound:
        if pod.is_terminal or pod.deleting_at is not None:
            continue
        key = (id(pod.spec), pod.namespace, id(pod.labels), pod.claim_names)
        if key not in known:
            known[key] = zones.of(pod)
        counts[known[key]] += 1
    return {zone: counts[zone] for zone in sorted(counts)}


class _Zones:
    """What is asked for several pods, worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._zone_by_node = {node.name: node.zone for node in snapshot.nodes if node.zone}
        self._known: dict[tuple[frozenset[str], LabelSelector], _CountsByZone] = {}
        self._zones = {
            *self._zone_by_node.values(),
            *(
                offering.zone
                for types in snapshot.instance_types.values()
                for instance_type in types
                for offering in instance_type.offerings
            ),
        }

    def of(self, pod: Pod) -> str:
        """The zone of this pod."""
        choices = list(self._choices(pod))
        if not choices:
            return FLEXIBLE
        named = {
            value
            for choice in choices
            for requirement in choice
            if not requirement.complement
            for value in requirement.values
        }
        zones = [zone for zone in sorted(self._zones | named) if _is_open(zone, choices)]
        if len(zones) == 1:
            return zones[0]
        return FLEXIBLE if zones else NONE

    def _choices(self, pod: Pod) -> Iterator[list[Requirement]]:
        """What binds the pod to zones: of each list, one requirement must hold."""
        yield from _of_node(pod.spec)
        yield from self._of_volumes(pod)
        yield from self._of_others(pod)

    def _of_volumes(self, pod: Pod) -> Iterator[list[Requirement]]:
        volumes = pod_volumes(pod, self._snapshot)
        if isinstance(volumes, Problem):
            yield []  # while it cannot have them, it can run nowhere
            return
        for terms in volumes.alternatives:
            yield from _of_terms(terms)

    def _of_others(self, pod: Pod) -> Iterator[list[Requirement]]:
        """Where other pods let it go."""
        for spread in pod.spec.spread:
            if spread.topology_key == labels.ZONE and spread.is_hard:
                yield [self._spread(pod, spread)]
        for term in pod.spec.affinity:
            if term.topology_key == labels.ZONE:
                yield from self._near(pod, term)
        for term in pod.spec.anti_affinity:
            if term.topology_key == labels.ZONE:
                counts = self._counts(self._namespaces(pod, term), _narrow(pod, term))
                yield [Requirement(labels.ZONE, complement=True, values=frozenset(counts))]

    def _spread(self, pod: Pod, spread: Spread) -> Requirement:
        selector = narrow(spread.selector, pod.labels, match=spread.match_label_keys)
        counts = self._counts(frozenset({pod.namespace}), selector)
        own = int(selector.matches(pod.labels))
        zones = self._zones
        if spread.node_affinity_policy == NodePolicy.HONOR:
            choices = list(_of_node(pod.spec))
            zones = {zone for zone in zones if _is_open(zone, choices)}
        fewest = min((counts.get(zone, 0) for zone in zones), default=0)
        if len(zones) < spread.min_domains:
            fewest = 0
        return _only_in(
            zone for zone in zones if counts.get(zone, 0) + own - fewest <= spread.max_skew
        )

    def _near(self, pod: Pod, term: PodTerm) -> Iterator[list[Requirement]]:
        namespaces, selector = self._namespaces(pod, term), _narrow(pod, term)
        counts = self._counts(namespaces, selector)
        # The first of a group that wants to be near itself may go anywhere.
        is_first = not counts and pod.namespace in namespaces and selector.matches(pod.labels)
        if not is_first:
            yield [_only_in(counts)]

    def _namespaces(self, pod: Pod, term: PodTerm) -> frozenset[str]:
        """Which namespaces a term is about."""
        wanted = term.namespace_selector
        if wanted is None:
            return frozenset(term.namespaces or (pod.namespace,))
        names = {name for name, has in self._snapshot.namespaces.items() if wanted.matches(has)}
        return frozenset(names | set(term.namespaces))

    def _counts(self, namespaces: frozenset[str], selector: LabelSelector) -> _CountsByZone:
        """How many bound pods of these namespaces are selected, in each zone."""
        key = (namespaces, selector)
        if key not in self._known:
            counts: Counter[str] = Counter()
            for candidate in self._candidates(selector):
                if candidate.namespace in namespaces and selector.matches(candidate.labels):
                    counts.update(candidate.n_by_zone)
            self._known[key] = counts
        return self._known[key]

    def _candidates(self, selector: LabelSelector) -> Iterable[_Tenants]:
        """Bound pods that the selector might mean: it nearly always names a value of some label."""
        for expression in selector.expressions:
            if not expression.complement:
                pairs = ((expression.key, value) for value in expression.values)
                return [tenant for pair in pairs for tenant in self._tenants_by_pair.get(pair, ())]
        return self._tenants

    @cached_property
    def _tenants(self) -> list[_Tenants]:
        result: dict[tuple[str, int], _Tenants] = {}
        for pod in self._snapshot.pods:
            zone = self._zone_by_node.get(pod.node_name)
            if zone is None or pod.is_terminal or pod.deleting_at is not None:
                continue
            key = (pod.namespace, id(pod.labels))
            if key not in result:
                result[key] = _Tenants(pod.namespace, pod.labels, Counter())
            result[key].n_by_zone[zone] += 1
        return list(result.values())

    @cached_property
    def _tenants_by_pair(self) -> dict[tuple[str, str], list[_Tenants]]:
        tenants: dict[tuple[str, str], list[_Tenants]] = {}
        for tenant in self._tenants:
            for pair in tenant.labels.items():
                tenants.setdefault(pair, []).append(tenant)
        return tenants


def _narrow(pod: Pod, term: PodTerm) -> LabelSelector:
    return narrow(
        term.selector, pod.labels, match=term.match_label_keys, mismatch=term.mismatch_label_keys
    )


def _of_node(spec: PodSpec) -> Iterator[list[Requirement]]:
    """What the pod's own node selector and affinity say of zones."""
    wanted = spec.node_selector.get(labels.ZONE)
    if wanted is not None:
        yield [_only_in({wanted})]
    yield from _of_terms(spec.required_terms)


def _is_open(zone: str, choices: Iterable[Iterable[Requirement]]) -> bool:
    return all(any(requirement.has(zone) for requirement in choice) for choice in choices)


def _of_terms(terms: Iterable[NodeTerm]) -> Iterator[list[Requirement]]:
    """What alternatives say of zones; one that says nothing leaves every zone open."""
    requirements: list[Requirement] = []
    for term in terms:
        zonal = [item for item in term.expressions if labels.normalize(item.key) == labels.ZONE]
        if not zonal:
            return
        requirements.append(_intersection(zonal))
    if requirements:
        yield requirements


def _intersection(requirements: list[Requirement]) -> Requirement:
    whole = requirements[0]
    for requirement in requirements[1:]:
        whole &= requirement
    return whole


def _only_in(zones: Iterable[str]) -> Requirement:
    return Requirement(labels.ZONE, complement=False, values=frozenset(zones))
