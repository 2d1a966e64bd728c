"""Says what keeps a node from being disrupted, for whatever reason.

Blockers are looked for in a fixed order, from what the node itself says to the pods on it; the
first one found is told. Nothing here asks whether anybody wants the node gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.blockers import block
from dovetail.decide.lifecycle.draining import is_evictable
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.nodes import census, leaving_nodes, with_memory
from dovetail.decide.pdbs import lets_unhealthy_go, never_allows, pdbs_of
from dovetail.decide.pools import pools_by_name
from dovetail.model.ledger import Proposal
from dovetail.model.node import Node
from dovetail.model.plan import Disrupt, Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.verdict import Blocked, Blocker


class Scene(msgspec.Struct, frozen=True):
    """The cluster as disruptions see it. `disrupting` says for which reason nodes are being taken
    away. `nominated` are nodes and claims that pods are meant for: by kube-scheduler, by an earlier
    plan, or by the plan of this very moment; `buffered` those that keep room for capacity buffers,
    whose pods do not exist.
    """

    snapshot: Snapshot
    now: datetime
    pods_by_node: Mapping[str, tuple[Pod, ...]]
    leaving: frozenset[str]
    disrupting: Mapping[str, str]
    nominated: frozenset[str]
    buffered: frozenset[str]


class Findings(msgspec.Struct, frozen=True):
    """What a method of disruption found, and when to look again though nothing may have changed."""

    disruptions: tuple[Disrupt, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    wake_at: datetime | None = None


def scene_of(snapshot: Snapshot, plan: Plan, now: datetime) -> Scene:
    """What disruptions need to know, once the plan for waiting pods is made."""
    moves = tuple(place for disruption in plan.disruptions for place in disruption.places)
    return Scene(
        snapshot=snapshot,
        now=now,
        pods_by_node=census(snapshot.pods).by_node,
        leaving=leaving_nodes(snapshot),
        disrupting={departure.node: departure.reason for departure in snapshot.ledger.disrupting},
        nominated=_nominated_nodes(snapshot, plan.nominations, now) | {move.node for move in moves},
        buffered=_nodes_of_buffers(snapshot, (*plan.nominations, *moves), now),
    )


def _nominated_nodes(
    snapshot: Snapshot, planned: tuple[Nominate, ...], now: datetime
) -> frozenset[str]:
    fake = _virtual_names(snapshot.pods)
    promised = {
        nomination.node
        for nomination in snapshot.ledger.nominations
        if nomination.until > now and nomination.pod_uid not in fake
    }
    theirs = {pod.nominated_node_name for pod in census(snapshot.pods).unbound}
    ours = {item.node for item in planned if not fake or any(key not in fake for key in item.pods)}
    return frozenset(promised | theirs | ours)


def _nodes_of_buffers(
    snapshot: Snapshot, planned: tuple[Nominate, ...], now: datetime
) -> frozenset[str]:
    fake = _virtual_names(snapshot.pods)
    if not fake:
        return frozenset()
    nominations = snapshot.ledger.nominations
    promised = {item.node for item in nominations if item.until > now and item.pod_uid in fake}
    return frozenset(promised | {item.node for item in planned if not fake.isdisjoint(item.pods)})


@with_memory
def _virtual_names(pods: tuple[Pod, ...]) -> frozenset[str]:
    """Keys and uids of pods that only stand for room that a capacity buffer keeps."""
    virtual_pods = [pod for pod in pods if pod.is_virtual]
    return frozenset(name for pod in virtual_pods for name in (pod.key, pod.uid))


def disruption_verdict(node: Node, scene: Scene, *, ignores_pods: bool = False) -> Blocked | None:
    """What keeps this node from being disrupted; None if nothing does. What its pods say may be
    ignored where draining ends in any case.
    """
    verdict = _state_verdict(node, scene) or _pool_verdict(node, scene.snapshot)
    if verdict is not None or ignores_pods:
        return verdict
    return next(_pod_verdicts(node, scene), None)


def _state_verdict(node: Node, scene: Scene) -> Blocked | None:
    if node.name in scene.disrupting:
        return block(node.name, Blocker.DISRUPTING, cause=scene.disrupting[node.name])
    if not node.node_claim:
        return block(node.name, Blocker.NO_NODE_CLAIM)
    if not node.is_initialized:
        return block(node.name, Blocker.NOT_INITIALIZED)
    if node.name in scene.leaving:
        return block(node.name, Blocker.LEAVING)
    if node.name in scene.nominated or node.node_claim in scene.nominated:
        return block(node.name, Blocker.NOMINATED)
    if node.annotations.get(labels.DO_NOT_DISRUPT) == "true":
        return block(node.name, Blocker.NODE_PROTECTED, annotation=labels.DO_NOT_DISRUPT)
    return _setback(node, scene)


def _setback(node: Node, scene: Scene) -> Blocked | None:
    until = max(
        (setback.until for setback in scene.snapshot.ledger.setbacks if setback.node == node.name),
        default=None,
    )
    if until is None or until <= scene.now:
        return None
    return block(node.name, Blocker.SETBACK, until=until, again_at=f"{until:%H:%M:%S}")


def _pool_verdict(node: Node, snapshot: Snapshot) -> Blocked | None:
    pool = pools_by_name(snapshot.node_pools).get(node.node_pool)
    if pool is None:
        return block(node.name, Blocker.NO_NODE_POOL, pool=node.node_pool or "(none)")
    if pool.problems:  # what it says of disruption may be a default, not its word
        why = pool.problems[0].message.rstrip(".")
        return block(node.name, Blocker.NODE_POOL_INVALID, pool=pool.name, why=why)
    if not snapshot.instance_types.get(pool.name):
        return block(node.name, Blocker.NO_INSTANCE_TYPES, pool=pool.name)
    return None


def _pod_verdicts(node: Node, scene: Scene) -> Iterator[Blocked]:
    result = [pod for pod in scene.pods_by_node.get(node.name, ()) if not pod.is_virtual]
    if not any(_is_kept(pod, scene) for pod in result):
        return  # as nearly always
    pods = sorted(result, key=lambda pod: pod.key)
    for pod in pods:
        kept = protection(pod, scene.now)
        if kept.is_active:
            yield block(
                node.name,
                Blocker.POD_PROTECTED,
                until=kept.until,
                annotation=labels.DO_NOT_DISRUPT,
                pod=pod.key,
            )
    budgets = scene.snapshot.disruption_budgets
    for pod in pods if budgets else ():
        if is_evictable(pod, scene.now):
            yield from _budget_verdicts(node.name, pod, pdbs_of(pod, budgets))


def _is_kept(pod: Pod, scene: Scene) -> bool:
    """Whether anything is to be said of the pod."""
    if pod.annotations and protection(pod, scene.now).is_active:
        return True
    about = pdbs_of(pod, scene.snapshot.disruption_budgets)
    is_forbidden = len(about) > 1 or any(_forbids(budget, pod) for budget in about)
    return is_forbidden and is_evictable(pod, scene.now)


def _budget_verdicts(node: str, pod: Pod, about: tuple[DisruptionBudget, ...]) -> Iterator[Blocked]:
    """At most one: budgets are not added up, a pod that can be evicted now is enough."""
    names = ", ".join(f"{budget.namespace}/{budget.name}" for budget in about)
    if len(about) > 1:
        yield block(node, Blocker.SEVERAL_POD_DISRUPTION_BUDGETS, pod=pod.key, budgets=names)
        return
    for budget in about:
        if _forbids(budget, pod) and never_allows(budget):
            why = _wanted_text(budget)
            yield block(node, Blocker.BUDGET_NEVER_ALLOWS, pod=pod.key, budget=names, why=why)
        elif _forbids(budget, pod):
            yield block(node, Blocker.POD_DISRUPTION_BUDGET, pod=pod.key, budget=names)


def _forbids(budget: DisruptionBudget, pod: Pod) -> bool:
    return budget.disruptions_allowed <= 0 and not lets_unhealthy_go(budget, pod)


def _wanted_text(budget: DisruptionBudget) -> str:
    if budget.max_unavailable:
        return f"its maxUnavailable is {budget.max_unavailable}"
    there = f" and expectedPods is {budget.expected_pods}" if budget.expected_pods else ""
    return f"its minAvailable is {budget.min_available}{there}"
