"""Are the compiled inner loops there, and how are they called?

`kernel.c` holds the few loops that NumPy runs one small call at a time. It is optional: installed
without a compiler, everything below answers None or False and the plain twins are used, which give
the same answers. Calls pass addresses of arrays that the caller keeps alive, so a library of
another source than the one beside it would read them wrongly, and is left aside.
"""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from dovetail.solve.axes import Bool, Float, Int

WATER: Final = 0
SNUG: Final = 1
_ADDRESS = ctypes.c_void_p
_INT = ctypes.c_int64
_FLOAT = ctypes.c_double
_SIGNATURES: Final = {
    "dovetail_room": [_ADDRESS, _ADDRESS, _INT, _INT, _INT, _ADDRESS],
    "dovetail_fill": [_ADDRESS, _ADDRESS, *[_INT] * 5, _FLOAT, _FLOAT, _ADDRESS, _ADDRESS],
    "dovetail_fill_one": [_ADDRESS, _INT, *[_ADDRESS] * 3, _INT, _ADDRESS],
    "dovetail_first_fit": [*[_INT] * 3, *[_ADDRESS] * 5],
    "dovetail_fallbacks": [*[_ADDRESS] * 4, *[_INT] * 2, _ADDRESS],
    "dovetail_least_loss": [*[_INT] * 4, *[_ADDRESS] * 13],
    "dovetail_skyline": [*[_INT] * 3, *[_ADDRESS] * 6],
    "dovetail_settle": [_ADDRESS],
    "dovetail_share_out": [_ADDRESS] * 2,
    "dovetail_greedy_values": [_ADDRESS, *[_INT] * 2, *[_ADDRESS] * 2],
    "dovetail_recreate": [_ADDRESS, *[_INT] * 3],
    "dovetail_fill_best": [_ADDRESS, _INT, *[_ADDRESS] * 2, _INT, *[_ADDRESS] * 3],
}


_STALE: Final = (
    "{path} was compiled from another source than the one beside it and is left aside: plans are "
    "the same, but take longer. Compile it anew with `make setup`, or install the package again."
)


def mark(folder: Path) -> bytes:
    """What tells one state of the C sources from another; as in hatch_build.py."""
    sources = sorted(folder.glob("*.c"))
    return hashlib.sha256(b"".join(one.read_bytes() for one in sources)).hexdigest().encode()


def load(folder: Path) -> ctypes.CDLL | None:
    """The compiled library of a folder; None when it was not built, or from another source."""
    path = folder / "_kernel.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    if _source_of(library) != mark(folder):
        warnings.warn(_STALE.format(path=path), RuntimeWarning, stacklevel=2)
        return None
    for name, arguments in _SIGNATURES.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = None
    for name in ("dovetail_fill", "dovetail_fallbacks", "dovetail_recreate"):
        getattr(library, name).restype = _INT
    return library


def _source_of(library: ctypes.CDLL) -> bytes | None:
    try:
        return ctypes.c_char_p.in_dll(library, "dovetail_source").value
    except ValueError:  # older than the mark
        return None


_BUILT: Final = load(Path(__file__).parent)
_active: ctypes.CDLL | None = _BUILT


def is_built() -> bool:
    """Whether there is a compiled library at all."""
    return _BUILT is not None


def library() -> ctypes.CDLL | None:
    """The compiled library, if it is to be used."""
    return _active


@contextmanager
def plain() -> Iterator[None]:
    """Use the plain twins for a while, to compare."""
    global _active  # noqa: PLW0603  # the one switch there is, for tests and benchmarks
    held, _active = _active, None
    try:
        yield
    finally:
        _active = held


def address(array: npt.NDArray[np.generic]) -> int:
    """Where an array begins; it must be contiguous and outlive the call."""
    return int(array.ctypes.data)


Log = list[tuple[int, Int, Int]]  # a unit, nodes, and how many of its pods go to each
_FIRST_CHANCE: Final = 2862933555777941757 + 3037000493  # as in improve.Chance(1)
MOST_KEPT: Final = 600  # patterns that are remembered
_MOST_RUINED: Final = 4  # as in patterns/recreate.py
_LEFT: Final = 4  # where `share_out` finds how many pods are left


class Nodes:
    """The arrays of `Bins`, as the library wants to see them. Made anew whenever those grow."""

    def __init__(self, library: ctypes.CDLL, arrays: Sequence[npt.NDArray[np.generic]]) -> None:
        """`arrays`: free, cell, weight, accept, match, own, floor."""
        size = len(arrays[1])
        self._library = library
        self._kept = (
            *arrays,
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(2 * size),
        )
        n_resources = len(arrays[0])
        self._block = np.array([size, n_resources, *map(address, self._kept)], dtype=np.int64)
        self._nodes = np.zeros(size, dtype=np.int64)
        self._counts = np.zeros(size, dtype=np.int64)
        self._at = address(self._block)
        self._out = (address(self._nodes), address(self._counts))

    def room(self, code: Code, weight: int, span: slice) -> Int:
        """How many pods of a unit every node of the span could take."""
        out = np.empty(span.stop - span.start, dtype=np.int64)
        self._library.dovetail_room(self._at, code.at, weight, span.start, span.stop, address(out))
        return out

    def fill(
        self, code: Code, weight: int, want: int, span: slice, how: tuple[int, float, float]
    ) -> tuple[Int, Int]:
        """Place up to `want` pods; returns the nodes and how many each of them got."""
        used = self._library.dovetail_fill(
            self._at, code.at, weight, want, span.start, span.stop, *how, *self._out
        )
        return self._nodes[:used].copy(), self._counts[:used].copy()

    def share_out(self, numbers: Sequence[int], arrays: Sequence[npt.NDArray[np.generic]]) -> Log:
        """Fill new nodes by shares: which units, in how many places, and all these places.

        `numbers`: how many units and offers, and how to fill. `arrays`: as `packing.c` lists them.
        """
        most = int(arrays[_LEFT].sum())
        who, used = np.empty((2, most), dtype=np.int64)
        nodes, counts = np.empty((2, most + len(self._nodes)), dtype=np.int64)
        kept = [np.ascontiguousarray(one) for one in arrays]
        places = [address(one) for one in (*kept, who, used, nodes, counts)]
        block = np.array([*numbers, *places, 0, 0], dtype=np.int64)
        self._library.dovetail_share_out(self._at, address(block))
        n_entries = int(block[-2])
        ends = np.cumsum(used[:n_entries]).tolist()
        starts = [0, *ends]
        return [
            (one, nodes[start:end], counts[start:end])
            for one, start, end in zip(who[:n_entries].tolist(), starts, ends, strict=False)
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


class Code:
    """A unit as the library wants to see it."""

    __slots__ = ("_kept", "at")

    def __init__(self, numbers: Sequence[int]) -> None:
        self._kept = np.array(numbers, dtype=np.int64)
        self.at = address(self._kept)


def codes(rows: Sequence[Sequence[int]]) -> list[Code]:
    """Many units at once, all in one block."""
    kept = np.array([number for row in rows for number in row], dtype=np.int64)
    at, found = address(kept), []
    for row in rows:
        code = Code.__new__(Code)
        code.at, code._kept = at, kept  # noqa: SLF001  # its own kind
        at += 8 * len(row)
        found.append(code)
    return found


class Looks:
    """Units and offers, as the library wants to see them when it looks for the next node."""

    def __init__(
        self, library: ctypes.CDLL, units: Sequence[Float], offers: tuple[Bool, Float, Int]
    ) -> None:
        """`units`: requests, their inverse, most and worth; `most` may change. `offers`: who takes
        which unit, what they have, and their places: those of one place are looked at together.
        """
        accept_up, cap_rp, place_p = offers
        order = np.argsort(place_p, kind="stable")
        accept, n_offers = accept_up[:, order], len(order)
        stop = n_offers - np.argmax(accept[:, ::-1], axis=1)
        arrays = (
            *units,
            np.argmax(accept, axis=1),
            np.where(accept.any(axis=1), stop, 0),
            -accept.astype(np.int32),
            cap_rp[:, order],
            np.empty(cap_rp.shape),
            np.empty(n_offers),
        )
        self._library = library
        self._kept = [np.ascontiguousarray(one) for one in arrays]
        shape = (n_offers, len(cap_rp))
        self._block = np.array([*shape, *map(address, self._kept)], dtype=np.int64)
        self._at = address(self._block)
        self._back = np.argsort(order, kind="stable")

    def values(self, orders: Int) -> Float:
        """orders x offers: what an empty node would hold, filled in each of these orders."""
        value = np.empty((len(orders), len(self._back)))
        self._library.dovetail_greedy_values(
            self._at, *orders.shape, address(orders), address(value)
        )
        found: Float = value[:, self._back]
        return found


def first_fit(library: ctypes.CDLL, nodes: tuple[Int, Int], offers: tuple[Bool, Int]) -> Int:
    """For every node the first offer that takes it, or -1.

    `nodes`: the row of each in `offers`, and what it uses. `offers`: who accepts, and capacities.
    """
    row_n, used_nr = nodes
    accept, cap_pr = offers
    first = np.empty(len(row_n), dtype=np.int64)
    library.dovetail_first_fit(
        len(row_n),
        *cap_pr.shape,
        address(row_n),
        address(used_nr),
        address(accept),
        address(cap_pr),
        address(first),
    )
    return first


def skyline(
    library: ctypes.CDLL, place: Int, cap: Int, taken: tuple[npt.NDArray[np.uint64], Bool]
) -> Int:
    """For offers in order of place and price: which one beats each, or itself.

    `taken`: the pods that each takes, as bits, and whether it is scarce.
    """
    bits, scarce = taken
    winner, kept = np.empty((2, len(place)), dtype=np.int64)
    arrays = (place, cap, bits, scarce, winner, kept)
    library.dovetail_skyline(*cap.shape, bits.shape[1], *map(address, arrays))
    return winner


Limits = Sequence[tuple[Int, int]]


def recreate(
    library: ctypes.CDLL,
    arrays: Sequence[npt.NDArray[np.generic]],
    about: tuple[Limits, tuple[Int, Int], Int, int],
    effort: tuple[int, int, int, int],
) -> tuple[int, Int]:
    """Improve nodes in place; returns how many there are then, and what nodes of the best states
    on the way held.

    `arrays`: as `Nodes` in `recreate.c` lists them, up to the prices. `about`: limits, the orders
    of sorts, the nodes, and how many there may be. `effort`: nodes, pods, looks and tries.
    """
    limits, orders, nodes, room = about
    n_nodes, n_pods, looks, tries = effort
    n_sorts, n_resources = arrays[0].shape
    n_offers = len(arrays[-1])
    use = np.array([row for row, _ in limits], dtype=np.int64).reshape(len(limits), n_offers)
    left = np.array([amount for _, amount in limits], dtype=np.int64)
    scratch = np.zeros((2, max(n_pods, 1)), dtype=np.int64)
    kept = [np.ascontiguousarray(one) for one in (*arrays, use, left, *orders)]
    saved = np.zeros((2, room), dtype=np.int64)
    places = [*map(address, kept), *map(address, (nodes, saved, scratch[0], scratch[1]))]
    shape = (n_sorts, n_resources, n_offers, arrays[1].shape[1], len(limits), room)
    patterns = np.zeros((MOST_KEPT, n_sorts), dtype=np.int64)
    memory = (address(patterns), MOST_KEPT, 0, 0, 0, 0)
    block = np.array([*shape, *places, *memory, _FIRST_CHANCE, looks], dtype=np.int64)
    n_after = int(library.dovetail_recreate(address(block), n_nodes, tries, _MOST_RUINED))
    return n_after, patterns[: int(block[-6])]


def least_loss(
    library: ctypes.CDLL,
    vectors: tuple[Float, Float, Float],
    cuts: tuple[Int, Float, Float],
    pods: tuple[Float, Float],
) -> tuple[Int, Float]:
    """For every offer the multiplier that undercuts pod values least, and by how much.

    `vectors`: what a pod of each class is worth, the weight of each kind of cut, and the scale at
    each offer. `cuts`: for each kind its k, what classes ask for and what offers have of its
    resource. `pods`: their values and their number.
    """
    n_classes, n_offers = pods[0].shape
    n_vectors, n_kinds = len(vectors[0]), len(cuts[0])
    scratch = (np.empty((n_kinds, n_offers)), np.empty(n_offers), np.zeros((n_vectors, n_offers)))
    best, choice = np.full(n_offers, np.inf), np.zeros(n_offers, dtype=np.int64)
    arrays = [np.ascontiguousarray(one) for one in (*vectors, *cuts, *pods)]
    arrays += [*scratch, best, choice]
    shape = (n_vectors, n_classes, n_offers, n_kinds)
    library.dovetail_least_loss(*shape, *map(address, arrays))
    return choice, best


class LoopShelf:
    """What one pool sells, as the library wants to see it."""

    def __init__(
        self,
        library: ctypes.CDLL,
        offers: tuple[Int, Int, Int, Bool],
        sizes_xr: Int,
        ways: Sequence[tuple[str, str]],
    ) -> None:
        """`offers`: size, type and way to buy of each, and whether it is to be had."""
        self._library = library
        kinds = {kind: number for number, (kind, _) in enumerate(ways)}
        zones = {zone: number for number, (_, zone) in enumerate(ways)}
        n_types = int(offers[1].max(initial=-1)) + 1
        self._places = np.zeros(len(offers[0]), dtype=np.int64)
        self._kept = (
            *map(np.ascontiguousarray, offers),
            np.ascontiguousarray(sizes_xr),
            np.array([kinds[kind] for kind, _ in ways], dtype=np.int64),
            np.array([zones[zone] for _, zone in ways], dtype=np.int64),
            *(np.zeros(n, dtype=bool) for n in (len(sizes_xr), n_types, n_types, len(ways))),
            np.zeros(len(offers[0]), dtype=bool),
        )
        shape = (len(offers[0]), n_types, len(ways), *sizes_xr.shape)
        self._block = np.array([*shape, *map(address, self._kept)], dtype=np.int64)
        self._at = address(self._block)
        self._out = address(self._places)

    def fallbacks(self, fine_o: Bool, may_w: Bool, used: Int, own: int, most: int) -> Int | None:
        """The places of the offers that may be named beside one, of so many types in all; None
        where names must be chosen with care.
        """
        n_places = self._library.dovetail_fallbacks(
            self._at, address(fine_o), address(may_w), address(used), own, most, self._out
        )
        return None if n_places < 0 else self._places[:n_places].copy()
