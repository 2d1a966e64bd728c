"""Tests hashes of structures: single values by FNV-1, the rest by laws."""

from __future__ import annotations

import pytest

from dovetail.units import structure_hash


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param("", 0xCBF29CE484222325, id="nothing is the offset"),
        pytest.param("a", 0xAF63BD4C8601B7BE, id="a letter, as published with FNV"),
        pytest.param("foobar", 0x340D8765A4DDA9C2, id="a word, as published with FNV"),
    ],
)
def test_a_text_is_hashed_with_fnv_1(value: str, want: int) -> None:
    """The published values of the 64-bit FNV-1."""
    assert structure_hash.text(value) == want


def test_numbers_are_hashed_by_their_bytes() -> None:
    """Little endian, as wide as their type, with their sign."""
    assert structure_hash.integer(ord("a"), 1) == structure_hash.text("a")
    assert structure_hash.integer(0x6261, 2) == structure_hash.text("ab")
    assert structure_hash.integer(1, 4) != structure_hash.integer(1)
    assert structure_hash.integer(-1) != structure_hash.integer(1)
    assert structure_hash.truth(True) == structure_hash.integer(1, 1)


def test_maps_and_lists_have_no_order() -> None:
    """What is equal as a set hashes alike."""
    assert structure_hash.texts({"a": "1", "b": "2"}) == structure_hash.texts({"b": "2", "a": "1"})
    assert structure_hash.members([1, 2]) == structure_hash.members([2, 1]) == 3
    assert structure_hash.members([]) == 0


def test_a_field_without_a_value_does_not_count() -> None:
    """Zero values are left out, name and all."""
    bare = structure_hash.struct("Taint")
    assert bare == structure_hash.text("Taint")
    assert structure_hash.struct("Taint", ("Key", None)) == bare
    assert structure_hash.struct("Taint", ("Key", 0)) != bare


def test_the_order_of_fields_counts() -> None:
    """The hash is closed after each field."""
    fields = (("A", 1), ("B", 2))
    assert structure_hash.struct("T", *fields) != structure_hash.struct("T", *reversed(fields))
