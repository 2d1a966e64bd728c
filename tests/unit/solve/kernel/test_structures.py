"""The structures in Python and in C are the same."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from dovetail.solve.kernel import loading
from dovetail.solve.kernel.structures import STRUCTURES, FirstFitStruct, KernelStruct, SkylineStruct

SOURCES = sorted(Path(loading.__file__).parent.glob("*.c"))


def fields_in_c() -> dict[str, list[tuple[str, bool]]]:
    """By name of the structure the fields in order, and whether each is a pointer."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    exported = set(re.findall(r"^SIZE_OF\((\w+)\);", text, flags=re.MULTILINE))
    structures = re.findall(r"typedef struct \{([^}]*)\} (\w+);", text)
    return {name: list(_fields(body)) for body, name in structures if name in exported}


def _fields(body: str) -> list[tuple[str, bool]]:
    declarations = [part.strip() for part in body.split(";") if part.strip()]
    pairs = []
    for declaration in declarations:
        for part in declaration.split(","):
            name = re.findall(r"\w+", part)[-1]
            pairs.append((name, "*" in part))
    return pairs


def fields_in_python(struct: type[KernelStruct]) -> list[tuple[str, bool]]:
    """The same of a structure in Python."""
    return [(name, kind is ctypes.c_void_p) for name, kind, *_ in struct._fields_]


def test_structures_have_the_same_fields_in_the_same_order() -> None:
    """Sizes alone would not tell two fields that changed places."""
    want = fields_in_c()
    got = {
        struct.__name__.removesuffix("Struct"): fields_in_python(struct) for struct in STRUCTURES
    }
    assert got == want


def test_a_structure_of_another_size_is_noticed() -> None:
    """The library says how large its structures are."""

    class Skyline(KernelStruct):
        _fields_ = (*SkylineStruct._fields_, ("more", ctypes.c_int64))

    class Unknown(KernelStruct):
        _fields_ = (("n_offers", ctypes.c_int64),)

    library = loading.library()
    assert library is not None
    assert loading.has_same_sizes(library)
    assert not loading.has_same_sizes(library, [Skyline])
    assert not loading.has_same_sizes(library, [Unknown])


def test_a_library_with_other_sizes_is_left_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would read what it is given wrongly."""
    monkeypatch.setattr(loading, "has_same_sizes", lambda _: False)
    with pytest.warns(RuntimeWarning, match="other sizes"):
        assert loading.load(Path(loading.__file__).parent) is None


def test_every_field_must_be_given() -> None:
    """And no other: ctypes itself would take any name."""
    arrays = {name: np.zeros(1) for name in ("row", "used", "accept", "cap", "first")}
    numbers = {"n_nodes": 1, "n_offers": 1, "n_resources": 1}
    assert FirstFitStruct(**arrays, **numbers).n_nodes == 1
    with pytest.raises(TypeError, match="n_nodes"):
        FirstFitStruct(**arrays, n_offers=1, n_resources=1)
    with pytest.raises(TypeError, match="rows"):
        FirstFitStruct(**arrays, **numbers, rows=1)
