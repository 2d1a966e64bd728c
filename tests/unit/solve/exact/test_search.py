from __future__ import annotations

from collections.abc import Iterable

import pytest

from dovetail.model.instance import InstanceType
from dovetail.model.pod import Pod
from dovetail.solve.exact.search import Layout, Search, Spot
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.exact.boards import BUDGET, LARGE, SMALL, board_of, contents, layouts_of

ZONAL = instance_type("zonal", cpu=8, memory="32Gi", price=0.3, zones=("a", "b"))
HOST, ZONE = {"topology_key": "hostname"}, {"topology_key": "zone"}


def shapes(pods: Iterable[Pod], *types: InstanceType, **parts: object) -> list[list[list[str]]]:
    """What nodes hold in every layout, each once."""
    board = board_of(pods, *types, **parts)
    found = [contents(board, layout) for layout in layouts_of(board)]
    return sorted({str(one): one for one in found}.values())


def zones_of(layout: Layout) -> list[int]:
    """The cells of the nodes with pods."""
    return sorted(spot.cell for spot in layout.spots if any(spot.held))


def test_alike_pods_are_split_in_every_way() -> None:
    """Five pods that may all share a node: as many shapes as five has partitions."""
    assert len(shapes(deployment(5, cpu=1), LARGE)) == 7


def test_no_state_is_visited_twice() -> None:
    """Four alike pods: a state for each partition of nought to four, however it came about."""
    search = Search(board_of(deployment(4, cpu=1), LARGE), BUDGET)
    assert list(search.layouts([4]))
    assert BUDGET - search.budget == 1 + 1 + 2 + 3 + 5


def test_the_budget_is_counted() -> None:
    """Without one there is no layout; with a small one there are some."""
    board = board_of(deployment(6, cpu=1), LARGE)
    assert layouts_of(board, budget=0) == []
    assert 0 < len(layouts_of(board, budget=8)) < len(layouts_of(board))


def test_a_layout_says_in_which_order_pods_come() -> None:
    """As many steps as pods, and each leads to a spot of the layout."""
    board = board_of(deployment(4, cpu=1), SMALL)
    for layout in layouts_of(board):
        held = [[0] for _ in layout.spots]
        for sort, place in layout.steps:
            held[place][sort] += 1
        assert [tuple(one) for one in held] == [spot.held for spot in layout.spots]


def test_a_node_holds_what_the_largest_offer_has() -> None:
    """Three pods of 1 CPU do not share a node of 2."""
    assert shapes(deployment(3, cpu=1), SMALL) == [
        [["web"], ["web"], ["web"]],
        [["web"], ["web", "web"]],
    ]


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param({"anti_affinity": [HOST]}, [[["web"]] * 3], id="anti-affinity"),
        pytest.param({"host_ports": ["80"]}, [[["web"]] * 3], id="ports"),
        pytest.param({"affinity": [HOST]}, [[["web"] * 3]], id="affinity"),
    ],
)
def test_rules_of_one_node_hold(words: dict[str, object], want: list[list[list[str]]]) -> None:
    """Three pods of one Deployment."""
    assert shapes(deployment(3, "web", **words), LARGE) == want


def test_pods_keep_off_those_that_repel_them() -> None:
    """The rule is stated by one of the two, and holds for both."""
    far = [{**HOST, "selector": {"app": "web"}}]
    pods = [pod("web", labels={"app": "web"}), pod("db", labels={"app": "db"}, anti_affinity=far)]
    assert shapes(pods, LARGE) == [[["db"], ["web"]]]


def test_a_follower_comes_after_its_leader() -> None:
    """The pod that wants company is never the first to come."""
    near = [{**HOST, "selector": {"app": "web"}}]
    pods = [pod("web", labels={"app": "web"}), pod("db", labels={"app": "db"}, affinity=near)]
    board = board_of(pods, LARGE)
    (follower,) = (n for n, group in enumerate(board.enc.groups) if group.pods[0].name == "db")
    found = layouts_of(board)
    assert [contents(board, layout) for layout in found] == [[["db", "web"]]]
    assert [layout.steps[-1][0] for layout in found] == [follower]


def test_pods_that_wait_for_each_other_are_not_placed() -> None:
    """Each wants the other to be there first."""
    pods = [
        pod(name, labels={"app": name}, affinity=[{**HOST, "selector": {"app": other}}])
        for name, other in (("a", "b"), ("b", "a"))
    ]
    assert layouts_of(board_of(pods, LARGE)) == []


@pytest.mark.parametrize(
    ("words", "n_zones"),
    [
        pytest.param({"spread": [ZONE]}, {2}, id="spread"),
        pytest.param({"anti_affinity": [ZONE]}, {2}, id="anti-affinity"),
        pytest.param({"affinity": [ZONE]}, {1}, id="affinity"),
        pytest.param({"spread": [{**ZONE, "max_skew": 2}]}, {1, 2}, id="a spread that allows two"),
        pytest.param({"spread": [{**ZONE, "min_domains": 3, "max_skew": 2}]}, {1, 2}, id="domains"),
    ],
)
def test_rules_over_zones_hold(words: dict[str, object], n_zones: set[int]) -> None:
    """Two pods of one Deployment, two zones."""
    found = layouts_of(board_of(deployment(2, "web", **words), ZONAL))
    assert {len(set(zones_of(layout))) for layout in found} == n_zones


def test_a_spread_counts_zones_that_are_still_empty() -> None:
    """Three pods cannot go to one of two zones with a skew of one, and with minDomains 3 to none
    but one each.
    """
    three = deployment(3, spread=[{**ZONE, "min_domains": 3}])
    assert layouts_of(board_of(three, ZONAL)) == []
    found = layouts_of(board_of(deployment(3, spread=[ZONE]), ZONAL))
    assert {tuple(sorted(_by_zone(layout))) for layout in found} == {(1, 2)}


def _by_zone(layout: Layout) -> list[int]:
    cells = {spot.cell for spot in layout.spots}
    return [sum(sum(spot.held) for spot in layout.spots if spot.cell == one) for one in cells]


def test_zones_do_not_matter_to_pods_without_such_rules() -> None:
    """Their nodes have no cell yet."""
    (layout,) = layouts_of(board_of([pod()], ZONAL))
    assert zones_of(layout) == [-1]


def test_existing_nodes_have_what_is_free() -> None:
    """A node with room for one pod of two: the other goes to a new node, or both do."""
    there = node("n1", zone="a", cpu=1, memory="4Gi")
    board = board_of(deployment(2, cpu=1), SMALL, nodes=(there,))
    on_node = {layout.spots[0].held for layout in layouts_of(board)}
    assert on_node == {(0,), (1,)}


def test_a_node_selector_keeps_pods_off_an_existing_node() -> None:
    """It is in another zone."""
    there = node("n1", zone="a", cpu=4, memory="16Gi")
    board = board_of([pod(node_selector={"zone": "b"})], ZONAL, nodes=(there,))
    assert {layout.spots[0].held for layout in layouts_of(board)} == {(0,)}


def test_pods_that_run_count_as_company() -> None:
    """The pod joins the only node with its company, and avoids it where it must."""
    old = pod("old", labels={"app": "web"}, node="n1", cpu=1)
    there = node("n1", zone="a", cpu=4, memory="16Gi")
    for words, want in (({"affinity": [HOST]}, {(1,)}), ({"anti_affinity": [HOST]}, {(0,)})):
        more = pod("new", labels={"app": "web"}, **words)
        board = board_of([more], SMALL, nodes=(there,), bound=(old,))
        assert {layout.spots[0].held for layout in layouts_of(board)} == want


def test_states_that_are_not_wanted_are_left() -> None:
    """Whoever searches may narrow it: here, to one new node."""

    class _OneNode(Search):
        def is_wanted(self, spots: tuple[Spot, ...]) -> bool:
            return len(spots) < 2

    board = board_of(deployment(4, cpu=1), LARGE)
    found = [contents(board, layout) for layout in _OneNode(board, BUDGET).layouts([4])]
    assert found == [[["web"] * 4]]
