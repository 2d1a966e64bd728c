"""Digests of plans: of what `dovetail plan -o json` prints, and of what a controller reads besides.

Each case has two digests. The first covers the decision: names, places, prices, reasons. The second
covers the whole output, sentences for people included. A change of wording changes only the second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from dovetail.decide import decide
from dovetail.decide.disrupt.why import staying_nodes
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.present.plan import Json, Timings, blocked_json, instant, plan_json

_SENTENCES: Final = frozenset({"message", "summary", "fix", "lowerBoundWhy", "notes"})
_LENGTH: Final = 16  # hexadecimal digits of each digest that are kept

Decide = Callable[[Snapshot, datetime], Plan]


class Digest(NamedTuple):
    """The digest of the decision, and of the whole output."""

    decision: str
    text: str


class Recorder:
    """Decides as it was told to, and adds every plan to a digest."""

    def __init__(self, policy: Decide = decide, *, explains: bool = False) -> None:
        self._policy = policy
        self._explains = explains
        self._decisions = hashlib.sha256()
        self._texts = hashlib.sha256()

    def decide(self, snapshot: Snapshot, now: datetime) -> Plan:
        """The plan of the policy."""
        plan = self._policy(snapshot, now)
        shown = _shown(snapshot, plan)
        if self._explains and snapshot.policy.disrupts_for:
            shown["staying"] = [blocked_json(one) for one in staying_nodes(snapshot, plan, now)]
        self._decisions.update(_canonical(_without_sentences(shown)))
        self._texts.update(_canonical(shown))
        return plan

    @property
    def digest(self) -> Digest:
        """Of all plans so far."""
        return Digest(self._decisions.hexdigest()[:_LENGTH], self._texts.hexdigest()[:_LENGTH])


def _shown(snapshot: Snapshot, plan: Plan) -> dict[str, Json]:
    """What the command prints, without times, and the parts of a plan that it does not print."""
    shown = plan_json(plan, snapshot, Timings(), with_certificate=True)
    shown["wakeAt"] = None if plan.wake_at is None else instant(plan.wake_at)
    shown["bindingOrder"] = list(plan.binding_order)
    shown["proposals"] = [[str(one.reason), one.node, instant(one.since)] for one in plan.proposals]
    return shown


def _without_sentences(value: Json) -> Json:
    match value:
        case dict():
            kept = ((key, held) for key, held in value.items() if key not in _SENTENCES)
            return {key: _without_sentences(held) for key, held in kept}
        case list():
            return [_without_sentences(held) for held in value]
        case _:
            return value


def _canonical(value: Json) -> bytes:
    return msgspec.json.encode(value, order="sorted") + b"\n"
