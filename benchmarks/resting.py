"""How fast is it judged which nodes could go, and how cheap is a cluster once it has come to rest?

    judged     every node of a cluster, whether it would pay to take it away
    decided    one whole decision on that cluster
    rested     decisions, each carried out at once, until nothing is left to gain; then one more

The clusters are packed by the reference's own policy (`packed`). Between decisions all nodes become
quiet again; how long that takes is the business of simulations.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

import msgspec

from benchmarks.machine import peak_mb
from benchmarks.packed import NOW, packed_cluster
from benchmarks.results import Result
from benchmarks.rows import EVICTIONS, MS_A_MOVE, PEAK_MB, RATIO, SECONDS
from dovetail.decide import decide
from dovetail.decide.apply import apply
from dovetail.decide.disrupt.probe import ground_of, movable_pods
from dovetail.decide.disrupt.savings import candidates_of
from dovetail.decide.disrupt.walk import screen_of
from dovetail.decide.lifecycle.conditions import CONSOLIDATABLE
from dovetail.decide.pools import running_price
from dovetail.model.node import Condition, Node
from dovetail.model.snapshot import Snapshot
from dovetail.solve import appraisal

T = TypeVar("T")
_NANOUSD: Final = 1e9
_QUIET: Final = Condition(CONSOLIDATABLE, "True")
_MOST_DECISIONS: Final = 200


def measure_judging(n_pods: int, *, repeat: int, seed: int) -> Result:
    """Judge the removal of every node, the encoding of the whole cluster included."""
    there = _packed(n_pods, seed)

    def judge() -> int:
        ground = ground_of(there, NOW, is_saving=True)
        free = candidates_of(there.nodes, ground)
        screen = screen_of(ground, free)
        found = [screen.estimate(one.name, one.price_nanousd) for one in free]
        return sum(
            one.price_nanousd > estimate.price_nanousd
            for one, estimate in zip(free, found, strict=True)
        )

    n_saving, seconds = _best(judge, repeat)
    n_nodes = len(there.nodes)
    figures = {
        **_size(there),
        SECONDS: seconds,
        MS_A_MOVE: 1e3 * seconds / n_nodes,
        "moves a second": n_nodes / seconds,
        "likely to save": n_saving,
    }
    return Result("judge", figures)


def measure_decision(n_pods: int, *, repeat: int, seed: int) -> Result:
    """One decision on a cluster in which much can be gained."""
    there = _packed(n_pods, seed)
    built_mb = peak_mb()
    plan, seconds = _best(lambda: decide(there, NOW), repeat)
    figures = {
        **_size(there),
        SECONDS: seconds,
        PEAK_MB: peak_mb(),
        "peak MB before deciding": built_mb,
        "moves": len(plan.disruptions),
        "nodes that go": sum(len(one.nodes) for one in plan.disruptions),
        "saved $/h": sum(one.saving_nanousd for one in plan.disruptions) / _NANOUSD,
    }
    return Result("decide", figures)


def measure_rest(n_pods: int, *, repeat: int, seed: int) -> Result:
    """Where a cluster comes to rest, what that took, and how long it takes to see that it has."""
    there = _packed(n_pods, seed)
    bound = _replanned(there)
    home = {pod.key: pod.node_name for pod in there.pods}
    before, n_evictions, n_decisions = running_price(there), 0, 0
    while n_decisions < _MOST_DECISIONS:
        plan = decide(there, NOW)
        n_decisions += 1
        if not plan.disruptions:
            break
        n_evictions += sum(len(one.pods) for one in plan.disruptions)
        there = _quiet(apply(there, plan))
    n_moved = sum(home[pod.key] != pod.node_name for pod in there.pods)
    plan, seconds = _best(lambda: decide(there, NOW), repeat)
    after = running_price(there)
    figures = {
        **_size(there),
        "$/h": after / _NANOUSD,
        "bound $/h": bound / _NANOUSD,
        "before/bound": before / bound,
        RATIO: after / bound,
        "evictions": n_evictions,
        EVICTIONS: n_evictions / max(1, n_moved),
        "decisions": n_decisions,
        SECONDS: seconds,
    }
    failures = ("it does not come to rest",) if plan.disruptions else ()
    return Result("rest", figures, failures=failures)


RESTING: Final = {"judge": measure_judging, "decide": measure_decision, "rest": measure_rest}


def _packed(n_pods: int, seed: int) -> Snapshot:
    """Packed by the reference, proposals confirmed at once."""
    there = packed_cluster(n_pods, seed, is_spot=True)
    policy = msgspec.structs.replace(there.policy, confirm_after=timedelta(0))
    return msgspec.structs.replace(there, policy=policy)


def _size(there: Snapshot) -> dict[str, float]:
    return {"pods": len(there.pods), "nodes": len(there.nodes)}


def _replanned(there: Snapshot) -> int:
    """What all pods that could move would cost at least, were everything bought anew."""
    ground = ground_of(there, NOW, is_saving=True)
    pods = tuple(pod for node in ground.nodes for pod in movable_pods(node.name, ground))
    asked = msgspec.structs.replace(ground.puzzle, pods=pods)
    return appraisal(asked).certificate.bound_nanousd


def _quiet(there: Snapshot) -> Snapshot:
    return msgspec.structs.replace(there, nodes=tuple(_settled(node) for node in there.nodes))


def _settled(node: Node) -> Node:
    if any(one.type == CONSOLIDATABLE for one in node.conditions):
        return node
    return msgspec.structs.replace(node, conditions=(*node.conditions, _QUIET))


def _best(work: Callable[[], T], repeat: int) -> tuple[T, float]:
    """The last answer, and the CPU seconds of the fastest run, without garbage collection."""
    seconds = []
    answers = []
    for _ in range(repeat):
        gc.collect()
        gc.disable()
        started = time.process_time()
        answers = [work()]
        seconds.append(time.process_time() - started)
        gc.enable()
    return answers[0], min(seconds)
