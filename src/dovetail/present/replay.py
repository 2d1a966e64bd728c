"""Compares a decision with the same made again, and words what differs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.snapshot import Decision
from dovetail.present.explanation import saving_of
from dovetail.present.plan import Json, instant
from dovetail.present.table import listing, price

NOTHING: Final = "-"
_Entry = tuple[object, str]  # what is compared, and what is shown of it


class PlanDifference(msgspec.Struct, frozen=True):
    """Something of a plan that did not come out the same; `-` where one side has nothing."""

    what: str
    name: str
    recorded: str
    recomputed: str


class ReplayedDecision(msgspec.Struct, frozen=True):
    """A decision that was made again."""

    number: int
    now: datetime
    differences: tuple[PlanDifference, ...] = ()


class Replay(msgspec.Struct, frozen=True):
    """Every decision that was made again; `remarks` are talk."""

    decisions: tuple[ReplayedDecision, ...]
    remarks: tuple[str, ...] = ()

    @property
    def different(self) -> tuple[ReplayedDecision, ...]:
        """Those that did not come out the same."""
        return tuple(decision for decision in self.decisions if decision.differences)


def compare(recorded: Decision, plan: Plan, digest: str) -> ReplayedDecision:
    """A decision against the plan that came of it now, whose certificate has this digest."""
    changes = list(differences(recorded.plan, plan))
    if recorded.certificate_digest != digest:
        changes.append(PlanDifference("proof", "certificate", recorded.certificate_digest, digest))
    return ReplayedDecision(recorded.number, recorded.now, tuple(changes))


def differences(recorded: Plan, recomputed: Plan) -> Iterator[PlanDifference]:
    """All that differs between two plans, but for the proof of the bound."""
    before, after = dict(_entries(recorded)), dict(_entries(recomputed))
    for kind, name in {**before, **after}:
        first, other = before.get((kind, name)), after.get((kind, name))
        if first is None or other is None or first[0] != other[0]:
            yield PlanDifference(kind, name, *_both_texts(first, other))


def _both_texts(old: _Entry | None, other: _Entry | None) -> tuple[str, str]:
    """Both sides in words; where those are the same, the fields in which they are not."""
    if old is None or other is None or old[1] != other[1]:
        return (NOTHING if old is None else old[1]), (NOTHING if other is None else other[1])
    fields = [name for name in _fields(old[0]) if getattr(old[0], name) != getattr(other[0], name)]
    if not fields:
        return str(old[0]), str(other[0])
    sides = [
        "; ".join(f"{name} {getattr(side[0], name)}" for name in fields) for side in (old, other)
    ]
    return sides[0], sides[1]


def _fields(value: object) -> tuple[str, ...]:
    return value.__struct_fields__ if isinstance(value, msgspec.Struct) else ()


def _entries(plan: Plan) -> Iterator[tuple[tuple[str, str], _Entry]]:
    """Everything that a plan holds, by what it is and its name."""
    for launch in plan.launches:
        yield ("launch", launch.name), (launch, _launch(launch))
    for disrupt in plan.disruptions:
        yield ("disruption", listing(disrupt.nodes)), (disrupt, _disruption(disrupt))
    for waiting in plan.unschedulable:
        yield ("unschedulable", waiting.pod), (waiting, waiting.summary)
    for place in plan.nominations:
        yield ("nomination", place.node), (place, listing(place.pods))
    for kept in plan.blocked:
        yield ("kept", kept.node), (kept, f"{kept.reason}: {kept.message}")
    for proposal in plan.proposals:
        name = f"{proposal.node} {proposal.reason}"
        yield ("proposal", name), (proposal, f"since {instant(proposal.since)}")
    for field in plan.cost.__struct_fields__:
        amount: int = getattr(plan.cost, field)
        yield ("cost", field.removesuffix("_nanousd").replace("_", " ")), (amount, price(amount))
    yield from _rest(plan)


def _rest(plan: Plan) -> Iterator[tuple[tuple[str, str], _Entry]]:
    order = plan.binding_order
    yield ("order", "of binding"), (order, listing(order) or NOTHING)
    yield ("discouraged", "nodes"), (plan.discouraged, listing(plan.discouraged) or NOTHING)
    yielding = [f"{item.node} ({item.cost})" for item in plan.yielding]
    yield ("yielding", "nodes"), (plan.yielding, listing(yielding) or NOTHING)
    wake_at = NOTHING if plan.wake_at is None else instant(plan.wake_at)
    yield ("time", "of the next decision"), (plan.wake_at, wake_at)
    counts = (plan.n_pods, plan.n_groups)
    yield ("count", "pods and groups"), (counts, f"{plan.n_pods} in {plan.n_groups}")


def _launch(launch: Launch) -> str:
    kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone} of {launch.node_pool}"
    return f"{kind}, {price(launch.price_nanousd)}, for {listing(launch.pods) or 'no pods'}"


def _disruption(disrupt: Disrupt) -> str:
    instead = f", for {listing([_launch(new) for new in disrupt.replacements])}"
    return f"{disrupt.reason}, {saving_of(disrupt)}{instead if disrupt.replacements else ''}"


def replay_json(replay: Replay) -> dict[str, Json]:
    """The same for scripts."""
    return {
        "decisions": len(replay.decisions),
        "different": len(replay.different),
        "differences": [_decision_json(decision) for decision in replay.different],
    }


def _decision_json(replayed_decision: ReplayedDecision) -> dict[str, Json]:
    return {
        "number": replayed_decision.number,
        "now": instant(replayed_decision.now),
        "differences": [msgspec.structs.asdict(item) for item in replayed_decision.differences],
    }
