"""Tables for an exhaustive search on a tiny cluster: who may go where, and who keeps whom away.

Everything is asked of kube-scheduler's filters (`filters`, `between`) once for each pod and place.
A place is an existing node, or an offer of which new nodes can be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.between import anti_affinity, hard_spread, spread_selects, term_selects
from tests.oracle.filters import clash, untolerated, wants
from tests.oracle.hosts import present_world
from tests.oracle.launchable import Fresh, all_offers, is_strict
from tests.oracle.scheduler import ALONE
from tests.oracle.world import Host, World


@dataclass(frozen=True)
class Place:
    """A node that is there (`offer` is None), or one that could be launched as often as need be."""

    host: Host
    offer: Fresh | None
    alone: int  # the pods, as bits, that could be there if nobody else were anywhere
    takes: int  # those that could be there beside the pods that run already
    free: tuple[int, ...]  # of each resource of `Tables.resources`
    domains: tuple[str | None, ...]  # of each key of `Tables.keys`
    kin: tuple[object, ...] = ()  # places of other kin cannot stand in for each other

    @property
    def price(self) -> int:
        """What one more node of it costs."""
        return self.offer.offering.price_nanousd if self.offer else 0


@dataclass(frozen=True)
class Company:
    """What a pod with affinity needs: others, in the same domain of every key."""

    keys: tuple[str, ...]
    others: int  # the pending pods, as bits, that all its terms select
    near: dict[str, set[str]]  # domains by key where a running pod or a daemon is such a one
    may_be_first: bool  # it selects itself, and nobody of the kind is there yet


@dataclass
class Tables:
    """A tiny cluster, tabulated. Pods come in order of priority, alike ones side by side."""

    snapshot: Snapshot
    now: datetime
    world: World
    pods: tuple[Pod, ...]
    offers: tuple[Fresh, ...]
    existing: list[Place] = field(default_factory=list)
    buyable: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Ask the filters about every place."""
        hosts = list(self.world.hosts.values())
        self.existing = [self._place(host, None) for host in hosts]
        found = [self._place(one.host, one) for one in self.offers]
        self.buyable = [one for one in found if one.alone]

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """What anybody asks for."""
        asked = {name for pod in self.pods for name, n in pod.spec.requests.items() if n > 0}
        return tuple(sorted(asked))

    @cached_property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        """How much each pod asks of each resource."""
        return tuple(
            tuple(max(0, pod.spec.requests.get(name, 0)) for name in self.resources)
            for pod in self.pods
        )

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The topology keys that matter, without the host name."""
        found: set[str] = set()
        for pod in (*self.pods, *(one for one, _ in self.world.pods_and_hosts())):
            found |= {one.topology_key for one in hard_spread(self.world, pod)}
            found |= {one.topology_key for one in (*pod.spec.affinity, *pod.spec.anti_affinity)}
        return tuple(sorted(found - {well_known.HOSTNAME}))

    @cached_property
    def alike(self) -> tuple[bool, ...]:
        """Whether scheduling cannot tell a pod from the one before it."""
        marks = [
            (pod.spec, pod.namespace, pod.labels, pod.claim_names, pod.owner and pod.owner.uid)
            for pod in self.pods
        ]
        return tuple(n > 0 and marks[n] == marks[n - 1] for n in range(len(marks)))

    @cached_property
    def sorts(self) -> tuple[int, ...]:
        """A number for each pod, the same for pods that are alike."""
        found: list[int] = []
        for is_alike in self.alike:
            found.append(found[-1] if is_alike else len(found))
        return tuple(found)

    @cached_property
    def worth(self) -> tuple[int, ...]:
        """A number for each pod, whose sum orders plans: one of higher priority beats all below."""
        priorities = sorted({pod.spec.priority for pod in self.pods})
        return tuple(16 ** priorities.index(pod.spec.priority) for pod in self.pods)

    @cached_property
    def apart(self) -> tuple[tuple[frozenset[str], ...], ...]:
        """The keys in whose domains two pods cannot be together, for each pair."""
        return tuple(tuple(self._apart(one, other) for other in self.pods) for one in self.pods)

    def _apart(self, one: Pod, other: Pod) -> frozenset[str]:
        found = set()
        for owner, meant in ((one, other), (other, one)):
            for term in owner.spec.anti_affinity:
                if term_selects(self.world, term, owner, meant):
                    found.add(term.topology_key)
        ports = [(a, b) for a in one.spec.host_ports for b in other.spec.host_ports]
        if any(clash(a, b) for a, b in ports):
            found.add(well_known.HOSTNAME)
        return frozenset(found)

    @cached_property
    def company(self) -> tuple[Company | None, ...]:
        """Whom each pod with affinity needs."""
        return tuple(self._company(pod) if pod.spec.affinity else None for pod in self.pods)

    def _company(self, pod: Pod) -> Company:
        terms = pod.spec.affinity

        def means(other: Pod) -> bool:
            return all(term_selects(self.world, term, pod, other) for term in terms)

        keys = tuple(sorted({term.topology_key for term in terms}))
        hosts = [where for other, where in self.world.pods_and_hosts() if means(other)]
        near = {key: {one.labels[key] for one in hosts if key in one.labels} for key in keys}
        if well_known.HOSTNAME in near:
            near[well_known.HOSTNAME] |= {
                one.labels.get(well_known.HOSTNAME, "")
                for one in (*self.world.hosts.values(), *(offer.host for offer in self.offers))
                if any(means(daemon) for daemon in self.world.coming(one))
            }
        others = sum(
            1 << n for n, other in enumerate(self.pods) if other is not pod and means(other)
        )
        return Company(keys, others, near, means(pod) and not any(near.values()))

    @cached_property
    def settled_at(self) -> dict[int, list[int]]:
        """The pods whose spreads can be judged once so many pods are decided about.

        Nodes that are opened later can only make them worse, unless a spread wants more domains.
        """
        found: dict[int, list[int]] = {}
        for n, pod in enumerate(self.pods):
            constraints = hard_spread(self.world, pod)
            if not constraints or any(one.min_domains > 1 for one in constraints):
                continue
            counted = [
                other
                for other, one in enumerate(self.pods)
                if any(spread_selects(spread, pod, one) for spread in constraints)
            ]
            found.setdefault(max([n, *counted]) + 1, []).append(n)
        return found

    @cached_property
    def openable(self) -> tuple[dict[str, set[str]], ...]:
        """For each pod the domains, by key, in which an offer would take it."""
        found: tuple[dict[str, set[str]], ...] = tuple({} for _ in self.pods)
        for one in self.buyable:
            for n in range(len(self.pods)):
                if one.alone >> n & 1:
                    for key, value in one.host.labels.items():
                        found[n].setdefault(key, set()).add(value)
        return found

    def _place(self, host: Host, offer: Fresh | None) -> Place:
        world = self.world
        if offer is not None:
            world.add(host)
        bound = world.bound[host.name]
        alone = takes = 0
        for n, pod in enumerate(self.pods):
            if all(one(world, pod, host, bound) is None for one in ALONE):
                alone |= 1 << n
                takes |= (anti_affinity(world, pod, host, bound) is None) << n
        taken = [one.spec.requests for one in bound] + [one.spec.requests for one in host.daemons]
        free = tuple(
            host.allocatable.get(name, 0) - sum(one.get(name, 0) for one in taken)
            for name in self.resources
        )
        if offer is not None:
            world.drop(host)
        domains = tuple(host.labels.get(key) for key in self.keys)
        return Place(host, offer, alone, takes, free, domains, self._kin(host, domains))

    def _kin(self, host: Host, domains: tuple[str | None, ...]) -> tuple[object, ...]:
        """All in which two new nodes may differ for others than those that are put there."""
        spread = [pod.spec for pod in self.pods if hard_spread(self.world, pod)]
        counted = tuple(
            (wants(spec, host.labels, host.name), untolerated(spec, host.taints) is None)
            for spec in spread
        )
        daemons = tuple((one.namespace, one.name) for one in host.daemons)
        return (domains, counted, daemons, tuple(sorted(host.attach_limits.items())))


def tables(
    snapshot: Snapshot,
    now: datetime,
    pods: Sequence[Pod],
    *,
    world: World | None = None,
    offers: Iterable[Fresh] | None = None,
) -> Tables:
    """The tables for these pods; by default with all nodes there are and all that can be bought."""
    moving = {pod.key for pod in pods}
    world = (present_world(snapshot) if world is None else world).copy()
    for name, bound in world.bound.items():
        world.bound[name] = [pod for pod in bound if pod.key not in moving]
    on_sale = tuple(all_offers(snapshot, now) if offers is None else offers)
    return Tables(snapshot, now, world, tuple(sorted(pods, key=_turn)), on_sale)


def _turn(pod: Pod) -> tuple[object, ...]:
    requests = pod.spec.requests
    size = (-requests.get("cpu", 0), -requests.get("memory", 0))
    return (-pod.spec.priority, *size, sorted(pod.labels.items()), pod.namespace, pod.key)


def without_dominated(
    places: Iterable[Place], snapshot: Snapshot, *, counts_price: bool
) -> list[Place]:
    """The offers without those for which another one would always do."""
    beats = _beats_by_price if counts_price else _beats
    kept: list[Place] = []
    for one in sorted(places, key=lambda place: place.price):
        if any(beats(other, one, snapshot) for other in kept):
            continue
        kept = [other for other in kept if not beats(one, other, snapshot)]
        kept.append(one)
    return kept


Beats = Callable[[Place, Place, Snapshot], bool]


def _beats_by_price(one: Place, other: Place, snapshot: Snapshot) -> bool:
    return one.price <= other.price and _beats(one, other, snapshot)


def _beats(one: Place, other: Place, snapshot: Snapshot) -> bool:
    """Whether a node of the first can stand in wherever a plan has one of the second."""
    mine, theirs = one.offer, other.offer
    if mine is None or theirs is None or one.kin != other.kin or other.takes & ~one.takes:
        return False
    if any(a < b for a, b in zip(one.free, other.free, strict=True)):
        return False
    if is_strict(snapshot) and any(need.min_values for need in mine.pool.requirements):
        return False
    reservation = mine.offering.reservation_id
    if reservation and reservation != theirs.offering.reservation_id:
        return False
    if not mine.pool.limits:
        return True
    if mine.pool is not theirs.pool:
        return False
    sizes = (mine.kind.capacity, theirs.kind.capacity)
    return all(sizes[0].get(name, 0) <= sizes[1].get(name, 0) for name in mine.pool.limits)
