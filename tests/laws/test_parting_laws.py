"""Plans hold while pods end: their room is used where it is free in time, and nowhere else."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.candidates import is_parting
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.laws.lively import lively
from tests.laws.strategies import NOW
from tests.oracle.check import check

N_CLUSTERS, N_BATCHES = 240, 4
SECONDS_LEFT = (-70, -15, -10, -5, 0, 10, 30, 30, 59, 60, 61, 300)


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_plans_are_right_while_pods_end(batch: int) -> None:
    """Judged by the checker, which knows by itself who is as good as gone."""
    n_used = 0
    for seed in range(batch, N_CLUSTERS, N_BATCHES):
        found = _in_turmoil(lively(seed), Random(seed))
        plan = decide(found, NOW)
        assert check(found, NOW, plan) == [], f"seed {seed}"
        left = {pod.node_name for pod in found.pods if is_parting(pod, NOW)}
        n_used += any(one.node in left for one in plan.nominations)
    assert n_used >= N_CLUSTERS // N_BATCHES // 8  # else it says little


def _in_turmoil(snapshot: Snapshot, chance: Random) -> Snapshot:
    """A third of the running pods have been told to end; others of their kind wait."""
    pods: list[Pod] = []
    for pod in snapshot.pods:
        if not pod.node_name or pod.is_daemon or pod.is_terminal or chance.random() < 2 / 3:
            pods.append(pod)
            continue
        ends_at = NOW + timedelta(seconds=chance.choice(SECONDS_LEFT))
        pods.append(msgspec.structs.replace(pod, deleting_at=ends_at))
        if not pod.claim_names:
            pods.append(
                msgspec.structs.replace(
                    pod,
                    name=f"{pod.name}-next",
                    uid=f"{pod.uid}-next",
                    node_name="",
                    phase="Pending",
                )
            )
    return msgspec.structs.replace(snapshot, pods=tuple(pods))
