"""Which parts of a move have nothing to do with each other."""

from __future__ import annotations

from datetime import UTC, datetime

from dovetail.decide.disrupt.probe import Ground, Move, Part, ground_of, parts_of
from dovetail.model.plan import Launch, Nominate
from dovetail.testing import instance_type, node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = (instance_type("small", cpu=2, price=0.1),)
NODES = ("a", "b", "c", "d")


def ground() -> Ground:
    """Four nodes, with two pods on each."""
    there = snapshot(
        nodes=[node(name, pool="default", type="small", types=TYPES) for name in NODES],
        node_pools=[node_pool()],
        types=TYPES,
        pods=[pod(f"{name}{n}", node=name, cpu="500m") for name in NODES for n in (1, 2)],
    )
    return ground_of(there, NOW, is_saving=True)


def launch(name: str, *pods: str) -> Launch:
    """A new node for these pods."""
    keys = tuple(f"default/{one}" for one in pods)
    return Launch(name, "default", "small", "a", "on-demand", 1, ("small",), {}, keys)


def move(*places: Nominate) -> Move:
    """All four nodes go."""
    keys = tuple(f"default/{name}{n}" for name in NODES for n in (1, 2))
    return Move(NODES, keys, places)


def split(given: Move, *launches: Launch) -> list[tuple[tuple[str, ...], list[str]]]:
    """The nodes of each part, and the names of what comes instead."""
    found = parts_of(given, launches, ground())
    return [(one.move.nodes, [new.name for new in one.launches]) for one in found]


def test_nodes_whose_pods_share_a_replacement_belong_together() -> None:
    """Also by way of a third, whatever the order."""
    one, two = launch("x", "a1", "c1", "b1"), launch("y", "d1", "d2", "c2")
    three = launch("z", "a2", "b2")
    assert split(move(), one, two, three) == [(NODES, ["x", "y", "z"])]
    assert split(move(), three, two, launch("x", "c1", "d1")) == [
        (("a", "b"), ["z"]),
        (("c", "d"), ["y", "x"]),
    ]


def test_a_node_that_becomes_several_is_one_part() -> None:
    """All of them must come before it goes."""
    found = split(move(), launch("x", "b1"), launch("y", "b2"), launch("z", "d1", "d2"))
    assert found == [(("b",), ["x", "y"]), (("d",), ["z"]), (("a", "c"), [])]


def test_without_replacements_there_is_one_part() -> None:
    """Nobody waits for anybody else."""
    whole = move(Nominate("e", ("default/a1",)))
    assert parts_of(whole, (), ground()) == [Part(whole, ())]


def test_each_part_names_its_own_pods_and_where_they_find_room() -> None:
    """A node that stays may take pods of several parts."""
    places = (
        Nominate("e", ("default/a1", "default/b1")),
        Nominate("f", ("default/c1", "default/c2")),
    )
    first, second = parts_of(move(*places), (launch("x", "a2"),), ground())
    assert first.move == Move(
        ("a",), ("default/a1", "default/a2"), (Nominate("e", ("default/a1",)),)
    )
    assert second.move.nodes == ("b", "c", "d")
    assert second.move.places == (Nominate("e", ("default/b1",)), places[1])
