"""Laws of every plan, over generated clusters with everything mixed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dovetail.decide import decide
from dovetail.model.pod import Pod, PodSpec
from dovetail.model.snapshot import Snapshot
from tests.fuzz.describe import describe
from tests.fuzz.judge import encoded, wrong_price, wrong_when_shuffled
from tests.laws.strategies import NOW, TINY, clusters, seeded
from tests.oracle.check import check

ROOT = Path(__file__).resolve().parents[2]
N_CLUSTERS, N_BATCHES = 240, 8
N_HASHED = 25

# Reads seeds from standard input, writes one digest of all their plans.
_DIGEST = """
import hashlib
from dovetail.decide import decide
from tests.fuzz.judge import encoded
from tests.laws.strategies import NOW, seeded
digest = hashlib.sha256()
for seed in range({n}):
    digest.update(encoded(decide(seeded(seed), NOW)))
print(digest.hexdigest())
"""


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_the_checker_finds_nothing_wrong_with_any_plan(batch: int) -> None:
    """Every placed pod binds, nobody waits who could run, and every number adds up."""
    for seed in range(batch, N_CLUSTERS, N_BATCHES):
        snapshot = seeded(seed)
        assert check(snapshot, NOW, decide(snapshot, NOW)) == [], f"seed {seed}"


@pytest.mark.parametrize("batch", range(4))
def test_the_optimum_lies_between_bound_and_plan(batch: int) -> None:
    """On tiny clusters, where the cheapest plan can be found by trying everything."""
    for seed in range(batch, 60, 4):
        snapshot = seeded(seed, TINY)
        plan = decide(snapshot, NOW)
        assert check(snapshot, NOW, plan) == [], f"seed {seed}"
        assert wrong_price(snapshot, plan) == [], f"seed {seed}"


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    # `tests/fuzz/run.py --show` shrinks better: it knows what a cluster is made of.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(clusters())
def test_the_checker_finds_nothing_in_what_hypothesis_finds(snapshot: Snapshot) -> None:
    """The same law, with clusters that hypothesis chooses."""
    assert check(snapshot, NOW, decide(snapshot, NOW)) == [], describe(snapshot)


def test_the_same_snapshot_gives_the_same_bytes() -> None:
    """A decision remembers nothing of the one before."""
    for seed in range(N_HASHED):
        snapshot = seeded(seed)
        assert encoded(decide(snapshot, NOW)) == encoded(decide(snapshot, NOW)), f"seed {seed}"


def test_the_order_of_input_does_not_show() -> None:
    """Pods, nodes, pools, types and daemon sets may come in any order."""
    for seed in range(60):
        assert wrong_when_shuffled(seeded(seed), seed) == [], f"seed {seed}"


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_hashing_does_not_show(hash_seed: str) -> None:
    """A process that hashes strings differently plans the same bytes."""
    digest = hashlib.sha256()
    for seed in range(N_HASHED):
        digest.update(encoded(decide(seeded(seed), NOW)))
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    other = subprocess.run(
        [sys.executable, "-c", _DIGEST.format(n=N_HASHED)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest.hexdigest()


def hopeless(name: str) -> Pod:
    """A pod that nothing could ever hold."""
    return Pod(name, "default", PodSpec({"pods": 1, "example.com/nowhere": 1}), uid=f"uid-{name}")


def test_a_hopeless_pod_moves_nothing_else() -> None:
    """Adding a pod that cannot be placed changes neither launches nor nominations nor price."""
    for seed in range(60):
        snapshot = seeded(seed)
        before = decide(snapshot, NOW)
        pods = [*snapshot.pods, hopeless("hopeless")]
        Random(seed).shuffle(pods)
        after = decide(msgspec.structs.replace(snapshot, pods=tuple(pods)), NOW)
        assert encoded_moves(before) == encoded_moves(after), f"seed {seed}"
        assert before.cost == after.cost, f"seed {seed}"
        assert "default/hopeless" in {one.pod for one in after.unschedulable}, f"seed {seed}"


def encoded_moves(plan: object) -> bytes:
    """Launches, nominations and binding order as bytes."""
    moves = [getattr(plan, name) for name in ("launches", "nominations", "binding_order")]
    return msgspec.json.encode(moves, order="deterministic")
