from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.model.pod import Pod
from dovetail.solve.encoding.encode import encode
from dovetail.solve.packing.units import unit_of
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.solve.search.greedy import one_by_one
from dovetail.solve.search.rates import Rates, WorkBudget
from dovetail.testing.builders import deployment, instance_type, node_pool, pod


def packed(pods: Iterable[Pod], *, work: int = 10**6) -> list[list[str]] | None:
    """The pods on each node, by the first letters of their names, on types of 2 and 4 cpu."""
    types = (instance_type("s", cpu=2, price=0.1), instance_type("l", cpu=4, price=0.9))
    enc = encode(
        canonical(Puzzle(tuple(pods), node_pools=(node_pool(),), instance_types={"default": types}))
    )
    budget = WorkBudget(work)
    rates = Rates(enc, np.arange(enc.n_offers), budget)
    sorts = [
        rates.sort_of(unit_of(enc, group))
        for group in range(len(enc.groups))
        for _ in enc.groups[group].pods
    ]
    loads = one_by_one(rates, sorts, budget)
    names = [group.pods[0].name[0] for group in enc.groups]
    return None if loads is None else [[names[s] for s in rates.pods(load)] for load in loads]


def test_a_node_grows_as_long_as_some_type_holds_it() -> None:
    """Prices do not matter: four pods share the dear large node."""
    assert packed(deployment(4, "a", cpu=1)) == [["a"] * 4]


def test_large_pods_come_first() -> None:
    """The pod of three cpu gets a node before those of one cpu, and one of them joins it."""
    assert packed([*deployment(4, "a", cpu=1), pod("b", cpu=3)]) == [["a", "b"], ["a"] * 3]


def test_a_pod_joins_the_node_with_the_fewest_pods() -> None:
    """A small pod finds one node with two pods and one with a single one."""
    pods = [
        *deployment(2, "a", cpu="1500m", node_selector={"zone": "a"}),
        pod("b", cpu=1, node_selector={"zone": "b"}),
        pod("c", cpu="100m"),
    ]
    assert sorted(map(sorted, packed(pods) or ())) == [["a", "a"], ["b", "c"]]


def test_a_pod_that_fits_nowhere_ends_the_plain_way() -> None:
    """There is no node of five cpu."""
    assert packed([pod("a", cpu=5)]) is None


def test_the_plain_way_ends_when_there_is_no_work_left() -> None:
    """Without any work allowed there is no answer."""
    assert packed([pod("a", cpu=1)], work=0) is None
