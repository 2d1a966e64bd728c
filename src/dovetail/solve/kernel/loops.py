"""Calls of the compiled loops: arrays and numbers in, arrays out.

Each loop runs through what NumPy would do in many small calls. Its plain twin, which gives the same
answers, stands where it is used. Callers pass the library that `loading.library()` gave them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Float, Int
from dovetail.solve.kernel import structures
from dovetail.solve.kernel.loading import Library
from dovetail.solve.kernel.structures import Array, address, pointer_to

WATER: Final = 0
SNUG: Final = 1
Log = list[tuple[int, Int, Int]]  # a unit, nodes, and how many of its pods go to each
_FIRST_CHANCE: Final = 2862933555777941757 + 3037000493  # as in improve.Chance(1)
MOST_KEPT: Final = 600  # patterns that are remembered
_MOST_RUINED: Final = 4  # as in patterns/recreate.py


class FillMethod(NamedTuple):
    """How pods are placed (WATER or SNUG), and by which mean capacity."""

    how: int
    mean_cpu: float
    mean_memory: float


class CompiledNodes:
    """The arrays of `Bins`, as the library wants to see them. Made anew whenever those grow."""

    def __init__(self, library: Library, *, free: Int, cell: Int, **arrays: Array) -> None:
        """`arrays`: the other fields of the structure `Bins`, up to `floor`."""
        size = len(cell)
        self._library = library
        self._bins = structures.BinsStruct(
            stride=size,
            n_resources=len(free),
            free=free,
            cell=cell,
            **arrays,
            room=np.zeros(size, np.int64),
            heap=np.zeros(size, np.int64),
            key=np.zeros(2 * size),
        )
        self._at = pointer_to(self._bins)
        self._nodes = np.zeros(size, dtype=np.int64)
        self._counts = np.zeros(size, dtype=np.int64)
        self._out = (address(self._nodes), address(self._counts))

    def room(self, code: UnitCode, weight: int, span: slice) -> Int:
        """How many pods of a unit every node of the span could take."""
        out = np.empty(span.stop - span.start, dtype=np.int64)
        self._library.dovetail_room(self._at, code.at, weight, span.start, span.stop, address(out))
        return out

    def fill(
        self, code: UnitCode, weight: int, want: int, span: slice, method: FillMethod
    ) -> tuple[Int, Int]:
        """Place up to `want` pods; returns the nodes and how many each of them got."""
        used = self._library.dovetail_fill(
            self._at, code.at, weight, want, span.start, span.stop, *method, *self._out
        )
        return self._nodes[:used].copy(), self._counts[:used].copy()

    def share_out(self, left: Int, **fields: int | Array) -> Log:
        """Fill new nodes by shares: which units, in how many places, and all these places.

        `left` counts down. `fields`: the other inputs of the structure `Shares`.
        """
        most = int(left.sum())
        who, used = np.empty((2, most), dtype=np.int64)
        nodes, counts = np.empty((2, most + len(self._nodes)), dtype=np.int64)
        answers = {"who": who, "used": used, "nodes": nodes, "counts": counts}
        shares = structures.SharesStruct(left=left, **fields, **answers, n_entries=0, n_nodes=0)
        self._library.dovetail_share_out(self._at, pointer_to(shares))
        n_entries = int(shares.n_entries)
        ends = np.cumsum(used[:n_entries]).tolist()
        starts = [0, *ends]
        return [
            (unit, nodes[start:end], counts[start:end])
            for unit, start, end in zip(who[:n_entries].tolist(), starts, ends, strict=False)
        ]

    def fill_one(self, codes: Int, weights: Int, left: Int, node: int) -> Int:
        """Fill one node with units in order; counts `left` down and returns what it took."""
        taken = np.empty(len(codes), dtype=np.int64)
        self._library.dovetail_fill_one(
            self._at,
            len(codes),
            address(codes),
            address(weights),
            address(left),
            node,
            address(taken),
        )
        return taken


class UnitCode:
    """A unit as the library wants to see it."""

    __slots__ = ("_kept", "at")

    def __init__(self, numbers: Sequence[int]) -> None:
        self._kept = np.array(numbers, dtype=np.int64)
        self.at = address(self._kept)


def unit_codes(rows: Sequence[Sequence[int]]) -> list[UnitCode]:
    """Many units at once, all in one block."""
    kept = np.array([number for row in rows for number in row], dtype=np.int64)
    at, codes = address(kept), []
    for row in rows:
        code = UnitCode.__new__(UnitCode)
        code.at, code._kept = at, kept  # noqa: SLF001  # its own kind
        at += 8 * len(row)
        codes.append(code)
    return codes


class OfferScan:
    """Units and offers, as the library wants to see them when it looks for the next node."""

    def __init__(
        self, library: Library, accept_up: Bool, cap_rp: Float, place_p: Int, **units: Array
    ) -> None:
        """Offers: which units each takes, what it has, and its place: those of one place are looked
        at together. `units`: request, inverse, most and worth; `most` may change.
        """
        order = np.argsort(place_p, kind="stable")
        accept, n_offers = accept_up[:, order], len(order)
        stop = n_offers - np.argmax(accept[:, ::-1], axis=1)
        self._library = library
        self._scan = structures.OfferScanStruct(
            n_offers=n_offers,
            n_resources=len(cap_rp),
            **units,
            start=np.argmax(accept, axis=1),
            stop=np.where(accept.any(axis=1), stop, 0),
            takes=-accept.astype(np.int32),
            cap=cap_rp[:, order],
            free=np.empty(cap_rp.shape),
            held=np.empty(n_offers),
        )
        self._at = pointer_to(self._scan)
        self._back = np.argsort(order, kind="stable")

    def values(self, orders: Int) -> Float:
        """orders x offers: what an empty node would hold, filled in each of these orders."""
        value = np.empty((len(orders), len(self._back)))
        self._library.dovetail_greedy_values(
            self._at, *orders.shape, address(orders), address(value)
        )
        by_offer: Float = value[:, self._back]
        return by_offer


def first_fit(library: Library, row_n: Int, used_nr: Int, accept_xp: Bool, cap_pr: Int) -> Int:
    """For every node the first offer that takes it, or -1. `row_n`: its row in `accept_xp`."""
    first = np.empty(len(row_n), dtype=np.int64)
    n_offers, n_resources = cap_pr.shape
    nodes = structures.FirstFitStruct(
        n_nodes=len(row_n),
        n_offers=n_offers,
        n_resources=n_resources,
        row=row_n,
        used=used_nr,
        accept=accept_xp,
        cap=cap_pr,
        first=first,
    )
    library.dovetail_first_fit(pointer_to(nodes))
    return first


def skyline(
    library: Library, place: Int, cap: Int, bits: npt.NDArray[np.uint64], scarce: Bool
) -> Int:
    """For offers in order of place and price: which one beats each, or itself.

    `bits`: the pods that each takes.
    """
    winner, kept = np.empty((2, len(place)), dtype=np.int64)
    n_offers, n_resources = cap.shape
    offers = structures.SkylineStruct(
        n_offers=n_offers,
        n_resources=n_resources,
        n_words=bits.shape[1],
        place=place,
        cap=cap,
        bits=bits,
        scarce=scarce,
        winner=winner,
        kept=kept,
    )
    library.dovetail_skyline(pointer_to(offers))
    return winner


def recreate(library: Library, task: structures.RebuildStruct, n_nodes: int, tries: int) -> int:
    """Improve nodes in place; returns how many there are then."""
    return int(library.dovetail_recreate(pointer_to(task), n_nodes, tries, _MOST_RUINED))


def rebuild_task(
    *, looks: int, n_pods: int, room: int, **fields: int | Array
) -> structures.RebuildStruct:
    """Sorts, offers and nodes for `recreate`: at most so many looks at nodes, and so many nodes.

    `fields`: the other inputs of the structure `Rebuild`, up to `node`.
    """
    return structures.RebuildStruct(
        **fields,
        room=room,
        saved=np.zeros((2, room), dtype=np.int64),
        pods=np.zeros(max(n_pods, 1), dtype=np.int64),
        key=np.zeros(max(n_pods, 1), dtype=np.int64),
        most_kept=MOST_KEPT,
        n_kept=0,
        n_saved=0,
        turn=0,
        n_before=0,
        chance=_FIRST_CHANCE,
        looks=looks,
    )


def least_loss(library: Library, pi: Float, **arrays: Array) -> tuple[Int, Float]:
    """For every offer the multiplier that undercuts pod values least, and by how much.

    `arrays`: the other inputs of the structure `LeastLoss`.
    """
    n_classes, n_offers = pi.shape
    n_vectors, n_kinds = len(arrays["worth"]), len(arrays["k_w"])
    best, choice = np.full(n_offers, np.inf), np.zeros(n_offers, dtype=np.int64)
    program = structures.LeastLossStruct(
        n_vectors=n_vectors,
        n_classes=n_classes,
        n_offers=n_offers,
        n_kinds=n_kinds,
        pi=pi,
        **arrays,
        weight=np.empty((n_kinds, n_offers)),
        whole=np.empty(n_offers),
        loss=np.zeros((n_vectors, n_offers)),
        best=best,
        choice=choice,
    )
    library.dovetail_least_loss(pointer_to(program))
    return choice, best


class FallbackFinder:
    """What one pool sells, as the library wants to see it when it looks for fallbacks."""

    def __init__(
        self,
        library: Library,
        sizes_xr: Int,
        ways: Sequence[tuple[str, str]],
        **offers: Int | Bool,
    ) -> None:
        """`offers`: size, row (its type) and way to buy of each, and whether any is left."""
        self._library = library
        kinds = {kind: number for number, (kind, _) in enumerate(ways)}
        zones = {zone: number for number, (_, zone) in enumerate(ways)}
        n_offers, n_types = len(offers["row"]), int(offers["row"].max(initial=-1)) + 1
        self._places = np.zeros(n_offers, dtype=np.int64)
        self._offers = structures.PoolOffersStruct(
            n_offers=n_offers,
            n_types=n_types,
            n_ways=len(ways),
            n_sizes=len(sizes_xr),
            n_resources=sizes_xr.shape[1],
            **offers,
            sizes=sizes_xr,
            kind_w=np.array([kinds[kind] for kind, _ in ways], dtype=np.int64),
            zone_w=np.array([zones[zone] for _, zone in ways], dtype=np.int64),
            fits_x=np.zeros(len(sizes_xr), dtype=bool),
            fine_t=np.zeros(n_types, dtype=bool),
            named_t=np.zeros(n_types, dtype=bool),
            near_w=np.zeros(len(ways), dtype=bool),
            fits_o=np.zeros(n_offers, dtype=bool),
        )
        self._at = pointer_to(self._offers)
        self._out = address(self._places)

    def fallbacks(self, fine_o: Bool, may_w: Bool, used: Int, own: int, most: int) -> Int | None:
        """The places of the offers that may be named beside one, of so many types in all; None
        where names must be chosen with care.
        """
        n_places = self._library.dovetail_fallbacks(
            self._at, address(fine_o), address(may_w), address(used), own, most, self._out
        )
        return None if n_places < 0 else self._places[:n_places].copy()
