"""What nodes could go, by estimate."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dovetail.decide.disrupt.probe import Move, ground_of, probe
from dovetail.decide.disrupt.savings import candidates_of
from dovetail.decide.disrupt.walk import screen_of
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.solve import Estimate, Screen
from dovetail.testing import instance_type, node, node_pool, pod, snapshot
from tests.laws.packed import packed
from tests.laws.rest import MIDNIGHT

TENTH = 100_000_000
TYPES = (instance_type("small", cpu=2, price=0.1), instance_type("large", cpu=8, price=0.4))


def screened(there: Snapshot) -> Screen:
    """The screen of a cluster in which every node of ours may go."""
    ground = ground_of(there, MIDNIGHT, is_saving=True)
    return screen_of(ground, candidates_of(there.nodes, ground))


def screen(*pods: Pod, zones: str = "aaa") -> Screen:
    """Three large nodes, in these zones, with these pods."""
    nodes = [
        node(name, pool="default", type="large", types=TYPES, zone=zone, is_consolidatable=True)
        for name, zone in zip("abc", zones, strict=True)
    ]
    return screened(snapshot(nodes=nodes, node_pools=[node_pool()], types=TYPES, pods=pods))


def test_pods_that_others_have_room_for_need_nothing() -> None:
    """Were their node gone, nothing would be bought."""
    assert screen(pod("p", node="a", cpu=1)).estimate("a") == Estimate()


def test_pods_that_find_no_room_cost_what_the_cheapest_node_for_them_costs() -> None:
    """All of them together on one."""
    full = [pod(f"p{name}", node=name, cpu=7) for name in "bc"]
    found = screen(pod("p", node="a", cpu=1), pod("q", node="a", cpu=1), *full).estimate("a")
    assert found == Estimate()
    full = [pod(f"p{name}", node=name, cpu=8) for name in "bc"]
    found = screen(pod("p", node="a", cpu=1), pod("q", node="a", cpu=1), *full).estimate("a")
    assert found == Estimate(2, TENTH, n_types=2)


def test_an_estimate_changes_nothing() -> None:
    """Asked again, or of others, it says the same."""
    there = screen(*(pod(f"p{name}", node=name, cpu=5) for name in "abc"))
    first = [there.estimate(name) for name in "abc"]
    assert [there.estimate(name) for name in "cba"] == first[::-1]
    assert all(one.n_left == 1 for one in first)


def test_room_is_given_once() -> None:
    """A node that is let go takes room that the next one would need, and takes nobody itself."""
    there = screen(pod("p", node="a", cpu=5), pod("q", node="b", cpu=5))
    assert there.estimate("a", lets_go=True) == Estimate()
    assert there.is_visited("c")
    assert not there.is_visited("b")
    assert there.estimate("b").n_left == 1


def test_nobody_goes_to_a_shunned_node() -> None:
    """Others must do."""
    there = screen(pod("p", node="a", cpu=5), pod("q", node="b", cpu=5))
    there.shun("c")
    assert there.estimate("a").n_left == 1
    there.welcome()
    assert there.estimate("a") == Estimate()


APART: dict[str, Any] = {
    "labels": {"app": "x"},
    "anti_affinity": [{"topology_key": "hostname"}],
}
SPREAD: dict[str, Any] = {
    "labels": {"app": "x"},
    "spread": [{"topology_key": "zone"}],
}


def test_who_keeps_apart_looks_for_another_node() -> None:
    """With room for it alone that is not enough."""
    there = screen(*(pod(f"p{name}", node=name, cpu=1, **APART) for name in "abc"))
    assert there.estimate("a").n_left == 1


def test_who_is_spread_looks_for_room_in_its_own_zone() -> None:
    """There it upsets nobody."""
    pods = [pod(f"p{name}", node=name, cpu=1, **SPREAD) for name in "ab"]
    assert screen(*pods, zones="aab").estimate("a") == Estimate()
    assert screen(*pods, zones="bac").estimate("a").n_left == 1


def test_a_pod_that_nothing_takes_is_named() -> None:
    """No node that stays, and none that could be bought."""
    there = screen(pod("p", node="a", cpu=1, node_selector={"kubernetes.io/hostname": "a"}))
    found = there.estimate("a")
    assert found.stuck is not None
    assert found.stuck.key == "default/p"


def test_what_costs_too_much_already_is_not_looked_at_further() -> None:
    """The first pod that needs a node as dear is enough to know."""
    mine = [pod("p", node="a", cpu=4), *(pod(name, node="a", cpu=2) for name in "qr")]
    there = screen(*mine, pod("s", node="b", cpu=6), pod("t", node="c", cpu=8))
    assert there.estimate("a", price=TENTH).n_left == 1
    assert there.estimate("a").n_left == 2  # b has room for one of the others


@pytest.mark.parametrize("seed", range(20))
def test_a_node_is_worth_no_more_than_it_costs(seed: int) -> None:
    """As far as the same could be bought: its pods could then be had for that price."""
    there = packed(Random(seed), 12, 10)  # noqa: S311  # a cluster from a seed, no secret
    worth = screened(there).worth_by_node
    sold = {
        (kind.name, one.zone, one.capacity_type): one.price_nanousd
        for kind in there.instance_types["default"]
        for one in kind.offerings
    }
    for one in there.nodes:
        price = sold[one.instance_type, one.zone, one.capacity_type]
        if one.capacity_type == "spot":  # bought the cheapest way that all its pods accept
            assert worth[one.name] <= price


@pytest.mark.parametrize("seed", range(10))
def test_whose_pods_all_find_room_the_solver_lets_go_too(seed: int) -> None:
    """The estimate is careful: what it says fits, fits."""
    there = packed(Random(seed), 12, 10)  # noqa: S311  # a cluster from a seed, no secret
    ground = ground_of(there, MIDNIGHT, is_saving=True)
    found = screened(there)
    going = [one.name for one in there.nodes if not found.estimate(one.name).n_left]
    for name in going:
        move = probe(ground, (name,))
        assert isinstance(move, Move)
        assert not move.replacements
