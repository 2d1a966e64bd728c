from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.finishing.soundness import is_sound
from dovetail.solve.packing.attempt import Attempt
from dovetail.testing.builders import deployment, node, pod
from tests.unit.solve.puzzles import SMALL, empty_attempt, encoded


def crowded(nodes: list[int], **words: object) -> Attempt:
    """Pods of one deployment, so many on each of some new nodes, no questions asked."""
    attempt = empty_attempt(encoded(deployment(sum(nodes), "web", **words), SMALL))
    number = attempt.book.add(0, -1, sum(nodes))
    for count in nodes:
        span = attempt.bins.open(0, 1)
        attempt.bins.put(number, attempt.units[number], np.array([span.start]), np.array([count]))
    return attempt


def test_a_plan_within_every_law_is_sound() -> None:
    """Two pods that avoid each other, on two nodes."""
    assert is_sound(crowded([1, 1], anti_affinity=[{"topology_key": "hostname"}]))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        pytest.param([3], {"cpu": 1}, id="resources"),
        pytest.param([2], {"anti_affinity": [{"topology_key": "hostname"}]}, id="anti-affinity"),
        pytest.param([2], {"host_ports": ["80"]}, id="ports"),
        pytest.param([1, 1], {"affinity": [{"topology_key": "hostname"}]}, id="affinity"),
        pytest.param([3, 1], {"spread": [{"topology_key": "hostname"}]}, id="spread"),
        pytest.param([1], {"node_selector": {"zone": "b"}}, id="selector"),
    ],
)
def test_a_broken_law_is_seen(nodes: list[int], words: dict[str, object]) -> None:
    """One law is broken in each of these plans."""
    assert not is_sound(crowded(nodes, **words))


def test_more_nodes_than_a_limit_allows_are_seen() -> None:
    """One node may be added, two were."""
    attempt = crowded([1, 1])
    attempt.bins.limits.left = [-1]
    attempt.bins.limits.rows = [np.ones(attempt.enc.n_offers, dtype=np.int64)]
    fresh = encoded(deployment(2, "web"), SMALL, limits={"default": {"nodes": 1}})
    attempt.enc = fresh
    assert not is_sound(attempt)


def followed(pairs: list[tuple[int, int]], **parts: object) -> Attempt:
    """New nodes with so many leaders and followers each; a follower wants a leader on its node, and
    is such company itself. `near` is what it wants instead.
    """
    on_node = {"topology_key": "hostname", "selector": {"tier": "x"}}
    near = parts.pop("near", [on_node])
    n_leaders, n_followers = (sum(pair[part] for pair in pairs) for part in range(2))
    pods = [
        *deployment(n_leaders, "leader", labels={"app": "leader", "tier": "x"}),
        *deployment(n_followers, "follower", labels={"tier": "x"}, affinity=near, cpu="200m"),
    ]
    attempt = empty_attempt(encoded(pods, SMALL, **parts))
    for group, one in enumerate(attempt.enc.groups):
        part = int(bool(one.spec.affinity))
        number = attempt.book.add(group, -1, sum(pair[part] for pair in pairs))
        for place, pair in enumerate(pairs):
            if place >= attempt.bins.n - attempt.bins.n_existing:
                attempt.bins.open(0, 1)
            if pair[part]:
                nodes = np.array([attempt.bins.n_existing + place])
                attempt.bins.put(number, attempt.units[number], nodes, np.array([pair[part]]))
    return attempt


@pytest.mark.parametrize(
    ("pairs", "want"),
    [
        pytest.param([(1, 1)], True, id="with the only leader"),
        pytest.param([(1, 2)], True, id="two with the only leader"),
        pytest.param([(1, 1), (1, 1)], True, id="with a leader each"),
        pytest.param([(0, 2)], True, id="by themselves on one node"),
        pytest.param([(0, 1), (0, 1)], False, id="by themselves on two nodes"),
        pytest.param([(1, 1), (0, 1)], True, id="one that starts alone before the leader is there"),
        pytest.param([(1, 0), (0, 1), (0, 1)], False, id="two alone while a leader is elsewhere"),
    ],
)
def test_only_the_first_follower_may_be_alone(pairs: list[tuple[int, int]], *, want: bool) -> None:
    """Only the very first of a kind may be without company, and only on one node."""
    assert is_sound(followed(pairs)) == want


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param({"tier": "x"}, True, id="company that it is itself"),
        pytest.param({"app": "leader"}, False, id="a leader in its zone"),
    ],
)
def test_a_follower_that_needs_others_in_its_zone_starts_nothing(
    selector: dict[str, str], *, want: bool
) -> None:
    """Nobody can come before all others and wait for them."""
    near = {"topology_key": "hostname", "selector": {"tier": "x"}}
    attempt = followed(
        [(1, 0), (0, 1)], near=[near, {"topology_key": "zone", "selector": selector}]
    )
    assert is_sound(attempt) == want


def test_nobody_is_first_while_company_runs() -> None:
    """Pods on a new node by themselves, while such a pod runs elsewhere."""
    old = pod("old", labels={"tier": "x"}, node="n1")
    parts = {"nodes": (node("n1", zone="a", cpu=4),), "bound": (old,)}
    assert not is_sound(followed([(0, 2)], **parts))
    assert is_sound(followed([(1, 2)], **parts))
