"""How cheaply can a spread group be split? Every split that the skew allows, tried one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from dovetail.model.topology import Spread
from tests.oracle.between import hard_spread, spread_selects
from tests.oracle.launchable import Fresh, usage

if TYPE_CHECKING:
    from tests.oracle.certificate import Proof


def cheapest_split(proof: Proof, worth_by_pod: dict[str, Fraction]) -> Fraction:
    """The total worth, where lone spread groups count their pods by domain.

    Only without existing nodes, whose pods would shift the counts.
    """
    total, done = Fraction(0), set()
    for pod in proof.pods:
        if pod.key in done:
            continue
        group = _alike(proof, pod)
        done |= {one.key for one in group}
        plain = sum((worth_by_pod[one.key] for one in group), Fraction(0))
        constraint = _lone_spread(proof, pod, group)
        if constraint is None or not _can_all_be_opened(proof, pod, constraint.topology_key):
            total += plain
            continue
        by_domain = _worth_by_domain(proof, group, constraint.topology_key)
        split = least_split(
            sorted(by_domain.values()), len(group), constraint.max_skew, constraint.min_domains
        )
        total += plain if split is None else max(plain, split)
    return total


def _alike(proof: Proof, pod: Pod) -> list[Pod]:
    """The placed pods that scheduling cannot tell from this one, and that go where it goes."""
    counted = _counted(proof, pod)
    return [
        one
        for one in proof.pods
        if (one.spec, one.namespace) == (pod.spec, pod.namespace)
        and proof.accepted[one.key] == proof.accepted[pod.key]
        and (one.labels == pod.labels or _counted(proof, one) == counted)
    ]


def _wide(proof: Proof, pod: Pod) -> list[Spread]:
    return [one for one in hard_spread(proof.world, pod) if one.topology_key != well_known.HOSTNAME]


def _counted(proof: Proof, pod: Pod) -> list[set[str]]:
    """The pods with a place that each wide spread of this one counts."""
    return [
        {other.key for other in proof.pods if spread_selects(one, pod, other)}
        for one in _wide(proof, pod)
    ]


def _lone_spread(proof: Proof, pod: Pod, group: list[Pod]) -> Spread | None:
    """The one wide spread of the group, if it selects the group and nobody else with a place."""
    wide = _wide(proof, pod)
    if len(wide) != 1:
        return None
    members = {one.key for one in group}
    return wide[0] if _counted(proof, pod) == [members] else None


def _can_all_be_opened(proof: Proof, pod: Pod, key: str) -> bool:
    """Whether each domain of the pod could be opened beside any plan as cheap as this one."""
    takers = [proof.offers[position] for position in proof.accepted[pod.key]]
    takers = [offer for offer in takers if key in offer.host.labels]
    sure = {offer.host.labels[key] for offer in takers if _is_sure(proof, offer)}
    return sure == {offer.host.labels[key] for offer in takers}


def _is_sure(proof: Proof, offer: Fresh) -> bool:
    """Whether a plan cannot use up the offer with the money it costs and a node for every pod.

    Whoever spends on nodes of a pool takes at most the best rate of its limit that money buys.
    """
    if offer.offering.capacity_type == well_known.RESERVED:
        return False
    used = usage(proof.snapshot, ()).by_pool.get(offer.pool.name, {})
    rivals = [other for other in proof.offers if other.pool is offer.pool]
    for resource, limit in offer.pool.limits.items():
        takes = [_taken(other, resource) for other in rivals]
        most = max(takes) * len(proof.pods)
        prices = [other.offering.price_nanousd for other in rivals]
        if min(prices) > 0:
            rate = max(Fraction(a, b) for a, b in zip(takes, prices, strict=True))
            most = min(most, int(rate * proof.price))
        if used.get(resource, 0) + most + _taken(offer, resource) > limit:
            return False
    return True


def _taken(offer: Fresh, resource: str) -> int:
    return 1 if resource == "nodes" else offer.kind.capacity.get(resource, 0)


def _worth_by_domain(proof: Proof, group: list[Pod], key: str) -> dict[str, Fraction]:
    """What any pod of the group is worth at least in each domain."""
    found: dict[str, Fraction] = {}
    for position in proof.accepted[group[0].key]:
        domain = proof.offers[position].host.labels.get(key)
        if domain is not None:
            worth = min(proof.worth(pod, position) for pod in group)
            found[domain] = min(found.get(domain, worth), worth)
    return found


def least_split(
    worths: list[Fraction], n_pods: int, max_skew: int, min_domains: int
) -> Fraction | None:
    """The least worth of any split of the pods over these domains; None if there is none.

    The emptiest domain holds `low` pods, so every other holds at most `low + max_skew`.
    """
    best = None
    n_domains = len(worths)
    lows = range(1 if n_domains < min_domains else n_pods + 1)
    for low in lows:
        least = 0 if n_domains < min_domains else low
        left = n_pods - least * n_domains
        if left < 0 or n_domains == 0:
            break
        total = least * sum(worths, Fraction(0))
        for worth in sorted(worths):
            more = min(left, max_skew)
            total += more * worth
            left -= more
        if left == 0 and (best is None or total < best):
            best = total
    return best
