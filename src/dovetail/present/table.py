"""Makes the rows and sentences of a plan, with equal ones together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from dovetail.model import resources
from dovetail.model.plan import Cost, Disrupt, FrontierPoint, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, PoolReason, Unschedulable
from dovetail.present.bound import BoundIs, closeness
from dovetail.present.plan import Json, destinations, instant, with_pods
from dovetail.units import money

_NANO: Final = 1_000_000_000
_ORDINARY: Final = frozenset(
    {resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE, resources.PODS}
)


class Fill(msgspec.Struct, frozen=True):
    """How much of a resource is spoken for."""

    resource: str
    used: int
    held: int

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means really full."""
        return 100 * self.used // self.held if self.held else 0


class NodeRow(msgspec.Struct, frozen=True):
    """Planned nodes that are alike, as one row. The price is that of all of them, per hour."""

    count: int
    node_pool: str
    instance_type: str
    capacity_type: str
    zone: str
    price_nanousd: int
    cpu: Fill
    memory: Fill
    devices: tuple[Fill, ...]  # GPUs and the like
    n_pods: int
    n_fallbacks: int


class ExistingRow(msgspec.Struct, frozen=True):
    """A node that is there already, and the waiting pods that fit on it."""

    node: str
    n_pods: int
    pods: str


class WaitingRow(msgspec.Struct, frozen=True):
    """Pods that cannot be placed for the same reasons."""

    pods: str
    n_pods: int
    summary: str
    reasons: tuple[str, ...]
    fix: str


class DisruptionRow(msgspec.Struct, frozen=True):
    """Nodes that would go, and what would come instead."""

    reason: str
    nodes: str
    replacements: str
    n_pods: int
    saving_nanousd: int
    moves: tuple[str, ...]  # a line for each node that pods move to


class StayingRow(msgspec.Struct, frozen=True):
    """Nodes that stay for the same reason, and what would change that."""

    nodes: str
    message: str
    help: str


class PlanTable(msgspec.Struct, frozen=True):
    """Everything the table form shows, in reading order."""

    nodes: tuple[NodeRow, ...]
    existing: tuple[ExistingRow, ...]
    disruptions: tuple[DisruptionRow, ...]
    staying: tuple[StayingRow, ...]
    waiting: tuple[WaitingRow, ...]
    totals: tuple[str, ...]


def plan_table(plan: Plan, snapshot: Snapshot, staying: Sequence[Blocked] = ()) -> PlanTable:
    """The plan as a person reads it, and why these nodes stay."""
    plan = with_pods(plan, snapshot)
    return PlanTable(
        nodes=node_rows(plan.launches, _allocatable_by_type(snapshot)),
        existing=tuple(_existing_row(nomination) for nomination in plan.nominations),
        disruptions=tuple(_disruption_row(disruption) for disruption in plan.disruptions),
        staying=_staying_rows(staying),
        waiting=waiting_rows(plan.unschedulable),
        totals=totals(plan, snapshot),
    )


def _allocatable_by_type(snapshot: Snapshot) -> dict[tuple[str, str], Mapping[str, int]]:
    return {
        (pool, instance_type.name): instance_type.allocatable
        for pool, types in snapshot.instance_types.items()
        for instance_type in types
    }


def node_rows(
    launches: Iterable[Launch], allocatable: Mapping[tuple[str, str], Mapping[str, int]]
) -> tuple[NodeRow, ...]:
    """Alike nodes together, the dearest rows first."""
    alike: defaultdict[tuple[str, str, str, str], list[Launch]] = defaultdict(list)
    for item in launches:
        alike[item.node_pool, item.instance_type, item.capacity_type, item.zone].append(item)
    rows = [
        _node_row(group, allocatable.get((pool, instance_type), {}))
        for (pool, instance_type, _, _), group in alike.items()
    ]
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                -row.price_nanousd,
                row.node_pool,
                row.instance_type,
                row.capacity_type,
                row.zone,
            ),
        )
    )


def _node_row(group: Sequence[Launch], of_type: Mapping[str, int]) -> NodeRow:
    first = group[0]
    used = resources.total(launch.requests for launch in group)
    total = resources.total(launch.allocatable or of_type for launch in group)
    return NodeRow(
        count=len(group),
        node_pool=first.node_pool,
        instance_type=first.instance_type,
        capacity_type=first.capacity_type,
        zone=first.zone,
        price_nanousd=sum(launch.price_nanousd for launch in group),
        cpu=_fill(resources.CPU, used, total),
        memory=_fill(resources.MEMORY, used, total),
        devices=tuple(_fill(name, used, total) for name in sorted(used.keys() - _ORDINARY)),
        n_pods=sum(len(launch.pods) for launch in group),
        n_fallbacks=min(len(launch.instance_types) - 1 for launch in group),
    )


def _fill(resource: str, used: Mapping[str, int], total: Mapping[str, int]) -> Fill:
    return Fill(resource, used.get(resource, 0), total.get(resource, 0))


def _existing_row(nomination: Nominate) -> ExistingRow:
    return ExistingRow(nomination.node, len(nomination.pods), listing(nomination.pods))


def _disruption_row(disruption: Disrupt) -> DisruptionRow:
    rows = node_rows(disruption.replacements, {})
    replacements = ", ".join(f"{row.count} x {instance_text(row)}" for row in rows)
    return DisruptionRow(
        reason=disruption.reason,
        nodes=listing(disruption.nodes),
        replacements=replacements,
        n_pods=len(disruption.pods),
        saving_nanousd=disruption.saving_nanousd,
        moves=tuple(_moves(disruption)),
    )


def _moves(disruption: Disrupt) -> Iterator[str]:
    """Who moves where, a line for each node that takes pods in."""
    kinds = {launch.name: f" ({launch.instance_type})" for launch in disruption.replacements}
    by_node: defaultdict[str, list[str]] = defaultdict(list)
    for pod, node in sorted(destinations(disruption)):
        by_node[node].append(pod)
    for node in sorted(by_node):
        yield f"{listing(by_node[node])} to {node}{kinds.get(node, '')}"
    placed = {pod for pods in by_node.values() for pod in pods}
    others = [pod for pod in disruption.pods if pod not in placed]
    if others:
        yield f"{listing(others)} to any node with room"


def _staying_rows(blocked: Iterable[Blocked]) -> tuple[StayingRow, ...]:
    alike: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for verdict in blocked:
        alike[verdict.message, remedy(verdict)].append(verdict.node)
    return tuple(
        StayingRow(listing(nodes), message, help_) for (message, help_), nodes in alike.items()
    )


def remedy(blocked: Blocked) -> str:
    """What would let a node go: a change, or time; nothing if nothing is to be done."""
    if blocked.until is None:
        return blocked.fix
    wait = f"wait until {instant(blocked.until)}"
    return (
        f"{wait}, or {blocked.fix}" if blocked.fix and not blocked.fix.startswith("wait") else wait
    )


def instance_text(row: NodeRow) -> str:
    """Type, capacity type and zone, as one says it."""
    return f"{row.instance_type} {row.capacity_type} {row.zone}"


def waiting_rows(waiting: Iterable[Unschedulable]) -> tuple[WaitingRow, ...]:
    """Pods that wait for the same reasons together, in the plan's order."""
    alike: defaultdict[tuple[object, ...], list[Unschedulable]] = defaultdict(list)
    for item in waiting:
        # Without reasons of pools the sentence alone tells two pods apart.
        alike[item.reasons or item.summary.replace(item.pod, ""), item.fix].append(item)
    return tuple(_waiting_row(group) for group in alike.values())


def _waiting_row(group: Sequence[Unschedulable]) -> WaitingRow:
    first = group[0]
    return WaitingRow(
        pods=listing([verdict.pod for verdict in group]),
        n_pods=len(group),
        summary=first.summary,
        reasons=tuple(_reason(reason) for reason in first.reasons),
        fix=first.fix,
    )


def _reason(reason: PoolReason) -> str:
    left = f"{plural(reason.instance_types_left, 'instance type')} left before"
    return f"{reason.node_pool}: {reason.message.rstrip('.')} ({reason.reason}, {left})"


def totals(plan: Plan, snapshot: Snapshot) -> tuple[str, ...]:
    """How many nodes for how many pods, what they cost, and how close that is to the optimum."""
    n_new = sum(len(launch.pods) for launch in plan.launches)
    n_existing = sum(len(nomination.pods) for nomination in plan.nominations)
    parts = (
        f"{plural(len(plan.launches), 'new node')} for {plural(n_new, 'pod')}",
        f"{plural(n_existing, 'pod')} on existing nodes",
        f"{plural(len(plan.unschedulable), 'pod')} unschedulable.",
    )
    lines = [", ".join(parts)]
    if plan.launches:
        lines.append(f"New nodes cost {paid_for_new(plan.cost)}, {optimality(plan, snapshot)}.")
    if plan.cost.cluster_before_nanousd or plan.disruptions:
        before, after = plan.cost.cluster_before_nanousd, plan.cost.cluster_after_nanousd
        lines.append(f"The cluster costs {price(before)} an hour now, {price(after)} afterwards.")
    if plan.cost.cluster_target_nanousd:
        target = price(plan.cost.cluster_target_nanousd)
        lines.append(
            f"Lower bound for the cluster, if all movable pods were moved: {target} an hour."
        )
    return tuple(lines)


def paid_for_new(cost: Cost) -> str:
    """What new nodes cost an hour, and what in node prices, where nodes have some."""
    beside = f", and {price(cost.node_price_nanousd)} in node prices"
    return f"{price(cost.new_nanousd)} an hour{beside if cost.node_price_nanousd else ''}"


def optimality(plan: Plan, snapshot: Snapshot) -> str:
    """What the lower bound says of the price of new nodes."""
    distance = closeness(plan, snapshot)
    match distance.verdict:
        case BoundIs.OPTIMAL:
            return "which is optimal"
        case BoundIs.WITHIN:
            bound = price(distance.bound_nanousd)
            return f"at most {distance.percent} above the optimum (lower bound {bound})"
        case BoundIs.NOT_TIGHT:
            return f"lower bound not tight here: {distance.why}"
        case _:
            assert_never(distance.verdict)


def price(nanousd: int) -> str:
    """Dollars with four digits after the point; cents would hide small nodes."""
    sign, amount = ("-", -nanousd) if nanousd < 0 else ("", nanousd)
    tenths_of_milli = (amount * 10_000 + _NANO // 2) // _NANO
    return f"{sign}${tenths_of_milli // 10_000:,}.{tenths_of_milli % 10_000:04d}"


def gibibytes(amount: int) -> str:
    """Memory with one digit after the point, rounded down."""
    tenths = amount * 10 // 1024**3
    return f"{tenths // 10:,}.{tenths % 10}Gi"


def plural(count: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listing(names: Sequence[str], limit: int = 3) -> str:
    """The first names, and how many more there are."""
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"


def bar(percent: int, *, width: int = 10, filled: str = "█", empty: str = "░") -> str:
    """A bar that means the same in print: the figure stands beside it."""
    length = max(0, min(width, percent * width // 100))
    return f"{filled * length}{empty * (width - length)} {percent:3d} %"


COLUMNS = ("nodes", "$/hour", "above the cheapest", "best from --node-price")


def frontier_rows(choices: Sequence[FrontierPoint]) -> list[tuple[str, ...]]:
    """One row for each choice, the cheapest first."""
    return [
        (
            f"{choice.n_nodes:,}",
            price(choice.price_nanousd).removeprefix("$"),
            f"{100 * _above(choice, choices):.1f} %",
            "never" if choice.best_from_nanousd is None else _dollars(choice.best_from_nanousd),
        )
        for choice in choices
    ]


def frontier_json(choices: Sequence[FrontierPoint]) -> list[Json]:
    """The same for a script; `bestFromNodePrice` is null for a choice that is never the best."""
    return [
        {
            "nodes": choice.n_nodes,
            "pricePerHour": money.dollars(choice.price_nanousd),
            "aboveCheapest": round(_above(choice, choices), 6),
            "bestFromNodePrice": None
            if choice.best_from_nanousd is None
            else money.dollars(choice.best_from_nanousd),
        }
        for choice in choices
    ]


def _above(frontier_point: FrontierPoint, choices: Sequence[FrontierPoint]) -> float:
    """How much dearer than the cheapest, as a share."""
    least = min(other.price_nanousd for other in choices)
    return (frontier_point.price_nanousd - least) / least if least else 0.0


def _dollars(nanousd: int) -> str:
    """A price per node that can be given as a flag; rounded up, so that the choice is the best."""
    millionths = -(-nanousd // 1000)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"
