"""May these nodes go? Every law of taking nodes away, in plain words, one node at a time.

Budgets are read minute by minute: a schedule is active when one of the minutes before now, as far
back as its duration reaches, is one at which it strikes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

from dovetail import labels
from dovetail.model.node import Node
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.pool import Budget, NodePool
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.taints import Taint
from tests.oracle.filters import untolerated
from tests.oracle.hosts import is_leaving, is_protected

MINUTE: Final = timedelta(minutes=1)
PLENTY: Final = 10**9


def check(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Everything that is wrong with the disruptions of a plan."""
    return [
        *chosen(snapshot, now, plan),
        *forgotten(snapshot, now, plan),
        *over_budget(snapshot, now, plan),
        *figures(snapshot, plan),
    ]


def going(plan: Plan, reason: str = "Empty") -> list[str]:
    """All nodes that the plan takes away for a reason."""
    return [name for one in plan.disruptions if one.reason == reason for name in one.nodes]


def is_chosen(snapshot: Snapshot, reason: str) -> bool:
    """Whether the operator lets nodes go for this reason."""
    return reason in snapshot.policy.disrupts_for


# ------------------------------------------------------------------ which nodes


def chosen(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Whatever goes is there once, may go, and was seen fit to go for long enough."""
    nodes = {node.name: node for node in snapshot.nodes}
    proposed = {one.node: one.since for one in snapshot.ledger.proposals}
    broken = []
    for name, n_times in Counter(going(plan)).items():
        if n_times > 1 or name not in nodes:
            broken.append(f"{name} goes {n_times} times, or is not there")
            continue
        why = keeps(snapshot, now, plan, nodes[name])
        if why:
            broken.append(f"{name} goes although {why}")
        if proposed.get(name, now) + snapshot.policy.confirm_after > now:
            broken.append(f"{name} goes unconfirmed")
    broken += [
        f"{one.reason} is no reason here"
        for one in plan.disruptions
        if not is_chosen(snapshot, one.reason)
    ]
    return broken


def forgotten(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """Exactly the nodes that could go are proposed; none of them that is confirmed stays while its
    pool would let it go, and none stays that is dearer than one that goes.
    """
    free = [node for node in snapshot.nodes if keeps(snapshot, now, plan, node) is None]
    free = free if is_chosen(snapshot, "Empty") else []
    known = {one.node: one.since for one in snapshot.ledger.proposals if one.reason == "Empty"}
    want = {node.name: min(known.get(node.name, now), now) for node in free}
    got = {one.node: one.since for one in plan.proposals if one.reason == "Empty"}
    broken = [] if want == got else [f"proposes {sorted(got)}, not {sorted(want)} or not since"]
    gone = set(going(plan))
    for pool in snapshot.node_pools:
        ready = [
            node
            for node in free
            if node.node_pool == pool.name
            and want[node.name] + snapshot.policy.confirm_after <= now
        ]
        staying = [price(snapshot, node) for node in ready if node.name not in gone]
        leaving = [price(snapshot, node) for node in ready if node.name in gone]
        if staying and len(leaving) < room(snapshot, now, pool):
            broken.append(f"pool {pool.name} could lose {len(staying)} more")
        if staying and leaving and max(staying) > min(leaving):
            broken.append(f"pool {pool.name} loses a cheap node before a dear one")
    return broken


def keeps(snapshot: Snapshot, now: datetime, plan: Plan, node: Node) -> str | None:
    """What keeps a node from going as an empty one."""
    pools = {pool.name: pool for pool in snapshot.node_pools}
    pool = pools.get(node.node_pool)
    pods = [pod for pod in snapshot.pods if pod.node_name == node.name]
    reasons = {
        "it has no claim": not node.node_claim,
        "it has not started": not node.is_initialized,
        "it is leaving already": is_leaving(snapshot, node),
        "it is protected": node.annotations.get(labels.DO_NOT_DISRUPT) == "true",
        "it could not be replaced lately": any(
            one.node == node.name and one.until > now for one in snapshot.ledger.setbacks
        ),
        "its pool does not let it go": pool is None or not lets_go(pool),
        "nobody knows its pool's types": not snapshot.instance_types.get(node.node_pool),
        "it is not quiet": not holds(node, "Consolidatable"),
        "pods are meant for it": bool({node.name, node.node_claim} & expected(snapshot, now, plan)),
        "it runs pods": any(needs_a_node(pod) for pod in pods),
        "a pod is protected": any(is_protected(pod, now) for pod in pods),
        "a pod may not be evicted": any(is_held(snapshot, pod, now) for pod in pods),
    }
    return next((why for why, is_so in reasons.items() if is_so), None)


def holds(node: Node, condition: str) -> bool:
    """Whether a condition of the node, or of its claim, is true."""
    return (condition, "True") in [(one.type, one.status) for one in node.conditions]


def lets_go(pool: NodePool) -> bool:
    """Whether the pool lets empty nodes go at all."""
    is_static = pool.replicas is not None
    return not is_static and not pool.problems and pool.disruption.consolidate_after is not None


def fakes(snapshot: Snapshot) -> set[str]:
    """Keys and uids of pods that stand for room that a buffer keeps."""
    held = [pod for pod in snapshot.pods if labels.BUFFER_FAKE_POD in pod.annotations]
    return {pod.key for pod in held} | {pod.uid for pod in held}


def expected(
    snapshot: Snapshot, now: datetime, plan: Plan, *, ignored: frozenset[str] = frozenset()
) -> set[str]:
    """The nodes on which pods are to start, but for some. Whom the plan gives a new node does not
    come to the one that was promised before.
    """
    launched = {key for one in plan.launches for key in one.pods}
    elsewhere = {pod.uid for pod in snapshot.pods if pod.key in launched} | ignored
    found = {
        one.node
        for one in snapshot.ledger.nominations
        if one.until > now and one.pod_uid not in elsewhere
    }
    found |= {one.node for one in plan.nominations if set(one.pods) - ignored}
    found |= {pod.nominated_node_name for pod in snapshot.pods if not pod.node_name}
    return found - {""}


def owner_kind(pod: Pod) -> str:
    """Of what kind its controller is."""
    return pod.owner.kind if pod.owner else ""


def needs_a_node(pod: Pod) -> bool:
    """Whether the pod would have to run elsewhere were its node gone."""
    if owner_kind(pod) in ("DaemonSet", "Node"):
        return False
    if pod.deleting_at is not None:
        return owner_kind(pod) == "StatefulSet"
    return pod.phase not in ("Succeeded", "Failed")


def is_held(snapshot: Snapshot, pod: Pod, now: datetime) -> bool:
    """Whether a PodDisruptionBudget, or several at once, would not let it be evicted."""
    is_over = pod.deleting_at is not None or pod.phase in ("Succeeded", "Failed")
    if is_over or owner_kind(pod) == "Node" or is_protected(pod, now) or stays_put(pod):
        return False
    selecting = [
        one
        for one in snapshot.disruption_budgets
        if one.namespace == pod.namespace and one.selector.matches(pod.labels)
    ]
    return len(selecting) > 1 or any(is_used_up(one, pod) for one in selecting)


def stays_put(pod: Pod) -> bool:
    """Whether it tolerates that its node is taken away."""
    return untolerated(pod.spec, [Taint(labels.DISRUPTED_TAINT, "", "NoSchedule")]) is None


def is_used_up(budget: DisruptionBudget, pod: Pod) -> bool:
    """Whether the budget lets nobody go, nor this pod for being unhealthy."""
    return budget.disruptions_allowed < 1 and (pod.is_ready or not budget.always_allows_unhealthy)


# ------------------------------------------------------------------ how many


def over_budget(snapshot: Snapshot, now: datetime, plan: Plan) -> list[str]:
    """No pool loses more nodes than its budgets let go. What was decided before counts, but for
    nodes that were away already.
    """
    by_name = {node.name: node for node in snapshot.nodes}
    n_going: Counter[str] = Counter()
    broken = []
    for one in plan.disruptions:
        here = [by_name[name] for name in one.nodes if name in by_name]
        for pool in snapshot.node_pools:
            n_here = sum(node.node_pool == pool.name for node in here)
            n_left = room(snapshot, now, pool, one.reason) - n_going[pool.name]
            if n_here and n_here > n_left:
                broken.append(f"pool {pool.name} loses {n_here} for {one.reason}, not {n_left}")
        n_going.update(node.node_pool for node in here if node.is_ready)
    return broken


def room(snapshot: Snapshot, now: datetime, pool: NodePool, reason: str = "Empty") -> int:
    """How many more nodes of the pool may go for a reason."""
    own = [
        node
        for node in snapshot.nodes
        if node.node_pool == pool.name
        and node.node_claim
        and node.is_initialized
        and ("InstanceTerminating", "True")
        not in [(one.type, one.status) for one in node.conditions]
    ]
    n_away = sum(not node.is_ready or is_leaving(snapshot, node) for node in own)
    allowed = [
        allowance(budget, len(own), now)
        for budget in pool.disruption.budgets
        if budget.reasons is None or reason in budget.reasons
    ]
    return max(0, min([PLENTY, *allowed]) - n_away)


def allowance(budget: Budget, n_nodes: int, now: datetime) -> int:
    """How many nodes one budget lets go at once; none if nobody can read it."""
    try:
        is_active = not budget.schedule or strikes_within(budget, now)
        percent = budget.nodes.endswith("%")
        stated = int(budget.nodes.rstrip("%"))
    except ValueError:
        return 0
    if not is_active:
        return PLENTY
    if not percent:
        return stated
    return next(whole for whole in itertools.count() if whole * 100 >= stated * n_nodes)


def strikes_within(budget: Budget, now: datetime) -> bool:
    """Whether the schedule has struck within its duration before now."""
    at = now.astimezone(UTC).replace(second=0, microsecond=0)
    while at > now - (budget.duration or timedelta(0)):
        if strikes_at(budget.schedule, at):
            return True
        at -= MINUTE
    return False


def strikes_at(schedule: str, at: datetime) -> bool:
    """Whether a schedule of stars, numbers and ranges strikes at this minute."""
    held = (at.minute, at.hour, at.day, at.month, at.isoweekday() % 7)
    return all(
        text == "*" or int(text.split("-")[0]) <= value <= int(text.split("-")[-1])
        for text, value in zip(schedule.split(), held, strict=True)
    )


# ------------------------------------------------------------------ money


def price(snapshot: Snapshot, node: Node) -> int:
    """What a node costs, if its pool still sells such nodes."""
    for kind in snapshot.instance_types.get(node.node_pool, ()):
        for one in kind.offerings:
            is_bought_so = (one.zone, one.capacity_type) == (node.zone, node.capacity_type)
            if kind.name == node.instance_type and is_bought_so:
                return one.price_nanousd
    return 0


def figures(snapshot: Snapshot, plan: Plan) -> list[str]:
    """What goes is saved, and what is left is paid."""
    nodes = {node.name: node for node in snapshot.nodes}
    broken = []
    for one in plan.disruptions:
        saved = sum(price(snapshot, nodes[name]) for name in one.nodes if name in nodes)
        saved -= sum(new.price_nanousd for new in one.replacements)
        if saved != one.saving_nanousd:
            broken.append(f"says that it saves {one.saving_nanousd}, it saves {saved}")
    cost = plan.cost
    saved = sum(one.saving_nanousd for one in plan.disruptions)
    after = cost.cluster_before_nanousd + cost.new_nanousd - saved
    if cost.cluster_after_nanousd != after:
        broken.append(f"says that {cost.cluster_after_nanousd} is paid afterwards, not {after}")
    return broken
