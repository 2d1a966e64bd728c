"""The benchmark of node classes."""

from __future__ import annotations

from benchmarks.aws.node_classes import measure_node_classes


def test_every_class_has_all_types_with_three_capacity_types() -> None:
    """In three zones on demand and as spot, and one reservation; copies make up the number."""
    got = measure_node_classes(2, 900).figures
    # Nine types are not sold as spot.
    assert (got["node classes"], got["types"]) == (2, 900)
    assert got["offerings"] == 2 * (900 * 7 - 9 * 3)
