"""ARCHITECTURE.md names what is there: its drawing, its paths, its walk."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.drawing import COLOURS, PACKAGES, PICTURE, layers, picture, reduced
from tests.house.walk import walk

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dovetail"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MOST_FILES = 25
# A protocol has no code to run, and the solver is left out of the trace.
NOT_TRACED = {"cloud/provider.py", "solve/pipeline.py"}


def section(title: str) -> str:
    """The text below a heading."""
    _, _, rest = TEXT.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def paths(text: str) -> list[str]:
    """Everything between backticks that looks like a path."""
    found = re.findall(r"`([\w./-]+)`", text)
    return [one for one in found if "/" in one or one.endswith((".py", ".md", ".svg", ".toml"))]


def exists(path: str) -> bool:
    """Whether there is such a file, folder or module."""
    return any((base / name).exists() for base in (SOURCE, ROOT) for name in (path, f"{path}.py"))


def test_the_drawing_is_made_from_the_imports() -> None:
    """`python -m tests.house.drawing` draws it again."""
    assert PICTURE.read_text(encoding="utf-8") == picture()


def test_every_package_is_drawn() -> None:
    """With a few words and a colour that the legend explains."""
    assert sorted(PACKAGES) == sorted(name for row in layers() for name in row)
    assert {colour for _, colour in PACKAGES.values()} == set(COLOURS.values())


def test_an_import_that_others_imply_is_not_drawn() -> None:
    """Nor one of a leaf."""
    imports = {"a": {"b", "c", "leaf"}, "b": {"c"}, "c": {"leaf"}}
    assert reduced(imports, ["leaf"]) == {"a": ["b"], "b": ["c"], "c": []}


def test_every_path_exists() -> None:
    """A file that moves is found by its new name."""
    assert [path for path in paths(TEXT) if not exists(path)] == []


def test_the_walk_is_short_and_every_file_is_on_it() -> None:
    """At most 25 files, each of which runs when a pod gets a node."""
    files = re.findall(r"^\| `([\w./]+)` \|", section("The walk of one pod"), flags=re.MULTILINE)
    assert 0 < len(files) <= MOST_FILES
    assert len(set(files)) == len(files)
    assert sorted(set(files) - NOT_TRACED - set(walk().modules)) == []


def test_each_package_has_three_files_to_read_first() -> None:
    """Of its own; a package of one module has that one."""
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section("Read first"), flags=re.MULTILINE)
    got = {name: paths(text) for name, text in rows}
    assert sorted(got) == sorted(PACKAGES)
    for name, files in got.items():
        is_package = (SOURCE / name).is_dir()
        assert len(files) == (3 if is_package else 1), name
        assert all(one.startswith(f"{name}/") or one == f"{name}.py" for one in files), name
