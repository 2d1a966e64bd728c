"""Does kube-scheduler bind a plan as it was meant, where it is told of every pod in its turn?

The controller itself cannot hold pods back, and does not nominate pods that a hard spread counts:
`python -m benchmarks.peers.binding` says what comes of that.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.peers.binding import judge
from benchmarks.peers.binding_verdicts import Judged, Telling, Way
from benchmarks.peers.scheduling import Scoring
from benchmarks.scenarios import fleet

pytestmark = pytest.mark.xdist_group("controlplane")

N_PODS = 400
_AT_ONCE = 0.999


def judged(scoring: Scoring, telling: Telling) -> Judged:
    """What becomes of a fleet's plan, every kind of constraint being in it."""
    found = judge("fleet", fleet(N_PODS, 1), Way(scoring, telling))
    assert found.n_pods == N_PODS
    return found


@pytest.mark.parametrize("scoring", Scoring)
def test_a_plan_told_in_turn_comes_true_at_once(
    scoring: Scoring, record_property: Callable[[str, object], None]
) -> None:
    """Pods are bound without a second plan, and cost what the plan said, whatever the scoring."""
    found = judged(scoring, Telling.IN_TURN)
    record_property("share bound at once", found.share_at_once)
    assert found.share_at_once >= _AT_ONCE, found.pending
    assert found.n_left_after_round_2 == 0
    assert found.realised == pytest.approx(found.paper)


def test_a_plan_that_nobody_tells_of_does_not_come_true() -> None:
    """Left to itself the scheduler takes other nodes, and some pods find none: it can say no."""
    found = judged(Scoring.DEFAULT, Telling.NOTHING)
    assert found.share_at_once < _AT_ONCE
    assert found.pending
    assert found.realised > found.paper
