"""Shows price against number of nodes, as rows for a person and as JSON for a script."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.model.plan import FrontierPoint
from dovetail.present.plan import Json
from dovetail.present.table import price
from dovetail.units import money

COLUMNS = ("nodes", "$/hour", "above the cheapest", "best from --node-price")


def frontier_rows(choices: Sequence[FrontierPoint]) -> list[tuple[str, ...]]:
    """One row for each choice, the cheapest first."""
    return [
        (
            f"{choice.n_nodes:,}",
            price(choice.price_nanousd).removeprefix("$"),
            f"{100 * _above(choice, choices):.1f} %",
            "never" if choice.best_from_nanousd is None else _dollars(choice.best_from_nanousd),
        )
        for choice in choices
    ]


def frontier_json(choices: Sequence[FrontierPoint]) -> list[Json]:
    """The same for a script; `bestFromNodePrice` is null for a choice that is never the best."""
    return [
        {
            "nodes": choice.n_nodes,
            "pricePerHour": money.dollars(choice.price_nanousd),
            "aboveCheapest": round(_above(choice, choices), 6),
            "bestFromNodePrice": None
            if choice.best_from_nanousd is None
            else money.dollars(choice.best_from_nanousd),
        }
        for choice in choices
    ]


def _above(frontier_point: FrontierPoint, choices: Sequence[FrontierPoint]) -> float:
    """How much dearer than the cheapest, as a share."""
    least = min(other.price_nanousd for other in choices)
    return (frontier_point.price_nanousd - least) / least if least else 0.0


def _dollars(nanousd: int) -> str:
    """A price per node that can be given as a flag; rounded up, so that the choice is the best."""
    millionths = -(-nanousd // 1000)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"
