"""Terms between pods: affinity, anti-affinity, topology spread and host ports.

Each constraint becomes a term with owners (pods that state it) and matchers (pods it selects). A
term at host level is about one node; any other topology key makes it a zone term. Host ports are
host terms too: a port is owned and matched by whoever takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from dovetail import labels
from dovetail.model.pod import DaemonSet, Pod, PodSpec
from dovetail.model.topology import HostPort, LabelSelector, NodePolicy, PodTerm, Spread, narrow
from dovetail.solve.encoding.groups import Group, Profile


class TermKind(IntEnum):
    """What a term asks."""

    SPREAD = 0
    AFFINITY = 1
    ANTI = 2
    PORT = 3


class Term(msgspec.Struct, frozen=True, gc=False):
    """A constraint between pods. `filter_key` tells apart spreads that count different nodes."""

    kind: TermKind
    topology_key: str
    selector: LabelSelector
    namespaces: tuple[str, ...]
    max_skew: int = 0
    min_domains: int = 1
    node_affinity_policy: str = NodePolicy.HONOR
    node_taints_policy: str = NodePolicy.IGNORE
    filter_key: bytes = b""
    port: HostPort | None = None

    @property
    def is_host(self) -> bool:
        """Whether it is about one node."""
        return self.topology_key == labels.HOSTNAME


class Namespaces:
    """Which namespaces a term means."""

    def __init__(self, labels_by_name: Mapping[str, Mapping[str, str]], seen: set[str]) -> None:
        names = sorted(seen | set(labels_by_name))
        self._labels = {
            name: {"kubernetes.io/metadata.name": name, **labels_by_name.get(name, {})}
            for name in names
        }
        self._selected: dict[LabelSelector, tuple[str, ...]] = {}

    def namespaces_of(self, term: PodTerm, own: str) -> tuple[str, ...]:
        """The namespaces of a term stated by a pod in `own`."""
        if term.namespace_selector is None:
            return tuple(sorted(set(term.namespaces))) or (own,)
        selected = self._selected.get(term.namespace_selector)
        if selected is None:
            selected = tuple(
                name for name, row in self._labels.items() if term.namespace_selector.matches(row)
            )
            self._selected[term.namespace_selector] = selected
        return tuple(sorted({*selected, *term.namespaces}))


_CANONICAL: Final = msgspec.msgpack.Encoder(order="deterministic")


def spread_keys(spec: PodSpec) -> tuple[str, ...]:
    """The topology keys of a pod's hard spreads: a node without one of them counts for none."""
    return tuple(sorted({spread.topology_key for spread in spec.spread if spread.is_hard}))


def _filter_key(spread: Spread, spec: PodSpec) -> bytes:
    """What decides which nodes a spread counts: equal for most pods, so that they share terms."""
    affinity = spread.node_affinity_policy == NodePolicy.HONOR
    taints = spread.node_taints_policy == NodePolicy.HONOR
    keys = spread_keys(spec)
    has_wishes = affinity and (spec.node_selector or spec.required_terms)
    if not has_wishes and not taints and len(keys) == 1:
        return b""
    return _CANONICAL.encode(
        (
            dict(spec.node_selector) if affinity else None,
            spec.required_terms if affinity else None,
            spec.tolerations if taints else None,
            keys if len(keys) > 1 else None,
        )
    )


def spread_term(spread: Spread, group: Group) -> Term:
    """A hard spread constraint, as the pod that states it means it."""
    selector = narrow(spread.selector, group.labels, match=spread.match_label_keys)
    return Term(
        TermKind.SPREAD,
        spread.topology_key,
        selector,
        (group.namespace,),
        spread.max_skew,
        spread.min_domains,
        spread.node_affinity_policy,
        spread.node_taints_policy,
        _filter_key(spread, group.spec),
    )


def pod_term(
    kind: TermKind, term: PodTerm, group: Group | Pod | DaemonSet, namespaces: Namespaces
) -> Term:
    """An affinity or anti-affinity term, as the pod that states it means it."""
    selector = narrow(
        term.selector, group.labels, match=term.match_label_keys, mismatch=term.mismatch_label_keys
    )
    return Term(kind, term.topology_key, selector, namespaces.namespaces_of(term, group.namespace))


def stated_by(group: Group, namespaces: Namespaces) -> list[Term]:
    """Every hard term that the pods of a group state (ports apart)."""
    spec = group.spec
    terms = [spread_term(spread, group) for spread in spec.spread if spread.is_hard]
    if spec.affinity:
        terms += _affinity_terms(group, namespaces)
    return terms + [pod_term(TermKind.ANTI, term, group, namespaces) for term in spec.anti_affinity]


def _affinity_terms(group: Group, namespaces: Namespaces) -> list[Term]:
    """Affinity terms of one pod: only pods that all of them mean are company for any of them."""
    terms = [pod_term(TermKind.AFFINITY, term, group, namespaces) for term in group.spec.affinity]
    if len(terms) < 2:
        return terms
    expressions = {expression for term in terms for expression in term.selector.expressions}
    selector = LabelSelector(
        tuple(sorted(expressions, key=lambda expression: expression.sort_key())),
        nothing=any(term.selector.nothing for term in terms),
    )
    common = set.intersection(*(set(term.namespaces) for term in terms))
    return [
        msgspec.structs.replace(term, selector=selector, namespaces=tuple(sorted(common)))
        for term in terms
    ]


def anti_terms(pod: Pod | DaemonSet, namespaces: Namespaces) -> list[Term]:
    """What a running pod, or one of a daemon set, keeps away from itself."""
    return [pod_term(TermKind.ANTI, term, pod, namespaces) for term in pod.spec.anti_affinity]


def port_term(port: HostPort) -> Term:
    """A taken port: at most one pod on a node."""
    return Term(TermKind.PORT, labels.HOSTNAME, LabelSelector(nothing=True), (), port=port)


def takes(spec: PodSpec, term: Term) -> bool:
    """Whether a pod of this spec would conflict with the port of the term."""
    port = term.port
    return port is not None and any(other.conflicts(port) for other in spec.host_ports)


class ProfileIndex:
    """Finds the profiles that a term selects without looking at all of them."""

    def __init__(self, profiles: Sequence[Profile], keys: tuple[str, ...]) -> None:
        self._profiles = profiles
        self._position = {key: place for place, key in enumerate(keys)}
        self._by_value: dict[tuple[str, str], list[int]] = {}
        self._by_namespace: dict[str, list[int]] = {}
        for number, (namespace, values) in enumerate(profiles):
            self._by_namespace.setdefault(namespace, []).append(number)
            for key, value in zip(keys, values, strict=True):
                if value is not None:
                    self._by_value.setdefault((key, value), []).append(number)

    def selected_profiles(self, term: Term) -> list[int]:
        """The numbers of the profiles that a term selects, ascending."""
        if term.selector.nothing:
            return []
        namespaces = set(term.namespaces)
        return [
            number
            for number in self._likely(term)
            if self._profiles[number][0] in namespaces and self._holds(term, number)
        ]

    def _likely(self, term: Term) -> list[int]:
        best: list[int] | None = None
        for need in term.selector.expressions:
            if need.complement or not need.values:
                continue
            numbers = [
                n for value in need.values for n in self._by_value.get((need.key, value), ())
            ]
            if best is None or len(numbers) < len(best):
                best = numbers
        if best is None:
            best = [n for name in term.namespaces for n in self._by_namespace.get(name, ())]
        return sorted(best)

    def _holds(self, term: Term, number: int) -> bool:
        values = self._profiles[number][1]
        return all(
            requirement.admits(values[self._position[requirement.key]])
            for requirement in term.selector.expressions
        )
