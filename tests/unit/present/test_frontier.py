"""How price against number of nodes is shown."""

from __future__ import annotations

from dovetail.model.plan import FrontierPoint
from dovetail.present.table import frontier_json, frontier_rows

CHOICES = (
    FrontierPoint(10, 1_000_000_000, 0),
    FrontierPoint(6, 1_300_000_000, None),
    FrontierPoint(5, 1_400_000_000, 80_000_001),
)


def test_rows_say_what_fewer_nodes_cost() -> None:
    """A price per node is rounded up, so that with it the choice is the best."""
    assert frontier_rows(CHOICES) == [
        ("10", "1.0000", "0.0 %", "0.000000"),
        ("6", "1.3000", "30.0 %", "never"),
        ("5", "1.4000", "40.0 %", "0.080001"),
    ]


def test_json_says_the_same() -> None:
    """Shares instead of percentages, and null for never."""
    assert frontier_json(CHOICES)[1:] == [
        {"nodes": 6, "pricePerHour": 1.3, "aboveCheapest": 0.3, "bestFromNodePrice": None},
        {"nodes": 5, "pricePerHour": 1.4, "aboveCheapest": 0.4, "bestFromNodePrice": 0.080000001},
    ]
    nothing = {"nodes": 0, "pricePerHour": 0.0, "aboveCheapest": 0.0, "bestFromNodePrice": 0.0}
    assert frontier_json((FrontierPoint(0, 0, 0),)) == [nothing]
