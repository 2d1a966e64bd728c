"""Computes 64-bit hashes of structures as the reference does, so that its annotations stay valid.

The rules are those of the Go library hashstructure, format 2, with slices as sets and zero values
left out. Every value is hashed with FNV-1 over 64 bits, numbers in little endian. Maps and lists do
not depend on order. A field without a value (None) does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import xor
from typing import Final

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1

HashedField = tuple[str, int | None]  # the name, and the hash of the value unless that is zero


def struct(type_name: str, *fields: HashedField) -> int:
    """The hash of a struct; fields in the order of their declaration."""
    result = text(type_name)
    for name, value in fields:
        if value is not None:
            result = _fnv(_words(result ^ pair(text(name), value)))
    return result


def mapping(by_key: Mapping[str, int]) -> int:
    """The hash of a map from text to hashes of values."""
    entries = (pair(text(key), value) for key, value in by_key.items())
    return _fnv(_words(reduce(xor, entries, 0)))


def texts(by_key: Mapping[str, str]) -> int:
    """The hash of a map from text to text."""
    return mapping({key: text(value) for key, value in by_key.items()})


def members(hashes: Iterable[int]) -> int:
    """The hash of a list as a set."""
    return reduce(xor, hashes, 0)


def text(value: str) -> int:
    """The hash of a text."""
    return _fnv(value.encode())


def integer(value: int, n_bytes: int = 8) -> int:
    """The hash of a signed integer of this width; what does not fit is cut off."""
    return _fnv((value % 2 ** (8 * n_bytes)).to_bytes(n_bytes, "little"))


def truth(value: bool) -> int:  # noqa: FBT001  the value itself
    """The hash of a boolean."""
    return integer(int(value), 1)


def pair(first: int, second: int) -> int:
    """The hash of two hashes in order."""
    return _fnv(_words(first, second))


def _words(*hashes: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in hashes)


def _fnv(data: bytes) -> int:
    result = _OFFSET
    for byte in data:
        result = (result * _PRIME & _MASK) ^ byte
    return result
