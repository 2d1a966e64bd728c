"""The decisions that `make replay` makes again: scenario files, fuzz seeds and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec

from benchmarks import scenarios, small_mix
from benchmarks.day_mix import demand, empty_cluster
from benchmarks.packed import NOW as PACKED_NOW
from benchmarks.packed import packed_cluster
from benchmarks.simulated_day import START
from dovetail.decide import decide
from dovetail.model.snapshot import Snapshot
from dovetail.sim.fast.run import Manner, simulate
from dovetail.sim.reference.policy import Reference
from dovetail.testing import load, virtual_time
from tests.fuzz import judge
from tests.fuzz.tiny import built, words_of
from tests.kills.plots import scenario_of
from tests.kills.trials import left_alone
from tests.laws.lively import lively
from tests.laws.peace import Peace
from tests.laws.strategies import NOW
from tests.laws.thrift import Thrift
from tests.replay.digests import Decide, Digest, Recorder

SCENARIOS: Final = Path(__file__).parents[2] / "scenarios"
N_SEEDS: Final = {"plans": 300, "placed": 300, "rest": 120, "budgets": 120, "kills": 12}
SIZES: Final = (300, 3_000)
N_CLUSTERS: Final = {"tiny": 40, "uniform": 12, "small": 12, "mixed": 12}
PACKED: Final = (400, 2_000)
_DAYS: Final[dict[str, Callable[[], Decide]]] = {"dovetail": lambda: decide, "reference": Reference}


class Case(NamedTuple):
    """A named series of decisions, often of one, and how to make it."""

    name: str
    make: Callable[[], Digest]


def cases() -> Iterator[Case]:
    """Every case, the slow ones first, so that no worker is left with one at the end."""
    yield from _slow_cases()
    yield from _fuzz_cases()
    yield from _benchmark_cases()
    for path in sorted(SCENARIOS.rglob("*.yaml")):
        name = path.relative_to(SCENARIOS).with_suffix("")
        yield Case(f"scenarios/{name}", partial(_scenario, path))


def _slow_cases() -> Iterator[Case]:
    for policy in _DAYS:
        yield Case(f"benchmarks/day/{policy}", partial(_day, policy))
    for n_pods in PACKED:
        yield Case(f"benchmarks/packed/{n_pods}", partial(_packed, n_pods))


def _fuzz_cases() -> Iterator[Case]:
    for part, n_seeds in reversed(N_SEEDS.items()):
        for seed in range(n_seeds):
            yield Case(f"fuzz/{part}/{seed:04}", partial(FUZZ[part], seed))


def _benchmark_cases() -> Iterator[Case]:
    for name in scenarios.SCENARIOS:
        for n_pods in SIZES:
            yield Case(f"benchmarks/{name}/{n_pods}", partial(_benchmark, name, n_pods))
    for name, n_clusters in N_CLUSTERS.items():
        for number in range(1, n_clusters + 1):
            yield Case(f"benchmarks/{name}/{number:04}", partial(_small, name, number))


def _once(snapshot: Snapshot) -> Digest:
    recorder = Recorder()
    recorder.decide(snapshot, NOW)
    return recorder.digest


def _scenario(path: Path) -> Digest:
    recorder, scenario = Recorder(explains=True), load(path)
    recorder.decide(scenario.snapshot, scenario.now)
    return recorder.digest


# ------------------------------------------------------------------ fuzz seeds


def _plans(seed: int) -> Digest:
    return _once(judge.snapshot_of(seed))


def _placed(seed: int) -> Digest:
    return _once(built(words_of(seed)))


def _rest(seed: int) -> Digest:
    recorder = Recorder(explains=True)
    Peace(lively(seed), Random(seed), recorder.decide).complaints()
    return recorder.digest


def _budgets(seed: int) -> Digest:
    recorder = Recorder(explains=True)
    Thrift(lively(seed), Random(seed), recorder.decide).complaints()
    return recorder.digest


def _kills(seed: int) -> Digest:
    """The decisions of a controller that is not killed, in the world of this seed."""
    recorder = Recorder()
    virtual_time.run(left_alone(scenario_of(seed), decide=recorder.decide))
    return recorder.digest


FUZZ: Final[dict[str, Callable[[int], Digest]]] = {
    "plans": _plans,
    "placed": _placed,
    "rest": _rest,
    "budgets": _budgets,
    "kills": _kills,
}


# ------------------------------------------------------------------ benchmarks


def _benchmark(name: str, n_pods: int) -> Digest:
    return _once(scenarios.SCENARIOS[name](n_pods, 1))


def _small(name: str, number: int) -> Digest:
    return _once(_SMALL[name](number))


_SMALL: Final[dict[str, Callable[[int], Snapshot]]] = {
    "tiny": scenarios.tiny,
    "uniform": small_mix.uniform,
    "small": small_mix.small,
    "mixed": small_mix.mixed,
}


def _packed(n_pods: int) -> Digest:
    """Consolidation of a cluster that the reference's policy has packed."""
    packed = packed_cluster(n_pods, is_spot=True)
    policy = msgspec.structs.replace(packed.policy, confirm_after=timedelta(0))
    recorder = Recorder(explains=True)
    recorder.decide(msgspec.structs.replace(packed, policy=policy), PACKED_NOW)
    return recorder.digest


def _day(policy: str) -> Digest:
    """A few hours of a simulated day of a small cluster."""
    recorder = Recorder(_DAYS[policy]())
    simulate(
        empty_cluster(1),
        demand(60, 1, lasts_for=timedelta(hours=4)),
        recorder.decide,
        manner=Manner(start=START),
        chance=Random(1).random,
    )
    return recorder.digest
