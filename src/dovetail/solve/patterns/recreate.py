"""Ruin and recreate over patterns: repacks some nodes at a time to make the plan cheaper.

Nodes cost what the cheapest offer costs that holds their pods, so moving a pod makes one node
smaller and another larger at once. Some nodes are taken apart, their pods are put back one by one
where each costs least, and the result is kept if it is no dearer than allowed: a little dearer at
first, so that the search does not stay where it began. What is tried is drawn from a counter.

`recreate.c` is the compiled form; `_Plain` gives the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Int
from dovetail.solve.kernel import loading, loops
from dovetail.solve.search.improve import Chance

_SHYNESS: Final = 32  # one node in so many is overlooked, or every try would end alike
_MOST_RUINED: Final = 4
_SLACK: Final = 32  # a part of what a node costs: how much dearer a step may be at first
_TOO_DEAR: Final = 2**60
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RebuildTask:
    """Sorts of pods (s) and offers (o), cheapest first, for nodes that are built anew."""

    request_sr: Int
    accept_so: Bool
    apart_ss: Bool  # which never share a node, itself included if a node takes only one
    cap_or: Int
    price_o: Int
    limits: tuple[tuple[Int, int], ...] = ()  # what offers use of each limit, and what is left


def recreate(
    task: RebuildTask, loads: Sequence[Int], looks: int, tries: int
) -> tuple[list[Int], list[Int]]:
    """Loads (how many pods of each sort) for the same pods that cost no more, and likely less; and
    the loads of the best states on the way.
    """
    held_ns = np.array(loads, dtype=np.int64).reshape(-1, len(task.request_sr))
    offer_n = cheapest(task, held_ns)
    if not loads or (offer_n < 0).any():
        return list(loads), []
    if loading.library() is None:
        nodes = list(zip(held_ns, offer_n.tolist(), strict=True))
        return _Plain(task, looks).run(nodes, tries)
    return _run_compiled(task, (held_ns, offer_n), (looks, tries))


def cheapest(task: RebuildTask, held_ns: Int) -> Int:
    """The cheapest offer that holds each of some loads, or -1."""
    fits_no = (held_ns > 0).astype(np.float32) @ (~task.accept_so).astype(np.float32) == 0
    for used_n, cap_o in zip((held_ns @ task.request_sr).T, task.cap_or.T, strict=True):
        fits_no &= (used_n[:, None] <= cap_o) | (used_n == 0)[:, None]
    return np.where(fits_no.any(axis=1), fits_no.argmax(axis=1), -1)


def _orders(task: RebuildTask) -> tuple[Int, Int]:
    """The place of every sort among all, largest first: by CPU and by memory."""
    cpu, memory = task.request_sr[:, 0], task.request_sr[:, 1]
    sorts = np.arange(len(cpu))
    by_cpu = np.argsort(np.lexsort((sorts, -memory, -cpu)), kind="stable")
    by_memory = np.argsort(np.lexsort((sorts, -cpu, -memory)), kind="stable")
    return by_cpu, by_memory


def _words(flags: Bool) -> Words:
    """Rows of flags as words of 64 bits, the first flag lowest."""
    n_words = -(-flags.shape[1] // 64)
    padded = np.zeros((len(flags), n_words * 64), dtype=bool)
    padded[:, : flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _node_table(
    task: RebuildTask, nodes: tuple[Int, Int], masks: tuple[Words, Words], room: int
) -> Int:
    """A row for each node: offer, pods by sort, resources used, offers and sorts that its pods
    accept. The compiled loop has `room` for three plans of them.
    """
    held_ns, offer_n = nodes
    rows = [np.flatnonzero(counts) for counts in held_ns]
    columns = (
        offer_n[:, None],
        held_ns,
        held_ns @ task.request_sr,
        *(
            np.array([np.bitwise_and.reduce(words[some]) for some in rows]).view(np.int64)
            for words in masks
        ),
    )
    table = np.zeros((3 * room, sum(column.shape[1] for column in columns)), dtype=np.int64)
    np.concatenate(columns, axis=1, out=table[: len(held_ns)])
    return table


def _run_compiled(
    task: RebuildTask, nodes: tuple[Int, Int], effort: tuple[int, int]
) -> tuple[list[Int], list[Int]]:
    library = loading.library()
    assert library is not None  # noqa: S101  # the caller has seen it
    held_ns, _ = nodes
    n_pods, n_nodes = int(held_ns.sum()), len(held_ns)
    room = min(n_pods, 2 * n_nodes + 64)
    accept, together = _words(task.accept_so), _words(~task.apart_ss)
    first = _node_table(task, nodes, (accept, together), room)
    looks, tries = effort
    n_sorts, n_offers = task.accept_so.shape
    by_cpu, by_memory = _orders(task)
    kept = np.zeros((loops.MOST_KEPT, n_sorts), dtype=np.int64)
    given = loops.rebuild_task(
        looks=looks,
        n_pods=n_pods,
        room=room,
        n_sorts=n_sorts,
        n_resources=task.request_sr.shape[1],
        n_offers=n_offers,
        n_words=accept.shape[1],
        n_limits=len(task.limits),
        request=task.request_sr,
        accept=accept,
        together=together,
        cap=task.cap_or,
        price=task.price_o,
        use=np.array([use_o for use_o, _ in task.limits], dtype=np.int64).reshape(-1, n_offers),
        left=np.array([left for _, left in task.limits], dtype=np.int64),
        by_cpu=by_cpu,
        by_memory=by_memory,
        node=first,
        kept=kept,
    )
    count = loops.recreate(library, given, n_nodes, tries)
    return [row[1 : 1 + n_sorts].copy() for row in first[:count]], list(kept[: given.n_kept])


class _Plain:
    """The plain form of the compiled loops."""

    def __init__(self, task: RebuildTask, looks: int) -> None:
        self._task = task
        self._looks = looks
        self._chance = Chance(1)
        self._orders = [order.tolist() for order in _orders(task)]
        self._price: list[int] = task.price_o.tolist()
        self._request = task.request_sr.tolist()
        self._cap = task.cap_or.tolist()
        self._accept = [frozenset(np.flatnonzero(row).tolist()) for row in task.accept_so]
        self._apart = [frozenset(np.flatnonzero(row).tolist()) for row in task.apart_ss]

    def run(self, nodes: Sequence[tuple[Int, int]], tries: int) -> tuple[list[Int], list[Int]]:
        """The best loads found, and those of the best states on the way."""
        kept: list[Int] = []
        room = min(int(sum(counts.sum() for counts, _ in nodes)), 2 * len(nodes) + 64)
        best = now = [self._node(counts, offer) for counts, offer in nodes]
        lowest = price = self._total(best)
        for turn in range(tries):
            if self._looks <= 0 or not now:
                break
            other = self._try_once(now, turn, room)
            if other is None:
                continue
            dearer = self._total(other)
            slack = lowest // (_SLACK * len(best)) * (tries - turn) // tries
            if dearer > price and dearer > lowest + slack:
                continue
            now, price = other, dearer
            if (price, len(now)) < (lowest, len(best)):
                best, lowest = now, price
                kept += [self._counts(pods) for _, pods, _ in best[: loops.MOST_KEPT - len(kept)]]
        return [self._counts(pods) for _, pods, _ in best], kept

    def _counts(self, pods: dict[int, int]) -> Int:
        return np.array([pods.get(sort, 0) for sort in range(len(self._request))], dtype=np.int64)

    def _node(self, counts: Int, offer: int) -> tuple[int, dict[int, int], list[int]]:
        pods = {sort: int(counts[sort]) for sort in np.flatnonzero(counts).tolist()}
        return offer, pods, (counts @ self._task.request_sr).tolist()

    def _total(self, nodes: Sequence[tuple[int, dict[int, int], list[int]]]) -> int:
        for use_o, left in self._task.limits:
            if sum(int(use_o[offer]) for offer, _, _ in nodes) > left:
                return _TOO_DEAR
        return sum(self._price[offer] for offer, _, _ in nodes)

    def _try_once(
        self, now: list[tuple[int, dict[int, int], list[int]]], turn: int, room: int
    ) -> list[tuple[int, dict[int, int], list[int]]] | None:
        other, pods, paid = list(now), list[int](), 0
        for _ in range(min(1 + self._chance.below(_MOST_RUINED), len(now))):
            place = self._chance.below(len(other))
            offer, load, _ = other[place]
            other[place] = other[-1]
            other.pop()
            paid += self._price[offer]
            pods += [sort for sort in sorted(load) for _ in range(load[sort])]
        pods = self._order_pods(pods, turn // 2)
        if turn % 2:
            pods = self._fill_large(other, pods, paid)
        for sort in pods:
            if not self._insert(other, sort, room):
                return None
        return other

    def _order_pods(self, pods: list[int], turn: int) -> list[int]:
        if turn % 4 < 2:
            order = self._orders[turn % 4]
            return sorted(pods, key=lambda sort: order[sort])
        drawn = [(self._chance.below(2**30), place) for place in range(len(pods))]
        return [pods[place] for _, place in sorted(drawn)]

    def _with_one_more(self, node: tuple[int, dict[int, int], list[int]], sort: int) -> int:
        offer, pods, used = node
        if any(sort in self._apart[other] for other in pods):
            return -1
        asked = self._request[sort]
        for larger in range(offer, len(self._price)):
            if larger not in self._accept[sort] or any(larger not in self._accept[s] for s in pods):
                continue
            cap = self._cap[larger]
            if all(u + a <= c or not a for u, a, c in zip(used, asked, cap, strict=True)):
                return larger
        return -1

    def _add_pod(
        self, node: tuple[int, dict[int, int], list[int]], sort: int, offer: int
    ) -> tuple[int, dict[int, int], list[int]]:
        pods = dict(node[1])
        pods[sort] = pods.get(sort, 0) + 1
        used = [have + asked for have, asked in zip(node[2], self._request[sort], strict=True)]
        return offer, pods, used

    def _empty(self) -> tuple[int, dict[int, int], list[int]]:
        return 0, {}, [0] * self._task.cap_or.shape[1]

    def _fill_large(
        self, nodes: list[tuple[int, dict[int, int], list[int]]], pods: list[int], paid: int
    ) -> list[int]:
        affordable = sum(1 for price in self._price if price < paid)
        if not affordable:
            return pods
        most, rest, node = self._price[self._chance.below(affordable)], [], self._empty()
        for sort in pods:
            offer = self._with_one_more(node, sort)
            if offer >= 0 and self._price[offer] <= most:
                node = self._add_pod(node, sort, offer)
            else:
                rest.append(sort)
        if node[1]:
            nodes.append(node)
        return rest

    def _insert(
        self, nodes: list[tuple[int, dict[int, int], list[int]]], sort: int, room: int
    ) -> bool:
        overlooked = self._chance.below(_SHYNESS)
        if len(nodes) == room:
            return False
        fresh = self._empty()
        chosen, where = self._with_one_more(fresh, sort), -1
        if chosen < 0:
            return False
        lowest = self._price[chosen]
        self._looks -= len(nodes) + 1
        for place, node in enumerate(nodes):
            offer = self._with_one_more(node, sort)
            if offer < 0:
                continue
            dearer = self._price[offer] - self._price[node[0]]
            if dearer > lowest or (dearer == lowest and where >= 0) or place == overlooked:
                continue
            lowest, where, chosen = dearer, place, offer
            if not lowest:
                break
        if where < 0:
            nodes.append(self._add_pod(fresh, sort, chosen))
        else:
            nodes[where] = self._add_pod(nodes[where], sort, chosen)
        return True
