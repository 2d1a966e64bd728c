"""YAML in block style."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dovetail.kube import yaml_trees
from dovetail.providers.aws.bootstrap.block_yaml import block_yaml

# JSON without what UTF-8 cannot carry.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", "yes", "No", "null", "~", "1", "1e3", "0x1", "1:30", "a: b", "- a", "--a=b", "a #b", "=",
     "<<", "a\n---\nb: c", "2020-01-01", ".inf", "'", '"', "{}", "[a]", "&a", "*a", "!a", "%a",
     "@a", "`a", "a:", "10.0.0.0/16", "fd00::/8", "😀", "\x85", "\u2028", "\ufeff", "\x00"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXTS | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
TREES = st.dictionaries(TEXTS, VALUES, max_size=4)


@given(TREES)
def test_yaml_says_what_it_was_made_of(tree: dict[str, Any]) -> None:
    """Whatever is in the texts: they are neither other types nor other keys."""
    assert yaml.safe_load(block_yaml(tree) or "{}") == tree or tree == {}


@given(st.dictionaries(TEXTS, TEXTS, max_size=4).filter(lambda tree: "" not in tree))
def test_both_readers_of_yaml_agree(tree: dict[str, str]) -> None:
    """The one of manifests reads YAML 1.1 by other rules."""
    trees = [one for _, one in yaml_trees.trees(block_yaml(tree).encode())]
    assert trees == ([tree] if tree else [])


def test_keys_are_sorted_and_texts_are_plain_where_that_is_safe() -> None:
    """People read it."""
    tree = {"b": ["--x=y", {"d": 1, "c": "on"}], "a": {"k": []}, "e": {}}
    assert block_yaml(tree) == ('a:\n  k: []\nb:\n  - --x=y\n  - c: "on"\n    d: 1\ne: {}\n')


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), pytest.param(object(), id="an object"), b"x"], ids=repr
)
def test_what_json_has_not_cannot_be_written(value: object) -> None:
    """It would be something else for the reader."""
    with pytest.raises(TypeError, match="cannot be written"):
        block_yaml({"a": value})
