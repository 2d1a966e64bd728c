"""Loads the compiled loops, if they were built for these sources, and says whether to use them.

The library is optional: installed without a compiler, `library()` is None and the plain twins are
used, which give the same answers. Calls pass structures (`structures`) and addresses of arrays. A
library of another source than the one beside it, or with structures of other sizes, would read them
wrongly, and is not used.
"""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dovetail.solve.kernel import structures

Library = ctypes.CDLL
_ADDRESS = ctypes.c_void_p
_INT = ctypes.c_int64
_FLOAT = ctypes.c_double
_BINS = ctypes.POINTER(structures.BinsStruct)
_SIGNATURES: Final = {
    "dovetail_room": [_BINS, _ADDRESS, _INT, _INT, _INT, _ADDRESS],
    "dovetail_fill": [_BINS, _ADDRESS, *[_INT] * 5, _FLOAT, _FLOAT, _ADDRESS, _ADDRESS],
    "dovetail_fill_one": [_BINS, _INT, *[_ADDRESS] * 3, _INT, _ADDRESS],
    "dovetail_first_fit": [ctypes.POINTER(structures.FirstFitStruct)],
    "dovetail_fallbacks": [
        ctypes.POINTER(structures.PoolOffersStruct),
        *[_ADDRESS] * 3,
        *[_INT] * 2,
        _ADDRESS,
    ],
    "dovetail_least_loss": [ctypes.POINTER(structures.LeastLossStruct)],
    "dovetail_skyline": [ctypes.POINTER(structures.SkylineStruct)],
    "dovetail_settle": [ctypes.POINTER(structures.QuotasStruct)],
    "dovetail_share_out": [_BINS, ctypes.POINTER(structures.SharesStruct)],
    "dovetail_greedy_values": [
        ctypes.POINTER(structures.OfferScanStruct),
        *[_INT] * 2,
        *[_ADDRESS] * 2,
    ],
    "dovetail_recreate": [ctypes.POINTER(structures.RebuildStruct), *[_INT] * 3],
    "dovetail_fill_best": [
        ctypes.POINTER(structures.KnapsackStruct),
        _INT,
        *[_ADDRESS] * 2,
        _INT,
        *[_ADDRESS] * 3,
    ],
}


_STALE: Final = (
    "{path} was compiled from another source than the one beside it and is left aside: plans are "
    "the same, but take longer. Compile it anew with `make setup`, or install the package again."
)
_OTHER_SIZES: Final = (
    "{path} has structures of other sizes than `dovetail.solve.kernel.structures` and is left "
    "aside: plans are the same, but take longer."
)


def mark(folder: Path) -> bytes:
    """What tells one state of the C sources from another; as in hatch_build.py."""
    sources = sorted(folder.glob("*.c"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest().encode()


def load(folder: Path) -> Library | None:
    """The compiled library of a folder; None when it was not built, or from another source."""
    path = folder / "_kernel.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    if _source_of(library) != mark(folder):
        warnings.warn(_STALE.format(path=path), RuntimeWarning, stacklevel=2)
        return None
    if not has_same_sizes(library):
        warnings.warn(_OTHER_SIZES.format(path=path), RuntimeWarning, stacklevel=2)
        return None
    for name, arguments in _SIGNATURES.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = None
    for name in ("dovetail_fill", "dovetail_fallbacks", "dovetail_recreate"):
        getattr(library, name).restype = _INT
    return library


def _source_of(library: Library) -> bytes | None:
    try:
        return ctypes.c_char_p.in_dll(library, "dovetail_source").value
    except ValueError:  # older than the mark
        return None


def has_same_sizes(
    library: Library,
    expected: Sequence[type[structures.KernelStruct]] = structures.STRUCTURES,
) -> bool:
    """Whether the library has every structure, each as large as it is in Python."""
    return all(_size_in(library, struct) == ctypes.sizeof(struct) for struct in expected)


def _size_in(library: Library, struct: type[structures.KernelStruct]) -> int | None:
    name = struct.__name__.removesuffix("Struct")
    try:
        return _INT.in_dll(library, f"dovetail_sizeof_{name}").value
    except ValueError:  # the library knows no such structure
        return None


_BUILT: Final = load(Path(__file__).parent)
_active: Library | None = _BUILT


def is_built() -> bool:
    """Whether there is a compiled library at all."""
    return _BUILT is not None


def library() -> Library | None:
    """The compiled library, if it is to be used."""
    return _active


@contextmanager
def plain() -> Iterator[None]:
    """Use the plain twins for a while, to compare."""
    global _active  # noqa: PLW0603  # the one switch there is, for tests and benchmarks
    before, _active = _active, None
    try:
        yield
    finally:
        _active = before
