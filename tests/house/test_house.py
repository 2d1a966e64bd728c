"""What `make house` counts is counted right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.__main__ import Figure, table
from tests.house.modules import Module, modules, shared_class_names, single_importers
from tests.house.walk import walk

SOURCES = {
    "pack/__init__.py": '"""Pack."""\n',
    "pack/a.py": "from pack import b\nfrom pack.inner import c\n\n\nclass Same: ...\n",
    "pack/b.py": "def f():\n    from pack.inner.c import g\n\n\nclass _Private: ...\n",
    "pack/inner/__init__.py": "",
    "pack/inner/c.py": "class Same: ...\n\n\nclass _Private: ...\n",
}


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Module]:
    """A small package."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return modules(tmp_path / "pack")


def test_imports_are_seen_wherever_they_stand(found: dict[str, Module]) -> None:
    """A module that is imported from its package counts as a module."""
    assert found["pack.a"].imports == {"pack.b", "pack.inner.c"}
    assert found["pack.b"].imports == {"pack.inner.c"}
    assert single_importers(found) == {"pack.b": "pack.a"}


def test_only_public_classes_share_names(found: dict[str, Module]) -> None:
    """Private ones are nobody else's business."""
    assert shared_class_names(found) == {"Same": ["pack.a", "pack.inner.c"]}


def test_a_figure_above_its_limit_is_marked() -> None:
    """Others are not."""
    shown = [Figure("one", 3, 5, 2), Figure("two", 2, 5, 2), Figure("three", 9, 5)]
    lines = table(shown, with_details=False).splitlines()
    assert [line.endswith("missed") for line in lines] == [False, True, False, False]


def test_the_walk_leads_from_the_mirror_to_the_provider() -> None:
    """Without the solver, and without the cluster around the controller."""
    got = walk().modules
    assert got.index("kube/mirror.py") < got.index("decide/__init__.py")
    assert "providers/kwok/provider.py" in got
    assert not [path for path in got if path.startswith(("solve/", "sim/", "testing/"))]
