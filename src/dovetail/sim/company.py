"""Says whether a pod may run on a node given where others run: kube-scheduler's filters between
pods.

What can be counted once for all nodes is counted once: pods by domain for each term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.taints import tolerates
from dovetail.model.topology import NodePolicy, PodTerm, Spread, narrow
from dovetail.sim.filters import wants
from dovetail.sim.rooms import Breed, Rooms

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name


class _Counted(msgspec.Struct, frozen=True):
    """A spread constraint with the pods in each domain."""

    spread: Spread
    n_by_domain: Mapping[str, int]
    n_lowest: int
    n_itself: int


class Company:
    """One pod's view of all others."""

    def __init__(self, pod: Pod, rooms: Rooms, namespaces: Namespaces) -> None:
        self._pod = pod
        self._namespaces = namespaces
        self._rooms = rooms
        self._repelled = self._repelling_domains()
        self._apart = [self._count_term(term, rooms.breeds()) for term in pod.spec.anti_affinity]
        self._near = self._count_near()
        self._spread = [self._count_spread(spread) for spread in hard_spread(pod)]

    def objection(self, node: Node) -> str:
        """Why the node will not do, or nothing."""
        return self._spread_objection(node) or self._affinity_objection(node)

    # ---- spread

    def _count_spread(self, spread: Spread) -> _Counted:
        keys = [each.topology_key for each in hard_spread(self._pod)]
        there = {
            node.name: node.labels[spread.topology_key]
            for node, _ in self._rooms.nodes()
            if all(key in node.labels for key in keys) and counts(spread, self._pod, node)
        }
        by_domain = dict.fromkeys(there.values(), 0)
        for breed in self._rooms.breeds():
            if self._counts_breed(spread, breed):
                for name, n_pods in breed.n_by_node.items():
                    if name in there:
                        by_domain[there[name]] += n_pods
        n_lowest = min(by_domain.values(), default=0) if len(by_domain) >= spread.min_domains else 0
        return _Counted(
            spread, by_domain, n_lowest, int(spread_selects(spread, self._pod, self._pod))
        )

    def _counts_breed(self, spread: Spread, breed: Breed) -> bool:
        return breed.answer(
            spread, self._pod, lambda: spread_selects(spread, self._pod, breed.sample)
        )

    def _spread_objection(self, node: Node) -> str:
        for item in self._spread:
            domain = node.labels.get(item.spread.topology_key)
            if domain is None:
                return (
                    "node(s) didn't match pod topology spread constraints (missing required label)"
                )
            here = item.n_by_domain.get(domain, 0)
            if here + item.n_itself - item.n_lowest > item.spread.max_skew:
                return "node(s) didn't match pod topology spread constraints"
        return ""

    # ---- affinity

    def _repelling_domains(self) -> set[tuple[str, str]]:
        """Where pods are that will not have this one near."""
        return {
            (term.topology_key, node.labels[term.topology_key])
            for breed in self._rooms.choosy_breeds()
            for term in breed.sample.spec.anti_affinity
            if self._minds(breed, term)
            for node, _ in self._rooms.places(breed)
            if term.topology_key in node.labels
        }

    def _count_term(self, term: PodTerm, others: Iterable[Breed]) -> Counter[str]:
        result: Counter[str] = Counter()
        for breed in others:
            if term_selects(term, self._pod, breed.sample, self._namespaces):
                for node, n_pods in self._rooms.places(breed):
                    if term.topology_key in node.labels:
                        result[node.labels[term.topology_key]] += n_pods
        return result

    def _minds(self, breed: Breed, term: PodTerm) -> bool:
        """Whether pods of that breed will not have this one near."""

        def selects() -> bool:
            return term_selects(term, breed.sample, self._pod, self._namespaces)

        return selects() if term.namespace_selector else breed.answer(term, self._pod, selects)

    def _count_near(self) -> list[Counter[str]]:
        """For each affinity term the domains of pods that all of the terms mean."""
        terms = self._pod.spec.affinity
        if not terms:
            return []
        meant = [breed for breed in self._rooms.breeds() if self._all_mean(breed.sample)]
        return [self._count_term(term, meant) for term in terms]

    def _all_mean(self, other: Pod) -> bool:
        return all(
            term_selects(term, self._pod, other, self._namespaces)
            for term in self._pod.spec.affinity
        )

    def _affinity_objection(self, node: Node) -> str:
        if not self._is_near(node):
            return "node(s) didn't match pod affinity rules"
        for term, counts in zip(self._pod.spec.anti_affinity, self._apart, strict=True):
            if term.topology_key in node.labels and counts[node.labels[term.topology_key]]:
                return "node(s) didn't match pod anti-affinity rules"
        if any(node.labels.get(key) == value for key, value in self._repelled):
            return "node(s) didn't satisfy existing pods anti-affinity rules"
        return ""

    def _is_near(self, node: Node) -> bool:
        terms = self._pod.spec.affinity
        if any(term.topology_key not in node.labels for term in terms):
            return False
        if all(
            counts[node.labels[term.topology_key]]
            for term, counts in zip(terms, self._near, strict=True)
        ):
            return True
        # The first of its kind need not wait for another: there is nobody to be near but itself.
        return not any(self._near) and self._all_mean(self._pod)


def hard_spread(pod: Pod) -> list[Spread]:
    """The constraints that filter."""
    return [spread for spread in pod.spec.spread if spread.is_hard]


def counts(spread: Spread, pod: Pod, node: Node) -> bool:
    """Whether the constraint's policies let this node take part."""
    if spread.node_affinity_policy == NodePolicy.HONOR and not wants(pod.spec, node):
        return False
    honours_taints = spread.node_taints_policy == NodePolicy.HONOR
    return not honours_taints or tolerates(node.taints, pod.spec.tolerations)


def spread_selects(spread: Spread, owner: Pod, other: Pod) -> bool:
    """Whether the other pod counts for the owner's constraint."""
    if other.namespace != owner.namespace or other.deleting_at is not None:
        return False
    return narrow(spread.selector, owner.labels, match=spread.match_label_keys).matches(
        other.labels
    )


def term_selects(term: PodTerm, owner: Pod, other: Pod, namespaces: Namespaces) -> bool:
    """Whether the term, in the hands of its owner, means the other pod."""
    if not _reaches(term, owner, other, namespaces):
        return False
    selector = narrow(
        term.selector, owner.labels, match=term.match_label_keys, mismatch=term.mismatch_label_keys
    )
    return selector.matches(other.labels)


def _reaches(term: PodTerm, owner: Pod, other: Pod, namespaces: Namespaces) -> bool:
    within = term.namespace_selector
    if not term.namespaces and within is None:
        return other.namespace == owner.namespace
    if other.namespace in term.namespaces:
        return True
    return within is not None and within.matches(namespaces.get(other.namespace, {}))
