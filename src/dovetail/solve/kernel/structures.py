"""The structures that are handed to the compiled loops, field for field as in the C files.

A structure of the C files has its name here with `Struct` behind it. The C side exports the size of
each as `dovetail_sizeof_NAME`; `loops` compares them when the library is loaded. What the fields
mean is said in the C files.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
_NUMBER: Final = ctypes.c_int64
_POINTER: Final = ctypes.c_void_p
_BYTE: Final = ctypes.c_char
Fields = list[tuple[str, type[ctypes.c_int64] | type[ctypes.c_void_p]]]


def address(array: Array) -> int:
    """Where an array begins; it must be contiguous and outlive the call."""
    if array.flags.writeable and array.nbytes:
        # Four times as fast as NumPy's own answer, which read-only arrays need.
        return ctypes.addressof(_BYTE.from_buffer(array.data))
    return int(array.ctypes.data)


def _numbers(*names: str) -> Fields:
    return [(name, _NUMBER) for name in names]


def _pointers(*names: str) -> Fields:
    return [(name, _POINTER) for name in names]


class KernelStruct(ctypes.Structure):
    """A structure that C reads and writes. It is made with a value for every field, where pointers
    are given as arrays or as addresses, and keeps the arrays alive.
    """

    names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        """Remember the names of the fields: ctypes itself would accept any."""
        cls.names = frozenset(name for name, *_ in cls.__dict__["_fields_"])

    def __init__(self, **values: int | Array) -> None:
        if values.keys() != self.names:
            wrong = sorted(self.names.symmetric_difference(values))
            message = f"{type(self).__name__}: missing or unknown fields {', '.join(wrong)}"
            raise TypeError(message)
        numbers = {}
        self.arrays: list[Array] = []
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                array = np.ascontiguousarray(value)
                self.arrays.append(array)
                numbers[name] = address(array)
            else:
                numbers[name] = value
        super().__init__(**numbers)


def pointer_to(struct: KernelStruct) -> object:
    """The structure as an argument of a compiled loop; it must outlive the call."""
    return ctypes.byref(struct)


class BinsStruct(KernelStruct):
    """Nodes: what is free on each, and who is there."""

    _fields_ = (
        *_numbers("stride", "n_resources"),
        *_pointers("free", "cell", "weight", "accept", "match", "own", "floor"),
        *_pointers("room", "heap", "key"),
    )


class SharesStruct(KernelStruct):
    """New nodes that are filled by each unit's share of them."""

    _fields_ = (
        *_numbers("n_units", "n_offers", "how"),
        *_pointers("units", "weight", "row", "share", "left", "rest"),
        *_pointers("wish", "order", "carry"),
        *_pointers("start", "stop", "part", "cpu", "memory"),
        *_pointers("who", "used", "nodes", "counts"),
        *_numbers("n_entries", "n_nodes"),
    )


class OfferScanStruct(KernelStruct):
    """Units and offers, to value an empty node of every offer."""

    _fields_ = (
        *_numbers("n_offers", "n_resources"),
        *_pointers("request", "inverse", "most", "worth", "start", "stop", "takes", "cap"),
        *_pointers("free", "held"),
    )


class PoolOffersStruct(KernelStruct):
    """What one pool sells, to find fallbacks of a launch."""

    _fields_ = (
        *_numbers("n_offers", "n_types", "n_ways", "n_sizes", "n_resources"),
        *_pointers("size", "row", "way", "is_left", "sizes", "kind_w", "zone_w"),
        *_pointers("fits_x", "fine_t", "named_t", "near_w", "fits_o"),
    )


class FirstFitStruct(KernelStruct):
    """Nodes and offers, to find the cheapest offer for every node."""

    _fields_ = (
        *_numbers("n_nodes", "n_offers", "n_resources"),
        *_pointers("row", "used", "accept", "cap", "first"),
    )


class SkylineStruct(KernelStruct):
    """Offers, to find those that another one beats in everything."""

    _fields_ = (
        *_numbers("n_offers", "n_resources", "n_words"),
        *_pointers("place", "cap", "bits", "scarce", "winner", "kept"),
    )


class LeastLossStruct(KernelStruct):
    """Multipliers and cuts, to choose a multiplier for every offer."""

    _fields_ = (
        *_numbers("n_vectors", "n_classes", "n_offers", "n_kinds"),
        *_pointers("worth", "nu", "scale", "k_w", "request", "cap", "pi", "demand"),
        *_pointers("weight", "whole", "loss", "best", "choice"),
    )


class QuotasStruct(KernelStruct):
    """Groups and zone terms, to settle how many pods go to which cell."""

    _fields_ = (
        *_numbers("n_groups", "n_cells", "has_weights"),
        *_pointers("domain", "kind", "key", "skew", "min_domains", "start", "size"),
        *_pointers("counts", "is_lone"),
        *_pointers("match", "own", "foreseen", "seen", "followers", "has_followers"),
        *_pointers("count", "own_from", "own_terms", "match_from", "match_terms"),
        *_pointers("lack_from", "lacks", "offer_from", "offered", "may_lead", "wants_host"),
        *_pointers("is_open", "order", "weight"),
        *_pointers("is_there", "launch", "allowed", "fine", "reach", "most", "crowd", "lure"),
        *_pointers("placed", "n_turns", "cells", "steps"),
        *_numbers("n_turns_in_all"),
    )


class KnapsackStruct(KernelStruct):
    """Items and tables of a knapsack, and memory to search in."""

    _fields_ = (
        *_numbers("n_items", "n_resources", "n_tables"),
        *_pointers("request", "value", "most", "apart", "exact", "unit", "size", "price", "start"),
        *_pointers("paid", "rows", "spare", "cell", "alike", "free", "barred"),
        *_pointers("count", "best_count", "order"),
        *_numbers("width", "best", "left"),
    )


class RebuildStruct(KernelStruct):
    """Sorts of pods, offers and nodes, to ruin and recreate."""

    _fields_ = (
        *_numbers("n_sorts", "n_resources", "n_offers", "n_words", "n_limits", "room"),
        *_pointers("request", "accept", "together", "cap", "price", "use", "left"),
        *_pointers("by_cpu", "by_memory", "node", "saved", "pods", "key", "kept"),
        *_numbers("most_kept", "n_kept", "n_saved", "turn", "n_before", "chance", "looks"),
    )


STRUCTURES: Final[tuple[type[KernelStruct], ...]] = (
    BinsStruct,
    SharesStruct,
    OfferScanStruct,
    PoolOffersStruct,
    FirstFitStruct,
    SkylineStruct,
    LeastLossStruct,
    QuotasStruct,
    KnapsackStruct,
    RebuildStruct,
)
