"""Says whether the room is there that capacity buffers keep.

A buffer is ready once what it refers to is found. Its room is there once each of its virtual pods
has a place on a node that has started; until then it says how many wait for nodes to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.candidates import kept_places
from dovetail.decide.lifecycle.conditions import SetCondition, Status, fail
from dovetail.decide.nodes import census, leaving_nodes
from dovetail.model.plan import Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import Snapshot

READY_FOR_PROVISIONING: Final = "ReadyForProvisioning"
PROVISIONING: Final = "Provisioning"
RESOLVED: Final = "Resolved"
NOT_READY: Final = "NotReadyForProvisioning"
EMPTY: Final = "BufferEmpty"
REQUIRES_NEW: Final = "RequiresNewCapacity"
FITS: Final = "FitsExistingCapacity"

BufferKey = tuple[str, str]  # namespace and name


class BufferRoom(msgspec.Struct, frozen=True):
    """How many pods a buffer keeps room for, how many of them have a place on a node that has
    started, and how many on one that is on its way.
    """

    n_pods: int
    n_there: int
    n_coming: int


def buffer_rooms(snapshot: Snapshot, plan: Plan, now: datetime) -> Mapping[BufferKey, BufferRoom]:
    """The room of every buffer that has virtual pods, as it is planned now."""
    virtual = [pod for pod in census(snapshot.pods).unbound if pod.is_virtual]
    if not virtual:
        return {}
    places = dict(_places(snapshot, plan, virtual, now))
    started = {
        name
        for node in snapshot.nodes
        if node.is_initialized or not node.node_claim
        for name in (node.name, node.node_claim)
    }
    wanted: Counter[BufferKey] = Counter(map(_buffer_of, virtual))
    there: Counter[BufferKey] = Counter()
    coming: Counter[BufferKey] = Counter()
    for pod in virtual:
        if pod.key in places:
            (there if places[pod.key] in started else coming)[_buffer_of(pod)] += 1
    return {key: BufferRoom(n_pods, there[key], coming[key]) for key, n_pods in wanted.items()}


def _buffer_of(pod: Pod) -> BufferKey:
    annotations = pod.annotations
    return annotations.get(labels.BUFFER_NAMESPACE, ""), annotations.get(labels.BUFFER_NAME, "")


def _places(
    snapshot: Snapshot, plan: Plan, virtual: list[Pod], now: datetime
) -> Iterator[tuple[str, str]]:
    """Where each pod is to be: as promised before, or as this plan says."""
    staying = frozenset(node.name for node in snapshot.nodes) - leaving_nodes(snapshot)
    promised = kept_places(snapshot, staying, census(snapshot.pods), now)
    for pod in virtual:
        if pod.uid in promised:
            yield pod.key, promised[pod.uid]
    for nominate in plan.nominations:
        yield from ((pod, nominate.node) for pod in nominate.pods)
    for launch in plan.launches:
        yield from ((pod, launch.name) for pod in launch.pods)


def buffer_conditions(
    n_pods: int, room: BufferRoom | None, problem: str = "", message: str = ""
) -> tuple[SetCondition, ...]:
    """What a buffer for so many pods says; with a `problem`, what it refers to is not to be had.
    Where no plan has looked at all of its pods yet, nothing new is said of its room.
    """
    if problem:
        return (
            fail(READY_FOR_PROVISIONING, problem, message),
            fail(PROVISIONING, NOT_READY, message),
        )
    ready = SetCondition(READY_FOR_PROVISIONING, Status.TRUE, RESOLVED)
    if not n_pods:
        return ready, fail(PROVISIONING, EMPTY, "the buffer is for no pods")
    if room is None or room.n_pods != n_pods:
        return (ready,)
    return ready, _condition_of(room)


def _condition_of(room: BufferRoom) -> SetCondition:
    if room.n_there == room.n_pods:
        message = f"running nodes have room for {room.n_pods} of {room.n_pods} pods"
        return SetCondition(PROVISIONING, Status.TRUE, FITS, message)
    n_nowhere = room.n_pods - room.n_there - room.n_coming
    parts = [f"running nodes have room for {room.n_there} of {room.n_pods} pods"]
    if room.n_coming:
        parts.append(f"nodes for {room.n_coming} are being launched")
    if n_nowhere:
        parts.append(f"no node can be launched for {n_nowhere}")
    return fail(PROVISIONING, REQUIRES_NEW, "; ".join(parts))
