"""Follows a node and its claim, decision by decision, and what else its launch could have been."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dovetail.decide.lifecycle.conditions import DRIFTED
from dovetail.model.instance import InstanceType
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Launch
from dovetail.model.requirements import Requirements
from dovetail.model.snapshot import Decision, Snapshot
from dovetail.present.explanation import Section, departure
from dovetail.present.history.happenings import Telling, departure_reason, is_going
from dovetail.present.table import plural, price

_SHOWN: Final = 6


class Alternative(msgspec.Struct, frozen=True):
    """Something that would have held the same pods. The dearer, the larger `percent`."""

    instance_type: str
    capacity_type: str
    zone: str
    price_nanousd: int
    percent: int


def alternatives(launch: Launch, snapshot: Snapshot) -> tuple[Alternative, ...]:
    """The cheapest way to get each type that the launch might have fallen back to, and the chosen
    type bought in other ways; cheapest first, the choice itself left out.
    """
    wanted = Requirements(launch.requirements)
    by_name = {item.name: item for item in snapshot.instance_types.get(launch.node_pool, ())}
    offers = [
        alternative
        for name in launch.instance_types
        if name in by_name
        for alternative in _cheapest_offerings(by_name[name], wanted, launch)
    ]
    key = (launch.instance_type, launch.capacity_type, launch.zone)
    others = [item for item in offers if (item.instance_type, item.capacity_type, item.zone) != key]
    return tuple(
        sorted(
            others,
            key=lambda alternative: (
                alternative.price_nanousd,
                alternative.instance_type,
                alternative.capacity_type,
                alternative.zone,
            ),
        )
    )


def _cheapest_offerings(
    kind: InstanceType, wanted: Requirements, launch: Launch
) -> Iterator[Alternative]:
    """The cheapest offering of a type for each capacity type."""
    best: dict[str, tuple[int, str]] = {}
    for offering in kind.offerings:
        if offering.is_available and wanted.intersects(offering.requirements):
            cost = (offering.price_nanousd, offering.zone)
            best[offering.capacity_type] = min(best.get(offering.capacity_type, cost), cost)
    for capacity_type, (nanousd, zone) in sorted(best.items()):
        paid = launch.price_nanousd
        percent = round(100 * (nanousd - paid) / paid) if paid else 0
        yield Alternative(kind.name, capacity_type, zone, nanousd, percent)


def alternatives_section(alternatives: tuple[Alternative, ...]) -> Section:
    """The first few, beside what was chosen."""
    title = "What else it could have been"
    if not alternatives:
        return Section(title, ("No other available offering would have fit.",))
    rows = tuple(
        (
            f"{alternative.instance_type} {alternative.capacity_type} {alternative.zone}",
            price(alternative.price_nanousd),
            f"{alternative.percent:+d} %",
        )
        for alternative in alternatives[:_SHOWN]
    )
    more = len(alternatives) - len(rows)
    lines = (f"The cheapest {len(rows)} of {len(alternatives):,}:",) if more > 0 else ()
    return Section(title, lines, ("offering", "$/hour", "difference"), rows)


_STAGE = "stage"
_KEPT = "kept"
_DRIFT = "drift"
_GOING = "going"


class Birth(msgspec.Struct, frozen=True):
    """The launch that made a node, of which decision, instead of whom, and what else there was."""

    decision: Decision
    launch: Launch
    instead_of: Disrupt | None
    alternatives: tuple[Alternative, ...]


class End(msgspec.Struct, frozen=True):
    """Why a node goes: by which decision, if by any of them, and for which reason."""

    node: str
    decision: Decision
    reason: str
    disrupt: Disrupt | None = None


class NodeHistory:
    """Follows one node, by its own name and its claim's."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(filter(None, names))
        self._telling = Telling()
        self.happenings = self._telling.happenings
        self._is_there = False
        self._had_guests = False
        self.node: Node | None = None
        self.birth: Birth | None = None
        self.end: End | None = None
        self.gone: Decision | None = None

    def see(self, decision: Decision) -> None:
        """What the next decision tells of it."""
        for node in decision.snapshot.nodes:
            if node.name in self._names or node.node_claim in self._names:
                self._meet(decision, node)
                break
        else:
            self._miss(decision)
        for launch, instead_of in _launches(decision):
            if launch.name in self._names:
                others = alternatives(launch, decision.snapshot)
                self.birth = Birth(decision, launch, instead_of, others)
                self._telling.say(decision, _launch_text(launch, instead_of))

    def _meet(self, decision: Decision, node: Node) -> None:
        self._is_there, self.node, self.gone = True, node, None
        self._telling.say(decision, _stage(node), _STAGE)
        if any(item.type == DRIFTED and item.status == "True" for item in node.conditions):
            self._telling.say(decision, "it has drifted", _DRIFT)
        self._count_guests(decision, node)
        self._tell_plan(decision, node)
        self._tell_departure(decision, node)

    def _miss(self, decision: Decision) -> None:
        if self._is_there:
            self._telling.say(decision, "gone")
            self.gone = decision
        self._is_there = False

    def _count_guests(self, decision: Decision, node: Node) -> None:
        n_guests = sum(
            pod.node_name == node.name and not pod.is_daemon and not pod.is_terminal
            for pod in decision.snapshot.pods
        )
        if n_guests and not self._had_guests:
            self._telling.say(decision, f"{plural(n_guests, 'pod')} on it")
        elif self._had_guests and not n_guests:
            self._telling.say(decision, "no pods on it any more")
        self._had_guests = bool(n_guests)

    def _tell_plan(self, decision: Decision, node: Node) -> None:
        for going in decision.plan.disruptions:
            if node.name in going.nodes:
                self.end = End(node.name, decision, going.reason, going)
                self._telling.say(decision, _removal_text(going, node.name), _GOING)
                return
        for kept in decision.plan.blocked:
            if kept.node == node.name:
                self._telling.say(decision, f"kept: {kept.message}", _KEPT)
                return

    def _tell_departure(self, decision: Decision, node: Node) -> None:
        """It is on its way out, or no longer is."""
        if is_going(decision, node):
            reason = departure_reason(decision, node)
            self.end = self.end or End(node.name, decision, reason)
            word = f" for reason {reason}" if reason else ""
            self._telling.say(decision, f"being removed{word}", _GOING)
        elif self.end is not None and self.end.decision is not decision:
            self._telling.say(decision, "no longer being removed", _GOING)
            self.end = None


def _launches(decision: Decision) -> Iterator[tuple[Launch, Disrupt | None]]:
    """Every launch of a decision, with the disruption that it is for."""
    for launch in decision.plan.launches:
        yield launch, None
    for going in decision.plan.disruptions:
        for launch in going.replacements:
            yield launch, going


def _launch_text(launch: Launch, instead_of: Disrupt | None) -> str:
    kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
    cost = f"{kind} of NodePool {launch.node_pool} for {price(launch.price_nanousd)} an hour"
    if instead_of is None:
        return f"created for {plural(len(launch.pods), 'pod')}: {cost}"
    return f"created to replace {', '.join(instead_of.nodes)}: {cost}"


def _stage(node: Node) -> str:
    if not node.is_registered:
        return "launched, not registered yet"
    if not node.is_initialized and node.node_claim:
        return "registered, not initialized yet"
    return "ready" if node.is_ready else "not ready"


def _removal_text(going: Disrupt, name: str) -> str:
    told = departure(going, name)
    return told[0].lower() + told[1:].rstrip(".")
