from __future__ import annotations

from dovetail.solve.packing.units import ANY_CELL, UnitBook, is_tied_to_zones, unit_of
from dovetail.testing.builders import deployment, pod
from tests.unit.solve.puzzles import encoded


def test_groups_that_packing_cannot_tell_apart_share_a_unit() -> None:
    """Two deployments with equal requests and wishes are placed as one number."""
    picky = pod("picky", anti_affinity=[{"topology_key": "hostname", "selector": {"app": "no"}}])
    enc = encoded([*deployment(2, "a", cpu=1), *deployment(3, "b", cpu=1), picky])
    book = UnitBook(enc)
    plain = [group for group in range(3) if enc.count_g[group] > 1]
    numbers = {book.add(group, ANY_CELL, int(enc.count_g[group])) for group in plain}
    assert len(numbers) == 1
    assert book.units[numbers.pop()].count == 5


def test_pods_for_different_cells_are_different_units() -> None:
    """A unit goes to one cell."""
    enc = encoded(deployment(2, "web", spread=[{"topology_key": "zone"}]))
    book = UnitBook(enc)
    assert book.add(0, 0, 1) != book.add(0, 1, 1)


def test_only_zone_terms_tie_a_group_to_zones() -> None:
    """Host terms are a matter of single nodes."""
    tied = encoded(deployment(2, "web", spread=[{"topology_key": "zone"}]))
    free = encoded(deployment(2, "web", spread=[{"topology_key": "hostname"}]))
    assert is_tied_to_zones(tied, 0)
    assert not is_tied_to_zones(free, 0)


def test_a_unit_knows_the_constraints_of_its_group() -> None:
    """Its own host terms, and those that select it."""
    enc = encoded(deployment(2, "web", anti_affinity=[{"topology_key": "hostname"}]))
    unit = unit_of(enc, 0)
    assert unit.own == unit.match == (0,)
    assert unit.is_capped
