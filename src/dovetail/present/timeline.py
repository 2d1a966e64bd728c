"""Lists what was decided and why, one line for each action of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from dovetail.decide.nodes import census
from dovetail.decide.pools import price_of, prices
from dovetail.model.plan import Disrupt, Launch, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.present.explanation import Explanation, Section, launches_text, saving_of
from dovetail.present.plan import claim_json, disruption_json, instant
from dovetail.present.table import listing, optimality, paid_for_new, plural, price
from dovetail.units import money

_ALTERNATIVES = 8
_MOST_PODS = 200


class DeedKind(StrEnum):
    """What was done; news are what others did."""

    LAUNCH = "launch"
    DISRUPT = "disrupt"
    STUCK = "stuck"
    NEWS = "news"


class Deed(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One thing that a plan does; `place` counts what it does. Money is what an hour costs more
    (or less, when negative).
    """

    kind: DeedKind
    place: int
    title: str
    money_per_hour: float
    pods: int
    nodes: tuple[str, ...]
    reason: str = ""


def news(title: str) -> Deed:
    """Something that happened to the cluster, which no plan did."""
    return Deed(DeedKind.NEWS, 0, title, 0.0, 0, ())


def deeds(plan: Plan) -> Iterator[Deed]:
    """Everything that a plan does, launches first."""
    if plan.launches:
        yield Deed(
            DeedKind.LAUNCH,
            0,
            f"Launch {launches_text(plan.launches)}",
            money.dollars(sum(launch.price_nanousd for launch in plan.launches)),
            sum(len(launch.pods) for launch in plan.launches),
            tuple(launch.name for launch in plan.launches),
        )
    for place, disruption in enumerate(plan.disruptions, bool(plan.launches)):
        yield Deed(
            DeedKind.DISRUPT,
            place,
            _departure(disruption),
            -money.dollars(disruption.saving_nanousd),
            len(disruption.pods),
            disruption.nodes,
            disruption.reason,
        )
    if plan.unschedulable:
        n_pods = len(plan.unschedulable)
        names = listing([verdict.pod for verdict in plan.unschedulable])
        title = f"{plural(n_pods, 'pod')} unschedulable: {names}"
        place = bool(plan.launches) + len(plan.disruptions)
        yield Deed(DeedKind.STUCK, place, title, 0.0, n_pods, ())


def _departure(disruption: Disrupt) -> str:
    instead = (
        f", {launches_text(disruption.replacements)} instead" if disruption.replacements else ""
    )
    verb = "Replace" if disruption.replacements else "Remove"
    return f"{verb} {listing(disruption.nodes)} ({disruption.reason}){instead}"


def explain_change(deed: Deed, snapshot: Snapshot, plan: Plan, now: datetime) -> Explanation:
    """One deed with all that bears it out: before, after, why, and the money."""
    match deed.kind:
        case DeedKind.LAUNCH:
            return _explain_launch(snapshot, plan, now)
        case DeedKind.DISRUPT:
            disruption = plan.disruptions[deed.place - bool(plan.launches)]
            return _explain_removal(disruption, snapshot, plan, now)
        case DeedKind.STUCK | DeedKind.NEWS:
            return _explain_stuck(plan, now)


def _explain_launch(snapshot: Snapshot, plan: Plan, now: datetime) -> Explanation:
    n_pods = sum(len(launch.pods) for launch in plan.launches)
    pods = [pod for launch in plan.launches for pod in launch.pods]
    return Explanation(
        title=f"Launch {launches_text(plan.launches)}",
        facts=(
            ("when", instant(now)),
            ("before", f"{plural(n_pods, 'pod')} pending, {_cluster(plan, is_after=False)}"),
            ("after", f"all of them have a node, {_cluster(plan, is_after=True)}"),
            ("money", f"{paid_for_new(plan.cost)} more, {optimality(plan, snapshot)}"),
        ),
        verdict=(
            f"{plural(n_pods, 'pod')} did not fit on any existing node: {listing(pods, 5)}. "
            "This is the cheapest set of nodes found for them."
        ),
        sections=tuple(_launch_section(launch, snapshot) for launch in plan.launches),
        data={"nodeClaims": [claim_json(launch) for launch in plan.launches]},
    )


def _cluster(plan: Plan, *, is_after: bool) -> str:
    cost = plan.cost
    paid = cost.cluster_after_nanousd if is_after else cost.cluster_before_nanousd
    return f"the cluster costs {price(paid)} an hour"


def _launch_section(launch: Launch, snapshot: Snapshot) -> Section:
    """One new node, who it is for, and what else would have done."""
    known = prices(snapshot)
    others = []
    for name in launch.instance_types[:_ALTERNATIVES]:
        key = (launch.node_pool, name, launch.zone, launch.capacity_type)
        if key in known:
            chosen = "chosen" if name == launch.instance_type else ""
            others.append((name, price(known[key]), chosen))
    more = len(launch.instance_types) - len(others)
    lines = [f"for {listing(launch.pods[:_MOST_PODS], 12)}"]
    if more > 0:
        lines.append(f"{plural(more, 'other type')} would also fit")
    kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
    title = f"{launch.name}: {kind}, {price(launch.price_nanousd)} an hour"
    columns = ("type", "$/hour", "")
    return Section(title, tuple(lines), columns, tuple(others))


def _explain_removal(
    disrupt: Disrupt, snapshot: Snapshot, plan: Plan, now: datetime
) -> Explanation:
    known, nodes = prices(snapshot), {node.name: node for node in snapshot.nodes}
    before = [
        (
            name,
            f"{nodes[name].instance_type} {nodes[name].capacity_type} {nodes[name].zone}",
            price(price_of(nodes[name], known)),
            str(len(census(snapshot.pods).by_node.get(name, ()))),
        )
        for name in disrupt.nodes
        if name in nodes
    ]
    instead = launches_text(disrupt.replacements) if disrupt.replacements else "no new node"
    return Explanation(
        title=_departure(disrupt),
        facts=(
            ("when", instant(now)),
            ("reason", disrupt.reason),
            (
                "before",
                f"{plural(len(disrupt.nodes), 'node')}, {plural(len(disrupt.pods), 'pod')} on it",
            ),
            ("after", f"{instead}; the pods move to nodes with room"),
            ("money", f"it {saving_of(disrupt)}"),
        ),
        verdict=_REASONS.get(disrupt.reason, f"It can be removed for reason {disrupt.reason}."),
        sections=(
            Section("Nodes to remove", (), ("node", "instance", "$/hour", "pods"), tuple(before)),
            *_moves(disrupt),
        ),
        data={"disruption": disruption_json(disrupt), "cost": _cluster(plan, is_after=True)},
    )


_REASONS = {
    "Empty": "It runs only DaemonSet pods, so its price is wasted.",
    "Drifted": "It differs from what its NodePool or node class specifies now.",
    "Underutilized": "Its pods fit elsewhere for less, and the saving makes up for moving them.",
    "Expired": "It is older than expireAfter of its NodePool.",
    "Overprovisioned": "Its NodePool has more nodes than replicas.",
}


def _moves(disruption: Disrupt) -> Iterator[Section]:
    rows: list[tuple[str, ...]] = []
    for place in disruption.places:
        rows += [(pod, place.node) for pod in place.pods]
    for new in disruption.replacements:
        rows += [(pod, f"{new.name} (new)") for pod in new.pods]
    if rows:
        yield Section("Where its pods move", (), ("pod", "to"), tuple(rows[:_MOST_PODS]))


def _explain_stuck(plan: Plan, now: datetime) -> Explanation:
    return Explanation(
        title=f"{plural(len(plan.unschedulable), 'pod')} unschedulable",
        facts=(("when", instant(now)),),
        verdict="They fit on no existing node and on no node that could be launched.",
        sections=tuple(
            Section(item.pod, _reasons(item.summary, [r.message for r in item.reasons], item.fix))
            for item in plan.unschedulable[:_MOST_PODS]
        ),
        data={"unschedulable": [verdict.pod for verdict in plan.unschedulable]},
    )


def _reasons(summary: str, messages: Sequence[str], fix: str) -> tuple[str, ...]:
    helps = (f"What would help: {fix}",) if fix else ()
    return (summary, *(f"- {message}" for message in messages), *helps)
