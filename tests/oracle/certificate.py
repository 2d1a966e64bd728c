"""Does the certificate prove the bound? Everything is worked out again, in exact fractions.

Each offer has a vector of multipliers: a price for each unit of each resource and for each place
under a host cap. Scaled so that a full node is worth just what it costs, they value the pods:
a pod is worth the least that it is worth on any offer that takes it. So the pods on a new node are
worth no more than the node costs, and all pods together no more than all nodes.

Bounds by patterns have other proofs: see `pod_values`.

Two readings are taken as given. Spread is strict: domains that an offer could open for the pod
count even while they are empty, unless limits may keep them closed. And weights go first: a pod
that a heavier pool without limits or minValues takes does not go to a lighter one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dovetail import labels as well_known
from dovetail.model.plan import Certificate, OfferKey, Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from tests.oracle import filters
from tests.oracle.between import exclude, term_selects
from tests.oracle.hosts import ATTACH, capacity, present_world
from tests.oracle.launchable import (
    FRESH_VALUE,
    Fresh,
    all_offers,
    mentioned,
    topology_keys,
)
from tests.oracle.pod_values import broken_count, broken_values
from tests.oracle.quota import cheapest_split
from tests.oracle.scheduler import ALONE
from tests.oracle.world import Host, World


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """What is wrong with the certificate of a plan."""
    certificate = plan.certificate
    bound = certificate.bound_nanousd
    if bound != plan.cost.lower_bound_nanousd:
        return [f"the certificate proves {bound}, the plan says {plan.cost.lower_bound_nanousd}"]
    if bound == 0:
        return []
    keys = set(plan.binding_order)
    pods = tuple(pod for pod in snapshot.pods if pod.key in keys)
    price = sum(launch.price_nanousd for launch in plan.launches)
    proof = Proof(snapshot, now, certificate, pods, price)
    if certificate.pod_values:
        return list(broken_values(proof))
    if certificate.is_counted:
        return list(broken_count(proof))
    broken = [*_malformed(certificate), *_unjustified_caps(proof)]
    if broken:
        return broken
    proven = proof.total()
    return [] if bound <= proven else [f"bound {bound} is not proven, only {float(proven):.1f} is"]


def _malformed(certificate: Certificate) -> Iterator[str]:
    width, depth = len(certificate.resources), len(certificate.multipliers)
    if certificate.denominator <= 0:
        yield "the denominator of the certificate is not positive"
    if any(not _is_row(row, width) for row in certificate.multipliers):
        yield "a multiplier is negative or missing"
    if any(not _is_row(one.multipliers, depth) or one.cap < 0 for one in certificate.host_caps):
        yield "a host cap is malformed"
    if any(not _is_row(one.multipliers, depth) or one.k < 1 for one in certificate.whole_pods):
        yield "a weight of whole pods is malformed"
    if any(not 0 <= number < depth for _, number in certificate.choice):
        yield "an offer chooses a multiplier that is not there"
    if not -1 <= certificate.existing_multiplier < depth:
        yield "the multiplier of existing nodes is not there"


def _is_row(numbers: tuple[int, ...], width: int) -> bool:
    return len(numbers) == width and min(numbers, default=0) >= 0


# ------------------------------------------------------------------ host caps


def _unjustified_caps(proof: Proof) -> Iterator[str]:
    by_key = {pod.key: pod for pod in proof.snapshot.pods}
    for cap in proof.certificate.host_caps:
        pods = [by_key[key] for key in cap.pods]
        are_apart = all(exclude(proof.world, a, b) for a, b in combinations(pods, 2))
        if not are_apart or cap.cap < 1:
            yield f"nothing keeps a node from taking more than {cap.cap} of {', '.join(cap.pods)}"


# ------------------------------------------------------------------ values


@dataclass(frozen=True)
class Proof:
    """A certificate with the offers and pods that it speaks of."""

    snapshot: Snapshot
    now: datetime
    certificate: Certificate
    pods: tuple[Pod, ...]
    price: int  # of the plan; what is dearer need not be proven wrong

    @cached_property
    def world(self) -> World:
        """The cluster as it is."""
        return present_world(self.snapshot)

    @cached_property
    def offers(self) -> list[Fresh]:
        """Everything that could be bought."""
        return all_offers(self.snapshot, self.now)

    @cached_property
    def owner_of_claim(self) -> dict[str, str]:
        """The one pod that each claim is counted for: a node attaches it once, for all its pods."""
        found: dict[str, str] = {}
        for pod in sorted(self.pods, key=lambda pod: pod.key):
            for name in pod.claim_names:
                found.setdefault(f"{pod.namespace}/{name}", pod.key)
        return found

    def asked(self, pod: Pod) -> list[int]:
        """What the pod takes of each resource of the certificate."""
        found = dict(pod.spec.requests)
        for driver, claim in filters.attachments(self.world, pod):
            if self.owner_of_claim[claim] == pod.key:
                found[ATTACH + driver] = found.get(ATTACH + driver, 0) + 1
        return [found.get(name, 0) for name in self.certificate.resources]

    def scale(self, offer: Fresh, number: int) -> Fraction:
        """What the vector is scaled by, so that a full node is worth just what it costs."""
        vector = self.certificate.multipliers[number]
        full = sum(cap.cap * cap.multipliers[number] for cap in self.certificate.host_caps)
        full += sum(whole.multipliers[number] for whole in self.certificate.whole_pods)
        for name, each in zip(self.certificate.resources, vector, strict=True):
            room = capacity(offer.host, name)
            if each and room is None:
                return Fraction(0)
            full += each * (room or 0)
        if full == 0:
            return Fraction(1)
        price = offer.offering.price_nanousd * self.certificate.denominator
        return Fraction(price, full)

    def plain_worth(self, pod: Pod, offer: Fresh, number: int) -> Fraction:
        """What the pod is worth on the offer by a vector that is not scaled."""
        vector = self.certificate.multipliers[number]
        worth = Fraction(sum(a * b for a, b in zip(vector, self.asked(pod), strict=True)))
        for cap in self.certificate.host_caps:
            worth += cap.multipliers[number] if pod.key in cap.pods else 0
        for whole in self.certificate.whole_pods:
            room = capacity(offer.host, whole.resource)
            if room and whole.multipliers[number]:
                share = Fraction(pod.spec.requests.get(whole.resource, 0), room)
                worth += whole.multipliers[number] * weight(share, whole.k)
        return worth / self.certificate.denominator

    @cached_property
    def accepted(self) -> dict[str, list[int]]:
        """The offers that would take each pod, by position."""
        takers: dict[tuple[object, ...], list[int]] = {}
        for pod in self.pods:
            if (key := _alone(pod)) not in takers:
                takers[key] = self._takers(pod)
        return {pod.key: self._heaviest(pod, takers[_alone(pod)]) for pod in self.pods}

    def _takers(self, pod: Pod) -> list[int]:
        bare = World(self.snapshot)
        found = []
        for position, offer in enumerate(self.offers):
            bare.add(offer.host)
            if all(one(bare, pod, offer.host, ()) is None for one in ALONE):
                found.append(position)
            bare.drop(offer.host)
        return found

    def _heaviest(self, pod: Pod, takers: list[int]) -> list[int]:
        """Without the offers of pools that a heavier one, always to be had, makes moot."""
        if not self._is_free_to_choose(pod):
            return takers
        best: dict[tuple[str | None, ...], int] = {}
        for position in takers:
            offer = self.offers[position]
            if offer.offering.capacity_type != well_known.RESERVED:
                place = self._place(offer)
                best[place] = max(best.get(place, offer.pool.weight), offer.pool.weight)
        return [
            position
            for position in takers
            if self.offers[position].pool.weight >= best.get(self._place(self.offers[position]), -1)
        ]

    def _is_free_to_choose(self, pod: Pod) -> bool:
        """Whether nothing but weight decides the pool: no limits or minValues above, no company
        to keep. A pool that has nothing to sell decides nothing.
        """
        pools = {offer.pool.name: offer.pool for offer in self.offers}.values()
        least = min((pool.weight for pool in pools), default=0)
        heavier = [pool for pool in pools if pool.weight > least]
        if any(_may_refuse(pool) for pool in heavier) or pod.spec.affinity:
            return False
        # Only whom all terms of another mean is company for it (see between.affinity).
        return not any(
            all(term_selects(self.world, term, other, pod) for term in other.spec.affinity)
            for other in self.pods
            if other.spec.affinity
        )

    @cached_property
    def _place_keys(self) -> list[str]:
        """The keys that decide where a pod may go: of whoever runs, only those that repel."""
        keys = set().union(*(topology_keys(pod.spec) for pod in self.pods))
        running = (pod for pod in self.snapshot.pods if pod.node_name)
        keys |= {term.topology_key for pod in running for term in pod.spec.anti_affinity}
        defaults = self.snapshot.policy.default_spread
        keys |= {one.topology_key for one in defaults if one.is_hard}
        return sorted(keys - {well_known.HOSTNAME})

    def _place(self, offer: Fresh) -> tuple[str | None, ...]:
        return tuple(offer.host.labels.get(key) for key in self._place_keys)

    @cached_property
    def vector_of(self) -> list[int]:
        """The vector that each offer uses: as stated, or else the one that values pods most."""
        mentions = mentioned(self.snapshot, ())
        found = []
        for offer in self.offers:
            stated = [
                number for key, number in self.certificate.choice if _is_meant(key, offer, mentions)
            ]
            found.append(stated[0] if stated else self._like(offer))
        return found

    def _like(self, offer: Fresh) -> int:
        """The vector of the same machine with other labels, or else the one that is kindest."""
        machine = (
            offer.pool.name,
            offer.kind.name,
            offer.offering.zone,
            offer.offering.capacity_type,
            offer.offering.reservation_id,
        )
        stated = [
            number
            for key, number in self.certificate.choice
            if (key.node_pool, key.instance_type, key.zone, key.capacity_type, key.reservation_id)
            == machine
        ]
        return self._kindest(offer, stated or range(len(self.certificate.multipliers)))

    def _kindest(self, offer: Fresh, numbers: Iterable[int]) -> int:
        def total(number: int) -> Fraction:
            scale = self.scale(offer, number)
            worths = (self.plain_worth(pod, offer, number) for pod in self.pods)
            return scale * sum(worths, Fraction(0))

        return max(numbers, key=total)

    def worth(self, pod: Pod, position: int) -> Fraction:
        """What the pod is worth on an offer that takes it."""
        offer, number = self.offers[position], self.vector_of[position]
        return self.scale(offer, number) * self.plain_worth(pod, offer, number)

    def total(self) -> Fraction:
        """What the certificate proves."""
        worth_by_pod = {
            pod.key: min(
                (self.worth(pod, position) for position in self.accepted[pod.key]),
                default=Fraction(0),
            )
            for pod in self.pods
        }
        if not self.world.hosts:
            return cheapest_split(self, worth_by_pod)
        return self._less_existing(worth_by_pod)

    def _less_existing(self, worth_by_pod: dict[str, Fraction]) -> Fraction:
        """The total, when existing nodes may hold pods for nothing."""
        number = self.certificate.existing_multiplier
        total = Fraction(0)
        for pod in self.pods:
            worth = worth_by_pod[pod.key]
            if self.fits_existing(pod):
                worth = Fraction(0) if number < 0 else min(worth, self._resource_worth(pod))
            total += worth
        if number < 0:
            return total
        vector = self.certificate.multipliers[number]
        free = sum(
            each * max(0, self._free(host, name))
            for host in self.world.hosts.values()
            for name, each in zip(self.certificate.resources, vector, strict=True)
            if not name.startswith(ATTACH)
        )
        return total - Fraction(free, self.certificate.denominator)

    def _resource_worth(self, pod: Pod) -> Fraction:
        vector = self.certificate.multipliers[self.certificate.existing_multiplier]
        asked = zip(self.certificate.resources, vector, self.asked(pod), strict=True)
        worth = sum(each * n for name, each, n in asked if not name.startswith(ATTACH))
        return Fraction(worth, self.certificate.denominator)

    def fits_existing(self, pod: Pod) -> bool:
        """Whether some node that is there could take the pod."""
        return any(
            all(one(self.world, pod, host, self.world.bound[host.name]) is None for one in ALONE)
            for host in self.world.hosts.values()
        )

    def _free(self, host: Host, name: str) -> int:
        taken = sum(pod.spec.requests.get(name, 0) for pod in self.world.bound[host.name])
        return (capacity(host, name) or 0) - taken


def _alone(pod: Pod) -> tuple[object, ...]:
    """All that a node without pods sees of a pod."""
    return (id(pod.spec), pod.namespace, pod.claim_names)


def _may_refuse(pool: NodePool) -> bool:
    """Whether limits or minValues might keep the pool from taking a pod that its types fit."""
    return bool(pool.limits) or any(one.min_values for one in pool.requirements)


def weight(share: Fraction, k: int) -> Fraction:
    """What a whole pod of this share of a node weighs, if all that fits one node weighs at most 1.

    A known dual feasible function: pods of more than 1/2 weigh 1 for k = 1, of more than 1/3 weigh
    1/2 for k = 2, and so on.
    """
    steps = (k + 1) * share
    return share if steps.denominator == 1 else Fraction(steps.numerator // steps.denominator, k)


def _is_meant(key: OfferKey, offer: Fresh, mentions: dict[str, set[str]]) -> bool:
    """Whether the key names this offer; values that nobody mentions are all alike."""
    one = offer.offering
    if (key.node_pool, key.instance_type) != (offer.pool.name, offer.kind.name):
        return False
    if (key.zone, key.capacity_type) != (one.zone, one.capacity_type):
        return False
    if key.reservation_id != one.reservation_id:
        return False
    for name, value in key.labels:
        held = offer.host.labels.get(name)
        if held != value and not (held == FRESH_VALUE and value not in mentions.get(name, ())):
            return False
    return True
