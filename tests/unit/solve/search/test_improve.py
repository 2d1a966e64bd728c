from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail.model.instance import InstanceType
from dovetail.solve.encoding.encode import encode
from dovetail.solve.packing.bins import Bins
from dovetail.solve.packing.units import unit_of
from dovetail.solve.puzzle import Puzzle, canonical
from dovetail.solve.search.improve import Chance, Improver, LoadLayout
from dovetail.solve.search.rates import IMPOSSIBLE, Load, Rates, Site, WorkBudget
from dovetail.testing.builders import instance_type, node_pool, pod

SMALL = instance_type("small", cpu=2, price=0.1)
LARGE = instance_type("large", cpu=8, price=0.25)


class Table:
    """Pods of these sizes (cpu), each a sort of its own, on new nodes of some types."""

    def __init__(
        self,
        sizes: Sequence[int],
        *types: InstanceType,
        limits: Mapping[str, int] | None = None,
        work: int = 10**6,
    ) -> None:
        pods = tuple(pod(f"pod-{place}", cpu=size) for place, size in enumerate(sizes))
        puzzle = Puzzle(
            pods,
            node_pools=(node_pool(),),
            instance_types={"default": types or (SMALL, LARGE)},
            limits={"default": limits} if limits else {},
        )
        enc = encode(canonical(puzzle))
        budget = WorkBudget(work)
        self.bins = Bins(enc)
        self.rates = Rates(enc, np.arange(enc.n_offers), budget)
        by_size = {int(enc.requests_gr[g][0]) // 1000: g for g in range(len(enc.groups))}
        self.sorts = [self.rates.sort_of(unit_of(enc, by_size[size])) for size in sizes]
        self.improver = Improver(self.rates, [], self.bins.limits, budget)

    def layout(self, *loads: Load) -> LoadLayout:
        """Nodes with these loads."""
        return LoadLayout([self.rates.load(load) for load in loads])

    def pods(self, layout: LoadLayout) -> list[int]:
        """All pods of a layout."""
        return sorted(sort for load in layout.loads for sort in self.rates.pods(load))


def test_numbers_drawn_by_lot_are_the_same_every_time() -> None:
    """Two draws of one seed agree, all are within bounds, and they differ among themselves."""
    first, second = Chance(3), Chance(3)
    drawn = [first.below(10) for _ in range(50)]
    assert drawn == [second.below(10) for _ in range(50)]
    assert set(drawn) == set(range(10))


def test_half_empty_nodes_become_one() -> None:
    """Two pods of one cpu share a small node."""
    table = Table([1, 1])
    better = table.improver.improve(table.layout(((0, 1),), ((0, 1),)), 10)
    assert [table.rates.loads[load] for load in better.loads] == [((0, 2),)]


def test_one_large_node_replaces_several_small_ones() -> None:
    """Four full small nodes cost 0.40, a large one 0.25, though no single pod would pay for it."""
    table = Table([2, 2, 2, 2])
    better = table.improver.improve(table.layout(*[((0, 1),)] * 4), 200)
    assert table.improver.price(better) == 250_000_000


def test_what_is_improved_holds_the_same_pods_and_is_no_dearer() -> None:
    """Pods are moved, never lost, whatever is tried."""
    table = Table([1, 2, 3, 5, 7, 1, 1, 2])
    start = LoadLayout([table.rates.load(((sort, 1),)) for sort in table.sorts])
    better = table.improver.improve(start, 100)
    assert table.pods(better) == table.pods(start) == sorted(table.sorts)
    assert table.improver.price(better) < table.improver.price(start)


def test_a_layout_beyond_the_limits_is_impossible() -> None:
    """Two small nodes have four cpu, and three are allowed."""
    table = Table([2, 2], SMALL, limits={"cpu": 3000})
    assert table.improver.price(table.layout(((0, 1),))) == 100_000_000
    assert table.improver.price(table.layout(((0, 1),), ((0, 1),))) == IMPOSSIBLE


def test_improvement_does_not_cross_a_limit() -> None:
    """The large node would be cheaper, but the pool may have no more than six cpu."""
    table = Table([2, 2, 2], limits={"cpu": 6000})
    start = table.layout(*[((0, 1),)] * 3)
    assert table.improver.price(table.improver.improve(start, 100)) == 300_000_000


def test_without_work_left_nothing_changes() -> None:
    """The layout comes back as it was."""
    table = Table([1, 1], work=0)
    start = table.layout(((0, 1),), ((0, 1),))
    assert table.improver.improve(start, 10) == start


def test_a_pod_that_no_node_holds_cannot_be_inserted() -> None:
    """Nine cpu are too many for any type."""
    table = Table([9])
    assert not table.improver.insert(LoadLayout(), table.sorts)


def test_a_pod_goes_to_a_site_before_any_new_node() -> None:
    """A node that is there anyway takes pods for nothing, as long as they fit."""
    table = Table([1, 1, 1], SMALL)
    site = Site(table.rates, table.bins, table.bins.open(0, 1).start)
    improver = Improver(table.rates, [site], table.bins.limits, WorkBudget(10**6))
    layout = LoadLayout([], [()])
    assert improver.insert(layout, table.sorts)
    assert layout.extra == [((0, 2),)]
    assert [table.rates.loads[load] for load in layout.loads] == [((0, 1),)]
