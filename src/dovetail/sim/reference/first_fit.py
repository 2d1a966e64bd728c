"""Places pods one after another, each where it first fits.

Large pods first. Each is tried on nodes that are there, then on claims that are being filled, the
emptiest first, then on a new claim of the first pool that would take it. What does not fit gives up
its preferences one by one; what does not fit at all is tried again once others have moved in.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import msgspec

from dovetail import labels
from dovetail.model.pod import Pod
from dovetail.model.resources import CPU, MEMORY
from dovetail.model.taints import repelling_taint
from dovetail.sim.reference.menus import Bits, Menu, PodDemand
from dovetail.sim.reference.places import Claim, HostPlace
from dovetail.sim.reference.standing import Occupancy
from dovetail.sim.reference.tallies import Kind


class Fitted(msgspec.Struct, frozen=True):
    """Who went where: pods by the name of their node, new claims, and pods without a place; and in
    which order that was found.
    """

    places: Mapping[str, tuple[Pod, ...]] = {}
    claims: tuple[Claim, ...] = ()
    failed: tuple[Pod, ...] = ()
    order: tuple[str, ...] = ()


class FirstFit:
    """One pass over some pods."""

    def __init__(
        self,
        standing: Occupancy,
        places: Sequence[HostPlace],
        *,
        closed: frozenset[str] = frozenset(),
        settled: frozenset[str] = frozenset(),
    ) -> None:
        """`settled` are pods that run well where they are; those may not go to `closed` nodes."""
        self._standing = standing
        self._closed = closed
        self._settled = settled
        self._tallies = standing.tallies
        self._topology = standing.topology
        self._places = sorted(places, key=lambda place: (not place.node.is_initialized, place.name))
        self._claims: list[tuple[int, int, Claim]] = []  # by the number of pods
        self._limits = {name: dict(left) for name, left in standing.limits.items()}
        self._names = count(1)
        self._joined = standing.joined
        self._found: dict[str, list[Pod]] = {}
        self._taken: list[tuple[HostPlace, Mapping[str, int]]] = []

    def run(self, pods: Iterable[Pod]) -> Fitted:
        """Place what can be placed."""
        queue = deque(sorted(pods, key=_sort_key))
        order: list[str] = []
        n_since = 0  # how many have failed in a row
        while queue and n_since < len(queue):
            pod = queue.popleft()
            if self._is_placed(pod):
                order.append(pod.key)
                n_since = 0
            else:
                queue.append(pod)
                n_since += 1
        claims = sorted((claim for _, _, claim in self._claims), key=lambda item: item.name)
        placed = {name: tuple(pods) for name, pods in self._found.items()}
        return Fitted(placed, tuple(claims), tuple(queue), tuple(order))

    def keep(self, pod: Pod, place: HostPlace | None) -> None:
        """Keep room for a pod that was promised it."""
        if place is not None:
            place.take(pod.spec.requests)
            self._taken.append((place, pod.spec.requests))
            self._tallies.put(self._tallies.kind(pod), place)

    def give_back(self) -> None:
        """Take everybody off the nodes again, as if nothing had been tried."""
        for place, requests in self._taken:
            place.take(requests, -1)
        self._taken.clear()

    def _is_placed(self, pod: Pod) -> bool:
        kind = self._tallies.kind(pod)
        return any(
            self._on_node(pod, kind, demand)
            or self._on_claim(pod, kind, demand)
            or self._on_new(pod, kind, demand)
            for demand in kind.demands
        )

    # ---- nodes that are there

    def _on_node(self, pod: Pod, kind: Kind, demand: PodDemand) -> bool:
        requests = kind.requests
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        closed = self._closed if pod.key in self._settled else frozenset()
        for place in self._places:
            free = place.free
            if free.get(CPU, 0) < cpu or free.get(MEMORY, 0) < memory:
                continue
            if place.name in closed or not place.has_room(requests):
                continue
            if place.accepts(demand) and not _collides(pod, place):
                if self._topology.narrow(kind, demand, place) is None:
                    continue
                place.take(requests)
                self._taken.append((place, requests))
                self._tallies.put(kind, place)
                self._found.setdefault(place.name, []).append(pod)
                return True
        return False

    # ---- claims

    def _on_claim(self, pod: Pod, kind: Kind, demand: PodDemand) -> bool:
        for at, (_, order, claim) in enumerate(self._claims):
            if self._is_added(pod, kind, demand, claim):
                del self._claims[at]
                insort(self._claims, (len(claim.pods), order, claim), key=lambda entry: entry[:2])
                return True
        return False

    def _on_new(self, pod: Pod, kind: Kind, demand: PodDemand) -> bool:
        for menu in self._standing.menus:
            limits = self._limits[menu.pool.name]
            if limits.get("nodes", 1) <= 0:
                continue
            claim = Claim(f"claim-{next(self._names):06}", menu, menu.within(_sizes(limits), -1))
            if self._is_added(pod, kind, demand, claim):
                insort(self._claims, (1, len(self._claims), claim), key=lambda entry: entry[:2])
                _reserve(limits, menu, claim.bits)
                return True
        return False

    def _is_added(self, pod: Pod, kind: Kind, demand: PodDemand, claim: Claim) -> bool:
        menu = claim.menu
        total = _plus(claim.requests, kind.requests)
        bits = claim.bits & menu.types_holding(total)
        if not bits or repelling_taint(menu.pool.taints, demand.tolerations, soft=True) is not None:
            return False
        wanted = self._joined.both(claim.requirements, demand.requirements)
        if wanted is None or _collides(pod, claim):
            return False
        narrowing = self._topology.narrow(kind, demand, claim)
        if narrowing is None:
            return False
        for key, domains in narrowing.items():
            if wanted is not None and key != labels.HOSTNAME:  # every claim is a host of its own
                wanted = self._joined.narrow(wanted, key, domains)
        bits &= menu.types_admitted(wanted) if wanted is not None else 0
        if wanted is None or not bits:
            return False
        claim.requests, claim.bits, claim.requirements = total, bits, wanted
        claim.pods.append(pod)
        self._tallies.put(kind, claim)
        return True


def _sort_key(pod: Pod) -> tuple[object, ...]:
    asked = pod.spec.requests
    return (-asked.get(CPU, 0), -asked.get(MEMORY, 0), str(pod.created_at), pod.uid, pod.key)


def _plus(amounts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    result = dict(amounts)
    for name, amount in more.items():
        result[name] = result.get(name, 0) + amount
    return result


def _collides(pod: Pod, spot: HostPlace | Claim) -> bool:
    ports = pod.spec.host_ports
    if not ports:
        return False
    others = spot.pods.values() if isinstance(spot, HostPlace) else spot.pods
    return any(
        port.conflicts(other) for item in others for other in item.spec.host_ports for port in ports
    )


def _sizes(limits: Mapping[str, int]) -> dict[str, int]:
    return {name: left for name, left in limits.items() if name != "nodes"}


def _reserve(limits: dict[str, int], menu: Menu, bits: Bits) -> None:
    """Take off the most that the claim may turn out to be; it is not given back (3.7)."""
    for name in _sizes(limits):
        limits[name] -= max(
            kind.capacity.get(name, 0) for at, kind in enumerate(menu.types) if bits >> at & 1
        )
