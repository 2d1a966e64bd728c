"""How many pods can be placed at most? Found by trying everything; only for tiny clusters.

The best plan places more pods of the highest priority, then more of the next, and so on; among
plans that place equally many, the cheapest is best (where all pools weigh the same). A way of
placing pods counts when kube-scheduler could bind them in some order or as nodes come, the spread
holds in the strict reading (see `optimum`), and limits, reservations and minValues hold.

The search counts its steps. When they run out, it answers None: unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from dovetail import labels as well_known
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.between import hard_spread, pods_by_domain
from tests.oracle.filters import volume_limits
from tests.oracle.launchable import is_strict, is_usable, reservation_left, unmet_min_values, usage
from tests.oracle.scheduler import bind_as_nodes_come, some_order_exists
from tests.oracle.tiny_tables import Place, Tables, tables, without_dominated
from tests.oracle.world import World

BUDGET: Final = 20_000
LEAF_STEPS: Final = 40  # what it costs to ask kube-scheduler's rules about a whole plan
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


@dataclass(frozen=True)
class Answer:
    """The best plan that was found, and whether everything was tried."""

    witness: Witness | None
    is_complete: bool


class _OutOfStepsError(Exception):
    """The search has taken as many steps as it may."""


@dataclass
class _Node:
    """A node that is there or was opened, and who was put there."""

    place: Place
    free: list[int]
    name: str
    held: list[int] = field(default_factory=list)


@dataclass
class Search:
    """Depth first. A plan is wanted that is worth more than `floor`, or as much but for less than
    `ceiling`, if that is given. What is found raises the floor or lowers the ceiling.
    """

    tables: Tables
    offers: Sequence[Place]
    floor: int
    ceiling: int | None = None
    is_strict: bool = True
    steps: int = BUDGET
    most_skipped: int = 99
    found: Witness | None = None
    nodes: list[_Node] = field(default_factory=list)
    where: list[_Node | None] = field(default_factory=list)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    spent: int = 0
    worth: int = 0
    n_skipped: int = 0

    def run(self) -> Answer:
        """Try everything, or as much as there are steps for."""
        found = self.tables
        self.nodes = [_Node(one, list(one.free), one.host.name) for one in found.existing]
        self.hope = [sum(found.worth[n:]) for n in range(len(found.pods) + 1)]
        self.used = usage(found.snapshot, ())
        try:
            self._place(0)
        except _OutOfStepsError:
            return Answer(self.found, is_complete=False)
        return Answer(self.found, is_complete=True)

    def _is_hopeless(self, n: int) -> bool:
        best = self.worth + self.hope[n]
        if self.ceiling is None:
            return best <= self.floor
        return best < self.floor or self.spent >= self.ceiling

    def _place(self, n: int) -> None:
        """Decide about the pod at this position in every way that could still be better."""
        if self._is_hopeless(n) or self._lacks_company(n):
            return
        self.steps -= 1
        if self.steps < 0:
            raise _OutOfStepsError
        if n == len(self.tables.pods):
            self._judge()
            return
        mark = self._mark(n)
        if mark in self.seen:
            return
        self.seen.add(mark)
        previous = self.where[n - 1] if self.tables.alike[n] else None
        if self.tables.alike[n] and previous is None:
            self._skip(n)
            return
        first = 0 if previous is None else self.nodes.index(previous)
        for node in self.nodes[first:]:
            self._try(n, node)
        for offer in self.offers:
            self._open(n, offer)
        self._skip(n)

    def _skip(self, n: int) -> None:
        if self.n_skipped >= self.most_skipped:
            return
        self.n_skipped += 1
        self.where.append(None)
        self._place(n + 1)
        self.where.pop()
        self.n_skipped -= 1

    def _try(self, n: int, node: _Node) -> None:
        if not self._fits(n, node):
            return
        asks = self.tables.asks[n]
        for resource, amount in enumerate(asks):
            node.free[resource] -= amount
        node.held.append(n)
        self.where.append(node)
        self.worth += self.tables.worth[n]
        self._place(n + 1)
        self.worth -= self.tables.worth[n]
        self.where.pop()
        node.held.pop()
        for resource, amount in enumerate(asks):
            node.free[resource] += amount

    def _open(self, n: int, place: Place) -> None:
        offer = place.offer
        if offer is None or not place.takes >> n & 1:
            return
        if not self.used.has_room(offer.pool, offer.kind.capacity):
            return
        if reservation_left(self.used, offer.offering) <= 0:
            return
        before = {key: dict(held) for key, held in self.used.by_pool.items()}
        reserved = dict(self.used.by_reservation)
        self.used.take(offer.pool.name, offer.kind.capacity, offer.offering.reservation_id)
        node = _Node(place, list(place.free), f"new-{len(self.nodes)}")
        self.nodes.append(node)
        self.spent += place.price
        self._try(n, node)
        self.spent -= place.price
        self.nodes.pop()
        self.used.by_pool, self.used.by_reservation = before, reserved

    def _fits(self, n: int, node: _Node) -> bool:
        place, found = node.place, self.tables
        if not place.takes >> n & 1:
            return False
        if any(want > free for want, free in zip(found.asks[n], node.free, strict=True) if want):
            return False
        for other, there in enumerate(self.where):
            keys = found.apart[n][other]
            if there is not None and keys and self._share(keys, node, there):
                return False
        pod = found.pods[n]
        if not pod.claim_names:
            return True
        bound = [*found.world.bound.get(node.name, ()), *(found.pods[one] for one in node.held)]
        return volume_limits(found.world, pod, place.host, bound) is None

    def _share(self, keys: Iterable[str], one: _Node, other: _Node) -> bool:
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

    def _lacks_company(self, n: int) -> bool:
        """Whether a pod with affinity is where nobody it needs is, nor can come any more."""
        open_to = -1 << n
        for position, node in enumerate(self.where):
            needs = self.tables.company[position]
            if node is None or needs is None or needs.may_be_first or needs.others & open_to:
                continue
            if not all(self._has_company(position, node, key) for key in needs.keys):
                return True
        return False

    def _has_company(self, position: int, node: _Node, key: str) -> bool:
        needs = self.tables.company[position]
        if needs is None or node.place.host.labels.get(key) in needs.near[key]:
            return True
        return any(
            there is not None and needs.others >> other & 1 and self._share((key,), node, there)
            for other, there in enumerate(self.where)
        )

    def _mark(self, n: int) -> tuple[object, ...]:
        """The state, with names of new nodes and of pods that are alike left out."""
        sorts, n_old = self.tables.sorts, len(self.tables.existing)
        old = tuple(tuple(sorts[one] for one in node.held) for node in self.nodes[:n_old])
        new = sorted(
            (id(node.place), tuple(sorts[one] for one in node.held)) for node in self.nodes[n_old:]
        )
        last = self.where[n - 1] if n and n < len(sorts) and self.tables.alike[n] else None
        told = (id(last.place), tuple(sorts[one] for one in last.held)) if last else None
        return (n, old, tuple(new), told)

    # ------------------------------------------------------------------ whole plans

    def _judge(self) -> None:
        """Keep the plan if kube-scheduler's own rules accept it."""
        self.steps -= LEAF_STEPS
        if not self._is_diverse() or not self._is_legal():
            return
        self.found = self._witness()
        self.floor = self.worth
        if self.ceiling is not None:
            self.ceiling = self.spent

    def _worlds(self) -> tuple[World, dict[str, str], list[Pod]]:
        world = self.tables.world.copy()
        for node in self.nodes[len(self.tables.existing) :]:
            carried = {**node.place.host.labels, well_known.HOSTNAME: node.name}
            world.add(replace(node.place.host, name=node.name, labels=carried))
        placed = [
            (pod, node.name)
            for pod, node in zip(self.tables.pods, self.where, strict=True)
            if node is not None
        ]
        return world, {pod.key: name for pod, name in placed}, [pod for pod, _ in placed]

    def _is_legal(self) -> bool:
        world, where, pods = self._worlds()
        if self.is_strict:
            final = world.copy()
            for pod in pods:
                final.bind(pod, where[pod.key])
            for n, node in enumerate(self.where):
                if node is not None and self._is_skewed(final, n, node.name):
                    return False
        if some_order_exists(world, where, pods, limit=MOST_ORDERS):
            return True
        return not bind_as_nodes_come(world, where, pods)

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

    def _is_diverse(self) -> bool:
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

    def _stands_in(self, place: Place, node: _Node) -> bool:
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

    def _witness(self) -> Witness:
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


def worth(found: Tables, keys: Iterable[str]) -> int:
    """What placing these pods is worth, in the order of plans."""
    placed = set(keys)
    return sum(n for pod, n in zip(found.pods, found.worth, strict=True) if pod.key in placed)


def better_placed(
    found: Tables, floor: int, *, is_strict: bool = True, steps: int = BUDGET
) -> Answer:
    """A plan that places more than `floor` is worth: the best, if everything could be tried.

    Plans that leave out nobody are tried first, then those that leave out one, and so on.
    """
    offers = without_dominated(found.buyable, found.snapshot, counts_price=False)
    best: Witness | None = None
    for most in range(len(found.pods) + 1):
        search = Search(found, offers, floor, is_strict=is_strict, steps=steps, most_skipped=most)
        answer = search.run()
        best, floor, steps = answer.witness or best, search.floor, search.steps
        if not answer.is_complete:
            return Answer(best, is_complete=False)
        lowest = min(found.worth, default=0)
        if sum(found.worth) - (most + 1) * lowest <= floor:
            break  # whoever leaves out more is worth less
    return Answer(best, is_complete=True)


def cheaper(
    found: Tables, floor: int, below: int, *, is_strict: bool = True, steps: int = BUDGET
) -> Answer:
    """A plan that is worth at least `floor` for less than `below`: the cheapest, if complete."""
    offers = without_dominated(found.buyable, found.snapshot, counts_price=True)
    search = Search(found, offers, floor, ceiling=below, is_strict=is_strict, steps=steps)
    return search.run()


def weighs_alike(snapshot: Snapshot) -> bool:
    """Whether price alone decides between the pools that can launch."""
    return len({pool.weight for pool in snapshot.node_pools if is_usable(pool)}) <= 1


def best_plan(
    snapshot: Snapshot,
    now: datetime,
    pods: Sequence[Pod],
    *,
    is_strict: bool = True,
    steps: int = BUDGET,
) -> Witness | None:
    """The plan that places most, and of those the cheapest where pools weigh alike.

    None if it is unknown, since the steps ran out.
    """
    found = tables(snapshot, now, pods)
    answer = better_placed(found, -1, is_strict=is_strict, steps=steps)
    if not answer.is_complete or answer.witness is None:
        return None
    if not weighs_alike(snapshot):
        return answer.witness
    floor = worth(found, answer.witness.host_by_pod)
    below = answer.witness.price_nanousd
    less = cheaper(found, floor, below, is_strict=is_strict, steps=steps)
    if not less.is_complete:
        return None
    return less.witness or answer.witness
