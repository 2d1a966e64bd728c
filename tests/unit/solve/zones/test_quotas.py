from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.solve.encoding.encode import Encoded
from dovetail.solve.zones.quotas import (
    Outlook,
    Settler,
    Split,
    ZoneState,
    simple_spread,
    spread_range,
)
from dovetail.testing.builders import deployment, instance_type, node, pod
from tests.unit.solve.puzzles import encoded

ABC = instance_type("abc", cpu=4, memory="16Gi", price=0.2, zones=("a", "b", "c"))
SPREAD = [{"topology_key": "zone"}]


def settler(enc: Encoded) -> Settler:
    """One that has settled nobody yet."""
    return Settler(enc, ZoneState.of(enc))


def everywhere(enc: Encoded, **words: Any) -> Outlook:
    """All cells can be launched into, at one price, and no existing node has room."""
    n_cells = len(enc.ties.domains_ck)
    plain = Outlook(np.ones(n_cells, bool), np.zeros(n_cells, np.int64), np.ones(n_cells))
    return replace(plain, **words)


def counts(enc: Encoded, turns: list[tuple[int, int]]) -> list[int]:
    """How many pods each cell gets."""
    found = np.zeros(len(enc.ties.domains_ck), dtype=np.int64)
    for cell, step in turns:
        found[cell] += step
    return found.tolist()


@given(st.integers(1, 40), st.integers(1, 3))
def test_a_settled_spread_never_runs_ahead_by_more_than_its_skew(n_pods: int, skew: int) -> None:
    """Turn by turn, as kube-scheduler would bind them."""
    words = [{"topology_key": "zone", "max_skew": skew}]
    enc = encoded(deployment(n_pods, "web", spread=words), ABC)
    held = np.zeros(3, dtype=np.int64)
    for cell, step in settler(enc).settle(0, n_pods, everywhere(enc)):
        held[cell] += step
        assert held.max() - held.min() <= skew
    assert held.sum() == n_pods


@given(st.integers(1, 40), st.integers(1, 3))
def test_least_and_most_of_a_lone_spread_leave_room_for_all(n_pods: int, skew: int) -> None:
    """What must be everywhere is no more than there is; what may be, no less."""
    words = [{"topology_key": "zone", "max_skew": skew}]
    enc = encoded(deployment(n_pods, "web", spread=words), ABC)
    bounds = spread_range(enc, 0, 0, np.ones(3, dtype=bool))
    assert bounds is not None
    low, high = bounds
    assert low.sum() <= n_pods <= high.sum()
    assert (high - low.min() <= skew).all()


def test_min_domains_that_cannot_be_had_hold_the_minimum_at_zero() -> None:
    """Two zones where four are asked for: one pod in each, no more."""
    words = [{"topology_key": "zone", "min_domains": 4}]
    enc = encoded(deployment(6, "web", spread=words), ABC)
    turns = settler(enc).settle(0, 6, everywhere(enc))
    assert counts(enc, turns) == [1, 1, 1]


def test_anti_affinity_over_zones_takes_one_zone_each() -> None:
    """The fourth of three zones' worth stays out."""
    enc = encoded(deployment(4, "web", anti_affinity=SPREAD), ABC)
    assert counts(enc, settler(enc).settle(0, 4, everywhere(enc))) == [1, 1, 1]


def test_pods_that_want_company_nobody_gives_go_nowhere() -> None:
    """Affinity to others that do not run, and of which the pod itself is none."""
    words = [{"topology_key": "zone", "selector": {"app": "cache"}}]
    enc = encoded(deployment(2, "web", affinity=words), ABC)
    assert settler(enc).settle(0, 2, everywhere(enc)) == []


def test_the_first_of_a_group_that_wants_itself_draws_the_rest() -> None:
    """All in one zone."""
    enc = encoded(deployment(5, "web", affinity=SPREAD), ABC)
    turns = settler(enc).settle(0, 5, everywhere(enc, is_first=True))
    assert sorted(counts(enc, turns)) == [0, 0, 5]


def test_whoever_comes_first_goes_where_others_can_follow() -> None:
    """Followers that only zone b takes decide for all."""
    enc = encoded(deployment(1, "web", affinity=SPREAD), ABC)
    one = settler(enc)
    one.followers[0] = np.array([0, 3, 0])
    assert counts(enc, one.settle(0, 1, everywhere(enc, is_first=True))) == [0, 1, 0]


def test_heavier_pools_come_before_cheaper_cells() -> None:
    """Price decides only among pools of equal weight."""
    enc = encoded([pod("web", anti_affinity=SPREAD)], ABC)
    outlook = everywhere(enc, worth_c=np.array([1.0, 9.0, 1.0]), weight_c=np.array([0, 10, 0]))
    assert counts(enc, settler(enc).settle(0, 1, outlook)) == [0, 1, 0]


def test_what_is_settled_is_what_was_reckoned_with() -> None:
    """Domains that a placed spread did not see are marked, and only once it has placed a pod."""
    enc = encoded(deployment(1, "web", spread=SPREAD), ABC)
    one = settler(enc)
    nowhere = everywhere(enc, launchable_c=np.zeros(3, dtype=bool))
    assert one.settle(0, 1, nowhere) == []
    assert one.state.foreseen[0].all()
    one.settle(0, 1, everywhere(enc, launchable_c=np.array([True, False, True])))
    assert one.state.foreseen[0].tolist() == [True, False, True]


def test_a_spread_that_others_share_is_not_alone() -> None:
    """Two groups under one selector must be settled together."""
    same = {"labels": {"app": "x"}, "spread": SPREAD}
    enc = encoded([*deployment(2, "a", cpu=1, **same), *deployment(2, "b", cpu=2, **same)], ABC)
    assert simple_spread(enc, 0) is None
    assert simple_spread(encoded(deployment(2, "a", spread=SPREAD), ABC), 0) == 0


def test_running_pods_make_a_spread_less_simple() -> None:
    """Their counts must be evened out first."""
    nodes = (node("n1", zone="a"),)
    old = pod("old", labels={"app": "web"}, node="n1")
    enc = encoded(deployment(2, "web", spread=SPREAD), ABC, nodes=nodes, bound=(old,))
    assert simple_spread(enc, 0) is None


def test_a_split_is_granted_pod_by_pod_as_far_as_constraints_allow() -> None:
    """Three in the last zone are one too many for the spread."""
    enc = encoded(deployment(4, "web", spread=SPREAD), ABC)
    asked = Split((0, 2, 2, 2))
    assert counts(enc, settler(enc).settle(0, 4, everywhere(enc, prefer=asked))) == [1, 1, 2]
    free = encoded(deployment(4, "web", spread=[{"topology_key": "zone", "max_skew": 3}]), ABC)
    assert counts(free, settler(free).settle(0, 4, everywhere(free, prefer=asked))) == [1, 0, 3]


def test_nodes_that_are_there_come_before_a_split() -> None:
    """So do heavier pools."""
    enc = encoded(deployment(1, "web", spread=SPREAD), ABC)
    room = everywhere(enc, prefer=Split((2,)), existing_c=np.array([0, 1, 0]))
    assert counts(enc, settler(enc).settle(0, 1, room)) == [0, 1, 0]
    assert not everywhere(enc, prefer=Split((2,)), weight_c=np.array([0, 9, 0])).pod_by_pod()
    assert not everywhere(enc, prefer=(2,)).pod_by_pod()
