from __future__ import annotations

import numpy as np

from dovetail.solve.colocate import colocate, host_affinities, is_first, without_company
from dovetail.testing.builders import deployment, pod
from tests.unit.solve.puzzles import LARGE, SMALL, empty_attempt, encoded, units_of

PAIR = deployment(3, "pair", cpu=1, affinity=[{"topology_key": "hostname"}])


def test_pods_that_want_each_other_share_one_node() -> None:
    """One node large enough for all three is opened."""
    enc = encoded(PAIR, SMALL, LARGE)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    assert bins.n == 1
    assert left.tolist() == [0]


def test_as_many_share_a_node_as_the_largest_takes() -> None:
    """Nobody starts a second node: the others must follow to the first."""
    enc = encoded(PAIR, SMALL)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    assert bins.n == 1
    assert left.tolist() == [3 - int(bins.match[0, 0])]


def test_a_pod_takes_a_friend_along_to_its_node() -> None:
    """One cache and one of the pods that want it, on a node of their own."""
    near = [{"topology_key": "hostname", "selector": {"app": "cache"}}]
    enc = encoded([pod("cache", labels={"app": "cache"}), pod("web", affinity=near)], SMALL)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    assert not left.any()
    assert bins.n == 1


def test_only_the_first_of_a_kind_may_stand_alone() -> None:
    """Once one runs somewhere, the next must join it."""
    enc = encoded(PAIR, SMALL)
    attempt = empty_attempt(enc)
    assert is_first(attempt.bins, attempt.settler.state, 0)
    span = attempt.bins.open(0, 1)
    attempt.bins.put(0, units_of(enc)[0], np.array([span.start]), np.array([1]))
    assert not is_first(attempt.bins, attempt.settler.state, 0)


def test_a_pod_without_affinity_is_first_of_nothing() -> None:
    """The exception is for those who want company."""
    enc = encoded([pod("web")], SMALL)
    attempt = empty_attempt(enc)
    assert not is_first(attempt.bins, attempt.settler.state, 0)


def test_the_first_keeps_all_its_other_constraints() -> None:
    """Only the wish for company is waived."""
    words = {"affinity": [{"topology_key": "hostname"}], "host_ports": ["80"]}
    enc = encoded(deployment(2, "web", **words), SMALL)
    bins, unit = empty_attempt(enc).bins, units_of(enc)[0]
    assert len(host_affinities(bins, unit)) == 1
    assert len(without_company(bins, unit).own) == len(unit.own) - 1
