"""Conversions end where they began: what is of v1 stays, and nothing is lost in silence."""

from __future__ import annotations

import copy
import io
from typing import Any, Final

import msgspec
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.api.older.door import ConversionOptions
from dovetail.cloud.registry import extensions
from dovetail.kube import yaml_trees
from dovetail.kube.manifests import read_all_problems
from dovetail.kube.rewriting.files import ConvertedFiles, convert_files
from tests.laws.older_manifests import SOUND, Tree, spoiled

EXAMPLES: Final = settings(max_examples=40)
STREAMS: Final = st.lists(SOUND, min_size=1, max_size=3)
EXTENSIONS: Final = extensions()


def run(text: str, **options: Any) -> ConvertedFiles:
    """What becomes of a text."""
    stdin = io.BytesIO(text.encode())
    return convert_files(["-"], stdin, EXTENSIONS, ConversionOptions(**options))


def written(trees: list[Tree], *, is_flow: bool | None, indent: int) -> str:
    """A stream as a library for YAML writes it."""
    text: str = yaml.dump_all(
        copy.deepcopy(trees),
        Dumper=Dumper,
        sort_keys=False,
        default_flow_style=is_flow,
        indent=indent,
        allow_unicode=True,
    )
    return text


class Dumper(yaml.SafeDumper):
    """Quotes what the reader of manifests would take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything where it stands."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_read_as_text = yaml_trees.plain_value(text) == text
    style = None if is_read_as_text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, _represent_text)


@EXAMPLES
@given(STREAMS, st.sampled_from([True, False, None]), st.integers(2, 5))
def test_converting_twice_changes_nothing(trees: list[Tree], is_flow: Any, indent: int) -> None:
    """To the byte, whatever could not be converted."""
    converted = run(written(trees, is_flow=is_flow, indent=indent))
    if converted.files:
        text = converted.files[0].text
        again = run(text)
        assert again.files[0].text == text
        assert again.changes == ()


@EXAMPLES
@given(STREAMS)
def test_json_and_yaml_become_the_same(trees: list[Tree]) -> None:
    """And converting JSON twice changes nothing either."""
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": trees}).decode()
    as_json = run(text).files[0].text
    as_yaml = run(written([msgspec.json.decode(text)], is_flow=False, indent=2)).files[0].text
    read = [tree for _, tree in documents(as_yaml)]
    assert read == [msgspec.json.decode(as_json)]
    assert run(as_json).files[0].text == as_json


def documents(text: str) -> list[tuple[int, Any]]:
    """The documents of a text, read by the rules of Kubernetes."""
    return list(yaml_trees.trees(text.encode()))


@EXAMPLES
@given(STREAMS, st.randoms(use_true_random=False))
def test_no_comment_is_lost_in_silence(trees: list[Tree], random: Any) -> None:
    """Above and behind any line: it is in the result, or in a warning."""
    comments: list[str] = []
    lines: list[str] = []
    for line in written(trees, is_flow=False, indent=2).splitlines():
        is_whole = not line.strip() or line.endswith((":", " true", " a", " b")) or "- key" in line
        indent = " " * (len(line) - len(line.lstrip()))
        if is_whole and random.random() < 0.3:
            comments.append(f"# above {len(comments)}.")
            lines.append(indent + comments[-1])
        lines.append(line)
        if is_whole and line.strip() and random.random() < 0.3:
            comments.append(f"# behind {len(comments)}.")
            lines[-1] += f" {comments[-1]}"
    text = "\n".join(lines) + "\n"
    if documents_or_none(text) != documents_or_none(written(trees, is_flow=False, indent=2)):
        return  # it stood in a text of several lines
    converted = run(text)
    for comment in comments:
        is_told = any(comment in warning for warning in converted.warnings)
        assert is_told != (comment in converted.files[0].text), comment


def documents_or_none(text: str) -> list[Any] | None:
    """What a text reads as, None if it cannot be read."""
    try:
        return documents(text)
    except yaml_trees.YamlError:
        return None


@EXAMPLES
@given(st.lists(spoiled(), min_size=1, max_size=3))
def test_nothing_that_can_be_written_ends_the_program(trees: list[Tree]) -> None:
    """Each object is converted, or named in an error; reading for a plan ends as well."""
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": trees}).decode()
    converted = run(text)
    assert len(converted.files) + len(converted.errors) >= 1
    for error in converted.errors:
        assert error.startswith("standard input, document 1")
    read_all_problems(["-"], io.BytesIO(text.encode()), EXTENSIONS)
    run(written(trees, is_flow=None, indent=2))


@EXAMPLES
@given(STREAMS)
def test_every_object_stays_one_of_its_name(trees: list[Tree]) -> None:
    """Conversion adds classes, and removes nothing."""
    text = written(trees, is_flow=False, indent=2)
    after = [tree for _, tree in documents(run(text).files[0].text)]
    names = [tree["metadata"]["name"] for tree in trees]
    assert len(after) >= len(trees)
    assert [
        name for name in names if name not in {tree["metadata"]["name"] for tree in after}
    ] == []
