"""YAML with comments reads back as the tree without them."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dovetail.units.commented import Commented, CommentedTree, plain, yaml_text

SCALARS = st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12)
TREES: st.SearchStrategy[CommentedTree] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), TREES, max_size=4))
def test_the_text_reads_back_as_the_tree(tree: dict[str, CommentedTree]) -> None:
    """Whatever text there is, quoted where that is needed."""
    text = yaml_text(tree)
    assert yaml.safe_load(text) == tree


def test_comments_stand_above_what_they_are_about() -> None:
    """Indented as it is, with a line for each line."""
    tree: dict[str, CommentedTree | Commented] = {
        "a": Commented({"b": Commented(1, "Inner.")}, "Outer,\nin two lines."),
        "c": [Commented({"d": "e", "f": ["g", "h"]}, "Item."), "on"],
        "i": {},
        "j": [],
    }
    assert yaml_text(tree) == (
        "# Outer,\n# in two lines.\na:\n  # Inner.\n  b: 1\n"
        'c:\n  # Item.\n  - d: e\n    f: [g, h]\n  - "on"\ni: {}\nj: []\n'
    )
    assert plain(tree) == {
        "a": {"b": 1},
        "c": [{"d": "e", "f": ["g", "h"]}, "on"],
        "i": {},
        "j": [],
    }


@pytest.mark.parametrize("text", ["", "no", "Yes", "NULL", "7", "1e3", "a: b", "- a", "#", "ä\n"])
def test_text_that_could_be_something_else_is_quoted(text: str) -> None:
    """It stays text for every reader."""
    assert yaml.safe_load(yaml_text({text: text})) == {text: text}
