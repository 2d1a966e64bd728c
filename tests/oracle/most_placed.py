"""How many pods can be placed at most? Found by trying everything; only for tiny clusters.

The best plan places more pods of the highest priority, then more of the next, and so on; among
plans that place equally many, the cheapest is best (where all pools weigh the same). A way of
placing pods counts when kube-scheduler could bind them in some order or as nodes come, the spread
holds in the strict reading (see `optimum`), and limits, reservations and minValues hold.

The search counts its steps. When they run out, it answers None: unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.oracle.filters import volume_limits
from tests.oracle.launchable import is_usable, reservation_left, usage
from tests.oracle.tiny_plan import Draft, Node, Witness
from tests.oracle.tiny_tables import Place, Tables, tables, without_dominated

BUDGET: Final = 40_000
GLANCE_STEPS: Final = 4  # what it costs to look at a whole plan, or at spreads
LEAF_STEPS: Final = 60  # what it costs to ask kube-scheduler's rules about it


@dataclass(frozen=True)
class Answer:
    """The best plan that was found, and whether everything was tried."""

    witness: Witness | None
    is_complete: bool


class _OutOfStepsError(Exception):
    """The search has taken as many steps as it may."""


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
    seen: set[tuple[object, ...]] = field(default_factory=set)
    worth: int = 0
    n_skipped: int = 0

    def __post_init__(self) -> None:
        """Begin with the nodes that are there."""
        found = self.tables
        nodes = [Node(one, list(one.free), one.host.name) for one in found.existing]
        self.draft = Draft(found, nodes)
        self.hope = [sum(found.worth[n:]) for n in range(len(found.pods) + 1)]
        self.used = usage(found.snapshot, ())

    def run(self) -> Answer:
        """Try everything, or as much as there are steps for."""
        try:
            self._place(0)
        except _OutOfStepsError:
            return Answer(self.found, is_complete=False)
        return Answer(self.found, is_complete=True)

    def _is_hopeless(self, n: int) -> bool:
        best = self.worth + self.hope[n]
        if self.ceiling is None:
            return best <= self.floor
        return best < self.floor or self.draft.spent >= self.ceiling

    def _place(self, n: int) -> None:
        """Decide about the pod at this position in every way that could still be better."""
        if self._is_hopeless(n) or self._lacks_company(n) or self._is_lopsided(n):
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
        previous = self.draft.where[n - 1] if self.tables.alike[n] else None
        if self.tables.alike[n] and previous is None:
            self._skip(n)
            return
        first = 0 if previous is None else self.draft.nodes.index(previous)
        for node in self.draft.nodes[first:]:
            self._try(n, node)
        for offer in self.offers:
            self._open(n, offer)
        self._skip(n)

    def _skip(self, n: int) -> None:
        if self.n_skipped >= self.most_skipped:
            return
        self.n_skipped += 1
        self.draft.where.append(None)
        self._place(n + 1)
        self.draft.where.pop()
        self.n_skipped -= 1

    def _try(self, n: int, node: Node) -> None:
        if not self._fits(n, node):
            return
        asks = self.tables.asks[n]
        for resource, amount in enumerate(asks):
            node.free[resource] -= amount
        node.held.append(n)
        self.draft.where.append(node)
        self.worth += self.tables.worth[n]
        self._place(n + 1)
        self.worth -= self.tables.worth[n]
        self.draft.where.pop()
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
        node = Node(place, list(place.free), f"new-{len(self.draft.nodes)}")
        self.draft.nodes.append(node)
        self.draft.spent += place.price
        self._try(n, node)
        self.draft.spent -= place.price
        self.draft.nodes.pop()
        self.used.by_pool, self.used.by_reservation = before, reserved

    def _fits(self, n: int, node: Node) -> bool:
        place, found = node.place, self.tables
        if not place.takes >> n & 1:
            return False
        if any(want > free for want, free in zip(found.asks[n], node.free, strict=True) if want):
            return False
        for other, there in enumerate(self.draft.where):
            keys = found.apart[n][other]
            if there is not None and keys and self.draft.share(keys, node, there):
                return False
        pod = found.pods[n]
        if not pod.claim_names:
            return True
        bound = [*found.world.bound.get(node.name, ()), *(found.pods[one] for one in node.held)]
        return volume_limits(found.world, pod, place.host, bound) is None

    def _lacks_company(self, n: int) -> bool:
        """Whether a pod with affinity is where nobody it needs is, nor can come any more."""
        open_to = -1 << n
        for position, node in enumerate(self.draft.where):
            needs = self.tables.company[position]
            if node is None or needs is None or needs.may_be_first or needs.others & open_to:
                continue
            if not all(self._has_company(position, node, key) for key in needs.keys):
                return True
        return False

    def _has_company(self, position: int, node: Node, key: str) -> bool:
        needs = self.tables.company[position]
        if needs is None or node.place.host.labels.get(key) in needs.near[key]:
            return True
        return any(
            there is not None
            and needs.others >> other & 1
            and self.draft.share((key,), node, there)
            for other, there in enumerate(self.draft.where)
        )

    def _mark(self, n: int) -> tuple[object, ...]:
        """The state, with names of new nodes and of pods that are alike left out."""
        sorts, n_old = self.tables.sorts, len(self.tables.existing)
        old = tuple(tuple(sorts[one] for one in node.held) for node in self.draft.nodes[:n_old])
        new = sorted(
            (id(node.place), tuple(sorts[one] for one in node.held))
            for node in self.draft.nodes[n_old:]
        )
        last = self.draft.where[n - 1] if n and n < len(sorts) and self.tables.alike[n] else None
        told = (id(last.place), tuple(sorts[one] for one in last.held)) if last else None
        return (n, old, tuple(new), told)

    # ------------------------------------------------------------------ whole plans

    def _judge(self) -> None:
        """Keep the plan if kube-scheduler's own rules accept it."""
        self.steps -= GLANCE_STEPS
        if not self.draft.is_diverse() or not self.draft.can_gather():
            return
        if self.is_strict and self.draft.any_skewed(range(len(self.draft.where))):
            return
        self.steps -= LEAF_STEPS
        if not self.draft.is_legal():
            return
        self.found = self.draft.witness()
        self.floor = self.worth
        if self.ceiling is not None:
            self.ceiling = self.draft.spent

    def _is_lopsided(self, n: int) -> bool:
        """Whether a spread is broken about which nothing is left to decide."""
        settled = [
            one for one in self.tables.settled_at.get(n, ()) if self.draft.where[one] is not None
        ]
        if not self.is_strict or not settled:
            return False
        self.steps -= GLANCE_STEPS
        return self.draft.any_skewed(settled)


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
