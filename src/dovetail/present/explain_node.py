"""Explains why a node stays or is removed, and what would happen without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from dovetail.decide.disrupt.budgets import allowances
from dovetail.decide.disrupt.candidates import scene_of
from dovetail.decide.disrupt.removal import Fate, Removal, fate, removal
from dovetail.decide.disrupt.why import cause, obstacles, tightest
from dovetail.decide.nodes import census
from dovetail.decide.pools import price_of, prices, whole_prices
from dovetail.model import resources
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, DisruptionReason, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker
from dovetail.present.explanation import (
    Explanation,
    Section,
    age,
    allowance_text,
    amounts,
    departure,
    launches_text,
    saving_of,
)
from dovetail.present.plan import (
    Json,
    amounts_json,
    blocked_json,
    claim_json,
    disruption_json,
    unschedulable_json,
)
from dovetail.present.table import Fill, plural, price, remedy
from dovetail.units import money, quantity

# Where this is in the way, nothing else matters.
_FINAL = frozenset({Blocker.NO_NODE_CLAIM, Blocker.DISRUPTING, Blocker.LEAVING, Blocker.STATIC})
_SHOWN = (resources.CPU, resources.MEMORY, resources.PODS)


class _Found(msgspec.Struct, frozen=True):
    """All that was found out about a node."""

    node: Node
    pods: tuple[Pod, ...]
    snapshot: Snapshot
    now: datetime
    reason: DisruptionReason
    price_nanousd: int
    going: Disrupt | None
    kept: tuple[Blocked, ...]
    without: Removal | None


def explain_node(node: Node, snapshot: Snapshot, plan: Plan, now: datetime) -> Explanation:
    """The whole answer for one node."""
    pods = tuple(sorted(census(snapshot.pods).by_node.get(node.name, ()), key=lambda pod: pod.key))
    going = next((item for item in plan.disruptions if node.name in item.nodes), None)
    case = _Found(
        node=node,
        pods=pods,
        snapshot=snapshot,
        now=now,
        reason=cause(node, scene_of(snapshot, plan, now)),
        price_nanousd=price_of(node, prices(snapshot)),
        going=going,
        kept=() if going else obstacles(node, snapshot, plan, now),
        without=removal(node, snapshot, plan, now),
    )
    return Explanation(
        title=f"node/{node.name}",
        facts=tuple(_facts(case)),
        verdict=_verdict(case),
        sections=tuple(_sections(case)),
        data=_data(case),
    )


def _facts(case: _Found) -> Iterator[tuple[str, str]]:
    node = case.node
    kind = " ".join(filter(None, (node.instance_type, node.capacity_type, node.zone)))
    yield "node", ", ".join(filter(None, (kind or "unknown type", *_state(case))))
    owner = f"NodeClaim {node.node_claim}" if node.node_claim else "no NodeClaim"
    yield "managed by", f"{owner}, NodePool {node.node_pool}" if node.node_pool else owner
    known = f"{price(case.price_nanousd)} an hour" if case.price_nanousd else "unknown"
    yield "price", known
    used = resources.total(pod.spec.requests for pod in case.pods if not pod.is_terminal)
    fills = [Fill(name, used.get(name, 0), node.allocatable.get(name, 0)) for name in _SHOWN]
    yield "requested", ", ".join(_fill_text(fill) for fill in fills)
    if node.node_pool:
        yield "budgets", _budget(case)


def _state(case: _Found) -> Iterator[str]:
    node = case.node
    if not node.is_registered:
        yield "not registered yet"
    elif not node.is_initialized and node.node_claim:
        yield "starting"
    else:
        yield "ready" if node.is_ready else "not ready"
    if node.is_unschedulable:
        yield "cordoned"
    old = age(node.created_at, case.now)
    if old:
        yield f"{old} old"


def _fill_text(fill: Fill) -> str:
    used, whole = (quantity.render(fill.resource, item) for item in (fill.used, fill.held))
    return f"{fill.resource} {used} of {whole} ({fill.percent} %)"


def _budget(case: _Found) -> str:
    """How many nodes of its pool may go for its reason, and until when that is so."""
    allowance = allowances(case.snapshot, case.reason, case.now).get(case.node.node_pool)
    if allowance is None:
        return "none, because its NodePool does not exist"
    which = tightest(case.node.node_pool, case.snapshot, case.reason, case.now)
    return allowance_text(allowance, which, f" may be disrupted for {case.reason}")


def _verdict(case: _Found) -> str:
    if case.going is not None:
        return departure(case.going, case.node.name)
    return f"It stays. {case.kept[0].message}"


def _sections(case: _Found) -> Iterator[Section]:
    if len(case.kept) > 1:
        lines = tuple(f"- {verdict.message}" for verdict in case.kept)
        yield Section("What blocks its removal", lines)
    if case.without is not None:
        yield Section("If it were removed now", tuple(_outcome(case, case.without)))
        if case.pods:
            yield _pods(case, case.without)
    helps = tuple(_helps(case))
    if helps:
        yield Section("What would allow its removal", tuple(f"- {item}" for item in helps))


def _outcome(case: _Found, without: Removal) -> Iterator[str]:
    for verdict in without.unplaced:
        yield f"Pod {verdict.pod} would be unschedulable. {verdict.summary}"
    if without.unplaced:
        return
    yield from _needs(without)
    fates = [fate(pod, without, case.snapshot, case.now) for pod in case.pods]
    n_held = fates.count(Fate.HELD)
    if n_held:
        yield f"{plural(n_held, 'pod')} may not be disrupted, and are not counted here."
    if case.price_nanousd:
        yield f"{'Without them, that' if n_held else 'That'} {saving_of(without)}."


def _needs(without: Removal) -> Iterator[str]:
    """Where those would go who could."""
    n_moved = sum(len(place.pods) for place in without.places)
    n_new = sum(len(launch.pods) for launch in without.launches)
    if n_moved:
        where = ", ".join(place.node for place in without.places)
        yield f"{plural(n_moved, 'pod')} would fit on existing nodes: {where}."
    if without.launches:
        paid = price(sum(launch.price_nanousd for launch in without.launches))
        new = launches_text(without.launches)
        yield f"{plural(n_new, 'pod')} would need {new}, for {paid} an hour."
    if not n_moved and not n_new:
        yield "No pod that may be evicted would need another node."


def _pods(case: _Found, without: Removal) -> Section:
    kinds = {launch.name: f" (new, {launch.instance_type})" for launch in without.launches}
    where = without.destination_by_pod
    rows = []
    for pod in case.pods:
        to = where.get(pod.key, "")
        becomes = f"moves to {to}{kinds.get(to, '')}" if to else _fate_text(pod, case, without)
        rows.append((pod.key, amounts(pod.spec.requests), becomes))
    return Section("Its pods", columns=("pod", "requests", "without the node"), rows=tuple(rows))


def _fate_text(pod: Pod, case: _Found, without: Removal) -> str:
    told = fate(pod, without, case.snapshot, case.now)
    if told is Fate.PART_OF_NODE:
        return (
            "ends with the node (static pod)" if pod.is_mirror else "ends with the node (DaemonSet)"
        )
    return {
        Fate.MOVES: "would have to move",
        Fate.STUCK: "would be unschedulable",
        Fate.HELD: "may not be disrupted",
        Fate.ENDING: "is terminating or has ended",
    }[told]


def _helps(case: _Found) -> Iterator[str]:
    """What would have to change, all of it."""
    stuck = case.without.unplaced if case.without is not None else ()
    fixes = [f"{verdict.fix} (for pod {verdict.pod})" for verdict in stuck if verdict.fix]
    for verdict in case.kept:
        if remedy(verdict) and not (verdict.reason == Blocker.POD_STUCK and fixes):
            yield remedy(verdict)
        if verdict.reason in _FINAL:
            return
    yield from fixes
    if case.kept and case.reason == DisruptionReason.UNDERUTILIZED:
        yield from _cheaper(case)


def _cheaper(case: _Found) -> Iterator[str]:
    """What must be had, where nothing would be saved today."""
    without = case.without
    if without is None or without.unplaced:
        return
    saved = without.saving_nanousd + without.node_saving_nanousd
    if saved > 0:
        return
    whole = price_of(case.node, whole_prices(case.snapshot))
    counting = ", node prices counted" if whole > case.price_nanousd else ""
    yield (
        f"capacity for its pods that costs less than {price(whole)} an hour at any fallback;"
        f" now it costs {price(whole - saved)}{counting}"
    )


def _data(case: _Found) -> Mapping[str, Json]:
    node = case.node
    return {
        "node": node.name,
        "nodeClaim": node.node_claim,
        "nodePool": node.node_pool,
        "instanceType": node.instance_type,
        "zone": node.zone,
        "capacityType": node.capacity_type,
        "pricePerHour": money.dollars(case.price_nanousd) if case.price_nanousd else None,
        "allocatable": amounts_json(node.allocatable),
        "goes": case.going is not None,
        "disruption": None if case.going is None else disruption_json(case.going),
        "kept": [blocked_json(verdict) for verdict in case.kept],
        "pods": [_pod_data(pod, case) for pod in case.pods],
        "ifRemoved": None if case.without is None else _removal_data(case.without),
        "help": list(_helps(case)),
    }


def _pod_data(pod: Pod, case: _Found) -> Mapping[str, Json]:
    without = case.without
    known = None if without is None else fate(pod, without, case.snapshot, case.now)
    to = "" if without is None else without.destination_by_pod.get(pod.key, "")
    return {
        "pod": pod.key,
        "requests": amounts_json(pod.spec.requests),
        "fate": None if known is None else str(known),
        "to": to,
    }


def _removal_data(without: Removal) -> Mapping[str, Json]:
    moves: Sequence[tuple[str, str]] = sorted(without.destination_by_pod.items())
    return {
        "moves": [{"pod": pod, "to": node} for pod, node in moves],
        "replacements": [claim_json(launch) for launch in without.launches],
        "unschedulable": [unschedulable_json(verdict) for verdict in without.unplaced],
        "savingPerHour": None if without.unplaced else money.dollars(without.saving_nanousd),
    }
