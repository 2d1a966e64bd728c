from __future__ import annotations

from dovetail.decide.nodes import census
from dovetail.testing import pod


def test_every_pod_is_counted_where_it_is() -> None:
    """Pods without a node by themselves, the others by node, each in the order given."""
    waits, first, second, other = (
        pod("w"),
        pod("b", node="n"),
        pod("a", node="n"),
        pod("c", node="m"),
    )
    got = census((first, waits, other, second))
    assert got.unbound == (waits,)
    assert got.by_node == {"n": (first, second), "m": (other,)}
