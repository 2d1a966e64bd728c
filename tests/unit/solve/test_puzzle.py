from __future__ import annotations

from random import Random

import msgspec

from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.testing.builders import instance_type, node, node_pool
from tests.unit.solve.puzzles import lottery, random_puzzle


def shuffled(held: Puzzle, chance: Random) -> Puzzle:
    """The same parts in another order."""
    types = {
        pool: tuple(chance.sample(kinds, len(kinds)))
        for pool, kinds in chance.sample(
            sorted(held.instance_types.items()), len(held.instance_types)
        )
    }
    return msgspec.structs.replace(
        held,
        nodes=tuple(chance.sample(held.nodes, len(held.nodes))),
        node_pools=tuple(chance.sample(held.node_pools, len(held.node_pools))),
        instance_types=types,
        daemon_sets=tuple(chance.sample(held.daemon_sets, len(held.daemon_sets))),
    )


def test_a_canonical_puzzle_does_not_depend_on_the_order_of_its_parts() -> None:
    """Nor does it change when it is made canonical again."""
    for seed in range(40):
        want = canonical(random_puzzle(seed))
        got = canonical(shuffled(want, lottery(seed)))
        assert got == want, f"seed {seed}"
        assert list(got.instance_types) == list(want.instance_types), f"seed {seed}"


def test_heavier_pools_come_first_and_equals_by_name() -> None:
    """Then nodes and types, by name."""
    pools = tuple(node_pool(name, weight=weight) for name, weight in (("b", 1), ("a", 1), ("c", 9)))
    held = Puzzle(
        (),
        nodes=(node("n2"), node("n1")),
        node_pools=pools,
        instance_types={"c": (instance_type("y"), instance_type("x"))},
    )
    got = canonical(held)
    assert [pool.name for pool in got.node_pools] == ["c", "a", "b"]
    assert [one.name for one in got.nodes] == ["n1", "n2"]
    assert [kind.name for kind in got.instance_types["c"]] == ["x", "y"]
