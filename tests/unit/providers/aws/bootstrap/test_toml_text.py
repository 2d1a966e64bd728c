"""TOML."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.providers.aws.bootstrap.toml_text import toml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", "a.b", "a\nb = 1", '"', "'''", "\\", "#", "]", "\x7f", "\r\n", "\x00", "😀"]
)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | TEXTS
    | st.floats(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_toml_says_what_it_was_made_of(tree: dict[str, Any]) -> None:
    """Whatever is in the texts: no table, no key and no value is another."""
    assert tomllib.loads(toml_text(tree)) == tree


def test_tables_follow_values_and_keys_are_sorted() -> None:
    """An empty table is kept, and lists of tables are written in line."""
    tree = {"b": {"d": {}, "c": 1}, "a": [{"y": 1, "x": [True]}], "nan": {"v": float("nan")}}
    want = "a = [{x = [true], y = 1}]\n\n[b]\nc = 1\n\n[b.d]\n\n[nan]\nv = nan\n"
    assert toml_text(tree) == want


def test_what_toml_has_not_cannot_be_written() -> None:
    """There is no null in it."""
    with pytest.raises(TypeError, match="cannot be written"):
        toml_text({"a": None})
