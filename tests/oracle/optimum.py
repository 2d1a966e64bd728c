"""What is the cheapest legal plan? Found by trying everything; only for tiny clusters.

Every pod goes to an existing node, to a new node already opened, or to a new node of some offer.
A way of doing so counts when kube-scheduler could bind all pods in some order, or as nodes come.

The strict reading of spread, which the bound takes, counts domains that an offer could open for
the pod even while they are empty; kube-scheduler alone is content with the only zone there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.between import hard_spread, pods_by_domain
from tests.oracle.hosts import present_world
from tests.oracle.launchable import Fresh, all_offers, reservation_left, usage
from tests.oracle.scheduler import ALONE, bind_as_nodes_come, some_order_exists
from tests.oracle.world import Host, World

MOST_PODS: Final = 6
MOST_OFFERS: Final = 6


@dataclass
class _Search:
    """Depth first, cheapest so far kept. Pods in order; new nodes are numbered as they open."""

    pods: Sequence[Pod]
    offers: Sequence[Fresh]
    world: World
    is_strict: bool
    where: dict[str, str] = field(default_factory=dict)
    opened: list[Fresh] = field(default_factory=list)
    spent: int = 0
    best: int | None = None

    def run(self, position: int = 0) -> None:
        """Place the pod at this position in every way that could still be cheaper."""
        if self.best is not None and self.spent >= self.best:
            return
        if position == len(self.pods):
            if self._is_legal():
                self.best = self.spent
            return
        pod = self.pods[position]
        for host in list(self.world.hosts.values()):
            self._try(pod, host, position)
        for offer in self.offers:
            if not self._is_left(offer):
                continue
            host = _opened(offer, len(self.world.hosts))
            self.world.add(host)
            self.opened.append(offer)
            self.spent += offer.offering.price_nanousd
            self._try(pod, host, position)
            self.spent -= offer.offering.price_nanousd
            self.opened.pop()
            self.world.drop(host)

    def _is_left(self, offer: Fresh) -> bool:
        """Whether limits and reservations leave one more of it."""
        used = usage(self.world.snapshot, ())
        for one in self.opened:
            used.take(one.pool.name, one.kind.capacity, one.offering.reservation_id)
        is_within = used.has_room(offer.pool, offer.kind.capacity)
        return is_within and reservation_left(used, offer.offering) > 0

    def _try(self, pod: Pod, host: Host, position: int) -> None:
        bound = self.world.bound[host.name]
        if any(one(self.world, pod, host, bound) is not None for one in ALONE):
            return
        self.world.bind(pod, host.name)
        self.where[pod.key] = host.name
        self.run(position + 1)
        del self.where[pod.key]
        self.world.unbind(pod, host.name)

    def _is_legal(self) -> bool:
        if self.is_strict and any(self._is_skewed(pod) for pod in self.pods):
            return False
        bare = self.world.copy()
        for pod in self.pods:
            bare.unbind(pod, self.where[pod.key])
        in_turn = some_order_exists(bare, self.where, self.pods)
        return in_turn or not bind_as_nodes_come(bare, self.where, self.pods)

    def _is_skewed(self, pod: Pod) -> bool:
        """Whether the pod's domain is ahead of one that could be opened for it."""
        host = self.world.hosts[self.where[pod.key]]
        constraints = hard_spread(self.world, pod)
        keys = [one.topology_key for one in constraints]
        if any(key not in host.labels for key in keys):
            return True
        for one in constraints:
            if one.topology_key == well_known.HOSTNAME and not host.is_new:
                continue
            counts = dict.fromkeys(self._openable(pod, one.topology_key), 0)
            counts |= pods_by_domain(self.world, pod, one, keys)
            lowest = 0 if len(counts) < one.min_domains else min(counts.values(), default=0)
            if counts.get(host.labels[one.topology_key], 0) - lowest > one.max_skew:
                return True
        return False

    def _openable(self, pod: Pod, key: str) -> set[str]:
        """The domains in which an offer would take the pod."""
        found = set()
        bare = World(self.world.snapshot)
        for offer in self.offers:
            bare.add(offer.host)
            domain = offer.host.labels.get(key)
            if domain and all(one(bare, pod, offer.host, ()) is None for one in ALONE):
                found.add(domain)
            bare.drop(offer.host)
        return found


def _opened(offer: Fresh, number: int) -> Host:
    name = f"new-{number}"
    return replace(offer.host, name=name, labels={**offer.host.labels, well_known.HOSTNAME: name})


def optimum(
    snapshot: Snapshot, now: datetime, pods: Sequence[Pod], *, is_strict: bool = False
) -> int | None:
    """The least price of new nodes with which all these pods run; None if there is no way."""
    search = _Search(
        pods=sorted(pods, key=lambda pod: (-pod.spec.requests.get("cpu", 0), pod.key)),
        offers=sorted(all_offers(snapshot, now), key=lambda one: one.offering.price_nanousd),
        world=_without(present_world(snapshot), pods),
        is_strict=is_strict,
    )
    search.run()
    return search.best


def _without(world: World, pods: Sequence[Pod]) -> World:
    """Pods that move are not where they were."""
    moving = {pod.key for pod in pods}
    for name, bound in world.bound.items():
        world.bound[name] = [pod for pod in bound if pod.key not in moving]
    return world
