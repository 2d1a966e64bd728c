"""What would happen if nodes went, one question at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dovetail.decide.disrupt.probe import Move, Stuck, ground_of, probe, probe_within, quick_ground
from dovetail.model.plan import Nominate
from dovetail.model.pod import Pod
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small", price=0.1), instance_type("large", cpu=8, price=0.4))


def asked(*names: str, pods: list[Pod], is_saving: bool = False, **other: Any) -> Move | Stuck:
    """What would happen if these of the nodes a, b and c went; `other` says more of c."""
    words: dict[str, dict[str, Any]] = {"a": {}, "b": {}, "c": other}
    nodes = [
        node(name, pool="default", type="small", types=TYPES, **{"is_consolidatable": True, **more})
        for name, more in words.items()
    ]
    there = snapshot(nodes=nodes, node_pools=[node_pool()], types=TYPES, pods=pods)
    return probe(ground_of(there, NOW, is_saving=is_saving), names)


def test_where_nobody_moves_nothing_comes() -> None:
    """Daemon pods and pods that have ended stay behind."""
    there = [pod("d", node="a", owner="DaemonSet/d"), pod("e", node="a", phase="Succeeded")]
    assert asked("a", pods=there) == Move(("a",))


def test_room_on_nodes_that_stay_is_taken_first() -> None:
    """The nodes that go offer none to each other."""
    there = [pod("p", node="a", cpu=1), pod("q", node="b", cpu=1)]
    found = asked("a", "b", pods=there)
    assert found == Move(
        ("a", "b"),
        pods=("default/p", "default/q"),
        places=(Nominate("c", ("default/p", "default/q")),),
    )


def test_what_does_not_fit_asks_for_a_new_node() -> None:
    """With its price."""
    there = [pod(name, node=name, cpu=2) for name in "abc"]
    found = asked("a", pods=there)
    assert isinstance(found, Move)
    assert [one.instance_type.name for one in found.replacements] == ["small"]
    assert (found.price_nanousd, found.places) == (100_000_000, ())


@pytest.mark.parametrize("price", [100_000_000, 99_999_999], ids=["just", "too dear"])
def test_what_costs_more_than_it_may_is_no_move(price: int) -> None:
    """Pods without a place are named all the same."""
    nodes = [node(name, pool="default", type="small", types=TYPES) for name in "abc"]
    pods = [
        *(pod(name, node=name, cpu=2) for name in "ab"),
        pod("c", node="c", node_selector={"zone": "z"}),
    ]
    ground = ground_of(
        snapshot(nodes=nodes, node_pools=[node_pool()], types=TYPES, pods=pods),
        NOW,
        is_saving=False,
    )
    found = probe_within(ground, ("a",), price)
    assert isinstance(found, Move) == (price == 100_000_000)
    assert isinstance(probe_within(ground, ("c",), price), Stuck)


def test_in_a_hurry_nobody_is_moved_to_nodes_that_are_shunned() -> None:
    """Others must do."""
    nodes = [node(name, pool="default", type="small", types=TYPES) for name in "abc"]
    pods = [pod("p", node="a", cpu=1)]
    there = snapshot(nodes=nodes, node_pools=[node_pool()], types=TYPES, pods=pods)
    ground = ground_of(there, NOW, is_saving=False)
    for shunned, taken in (("b", "c"), ("c", "b")):
        found = probe(quick_ground(ground, frozenset(shunned)), ("a",))
        assert isinstance(found, Move)
        assert found.places == (Nominate(taken, ("default/p",)),)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param({"node_selector": {"zone": "z"}}, "no remaining node", id="fits nowhere"),
        pytest.param({"scheduler_name": "mine"}, "scheduler", id="not ours to schedule"),
        pytest.param({"claims": ["lost"]}, "volumes", id="its volumes are not to be had"),
    ],
)
def test_a_pod_without_a_place_keeps_its_node(words: dict[str, Any], says: str) -> None:
    """It is named, and why."""
    found = asked("a", pods=[pod("p", node="a", **words), pod("q", node="a")])
    assert isinstance(found, Stuck)
    assert found.pod == "default/p"
    assert says in found.why


def test_nobody_goes_where_nothing_is_settled() -> None:
    """Not to nodes that start; nor, to save money, to nodes that are not quiet; whatever it
    tolerates.
    """
    full = [pod("q", node="b", cpu=2)]
    for more, is_saving in (({"stage": "starting"}, False), ({"is_consolidatable": False}, True)):
        for tolerates in ([], ["*"]):
            moving = pod("p", node="a", tolerations=tolerates)
            found = asked("a", pods=[moving, *full], is_saving=is_saving, **more)
            assert isinstance(found, Move)
            assert len(found.replacements) == 1
    unquiet = asked("a", pods=[pod("p", node="a"), *full], is_consolidatable=False)
    assert isinstance(unquiet, Move)
    assert unquiet.replacements == ()
