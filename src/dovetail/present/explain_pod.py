"""Explains why a pod is pending, where it will run, and what happens when its node is removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from dovetail.decide.candidates import is_parting
from dovetail.decide.disrupt.removal import fate, removal
from dovetail.decide.disrupt.why import obstacles
from dovetail.model.node import Node
from dovetail.model.plan import Launch, Plan
from dovetail.model.pod import Pod
from dovetail.model.resources import fits, subtract, total
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Unschedulable
from dovetail.present.explanation import Explanation, Section, age, amounts
from dovetail.present.plan import Json, amounts_json, destinations, unschedulable_json
from dovetail.present.table import listing, price


class _Found(msgspec.Struct, frozen=True):
    """All that was found out about a pod. `to` is the node that it gets or moves to."""

    pod: Pod
    now: datetime
    waiting: Unschedulable | None
    launch: Launch | None
    to: str
    fate: str
    verdict: str
    kept: tuple[str, ...] = ()  # why its node stays


def explain_pod(pod: Pod, snapshot: Snapshot, plan: Plan, now: datetime) -> Explanation:
    """The whole answer for one pod."""
    waiting = next((verdict for verdict in plan.unschedulable if verdict.pod == pod.key), None)
    node = next((item for item in snapshot.nodes if item.name == pod.node_name), None)
    if waiting is not None:
        case = _Found(pod, now, waiting, None, "", "", f"It is pending. {waiting.summary}")
    elif node is None:
        case = _unbound(pod, snapshot, plan, now)
    else:
        case = _bound_pod(pod, node, snapshot, plan, now)
    return Explanation(
        title=f"pod/{pod.key}",
        facts=tuple(_facts(case)),
        verdict=case.verdict,
        sections=tuple(_sections(case)),
        data=_data(case),
    )


def _unbound(pod: Pod, snapshot: Snapshot, plan: Plan, now: datetime) -> _Found:
    launch = next((item for item in plan.launches if pod.key in item.pods), None)
    if launch is not None:
        kind = f"{launch.instance_type} {launch.capacity_type} {launch.zone}"
        cost = f"of NodePool {launch.node_pool}, for {price(launch.price_nanousd)} an hour"
        verdict = f"It is pending until a new node is ready: {kind} {cost}."
        return _Found(pod, now, None, launch, launch.name, "", verdict)
    place = next((item.node for item in plan.nominations if pod.key in item.pods), "")
    if place:
        verdict = f"It is pending, and fits on node {place}{_once_free(pod, place, snapshot, now)}."
        return _Found(pod, now, None, None, place, "", verdict)
    promised = pod.nominated_node_name or _promised_node(pod, snapshot)
    if promised:
        starting = any(node.name == promised and not node.is_initialized for node in snapshot.nodes)
        yet = ", which is not ready yet" if starting else ""
        verdict = f"It is pending, and is planned onto node {promised}{yet}."
        return _Found(pod, now, None, None, promised, "", verdict)
    if pod.node_name:
        return _Found(pod, now, None, None, "", "", f"Its node {pod.node_name} does not exist.")
    return _Found(pod, now, None, None, "", "", "It needs no node.")


def _once_free(pod: Pod, place: str, snapshot: Snapshot, now: datetime) -> str:
    """Who has to leave first, where there is no room yet."""
    node = next((item for item in snapshot.nodes if item.name == place), None)
    there = [item for item in snapshot.pods if item.node_name == place and not item.is_terminal]
    ending = [item.key for item in there if is_parting(item, now)]
    if node is None or not ending:
        return ""
    free = subtract(node.allocatable, total(item.spec.requests for item in there))
    if fits(pod.spec.requests, free):
        return ""
    return f" once terminating pods have left it: {listing(ending)}"


def _promised_node(pod: Pod, snapshot: Snapshot) -> str:
    """The node that an earlier plan has given it."""
    promises = snapshot.ledger.nominations
    return next((item.node for item in promises if item.pod_uid == pod.uid and pod.uid), "")


def _bound_pod(pod: Pod, node: Node, snapshot: Snapshot, plan: Plan, now: datetime) -> _Found:
    """What becomes of a pod that has its node."""
    without = removal(node, snapshot, plan, now)
    becomes = "" if without is None else fate(pod, without, snapshot, now)
    going = next((item for item in plan.disruptions if node.name in item.nodes), None)
    if going is not None:
        to = dict(destinations(going)).get(pod.key, "")
        moves = f"; it moves to {to}" if to else ""
        message = f"which can be removed now, for reason {going.reason}{moves}"
        return _Found(pod, now, None, None, to, becomes, f"It runs on node {node.name}, {message}.")
    if without is None:
        return _leaving_pod(pod, node, snapshot, now)
    to = without.destination_by_pod.get(pod.key, "")
    kept = tuple(obstacle.message for obstacle in obstacles(node, snapshot, plan, now))
    verdict = f"It runs on node {node.name}, which stays."
    return _Found(pod, now, None, None, to, becomes, verdict, kept)


def _leaving_pod(pod: Pod, node: Node, snapshot: Snapshot, now: datetime) -> _Found:
    """What becomes of a pod whose node is on its way out already."""
    reasons = (item.reason for item in snapshot.ledger.disrupting if item.node == node.name)
    reason = next(reasons, "")
    why = f", for reason {reason}" if reason else ""
    to = _promised_node(pod, snapshot)
    moves = f"; it moves to {to}" if to else ""
    verdict = f"It runs on node {node.name}, which is being removed{why}{moves}."
    return _Found(pod, now, None, None, to, "", verdict)


def _facts(case: _Found) -> Iterator[tuple[str, str]]:
    pod = case.pod
    owner = f"{pod.owner.kind} {pod.owner.name}" if pod.owner is not None else "no owner"
    old = age(pod.created_at, case.now)
    yield "pod", ", ".join(filter(None, (owner, pod.phase, f"{old} old" if old else "")))
    yield "requests", amounts(pod.spec.requests)
    if pod.spec.priority:
        yield "priority", str(pod.spec.priority)


def _sections(case: _Found) -> Iterator[Section]:
    waiting = case.waiting
    if case.kept:
        lines = tuple(f"- {item}" for item in case.kept)
        yield Section(f"Why node {case.pod.node_name} stays", lines)
        if case.to:
            yield Section("If that node were removed now", (f"It would move to {case.to}.",))
    if waiting is None:
        return
    if waiting.reasons:
        lines = tuple(f"- {why.node_pool}: {why.message} ({why.reason})" for why in waiting.reasons)
        yield Section("Why no NodePool can launch a node for it", lines)
    if waiting.fix:
        yield Section("What would help", (f"- {waiting.fix}",))


def _data(case: _Found) -> Mapping[str, Json]:
    pod = case.pod
    return {
        "pod": pod.key,
        "node": pod.node_name,
        "requests": amounts_json(pod.spec.requests),
        "waits": not pod.node_name and (case.waiting is not None or bool(case.to)),
        "verdict": case.verdict,
        "to": case.to,
        "fate": str(case.fate) or None,
        "unschedulable": None if case.waiting is None else unschedulable_json(case.waiting),
    }
