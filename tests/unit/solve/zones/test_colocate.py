from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.pod import Pod
from dovetail.solve.zones.colocate import (
    colocate,
    host_affinities,
    is_first,
    without_company,
)
from dovetail.testing.builders import deployment, instance_type, pod
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


def followers(n_web: int, **more: object) -> list[Pod]:
    """One cache, and pods of two Deployments that want it on their node."""
    near = [{"topology_key": "hostname", "selector": {"app": "cache"}}]
    return [
        pod("cache", labels={"app": "cache"}, cpu="100m", **more),
        *deployment(n_web, "web", cpu=1, affinity=near),
        *deployment(1, "worker", cpu=2, affinity=near),
    ]


@pytest.mark.parametrize(
    ("n_web", "want"),
    [
        pytest.param(1, "medium", id="two followers"),
        pytest.param(3, "large", id="four followers"),
    ],
)
def test_a_node_is_chosen_for_all_followers_of_its_only_leader(n_web: int, want: str) -> None:
    """There is one cache, so whoever wants it must come to its node."""
    medium = instance_type("medium", cpu=4, memory="16Gi", price=0.19, zones=("a",))
    enc = encoded(followers(n_web), SMALL, medium, LARGE)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    assert not left.any()
    assert bins.n == 1
    assert enc.market.types[enc.market.offers[int(bins.offer[0])].type].name == want


def test_followers_join_before_others_fill_the_node_up() -> None:
    """Who is left after the node was opened joins it, rather than nobody or a plain pod."""
    enc = encoded([*followers(3), *deployment(8, "plain", cpu=1)], LARGE)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    names = [group.pods[0].labels.get("app") for group in enc.groups]
    assert {name: n for name, n in zip(names, left.tolist(), strict=True) if n} == {"plain": 8}
    assert bins.n == 1


def test_where_nothing_holds_all_followers_some_come() -> None:
    """The largest type takes some of them, and the others stay out."""
    enc = encoded(followers(9), LARGE)
    bins, units, left = empty_attempt(enc).bins, units_of(enc), enc.count_g.copy()
    colocate(bins, units, left)
    assert bins.n == 1
    assert 0 < left.sum() < 5
