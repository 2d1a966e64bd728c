"""Indexes the nodes and pods of a snapshot, and keeps such answers while what they are about stays.

Parts that nothing touched are the very same objects in the next snapshot (`state/cluster.py`), so
identity tells whether an answer is still right. One answer is kept for each question, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from operator import is_
from typing import Final, ParamSpec, TypeVar

import msgspec

from dovetail import labels
from dovetail.model.ending import InstanceEnding
from dovetail.model.instance import InstanceType
from dovetail.model.ledger import Departure
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot
from dovetail.model.taints import Effect, Taint, is_ephemeral

CORDON: Final = Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE)
_INSTANCE_TERMINATING: Final = "InstanceTerminating"
P = ParamSpec("P")
V = TypeVar("V")


def with_memory(work_out: Callable[P, V]) -> Callable[P, V]:
    """The same function, which works nothing out when the last question is asked again.

    Only for pure functions of frozen parts, given by position.
    """
    result: list[tuple[tuple[object, ...], V]] = []

    @wraps(work_out)
    def recall(*parts: P.args, **named: P.kwargs) -> V:
        last = result[0] if result else None
        if last is not None and len(last[0]) == len(parts) and all(map(is_, last[0], parts)):
            return last[1]
        answer = work_out(*parts, **named)
        result[:] = [(parts, answer)]
        return answer

    return recall


class Census(msgspec.Struct, frozen=True):
    """Pods without a node, and those of each node."""

    unbound: tuple[Pod, ...]
    by_node: Mapping[str, tuple[Pod, ...]]


@with_memory
def census(pods: tuple[Pod, ...]) -> Census:
    """Sort the pods by node."""
    by_node: dict[str, list[Pod]] = {"": []}
    for pod in pods:
        on_node = by_node.get(pod.node_name)
        if on_node is None:
            by_node[pod.node_name] = [pod]
        else:
            on_node.append(pod)
    unbound = tuple(by_node.pop(""))
    return Census(unbound, {node: tuple(pods) for node, pods in by_node.items()})


def is_leaving(node: Node) -> bool:
    """Whether the node says itself that it is on its way out, so that its pods need another."""
    return node.deleting_at is not None or is_terminating(node)


def is_terminating(node: Node) -> bool:
    """Whether its instance is being ended."""
    return any(
        condition.type == _INSTANCE_TERMINATING and condition.status == "True"
        for condition in node.conditions
    )


def leaving_nodes(snapshot: Snapshot) -> frozenset[str]:
    """The nodes on their way out, by name: those that say so, and those that are being disrupted or
    whose instances end, which are marked before anything shows on them.
    """
    return _leaving_names(snapshot.nodes, snapshot.ledger.disrupting, snapshot.ledger.endings)


@with_memory
def _leaving_names(
    nodes: tuple[Node, ...], disrupting: tuple[Departure, ...], endings: tuple[InstanceEnding, ...]
) -> frozenset[str]:
    marked = {departure.node for departure in disrupting}
    ending = {ending.provider_id for ending in endings}
    return frozenset(
        node.name
        for node in nodes
        if node.name in marked or is_leaving(node) or node.provider_id in ending
    )


def is_managed(node: Node) -> bool:
    """Whether a pool or a claim stands behind the node."""
    return bool(node.node_pool or node.node_claim)


def usable(snapshot: Snapshot) -> tuple[Node, ...]:
    """The nodes that pods may be placed on, as they will be once started."""
    catalogue, gone = _Catalogue(snapshot.instance_types), leaving_nodes(snapshot)
    return tuple(
        _expected_node(node, catalogue) for node in snapshot.nodes if node.name not in gone
    )


def effective_taints(node: Node) -> tuple[Taint, ...]:
    """The taints that will still be there once the node has started, a cordon included."""
    taints = node.taints
    if is_managed(node) and not node.is_initialized:
        starting = {(taint.key, taint.effect) for taint in node.startup_taints}
        taints = tuple(
            taint
            for taint in taints
            if (taint.key, taint.effect) not in starting and not is_ephemeral(taint)
        )
    if node.is_unschedulable and CORDON not in taints:
        taints = (*taints, CORDON)
    return taints


class _Catalogue:
    """Instance types by pool and name, indexed when a pool is first asked for."""

    def __init__(self, types_by_pool: Mapping[str, tuple[InstanceType, ...]]) -> None:
        self._types_by_pool = types_by_pool
        self._by_name: dict[str, dict[str, InstanceType]] = {}

    def type_of(self, node: Node) -> InstanceType | None:
        """The instance type of a node, if its pool still knows it."""
        if not node.node_pool or not node.instance_type:
            return None
        if node.node_pool not in self._by_name:
            types = self._types_by_pool.get(node.node_pool, ())
            self._by_name[node.node_pool] = {item.name: item for item in types}
        return self._by_name[node.node_pool].get(node.instance_type)


def _expected_node(node: Node, catalogue: _Catalogue) -> Node:
    changed = msgspec.structs.replace(
        node, taints=effective_taints(node), labels=_effective_labels(node)
    )
    is_starting = is_managed(node) and not node.is_initialized
    if node.allocatable and node.capacity and not is_starting:
        return changed
    kind = catalogue.type_of(node)
    capacity = _with_expected(node.capacity, kind.capacity if kind else {})
    # What the type expects to be allocatable comes before raw capacity: capacity includes what
    # the system keeps, and planning with it launches nodes that then do not fit.
    promised = kind.allocatable if kind else {}
    if is_starting:
        # A zero stays: a claim that may become one of several types has the least of each resource
        # as allocatable, and the most as capacity.
        allocatable = {**capacity, **_with_expected(node.allocatable, promised)}
    else:
        allocatable = dict(node.allocatable) or dict(promised) or dict(capacity)
    limits = node.attach_limits or (kind.attach_limits if kind else {})
    return msgspec.structs.replace(
        changed, capacity=capacity, allocatable=allocatable, attach_limits=limits
    )


def _effective_labels(node: Node) -> Mapping[str, str]:
    effective_labels = node.labels
    if labels.HOSTNAME not in effective_labels:
        effective_labels = {**effective_labels, labels.HOSTNAME: node.name}
    if node.node_pool and labels.NODE_POOL not in effective_labels:
        effective_labels = {**effective_labels, labels.NODE_POOL: node.node_pool}
    return effective_labels


def _with_expected(reported: Mapping[str, int], expected: Mapping[str, int]) -> dict[str, int]:
    """What is reported, with zero and missing entries as expected."""
    result = dict(reported)
    for name, amount in expected.items():
        if not result.get(name):
            result[name] = amount
    return result
