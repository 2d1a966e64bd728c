"""Which promises of earlier plans still hold? Those whose node stays, whose time is not up, and
whose room nobody else has taken.

kube-scheduler binds as it likes: a pod may take the place that was meant for another. The other is
planned for again at once, on the place that the first did not need, instead of waiting in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from dovetail.decide.census import Census, census
from dovetail.decide.nodes import leaving
from dovetail.decide.parting import is_parting
from dovetail.model.ledger import Nomination
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.resources import Resources, fits, subtract, total
from dovetail.model.snapshot import Snapshot


def kept_places(
    snapshot: Snapshot, staying: frozenset[str], where: Census, now: datetime | None
) -> dict[str, str]:
    """The node that an earlier plan gave to each pod, by uid, as long as that holds.

    Planning again would not always find the same places, and launch a second node for the rest.
    """
    held = [
        one
        for one in snapshot.ledger.nominations
        if one.node in staying and (now is None or one.until > now)
    ]
    if not held:
        return {}
    rooms = _rooms({one.node for one in held}, snapshot.nodes, where, now)
    pods = {pod.uid: pod for pod in _coming(snapshot, where)} if rooms else {}
    return dict(_with_room(held, pods, rooms))


def promised_by_node(snapshot: Snapshot, now: datetime) -> Mapping[str, tuple[Pod, ...]]:
    """The pods for which nodes keep room that an earlier plan promised them, or that kube-scheduler
    makes by preempting others.
    """
    where, gone = census(snapshot.pods), leaving(snapshot)
    staying = frozenset(node.name for node in snapshot.nodes) - gone
    places = kept_places(snapshot, staying, where, now) | _theirs(snapshot, staying, where)
    found: dict[str, list[Pod]] = {}
    for pod in _coming(snapshot, where) if places else ():
        if pod.uid in places and not pod.is_terminal and pod.deleting_at is None:
            found.setdefault(places[pod.uid], []).append(pod)
    return {node: tuple(pods) for node, pods in found.items()}


def _theirs(snapshot: Snapshot, staying: frozenset[str], where: Census) -> dict[str, str]:
    """The node on which kube-scheduler makes room for each pod, by uid; what we said is not its."""
    ours = {(one.pod_uid, one.node) for one in snapshot.ledger.nominations}
    return {
        pod.uid: pod.nominated_node_name
        for pod in where.unbound
        if pod.nominated_node_name in staying and (pod.uid, pod.nominated_node_name) not in ours
    }


def with_kept_rooms(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster with the pods of capacity buffers where they were promised room: nobody ever
    binds them, so that a promise is all they have. The very same if there are none.
    """
    where = census(snapshot.pods)
    if not any(pod.is_virtual for pod in where.unbound):
        return snapshot
    staying = frozenset(node.name for node in snapshot.nodes) - leaving(snapshot)
    places = kept_places(snapshot, staying, where, now)
    pods = tuple(
        msgspec.structs.replace(pod, node_name=places[pod.uid])
        if not pod.node_name and pod.is_virtual and pod.uid in places
        else pod
        for pod in snapshot.pods
    )
    return msgspec.structs.replace(snapshot, pods=pods)


def _coming(snapshot: Snapshot, where: Census) -> Iterator[Pod]:
    """Pods that may go where they were promised to: those that wait, or whose node leaves."""
    yield from where.unbound
    for name in sorted(leaving(snapshot)):
        yield from where.by_node.get(name, ())


def _rooms(
    names: set[str], nodes: Iterable[Node], where: Census, now: datetime | None
) -> dict[str, Resources]:
    """What is left on those nodes that pods have been bound to; on others nothing is taken yet. The
    room of pods that are as good as gone is left, too.
    """
    rooms: dict[str, Resources] = {}
    for node in nodes:
        bound = where.by_node.get(node.name) if node.name in names else None
        if bound:
            used = total(pod.spec.requests for pod in bound if _holds_room(pod, now))
            rooms[node.name] = subtract(node.allocatable, used)
    return rooms


def _holds_room(pod: Pod, now: datetime | None) -> bool:
    return not pod.is_terminal and (now is None or not is_parting(pod, now))


def _with_room(
    held: Iterable[Nomination], pods: Mapping[str, Pod], rooms: dict[str, Resources]
) -> Iterable[tuple[str, str]]:
    for one in held:
        room, pod = rooms.get(one.node), pods.get(one.pod_uid)
        if room is not None and pod is not None:
            if not fits(pod.spec.requests, room):
                continue
            rooms[one.node] = subtract(room, pod.spec.requests)
        yield one.pod_uid, one.node
