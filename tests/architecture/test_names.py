"""No two public classes share a name."""

from __future__ import annotations

from tests.house.modules import modules, shared_class_names


def test_no_two_public_classes_share_a_name() -> None:
    """A name in a traceback or a search leads to one class. Wire types wear their module."""
    assert shared_class_names(modules()) == {}
