"""Explains whether a NodePool may grow, what it has, what limits it, and whom it cannot help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from dovetail.decide.disrupt.budgets import Allowance, allowances
from dovetail.decide.disrupt.why import tightest
from dovetail.decide.nodes import census, is_leaving
from dovetail.decide.pools import eligible_pools, price_of, prices, remaining_limits
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason, Launch, Plan
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Problem
from dovetail.present.explanation import Explanation, Section, age, allowance_text, launches_text
from dovetail.present.plan import Json, amounts_json, claim_json
from dovetail.present.table import listing, plural, price
from dovetail.units import duration, money, quantity


class _Found(msgspec.Struct, frozen=True):
    """All that was found out about a pool. `used_up` are the limits of which nothing is left."""

    pool: NodePool
    snapshot: Snapshot
    plan: Plan
    now: datetime
    problem: Problem | None
    nodes: tuple[Node, ...]
    price_by_node: Mapping[str, int]
    remaining: Mapping[str, int]
    launches: tuple[Launch, ...]
    allowed: Mapping[DisruptionReason, Allowance]

    @property
    def used_up(self) -> tuple[str, ...]:
        """The limits that leave nothing."""
        return tuple(name for name, left in sorted(self.remaining.items()) if left <= 0)


def explain_pool(pool: NodePool, snapshot: Snapshot, plan: Plan, now: datetime) -> Explanation:
    """The whole answer for one pool."""
    _, refused = eligible_pools(snapshot)
    known = prices(snapshot)
    nodes = tuple(node for node in snapshot.nodes if node.node_pool == pool.name)
    case = _Found(
        pool=pool,
        snapshot=snapshot,
        plan=plan,
        now=now,
        problem=next((problem for item, problem in refused if item.name == pool.name), None),
        nodes=tuple(sorted(nodes, key=lambda node: node.name)),
        price_by_node={node.name: price_of(node, known) for node in nodes},
        remaining=remaining_limits(pool, nodes),
        launches=tuple(launch for launch in plan.launches if launch.node_pool == pool.name),
        allowed={item: allowances(snapshot, item, now)[pool.name] for item in DisruptionReason},
    )
    return Explanation(
        title=f"nodepool/{pool.name}",
        facts=tuple(_facts(case)),
        verdict=_verdict(case),
        sections=tuple(_sections(case)),
        data=_data(case),
    )


def _facts(case: _Found) -> Iterator[tuple[str, str]]:
    pool = case.pool
    kind = "static" if pool.replicas is not None else f"weight {pool.weight}"
    n_types = len(case.snapshot.instance_types.get(pool.name, ()))
    yield "NodePool", f"{kind}, {plural(n_types, 'instance type')} available"
    paid = sum(case.price_by_node.values())
    yield "nodes", f"{plural(len(case.nodes), 'node')} for {price(paid)} an hour"
    yield "limits", ", ".join(_limits(case)) or "none"
    settled = pool.disruption.consolidate_after
    after = "never" if settled is None else f"after {duration.render(settled)}"
    yield "consolidation", f"{pool.disruption.consolidation_policy}, {after}"
    expires = (
        "never" if pool.expire_after is None else f"after {duration.render(pool.expire_after)}"
    )
    yield "nodes expire", expires


def _limits(case: _Found) -> Iterator[str]:
    """How much of each limit is used."""
    for name, limit in sorted(case.pool.limits.items()):
        used = limit - case.remaining[name]
        yield f"{name} {quantity.render(name, used)} of {quantity.render(name, limit)}"


def _verdict(case: _Found) -> str:
    if case.problem is not None:
        return f"It launches no nodes for pods. {case.problem.message}"
    if case.used_up:
        stated = ", ".join(_limits(case))
        return f"It launches no more nodes: its limits are reached ({stated})."
    if case.launches:
        return f"It launches {launches_text(case.launches)} now."
    return "It can launch nodes, and no pending pod needs one of its nodes now."


def _sections(case: _Found) -> Iterator[Section]:
    lines = tuple(f"- {reason}: {_allowance(case, reason)}" for reason in DisruptionReason)
    yield Section("How many nodes may be disrupted now", lines)
    if case.nodes:
        yield _nodes(case)
    lines = tuple(f"- {item}" for item in _unhelped_pods(case))
    if lines:
        yield Section("Pods for which it cannot launch a node", lines)
    if case.problem is not None and case.problem.fix:
        yield Section("What would help", (f"- {case.problem.fix}",))
    elif case.used_up:
        names = " and ".join(case.used_up)
        fix = f"raise the limits of NodePool {case.pool.name} on {names}"
        yield Section("What would help", (f"- {fix}",))


def _allowance(case: _Found, reason: DisruptionReason) -> str:
    which = tightest(case.pool.name, case.snapshot, reason, case.now)
    return allowance_text(case.allowed[reason], which)


def _nodes(case: _Found) -> Section:
    by_node = census(case.snapshot.pods).by_node
    rows = []
    for node in case.nodes:
        kind = " ".join(filter(None, (node.instance_type, node.capacity_type, node.zone)))
        paid = case.price_by_node[node.name]
        shown = price(paid) if paid else "unknown"
        n_pods = len(by_node.get(node.name, ()))
        old = age(node.created_at, case.now) or "unknown"
        rows.append((node.name, kind, shown, str(n_pods), old, _state(node)))
    columns = ("node", "instance", "$/hour", "pods", "age", "state")
    return Section("Its nodes", columns=columns, rows=tuple(rows))


def _state(node: Node) -> str:
    if is_leaving(node):
        return "leaving"
    if not node.is_registered:
        return "not registered yet"
    if not node.is_initialized:
        return "starting"
    return "ready" if node.is_ready else "not ready"


def _unhelped_pods(case: _Found) -> Iterator[str]:
    """Why it cannot take pods that wait, alike ones together."""
    pods_by_reason: dict[tuple[str, str], list[str]] = {}
    for waiting in case.plan.unschedulable:
        for item in waiting.reasons:
            if item.node_pool == case.pool.name:
                pods_by_reason.setdefault((item.reason, item.message), []).append(waiting.pod)
    for (reason, message), pods in pods_by_reason.items():
        yield f"{listing(pods)}: {message} ({reason})"


def _data(case: _Found) -> Mapping[str, Json]:
    pool = case.pool
    return {
        "nodePool": pool.name,
        "weight": pool.weight,
        "replicas": pool.replicas,
        "mayLaunch": case.problem is None and not case.used_up,
        "problem": None if case.problem is None else case.problem.message,
        "limits": amounts_json(pool.limits) if pool.limits else {},
        "exhausted": list(case.used_up),
        "pricePerHour": money.dollars(sum(case.price_by_node.values())),
        "nodes": [
            {
                "node": node.name,
                "instanceType": node.instance_type,
                "pricePerHour": money.dollars(case.price_by_node[node.name]),
                "state": _state(node),
            }
            for node in case.nodes
        ],
        "launches": [claim_json(launch) for launch in case.launches],
        "allowed": {str(reason): _allowance(case, reason) for reason in DisruptionReason},
        "cannotHelp": list(_unhelped_pods(case)),
    }
