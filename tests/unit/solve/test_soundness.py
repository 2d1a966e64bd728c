from __future__ import annotations

import numpy as np
import pytest

from dovetail.solve.attempt import Attempt
from dovetail.solve.soundness import is_sound
from dovetail.testing.builders import deployment
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
