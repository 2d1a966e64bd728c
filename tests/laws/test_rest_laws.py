"""The rest law: whatever a busy cluster looks like, plan after plan it comes to rest.

`make fuzz` asks the same of thousands of clusters.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.laws.lively import lively
from tests.laws.peace import Peace

N_CLUSTERS, N_BATCHES = 300, 4
RESTLESS = (1764, 2532, 4678)  # once they were woken in vain, or too late


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_busy_clusters_come_to_rest_and_nothing_is_wrong_on_the_way(batch: int) -> None:
    """Nothing is proposed any more in the end, no move about money ever made it dearer, and the
    checker found nothing in any plan.
    """
    n_moves: Counter[str] = Counter()
    for seed in range(batch, N_CLUSTERS, N_BATCHES):
        peace = Peace(lively(seed), Random(seed))
        assert peace.complaints() == [], f"seed {seed}"
        n_moves.update({str(reason): n for reason, n in peace.n_moves.items()})
    assert min(n_moves.values()) >= N_CLUSTERS // N_BATCHES // 5, n_moves  # else it says little


@pytest.mark.parametrize("seed", RESTLESS)
def test_clusters_that_once_found_no_rest_do(seed: int) -> None:
    """What was proposed together is done together, each node in its time."""
    assert Peace(lively(seed), Random(seed)).complaints() == []
