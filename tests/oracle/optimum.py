"""What is the cheapest legal plan? Found by trying everything; only for tiny clusters.

Every pod goes to an existing node, to a new node already opened, or to a new node of some offer.
A way of doing so counts when kube-scheduler could bind all pods in some order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.hosts import present_world
from tests.oracle.launchable import Fresh, fresh_hosts, mentioned, usage
from tests.oracle.scheduler import ALONE, some_order_exists
from tests.oracle.world import Host, World

MOST_PODS: Final = 6
MOST_OFFERS: Final = 6


def offers(snapshot: Snapshot, now: datetime) -> list[Fresh]:
    """Everything that could be bought, before anything is bought."""
    return list(fresh_hosts(snapshot, now, usage(snapshot, ()), mentioned(snapshot, ())))


@dataclass
class _Search:
    """Depth first, cheapest so far kept. Pods in order; new nodes are numbered as they open."""

    snapshot: Snapshot
    pods: Sequence[Pod]
    offers: Sequence[Fresh]
    world: World
    where: dict[str, str] = field(default_factory=dict)
    spent: int = 0
    best: int | None = None

    def run(self, position: int = 0) -> None:
        """Place the pod at this position in every way that could still be cheaper."""
        if self.best is not None and self.spent >= self.best:
            return
        if position == len(self.pods):
            if some_order_exists(self._unbound(), self.where, self.pods):
                self.best = self.spent
            return
        pod = self.pods[position]
        for host in list(self.world.hosts.values()):
            self._try(pod, host, position)
        for offer in self.offers:
            host = _opened(offer, len(self.world.hosts))
            self.world.add(host)
            self.spent += offer.offering.price_nanousd
            self._try(pod, host, position)
            self.spent -= offer.offering.price_nanousd
            self.world.drop(host)

    def _try(self, pod: Pod, host: Host, position: int) -> None:
        bound = self.world.bound[host.name]
        if any(one(self.world, pod, host, bound) is not None for one in ALONE):
            return
        self.world.bind(pod, host.name)
        self.where[pod.key] = host.name
        self.run(position + 1)
        del self.where[pod.key]
        self.world.unbind(pod, host.name)

    def _unbound(self) -> World:
        world = self.world.copy()
        for pod in self.pods:
            world.unbind(pod, self.where[pod.key])
        return world


def _opened(offer: Fresh, number: int) -> Host:
    name = f"new-{number}"
    return replace(offer.host, name=name, labels={**offer.host.labels, well_known.HOSTNAME: name})


def optimum(
    snapshot: Snapshot, now: datetime, pods: Sequence[Pod], *, at_most: int | None = None
) -> int | None:
    """The least price of new nodes with which all these pods run; None if there is no way.

    With `at_most`, only what costs less is looked for.
    """
    ordered = sorted(pods, key=lambda pod: (-pod.spec.requests.get("cpu", 0), pod.key))
    search = _Search(
        snapshot=snapshot,
        pods=ordered,
        offers=sorted(offers(snapshot, now), key=lambda one: one.offering.price_nanousd),
        world=present_world(snapshot),
        best=at_most,
    )
    search.run()
    return search.best
