"""YAML to trees: the values that Kubernetes would read, and no others."""

from __future__ import annotations

import pytest
import yaml

from dovetail import api
from dovetail.kube.yaml_trees import YamlError, trees


def tree(text: str) -> api.Tree:
    """The only document of this text."""
    [(_, found)] = trees(text.encode())
    return found


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1", 1),
        ("-7", -7),
        ("+7", 7),
        ("0x1f", 31),
        ("0b11", 3),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("2.5e-1", 0.25),
        ("yes", True),
        ("Off", False),
        ("true", True),
        ("~", None),
        ("null", None),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("100m", "100m"),
        ("1Gi", "1Gi"),
        ("-", "-"),
        (".", "."),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("1e999", "1e999"),
        ("y", "y"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, want: object) -> None:
    """Times and base 60 stay text; numbers, truth and null are what YAML 1.1 says."""
    got = tree(f"a: {text if text != '-' else repr(text)}")
    assert got == {"a": want}
    assert isinstance(got, dict)
    assert type(got["a"]) is type(want)


def test_an_absent_value_is_null() -> None:
    """A key without a value is there, with nothing."""
    assert tree("a:\nb: 1") == {"a": None, "b": 1}


def test_keys_are_text() -> None:
    """Kubernetes knows only text for keys, whatever YAML takes them for."""
    assert tree("1: a\ntrue: b\n2.5: c\nnull: d") == {
        "1": "a",
        "true": "b",
        "2.5": "c",
        "null": "d",
    }


def test_structure_agrees_with_the_reference_loader() -> None:
    """Nested lists, mappings and block text come out as PyYAML's own loader has them."""
    text = """
a: [1, [2, {b: c}], []]
d:
- e: |
    two
    lines
  f: >-
    folded
    text
- - x
  - "y\\n"
g: {h: {}}
"""
    assert tree(text) == yaml.safe_load(text)


def test_aliases_stand_for_their_anchors() -> None:
    """Scalars, lists and mappings can be referred to, as values and as keys."""
    assert tree("a: &x 1\nb: *x\nc: &y [1, &z {k: v}]\nd: *y\ne: *z\nf: &t key\n*t : 2") == {
        "a": 1,
        "b": 1,
        "c": [1, {"k": "v"}],
        "d": [1, {"k": "v"}],
        "e": {"k": "v"},
        "f": "key",
        "key": 2,
    }


def test_merged_mappings_fill_in_what_is_missing() -> None:
    """<< fills gaps, own keys win, of several merged mappings the first."""
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 0}\nw: {<<: *y}\n'<<': q"
    found = tree(text)
    assert isinstance(found, dict)
    assert found["z"] == {"a": 0, "b": 1, "c": 2}
    assert found["w"] == {"b": 2, "c": 2}
    assert found["<<"] == "q"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: !!python/object:os.system x", "tag"),
        ("a: !!binary aGk=", "tag"),
        ("a: !!set {x}", "tag"),
        ("a: !!int x", "tag"),
        ("? [a]\n: b", "a key that is not text"),
        ("a: &x [1]\n*x : b", "a key that is not text"),
        ("a: *nothing", r"\*nothing refers to nothing"),
        ("<<: 5", "<< merges something else"),
        ("a: {b: 1, b: 1}", "'b' occurs twice"),
    ],
)
def test_what_no_manifest_needs_is_refused(text: str, want: str) -> None:
    """Each refusal says what was expected instead, and in which line."""
    with pytest.raises(YamlError, match=f"line .*{want}.*; expected"):
        tree(text)


def test_documents_are_numbered_though_some_are_empty() -> None:
    """The number is that of the document in the file, so that a person can find it."""
    assert list(trees(b"---\n---\na: 1\n---\n# no\n---\nb: 2\n")) == [(2, {"a": 1}), (4, {"b": 2})]


def test_aliases_within_reason_are_no_error() -> None:
    """A thousand references to a small mapping are a manifest, not a bomb."""
    text = "base: &b {a: 1, b: 2}\nall:\n" + "- *b\n" * 1000
    found = tree(text)
    assert isinstance(found, dict)
    assert found["all"] == [{"a": 1, "b": 2}] * 1000
