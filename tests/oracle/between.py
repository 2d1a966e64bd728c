"""May this pod run on this node, given where others run? kube-scheduler's filters between pods.

Daemon pods that are still to come to a node count there as if they had come (they will be first),
but not in wider domains, unless a pod could be the first there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from dovetail.labels import HOSTNAME
from dovetail.model.pod import Pod
from dovetail.model.requirements import Requirement
from dovetail.model.topology import LabelSelector, PodTerm, Spread
from tests.oracle.filters import clash, untolerated, wants
from tests.oracle.world import Host, World

# Read from manifests, a Deployment stands for the ReplicaSet that it would make.
SELECTING_OWNERS: Final = ("ReplicaSet", "StatefulSet", "Deployment", "ReplicationController")


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether every expression holds; an absent selector selects nothing."""
    if selector.nothing:
        return False
    return all(one.admits(labels.get(one.key)) for one in selector.expressions)


# ------------------------------------------------------------------ PodTopologySpread


def spread_selects(constraint: Spread, owner: Pod, other: Pod) -> bool:
    """Whether `other` counts for the constraint of `owner`."""
    if other.namespace != owner.namespace or other.deleting_at is not None:
        return False
    for key in constraint.match_label_keys:
        if key in owner.labels and other.labels.get(key) != owner.labels[key]:
            return False
    return selects(constraint.selector, other.labels)


def _default_selector(world: World, pod: Pod) -> LabelSelector:
    """What kube-scheduler deduces for a pod from the services and the controller that select it."""
    found: list[Requirement] = []
    merged: dict[str, str] = {}
    for service in world.snapshot.services:
        if service.namespace != pod.namespace or not service.selector:
            continue
        if all(pod.labels.get(key) == value for key, value in service.selector.items()):
            merged.update(service.selector)
    found += [Requirement(key, values=frozenset({value})) for key, value in merged.items()]
    if pod.owner is not None and pod.owner.kind in SELECTING_OWNERS:
        by_name = f"{pod.owner.kind}/{pod.namespace}/{pod.owner.name}"
        for key in (pod.owner.uid, by_name):
            owner = world.snapshot.owner_selectors.get(key) if key else None
            if owner is not None:
                found += owner.expressions
                break
    return LabelSelector(tuple(found), nothing=not found)


def hard_spread(world: World, pod: Pod) -> list[Spread]:
    """The constraints that filter: the pod's own, or the cluster's defaults if it has none."""
    if pod.spec.spread:
        return [one for one in pod.spec.spread if one.is_hard]
    selector = _default_selector(world, pod)
    if selector.nothing:
        return []
    return [
        msgspec.structs.replace(one, selector=selector)
        for one in world.snapshot.policy.default_spread
        if one.is_hard
    ]


def counts_node(constraint: Spread, pod: Pod, host: Host) -> bool:
    """Whether the constraint's policies let this node take part in the count."""
    if constraint.node_affinity_policy == "Honor" and not wants(pod.spec, host.labels, host.name):
        return False
    return constraint.node_taints_policy != "Honor" or untolerated(pod.spec, host.taints) is None


def pods_by_domain(
    world: World, pod: Pod, constraint: Spread, keys: Iterable[str]
) -> dict[str, int]:
    """How many pods the constraint counts in each domain that nodes make for it."""
    found: dict[str, int] = {}
    for host in world.hosts.values():
        if any(key not in host.labels for key in keys) or not counts_node(constraint, pod, host):
            continue
        domain = host.labels[constraint.topology_key]
        here = sum(spread_selects(constraint, pod, other) for other in world.bound[host.name])
        if constraint.topology_key == HOSTNAME:
            here += sum(spread_selects(constraint, pod, other) for other in world.coming(host))
        found[domain] = found.get(domain, 0) + here
    return found


def spread(world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """No domain may run ahead of the emptiest one by more than the allowed skew."""
    constraints = hard_spread(world, pod)
    keys = [one.topology_key for one in constraints]
    for one in constraints:
        if one.topology_key not in host.labels:
            return f"spread: no label {one.topology_key}"
        by_domain = pods_by_domain(world, pod, one, keys)
        lowest = min(by_domain.values(), default=0)
        if len(by_domain) < one.min_domains:
            lowest = 0
        here = by_domain.get(host.labels[one.topology_key], 0)
        with_it = here + spread_selects(one, pod, pod)
        if with_it - lowest > one.max_skew:
            return f"spread over {one.topology_key}: {with_it} against {lowest}"
    return None


# ------------------------------------------------------------------ InterPodAffinity


def _reaches(world: World, term: PodTerm, owner: Pod, other: Pod) -> bool:
    """Whether the term looks at the other pod's namespace."""
    if not term.namespaces and term.namespace_selector is None:
        return other.namespace == owner.namespace
    if other.namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    return selects(term.namespace_selector, world.snapshot.namespaces.get(other.namespace, {}))


def term_selects(world: World, term: PodTerm, owner: Pod, other: Pod) -> bool:
    """Whether the term, in the hands of its owner, means the other pod."""
    for key in term.match_label_keys:
        if key in owner.labels and other.labels.get(key) != owner.labels[key]:
            return False
    for key in term.mismatch_label_keys:
        if key in owner.labels and other.labels.get(key) == owner.labels[key]:
            return False
    return selects(term.selector, other.labels) and _reaches(world, term, owner, other)


def _together(term: PodTerm, a: Host, b: Host) -> bool:
    value = a.labels.get(term.topology_key)
    return value is not None and b.labels.get(term.topology_key) == value


def anti_affinity(world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """Neither the pod nor any pod already bound may object to the other within the domain."""
    for other, where in world.pods_and_hosts():
        for term in pod.spec.anti_affinity:
            if _together(term, host, where) and term_selects(world, term, pod, other):
                return f"anti-affinity to {other.key}"
        for term in other.spec.anti_affinity:
            if _together(term, host, where) and term_selects(world, term, other, pod):
                return f"anti-affinity of {other.key}"
    return _kept_away_by_daemons(world, pod, host)


def _kept_away_by_daemons(world: World, pod: Pod, host: Host) -> str | None:
    for other in world.coming(host):
        for term in pod.spec.anti_affinity:
            if term.topology_key == HOSTNAME and term_selects(world, term, pod, other):
                return f"anti-affinity to {other.key}, which is still to come"
        for term in other.spec.anti_affinity:
            if term.topology_key == HOSTNAME and term_selects(world, term, other, pod):
                return f"anti-affinity of {other.key}, which is still to come"
    return None


def _keys(terms: Iterable[PodTerm]) -> set[str]:
    return {term.topology_key for term in terms}


def affinity(world: World, pod: Pod, host: Host, _bound: Iterable[Pod]) -> str | None:
    """Every term needs a pod in the domain; only pods that all terms mean are counted.

    The first pod of a group that wants its own company may go anywhere the keys exist.
    """
    terms = pod.spec.affinity
    if not terms:
        return None
    if any(term.topology_key not in host.labels for term in terms):
        return "affinity: no label"
    company = [
        where
        for other, where in world.pods_and_hosts()
        if all(term_selects(world, term, pod, other) for term in terms)
    ]
    coming = [
        where
        for where in world.hosts.values()
        if any(all(term_selects(world, t, pod, one) for t in terms) for one in world.coming(where))
    ]
    is_own = all(term_selects(world, term, pod, pod) for term in terms)
    if is_own and host in coming and any(term.topology_key == HOSTNAME for term in terms):
        return None  # beside a daemon pod, which is in the node's zone, or before it as the first
    near = {key: [*company, *coming] if key == HOSTNAME else company for key in _keys(terms)}
    if all(
        any(_together(term, host, where) for where in near[term.topology_key]) for term in terms
    ):
        return None
    is_first = not any(key in where.labels for key, hosts in near.items() for where in hosts)
    return None if is_first and is_own else "affinity"


def exclude(world: World, a: Pod, b: Pod) -> bool:
    """Whether the two can never share a node."""
    for owner, other in ((a, b), (b, a)):
        for term in owner.spec.anti_affinity:
            if term.topology_key == HOSTNAME and term_selects(world, term, owner, other):
                return True
    return any(clash(x, y) for x in a.spec.host_ports for y in b.spec.host_ports)
