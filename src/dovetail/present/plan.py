"""Makes the object that `plan -o json` prints, which scripts rely on.

New fields may be added at the end of an object; the ones here stay, with their names and order.

A static pool's nodes are launched for nobody; pods that fit there are nominated to them, as to a
node that exists. Shown they are with the node, like the pods of any other launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

import msgspec

from dovetail import labels
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.resources import total
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Unschedulable
from dovetail.present.bound import closeness
from dovetail.units import money, quantity

Json = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
"""Anything that JSON can say."""


class Timings(msgspec.Struct, frozen=True):
    """How long each step took, in seconds: the only part of the output that two runs differ in.

    Reading is bytes to objects; encoding, objects to a snapshot with its catalogues; solving, all
    of `decide`, bound and reasons included.
    """

    read_seconds: float = 0.0
    encode_seconds: float = 0.0
    solve_seconds: float = 0.0


def plan_json(
    plan: Plan,
    snapshot: Snapshot,
    timings: Timings,
    *,
    notes: Sequence[str] = (),
    with_certificate: bool = False,
) -> dict[str, Json]:
    """The plan as one object. `notes` say what a reader must know about the figures."""
    plan = with_pods(plan, snapshot)
    shown: dict[str, Json] = {
        "nodeClaims": [claim_json(launch) for launch in plan.launches],
        "existingNodes": [_existing_json(nomination) for nomination in plan.nominations],
        "unschedulable": [unschedulable_json(verdict) for verdict in plan.unschedulable],
        "disruptions": [disruption_json(disruption) for disruption in plan.disruptions],
        "cost": _cost(plan, snapshot),
        "stats": {
            "pods": plan.n_pods,
            "groups": plan.n_groups,
            "readSeconds": timings.read_seconds,
            "encodeSeconds": timings.encode_seconds,
            "solveSeconds": timings.solve_seconds,
            "nodes": len(snapshot.nodes),
            "nodePools": len(snapshot.node_pools),
        },
        "notes": list(notes),
        "blocked": [blocked_json(verdict) for verdict in plan.blocked],
    }
    if with_certificate:
        shown["certificate"] = certificate_json(plan.certificate)
        if plan.node_certificate.bound_nanousd:
            shown["certificateWithNodes"] = certificate_json(plan.node_certificate)
    return shown


def buys_spot(plan: Plan) -> bool:
    """Whether any price in the plan is a spot price."""
    replacements = chain.from_iterable(disruption.replacements for disruption in plan.disruptions)
    return any(launch.capacity_type == labels.SPOT for launch in chain(plan.launches, replacements))


def claim_json(launch: Launch) -> dict[str, Json]:
    """A node to be launched."""
    return {
        "name": launch.name,
        "nodePool": launch.node_pool,
        "instanceType": launch.instance_type,
        "zone": launch.zone,
        "capacityType": launch.capacity_type,
        "pricePerHour": money.dollars(launch.price_nanousd),
        "instanceTypes": list(launch.instance_types),
        "requests": amounts_json(launch.requests),
        "pods": list(launch.pods),
    }


def amounts_json(amounts: Mapping[str, int]) -> dict[str, Json]:
    """Quantities as manifests spell them; cpu and memory first and always there."""
    names = ["cpu", "memory", *sorted(amounts.keys() - {"cpu", "memory"})]
    return {name: quantity.render(name, amounts.get(name, 0)) for name in names}


def _existing_json(nomination: Nominate) -> dict[str, Json]:
    return {"name": nomination.node, "pods": list(nomination.pods)}


def unschedulable_json(waiting: Unschedulable) -> dict[str, Json]:
    """A pod that waits, and why."""
    return {
        "pod": waiting.pod,
        "summary": waiting.summary,
        "reasons": [
            {
                "nodePool": reason.node_pool,
                "reason": str(reason.reason),
                "message": reason.message,
                "instanceTypesLeft": reason.instance_types_left,
            }
            for reason in waiting.reasons
        ],
        "fix": waiting.fix,
    }


def disruption_json(disruption: Disrupt) -> dict[str, Json]:
    """Nodes that go, what comes instead, and who moves where."""
    return {
        "reason": disruption.reason,
        "nodes": list(disruption.nodes),
        "replacements": [claim_json(launch) for launch in disruption.replacements],
        "pods": list(disruption.pods),
        "savingPerHour": money.dollars(disruption.saving_nanousd),
        "moves": [{"pod": pod, "to": node} for pod, node in sorted(destinations(disruption))],
        **_node_saving(disruption),
    }


def _node_saving(disruption: Disrupt) -> dict[str, Json]:
    """What is saved of node prices, where nodes have some."""
    saved = disruption.node_saving_nanousd
    return {"nodeSavingPerHour": money.dollars(saved)} if saved else {}


def destinations(disruption: Disrupt) -> Iterator[tuple[str, str]]:
    """Which pod moves to which node, there already or to come."""
    for place in disruption.places:
        yield from ((pod, place.node) for pod in place.pods)
    for launch in disruption.replacements:
        yield from ((pod, launch.name) for pod in launch.pods)


def blocked_json(verdict: Blocked) -> dict[str, Json]:
    """Why a node stays, until when if time alone ends that, and what would."""
    return {
        "node": verdict.node,
        "reason": str(verdict.reason),
        "message": verdict.message,
        "until": None if verdict.until is None else instant(verdict.until),
        "fix": verdict.fix,
    }


def instant(at: datetime) -> str:
    """A moment as Kubernetes writes it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _cost(plan: Plan, snapshot: Snapshot) -> dict[str, Json]:
    cost, close = plan.cost, closeness(plan, snapshot)
    shown: dict[str, Json] = {
        "newPerHour": money.dollars(cost.new_nanousd),
        "lowerBoundPerHour": money.dollars(cost.lower_bound_nanousd),
        "clusterBeforePerHour": money.dollars(cost.cluster_before_nanousd),
        "clusterAfterPerHour": money.dollars(cost.cluster_after_nanousd),
        "clusterTargetPerHour": money.dollars(cost.cluster_target_nanousd),
        "lowerBoundIs": str(close.verdict),
        "lowerBoundWhy": f"{close.why[0].upper()}{close.why[1:]}." if close.why else "",
    }
    if any(map(snapshot.policy.node_price_of, snapshot.node_pools)):
        bound = cost.lower_bound_with_nodes_nanousd
        shown["nodePricePerHour"] = money.dollars(cost.node_price_nanousd)
        shown["lowerBoundWithNodesPerHour"] = money.dollars(bound)
    return shown


def certificate_json(value: object) -> Json:
    """The proof of the lower bound, every field of it, spelled as JSON spells names."""
    match value:
        case msgspec.Struct():
            named = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return {_camel(name): certificate_json(part) for name, part in named}
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): certificate_json(part) for key, part in value.items()}
        case tuple() | list():
            return [certificate_json(part) for part in value]
        case _:
            return str(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def with_pods(plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan with every pod of a new node shown there, and what they take of it."""
    promised = {nomination.node: nomination.pods for nomination in plan.nominations}
    if not any(item.name in promised for item in plan.launches):
        return plan
    pods = {pod.key: pod for pod in snapshot.pods}

    def _with_pods(launch: Launch) -> Launch:
        more = promised.get(launch.name, ())
        requests = total((launch.requests, *(pods[key].spec.requests for key in more)))
        return msgspec.structs.replace(launch, pods=(*launch.pods, *more), requests=requests)

    new = {item.name for item in plan.launches}
    return msgspec.structs.replace(
        plan,
        launches=tuple(
            _with_pods(item) if item.name in promised else item for item in plan.launches
        ),
        nominations=tuple(item for item in plan.nominations if item.node not in new),
    )
