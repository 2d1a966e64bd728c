"""Words why a node was launched and why it was removed, with the same as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dovetail.model.plan import Disrupt
from dovetail.present.explanation import Section, amounts, launches_text, saving_of
from dovetail.present.history.happenings import decision_of
from dovetail.present.history.nodes import Birth, End, NodeHistory, alternatives_section
from dovetail.present.plan import Json, claim_json, destinations, disruption_json, instant
from dovetail.present.table import listing, optimality, paid_for_new, plural, price
from dovetail.units import money


def birth_sections(birth: Birth) -> Iterator[Section]:
    """For whom it was made, and what else would have done."""
    yield Section("Why it was created", tuple(_birth(birth)))
    yield alternatives_section(birth.alternatives)


def _birth(birth: Birth) -> Iterator[str]:
    launch, decision = birth.launch, birth.decision
    ordered = f"{_capital(decision_of(decision.number, decision.now))} created it"
    n_pods = plural(len(launch.pods), "pod")
    if birth.instead_of is not None:
        gone = birth.instead_of
        saved = saving_of(gone)
        yield f"{ordered} to replace {listing(gone.nodes)} ({gone.reason}), which {saved}."
        yield f"It was created for {n_pods}: {listing(launch.pods)}."
    elif launch.pods:
        yield f"{ordered} for {plural(len(launch.pods), 'pending pod')}: {listing(launch.pods)}."
    else:
        yield f"{ordered} for no pods: NodePool {launch.node_pool} is static."
    kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
    paid = f"for {price(launch.price_nanousd)} an hour"
    yield f"It was planned as {kind} of NodePool {launch.node_pool}, {paid}."
    if launch.pods:
        yield f"Its pods and DaemonSets request {amounts(launch.requests)}."
    if birth.instead_of is None and decision.plan.cost.new_nanousd:
        paid = paid_for_new(decision.plan.cost)
        stated = optimality(decision.plan, decision.snapshot)
        yield f"All new nodes of that plan cost {paid}, {stated}."


def end_lines(end: End) -> Iterator[str]:
    """Why it went."""
    which = decision_of(end.decision.number, end.decision.now)
    if end.disrupt is None:
        if end.reason:
            yield f"It was removed for reason {end.reason}, seen by {which}; no plan chose it."
        else:
            yield f"It was deleted, seen by {which}, but not by a decision of this journal."
        return
    gone = end.disrupt
    others = [name for name in gone.nodes if name != end.node]
    along = f" together with {listing(others)}" if others else ""
    why = f"for reason {end.reason}{along}: that {saving_of(gone)}"
    yield f"{_capital(which)} chose to remove it, {why}."
    if gone.replacements:
        names = listing([replacement.name for replacement in gone.replacements])
        yield f"It was replaced by {launches_text(gone.replacements)}: {names}."
    yield from _moves(gone)


def _moves(gone: Disrupt) -> Iterator[str]:
    if not gone.pods:
        yield "No pod had to move."
        return
    to = dict(destinations(gone))
    moved = [f"{pod} to {to[pod]}" if pod in to else pod for pod in gone.pods]
    yield f"{plural(len(gone.pods), 'pod')} had to move: {listing(moved)}."


def _capital(text: str) -> str:
    """The same at the beginning of a sentence."""
    return text[0].upper() + text[1:]


def end_verdict(history: NodeHistory) -> str:
    """That it is gone, and in a word why."""
    if history.gone is None:
        return ""
    since = f"It has been gone since {decision_of(history.gone.number, history.gone.now)}"
    if history.end is None:
        return f"{since}. No decision of this journal removed it: its instance may have terminated."
    return f"{since}. {next(end_lines(history.end))}"


def life_json(history: NodeHistory) -> Mapping[str, Json]:
    """Birth and end for scripts; null where the journal does not reach."""
    birth, end = history.birth, history.end
    return {
        "created": None if birth is None else _birth_json(birth),
        "removed": None if end is None else _end_json(end),
    }


def _birth_json(birth: Birth) -> Json:
    return {
        "decision": birth.decision.number,
        "at": instant(birth.decision.now),
        "nodeClaim": claim_json(birth.launch),
        "replaces": [] if birth.instead_of is None else list(birth.instead_of.nodes),
        "alternatives": [
            {
                "instanceType": alternative.instance_type,
                "capacityType": alternative.capacity_type,
                "zone": alternative.zone,
                "pricePerHour": money.dollars(alternative.price_nanousd),
            }
            for alternative in birth.alternatives
        ],
    }


def _end_json(end: End) -> Json:
    return {
        "decision": end.decision.number,
        "at": instant(end.decision.now),
        "reason": end.reason,
        "disruption": None if end.disrupt is None else disruption_json(end.disrupt),
    }
