"""Do budgets hold while much is under way? Plan after plan in a busy cluster, each judged.

Counted by hand when something begins: nodes of a pool that are away by then, whatever for, are no
more than its budgets allow for the reason of what began last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Final

from dovetail.decide import decide
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from tests.laws.bustle import Bustle
from tests.laws.lively import lively
from tests.laws.peace import Decide
from tests.oracle.check import check
from tests.oracle.disruptions import PLENTY, allowance
from tests.oracle.hosts import is_leaving
from tests.oracle.static import SURPLUS

N_STEPS: Final = 12


def wrong(seed: int) -> list[str]:
    """Everything that is wrong while the cluster of this seed lives on for a while."""
    return Thrift(lively(seed), Random(seed)).complaints()


class Thrift:
    """A cluster that lives on, and the plans that are made for it."""

    def __init__(self, snapshot: Snapshot, chance: Random, decide: Decide = decide) -> None:
        self._decide = decide
        self.bustle = Bustle(snapshot, chance)
        self.n_begun: Counter[str] = Counter()
        self.n_under_way = 0  # plans that were made while nodes went, and that let more go

    def complaints(self) -> list[str]:
        """What is wrong on the way; nothing if all is well."""
        bustle = self.bustle
        for step in range(N_STEPS):
            before, now = bustle.snapshot, bustle.now
            plan = self._decide(before, now)
            found = check(before, now, plan)
            self._count(plan)
            if not found:
                bustle.begin(plan)
                found = list(overdrawn(before, bustle.snapshot, plan, now))
            if found:
                return [f"at step {step}: {one}" for one in found]
            bustle.go_on()
        return []

    def _count(self, plan: Plan) -> None:
        self.n_begun.update(str(one.reason) for one in plan.disruptions)
        self.n_under_way += bool(self.bustle.snapshot.ledger.disrupting and plan.disruptions)


def overdrawn(before: Snapshot, after: Snapshot, plan: Plan, now: datetime) -> Iterator[str]:
    """Pools of which more nodes are away once this has begun than their budgets allow."""
    for pool in before.node_pools:
        names = {node.name for node in before.nodes if node.node_pool == pool.name}
        begun = [one.reason for one in plan.disruptions if names.intersection(one.nodes)]
        if not begun or begun[-1] == SURPLUS:  # what is too many goes whatever budgets say
            continue
        n_nodes, n_away = _away(after, pool.name)
        allowed = [
            allowance(one, n_nodes, now)
            for one in pool.disruption.budgets
            if one.reasons is None or begun[-1] in one.reasons
        ]
        if n_away > min([PLENTY, *allowed]):
            yield f"{n_away} nodes of {pool.name} are away, {min(allowed)} may be for {begun[-1]}"


def _away(snapshot: Snapshot, pool: str) -> tuple[int, int]:
    """How many nodes of a pool there are, and how many of them are not ready or leave."""
    own = [
        node
        for node in snapshot.nodes
        if node.node_pool == pool and node.node_claim and node.is_initialized
    ]
    return len(own), sum(not node.is_ready or is_leaving(snapshot, node) for node in own)
