"""Does a cluster come to rest? Plan after plan, each judged and then carried out.

A cluster rests when for two days nothing is done, though time opens windows and ends protections.
On the way no move about money makes it dearer, whatever the provider delivers, and nobody is woken
without end.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Final

import msgspec

from dovetail.decide import decide
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.snapshot import Snapshot
from tests.laws.life import carried_out, delivered
from tests.laws.lively import lively
from tests.laws.strategies import NOW
from tests.oracle.check import check
from tests.oracle.disruptions import fakes, price

MOST_DEEDS: Final = 80
MOST_LOOKS: Final = 60  # between two deeds
LONG: Final = timedelta(days=2)
PAUSE: Final = timedelta(minutes=12)  # longer than anything that settles
MOMENT: Final = timedelta(microseconds=1)

Decide = Callable[[Snapshot, datetime], Plan]


def wrong(seed: int) -> list[str]:
    """Everything that is wrong on the way to rest from the cluster of this seed."""
    return Peace(lively(seed), Random(seed)).complaints()


def acts(snapshot: Snapshot, plan: Plan) -> bool:
    """Whether anything is done; room that a buffer has already needs nothing."""
    unreal = fakes(snapshot)
    meant = any(set(one.pods) - unreal for one in plan.nominations)
    return bool(plan.launches or plan.disruptions or meant)


class Peace:
    """A cluster on its way to rest."""

    def __init__(self, snapshot: Snapshot, chance: Random, decide: Decide = decide) -> None:
        self.snapshot = snapshot
        self._decide = decide
        self.now = NOW
        self.n_deeds = 0
        self.n_moves = dict.fromkeys(DisruptionReason, 0)
        self._chance = chance
        self._is_whimsical = chance.random() < 0.3  # the provider
        self._is_watched = chance.random() < 0.2  # until just before it is said to wake

    def complaints(self) -> list[str]:
        """What is wrong on the way; nothing if all is well."""
        for _ in range(MOST_DEEDS):
            found = self._idle()
            if found is None:
                return []
            plan, broken = found
            broken = broken or self._do(plan)
            if broken:
                return [f"after {self.n_deeds} deeds: {one}" for one in broken]
        return [f"no rest after {MOST_DEEDS} deeds"]

    def _idle(self) -> tuple[Plan, list[str]] | None:
        """The next plan that does anything, or with which anything is wrong; None if it rests."""
        since, plan = self.now, Plan()
        for _ in range(MOST_LOOKS):
            plan = self._decide(self.snapshot, self.now)
            broken = check(self.snapshot, self.now, plan)
            if broken or acts(self.snapshot, plan):
                return plan, broken
            self.snapshot = _noted(self.snapshot, plan)
            if plan.wake_at is None or plan.wake_at > since + LONG:
                broken = self._restless(plan)
                return (plan, broken) if broken else None
            if plan.wake_at <= self.now:
                return plan, [f"wants to be woken at {plan.wake_at}, it is {self.now}"]
            broken = self._changing(plan, plan.wake_at) if self._is_watched else []
            if broken:
                return plan, broken
            self.now = plan.wake_at
        return plan, [f"is woken {MOST_LOOKS} times for nothing"]

    def _restless(self, plan: Plan) -> list[str]:
        """Whoever is still proposed to go is held back by something that is said."""
        held = {one.node for one in plan.blocked}
        return [f"still proposes {one.node}" for one in plan.proposals if one.node not in held]

    def _changing(self, plan: Plan, until: datetime) -> list[str]:
        """Nothing changes strictly before the moment at which it is said that it might."""
        for now in (self.now + (until - self.now) / 2, until - MOMENT):
            if now > self.now and _deeds(self._decide(self.snapshot, now)) != _deeds(plan):
                return [f"changes at {now}, before {until}"]
        return []

    def _do(self, plan: Plan) -> list[str]:
        """Carry the plan out; what is wrong with what came of it."""
        self.n_deeds += 1
        for one in plan.disruptions:
            if one.reason in self.n_moves:
                self.n_moves[DisruptionReason(one.reason)] += 1
        before = paid(self.snapshot)
        if self._is_whimsical:
            plan = delivered(self.snapshot, plan, self.now, self._chance)
        self.snapshot = carried_out(self.snapshot, plan, self.now)
        self.now += PAUSE
        is_about_money = not plan.launches and all(
            one.reason in (DisruptionReason.EMPTY, DisruptionReason.UNDERUTILIZED)
            for one in plan.disruptions
        )
        after = paid(self.snapshot)
        return [f"pays {after}, not {before}"] if is_about_money and after > before else []


def paid(snapshot: Snapshot) -> int:
    """What all nodes cost."""
    return sum(price(snapshot, node) for node in snapshot.nodes if node.node_claim)


def _noted(snapshot: Snapshot, plan: Plan) -> Snapshot:
    ledger = msgspec.structs.replace(snapshot.ledger, proposals=plan.proposals)
    return msgspec.structs.replace(snapshot, ledger=ledger)


def _deeds(plan: Plan) -> tuple[object, ...]:
    return plan.launches, plan.nominations, plan.disruptions, plan.proposals
