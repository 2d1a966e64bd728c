"""What is wrong with the plan for one generated cluster? Used by the laws and by long fuzz runs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from tests.laws.strategies import NOW, TINY, seeded, shuffled
from tests.oracle.check import check
from tests.oracle.launchable import all_offers
from tests.oracle.optimum import MOST_OFFERS, MOST_PODS, optimum

TINY_EVERY: Final = 4
SHUFFLE_EVERY: Final = 5


def snapshot_of(seed: int) -> Snapshot:
    """The cluster of a seed: every fourth one is tiny, so that its optimum can be found."""
    return seeded(seed, TINY if seed % TINY_EVERY == 0 else None)


def wrong(seed: int) -> list[str]:
    """Everything that is wrong with the plan for the cluster of this seed."""
    snapshot = snapshot_of(seed)
    found = wrong_with(snapshot)
    if seed % SHUFFLE_EVERY == 0:
        found += wrong_when_shuffled(snapshot, seed)
    return found


def wrong_with(snapshot: Snapshot) -> list[str]:
    """What the checker says, and where bound, optimum and price are out of order."""
    plan = decide(snapshot, NOW)
    return check(snapshot, NOW, plan) or wrong_price(snapshot, plan)


def wrong_when_shuffled(snapshot: Snapshot, seed: int) -> list[str]:
    """Whether the order of the input shows in the plan."""
    first = decide(snapshot, NOW)
    second = decide(shuffled(snapshot, Random(seed)), NOW)
    return [] if encoded(first) == encoded(second) else ["the plan depends on the order of input"]


def encoded(plan: Plan) -> bytes:
    """The plan as bytes."""
    return msgspec.json.encode(plan, order="deterministic")


def placed(snapshot: Snapshot, plan: Plan) -> Sequence[Pod]:
    """The pods that the plan gives a node."""
    keys = set(plan.binding_order)
    return [pod for pod in snapshot.pods if pod.key in keys]


def wrong_price(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Bound <= optimum <= plan, where the optimum can be found."""
    pods = placed(snapshot, plan)
    if len(pods) > MOST_PODS or len(all_offers(snapshot, NOW)) > MOST_OFFERS:
        return []
    least = optimum(snapshot, NOW, pods)
    if least is None:
        return ["no way to run the pods was found, yet the plan has one"]
    found = []
    if plan.cost.new_nanousd < least:
        found.append(f"the plan costs {plan.cost.new_nanousd}, less than the optimum {least}")
    if len({pool.weight for pool in snapshot.node_pools}) > 1:
        return found  # weight goes before price, which the optimum does not know
    strict = optimum(snapshot, NOW, pods, is_strict=True)
    if strict is not None and plan.cost.lower_bound_nanousd > strict:
        found.append(f"bound {plan.cost.lower_bound_nanousd} is above the optimum {strict}")
    return found
