from __future__ import annotations

from collections.abc import Sequence

import pytest

from dovetail.solve.exact.board import ExactPuzzle
from dovetail.solve.exact.choice import Chooser
from dovetail.solve.exact.search import Spot
from dovetail.testing.builders import deployment, instance_type, node_pool, pod
from tests.unit.solve.exact.boards import LARGE, SMALL, board_of, contents, layouts_of

RESERVED = instance_type(
    "reserved",
    cpu=2,
    memory="8Gi",
    zones=("a",),
    offerings=[
        {
            "zone": "a",
            "price": 0.001,
            "capacity_type": "reserved",
            "reservation_id": "cr-1",
            "reservation_capacity": 1,
        }
    ],
)


def nodes_of(board: ExactPuzzle, shape: Sequence[int]) -> list[Spot]:
    """The nodes of the layout with so many pods on each."""
    for layout in layouts_of(board):
        if [len(names) for names in contents(board, layout)] == sorted(shape):
            return [spot for spot in layout.spots if spot.node < 0]
    raise AssertionError(shape)


def chosen(board: ExactPuzzle, shape: Sequence[int], weights: Sequence[int] = ()) -> list[str]:
    """The types of the offers that are chosen, sorted; none if nothing may be."""
    chooser = Chooser(board, nodes_of(board, shape), weights)
    if chooser.run() is None:
        return []
    market = board.enc.market
    offers = [market.offers[board.offers[place]] for place in chooser.chosen]
    return sorted(market.types[offer.type].name for offer in offers)


def test_every_node_gets_its_cheapest_offer() -> None:
    """Two pods on a small node, and three on a large one."""
    board = board_of(deployment(5, cpu=1), SMALL, LARGE)
    assert chosen(board, [2, 3]) == ["large", "small"]
    chooser = Chooser(board, nodes_of(board, [2, 3]), ())
    assert chooser.run() == ((), 450_000_000, 2)


@pytest.mark.parametrize(
    ("limits", "want"),
    [
        pytest.param({"cpu": 4000}, ["tight", "tight"], id="two of the dearer type"),
        pytest.param({"cpu": 5000}, ["tight", "tight"], id="one of each would be too much"),
        pytest.param({"cpu": 6000}, ["loose", "tight"], id="one of each"),
        pytest.param({"cpu": 8000}, ["loose", "loose"], id="two of the cheaper type"),
        pytest.param({"nodes": 1}, [], id="no two nodes"),
    ],
)
def test_limits_hold_over_all_nodes(limits: dict[str, int], want: list[str]) -> None:
    """The larger type is the cheaper one, and there is a limit on CPU."""
    loose = instance_type("loose", cpu=4, price=0.1, zones=("a",))
    tight = instance_type("tight", cpu=2, price=0.2, zones=("a",))
    board = board_of(deployment(2, cpu=1), loose, tight, limits={"default": limits})
    assert chosen(board, [1, 1]) == want


def test_a_reservation_is_drawn_on_once() -> None:
    """One reserved node can be had, so the other is bought."""
    board = board_of(deployment(2, cpu=1), SMALL, RESERVED)
    assert chosen(board, [1, 1]) == ["reserved", "small"]


def test_nothing_is_chosen_where_a_reservation_does_not_suffice() -> None:
    """Two nodes, of which one can be had."""
    assert chosen(board_of(deployment(2, cpu=1), RESERVED), [1, 1]) == []


def test_a_heavier_pool_goes_before_a_lower_price() -> None:
    """The heavy pool has only the large type."""
    pools = (node_pool("light", weight=1), node_pool("heavy", weight=9))
    kinds = {"light": (SMALL,), "heavy": (LARGE,)}
    board = board_of([pod()], node_pools=pools, instance_types=kinds)
    assert chosen(board, [1], weights=[1]) == ["large"]


def test_nobody_pays_for_nothing() -> None:
    """A layout without new nodes costs nothing."""
    assert Chooser(board_of([pod()], SMALL), [], ()).run() == ((), 0, 0)


def test_more_pods_than_need_be_are_not_put_into_light_pools() -> None:
    """The heavy pool may add one node; it goes to the node with more pods."""
    pools = (node_pool("light", weight=1), node_pool("heavy", weight=9))
    kinds = {"light": (LARGE,), "heavy": (LARGE,)}
    board = board_of(
        deployment(5, cpu=1),
        node_pools=pools,
        instance_types=kinds,
        limits={"heavy": {"nodes": 1}},
    )
    worth = Chooser(board, nodes_of(board, [1, 4]), [1]).run()
    assert worth is not None
    assert worth[0] == (1,)
