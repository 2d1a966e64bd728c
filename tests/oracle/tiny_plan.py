"""Would kube-scheduler carry out this plan for a tiny cluster? Asked of whole plans in a search.

First what is quick to see: minValues, affinity that can never be met, spreads in their strict
reading. What remains is bound pod by pod through kube-scheduler's filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from tests.oracle.between import hard_spread, pods_by_domain
from tests.oracle.launchable import is_strict, unmet_min_values
from tests.oracle.scheduler import bind_as_nodes_come, some_order_exists
from tests.oracle.tiny_tables import Place, Tables
from tests.oracle.world import World

MOST_ORDERS: Final = 200

Counts = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Witness:
    """A plan that kube-scheduler would carry out."""

    host_by_pod: dict[str, str]
    bought: dict[str, str]  # what each new node is
    price_nanousd: int
    n_placed: Counts  # by priority, the highest first

    def __str__(self) -> str:
        """Who is where."""
        by_host: dict[str, list[str]] = {}
        for pod, host in self.host_by_pod.items():
            by_host.setdefault(self.bought.get(host, host) + f" ({host})", []).append(pod)
        return "; ".join(f"{host}: {', '.join(sorted(pods))}" for host, pods in by_host.items())


@dataclass
class Node:
    """A node that is there or was opened, and who was put there."""

    place: Place
    free: list[int]
    name: str
    held: list[int] = field(default_factory=list)


@dataclass
class Draft:
    """A plan in the making: nodes, and where each pod is so far; None if it is left out."""

    tables: Tables
    nodes: list[Node] = field(default_factory=list)
    where: list[Node | None] = field(default_factory=list)
    spent: int = 0
    gathered: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def share(self, keys: Iterable[str], one: Node, other: Node) -> bool:
        """Whether two nodes are in one domain of any of the keys."""
        for key in keys:
            if key == well_known.HOSTNAME:
                if one is other:
                    return True
                continue
            at = self.tables.keys.index(key)
            value = one.place.domains[at]
            if value is not None and value == other.place.domains[at]:
                return True
        return False

    def can_gather(self) -> bool:
        """Whether the pods can come in an order in which each finds the company that it needs."""
        everybody = sum(1 << n for n, node in enumerate(self.where) if node is not None)
        needs = tuple(self._needs(n, everybody) for n in range(len(self.where)))
        known = self.gathered.get((everybody, needs))
        if known is None:
            known = self._gather(everybody, needs)
            self.gathered[everybody, needs] = known
        return known

    def _gather(self, everybody: int, needs: tuple[tuple[int, ...], ...]) -> bool:
        company, seen = self.tables.company, set()

        def may_come(n: int, there: int) -> bool:
            wanted = company[n]
            if wanted is None or all(there & mates for mates in needs[n]):
                return True
            return wanted.may_be_first and not there & wanted.others

        def gather(there: int) -> bool:
            if there == everybody:
                return True
            if there in seen:
                return False
            seen.add(there)
            left = (n for n in range(len(needs)) if everybody & ~there & 1 << n)
            return any(gather(there | 1 << n) for n in left if may_come(n, there))

        return gather(0)

    def _needs(self, n: int, everybody: int) -> tuple[int, ...]:
        """For each key of its affinity, the pods in the pod's domain of which one must be there."""
        node, wanted = self.where[n], self.tables.company[n]
        if node is None or wanted is None:
            return ()
        return tuple(
            sum(
                1 << other
                for other, there in enumerate(self.where)
                if there is not None
                and wanted.others & everybody & 1 << other
                and self.share((key,), node, there)
            )
            for key in wanted.keys
            if node.place.host.labels.get(key) not in wanted.near[key]
        )

    def _worlds(self) -> tuple[World, dict[str, str], list[Pod]]:
        world = self.tables.world.copy()
        for node in self.nodes[len(self.tables.existing) :]:
            carried = {**node.place.host.labels, well_known.HOSTNAME: node.name}
            world.add(replace(node.place.host, name=node.name, labels=carried))
        placed = [
            (pod, node.name)
            for pod, node in zip(self.tables.pods, self.where, strict=False)
            if node is not None
        ]
        return world, {pod.key: name for pod, name in placed}, [pod for pod, _ in placed]

    def is_legal(self) -> bool:
        """Whether kube-scheduler could bind the pods in some order, or as nodes come."""
        world, where, pods = self._worlds()
        if some_order_exists(world, where, pods, limit=MOST_ORDERS):
            return True
        return not bind_as_nodes_come(world, where, pods)

    def any_skewed(self, positions: Iterable[int]) -> bool:
        """Whether the spread of any of these pods is broken, in the strict reading."""
        world, where, pods = self._worlds()
        for pod in pods:
            world.bind(pod, where[pod.key])
        named = [(n, self.where[n]) for n in positions]
        return any(node is not None and self._is_skewed(world, n, node.name) for n, node in named)

    def _is_skewed(self, world: World, n: int, name: str) -> bool:
        """Whether the pod's domain is ahead of one that could be opened for it."""
        pod, host = self.tables.pods[n], world.hosts[name]
        constraints = hard_spread(world, pod)
        keys = [one.topology_key for one in constraints]
        for one in constraints:
            key = one.topology_key
            if key == well_known.HOSTNAME and not host.is_new:
                continue
            counts = dict.fromkeys(self.tables.openable[n].get(key, ()), 0)
            counts |= pods_by_domain(world, pod, one, keys)
            lowest = 0 if len(counts) < one.min_domains else min(counts.values(), default=0)
            if counts.get(host.labels.get(key, ""), 0) - lowest > one.max_skew:
                return True
        return False

    def is_diverse(self) -> bool:
        """Whether each new node has enough types that would do, none larger in what is limited."""
        found = self.tables
        if not is_strict(found.snapshot):
            return True
        for node in self.nodes[len(found.existing) :]:
            offer = node.place.offer
            if offer is None or not any(one.min_values for one in offer.pool.requirements):
                continue
            would_do = [one for one in found.buyable if self._stands_in(one, node)]
            kinds = [one.offer.kind for one in would_do if one.offer is not None]
            if unmet_min_values(offer.pool, kinds):
                return False
        return True

    def _stands_in(self, place: Place, node: Node) -> bool:
        mine, theirs = place.offer, node.place.offer
        if mine is None or theirs is None or mine.pool is not theirs.pool:
            return False
        bought = [(one.offering.zone, one.offering.capacity_type) for one in (mine, theirs)]
        if bought[0] != bought[1] or place.kin != node.place.kin:
            return False
        for name in mine.pool.limits:
            if mine.kind.capacity.get(name, 0) > theirs.kind.capacity.get(name, 0):
                return False
        if any(not place.takes >> n & 1 for n in node.held):
            return False
        total = [sum(self.tables.asks[n][at] for n in node.held) for at in range(len(place.free))]
        return all(want <= free for want, free in zip(total, place.free, strict=True) if want)

    def witness(self) -> Witness:
        """The plan, to be shown."""
        _, where, pods = self._worlds()
        bought = {}
        for node in self.nodes[len(self.tables.existing) :]:
            offer = node.place.offer
            if offer is not None:
                one = offer.offering
                bought[node.name] = (
                    f"{offer.pool.name} {offer.kind.name} {one.zone} {one.capacity_type}"
                )
        return Witness(where, bought, self.spent, counts(pods))


def counts(pods: Iterable[Pod]) -> Counts:
    """How many pods there are of each priority, the highest first."""
    found = Counter(pod.spec.priority for pod in pods)
    return tuple(sorted(found.items(), reverse=True))
