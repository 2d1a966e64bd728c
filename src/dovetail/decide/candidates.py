"""Finds the pods that need a node: pending ones, and those whose node is leaving.

What a pod says about its expressions was checked when it was read: a pod with an operator or value
that means nothing arrives with `problems`. Labels that no pool can offer (a host name, a restricted
domain, `karpenter.sh/nodepool` DoesNotExist) are no reason to refuse it here, since an existing
node may satisfy them; a pool's nodes simply never match.

Nominations of earlier plans still hold where the node stays, their time is not up, and no other pod
has taken the room. kube-scheduler binds as it likes: a pod may take the place that was meant for
another. The other is planned for again at once, on the place that the first did not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.endings import due_moments, ending_nodes
from dovetail.decide.explain import say
from dovetail.decide.lifecycle.protection import protected_for, protection
from dovetail.decide.nodes import Census, census, leaving_nodes, with_memory
from dovetail.decide.pdbs import is_kept_for_ever
from dovetail.model.ledger import Nomination
from dovetail.model.node import Node
from dovetail.model.pod import TERMINAL_PHASES, Pod, PodSpec
from dovetail.model.resources import PODS, Resources, fits, subtract, total
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.verdict import Problem, Reason

DEFAULT_SCHEDULER: Final = "default-scheduler"
_TIED_TO_NODE: Final = frozenset({"DaemonSet", "Node"})

Refused = tuple[Pod, Problem]
SOON: Final = timedelta(minutes=1)  # about what a node takes to start
SLACK: Final = timedelta(seconds=10)  # for the kubelet to say that it is done
_AT_ONCE: Final = frozenset({"ReplicaSet", "ReplicationController", "Job", "DaemonSet"})


def kept_places(
    snapshot: Snapshot, staying: frozenset[str], where: Census, now: datetime | None
) -> dict[str, str]:
    """The node that an earlier plan gave to each pod, by uid, as long as that holds.

    Planning again would not always find the same places, and launch a second node for the rest.
    """
    nominations = [
        nomination
        for nomination in snapshot.ledger.nominations
        if nomination.node in staying and (now is None or nomination.until > now)
    ]
    if not nominations:
        return {}
    rooms = _rooms({nomination.node for nomination in nominations}, snapshot.nodes, where, now)
    pods = {pod.uid: pod for pod in _promised_pods(snapshot, where)} if rooms else {}
    return dict(_with_room(nominations, pods, rooms))


def promised_by_node(snapshot: Snapshot, now: datetime) -> Mapping[str, tuple[Pod, ...]]:
    """The pods for which nodes keep room that an earlier plan promised them, or that kube-scheduler
    makes by preempting others.
    """
    where, gone = census(snapshot.pods), leaving_nodes(snapshot)
    staying = frozenset(node.name for node in snapshot.nodes) - gone
    places = kept_places(snapshot, staying, where, now) | _nominated_nodes(snapshot, staying, where)
    pods_by_node: dict[str, list[Pod]] = {}
    for pod in _promised_pods(snapshot, where) if places else ():
        if pod.uid in places and not pod.is_terminal and pod.deleting_at is None:
            pods_by_node.setdefault(places[pod.uid], []).append(pod)
    return {node: tuple(pods) for node, pods in pods_by_node.items()}


def _nominated_nodes(snapshot: Snapshot, staying: frozenset[str], where: Census) -> dict[str, str]:
    """The node on which kube-scheduler makes room for each pod, by uid; what we said is not its."""
    ours = {(nomination.pod_uid, nomination.node) for nomination in snapshot.ledger.nominations}
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
    staying = frozenset(node.name for node in snapshot.nodes) - leaving_nodes(snapshot)
    places = kept_places(snapshot, staying, where, now)
    pods = tuple(
        msgspec.structs.replace(pod, node_name=places[pod.uid])
        if not pod.node_name and pod.is_virtual and pod.uid in places
        else pod
        for pod in snapshot.pods
    )
    return msgspec.structs.replace(snapshot, pods=pods)


def _promised_pods(snapshot: Snapshot, where: Census) -> Iterator[Pod]:
    """Pods that may go where they were promised to: those that wait, or whose node leaves."""
    yield from where.unbound
    for name in sorted(leaving_nodes(snapshot)):
        yield from where.by_node.get(name, ())


def _rooms(
    names: set[str], nodes: Iterable[Node], where: Census, now: datetime | None
) -> dict[str, Resources]:
    """What is left on those nodes that pods have been bound to, and on those that start: a cloud
    may deliver less than was planned. On others nothing is taken yet. The room of pods that are as
    good as gone is left, too.
    """
    rooms: dict[str, Resources] = {}
    for node in nodes:
        if node.name not in names:
            continue
        bound = where.by_node.get(node.name)
        if bound:
            used = total(pod.spec.requests for pod in bound if _holds_room(pod, now))
            rooms[node.name] = subtract(node.allocatable, used)
        elif node.provider_id and not node.is_initialized and _states_size(node):
            rooms[node.name] = node.allocatable
    return rooms


def _states_size(node: Node) -> bool:
    """Whether all that the node will have is known: devices may come with their plugin."""
    return labels.CAPACITY_OVERLAY_APPLIED not in node.annotations and PODS in node.allocatable


def _holds_room(pod: Pod, now: datetime | None) -> bool:
    return not pod.is_terminal and (now is None or not is_parting(pod, now))


def _with_room(
    nominations: Iterable[Nomination], pods: Mapping[str, Pod], rooms: dict[str, Resources]
) -> Iterable[tuple[str, str]]:
    for nomination in nominations:
        room, pod = rooms.get(nomination.node), pods.get(nomination.pod_uid)
        if room is not None and pod is not None:
            if not fits(pod.spec.requests, room):
                continue
            rooms[nomination.node] = subtract(room, pod.spec.requests)
        yield nomination.pod_uid, nomination.node


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """The pods to plan for, and those that wait but cannot be planned for.

    `reserved` are pods that have been promised a node: by kube-scheduler, which preempts others for
    them, or by an earlier plan that the ledger remembers. They need no plan, but their room is
    taken: each has that node as its `node_name`.
    """

    pods: tuple[Pod, ...] = ()
    refused: tuple[Refused, ...] = ()
    reserved: tuple[Pod, ...] = ()


def pending_pods(snapshot: Snapshot, now: datetime | None = None) -> Waiting:
    """Sort out who needs a node. Timed do-not-disrupt protection only ends where `now` is given."""
    gone = leaving_nodes(snapshot)
    staying = _usable_names(snapshot.nodes, gone)
    ours = frozenset((item.pod_uid, item.node) for item in snapshot.ledger.nominations)
    where = census(snapshot.pods)
    sorter = _Sorter(staying, ours, kept_places(snapshot, staying, where, now))
    for pod in where.unbound:
        if _is_unbound_candidate(pod):
            sorter.add(pod)
    lost = ending_nodes(snapshot.ledger.endings, snapshot.nodes)
    for node in sorted(gone):
        for pod in where.by_node.get(node, ()):
            if is_movable(pod, snapshot.disruption_budgets, now) or (
                node in lost and _will_return(pod)
            ):
                sorter.add_moving(pod)
    return sorter.result()


@with_memory
def _usable_names(nodes: tuple[Node, ...], gone: frozenset[str]) -> frozenset[str]:
    return frozenset(node.name for node in nodes) - gone


def _is_unbound_candidate(pod: Pod) -> bool:
    # Asked of every pod of the cluster, so without the properties that say the same.
    if pod.deleting_at is not None or pod.phase in TERMINAL_PHASES:
        return False
    return pod.owner is None or pod.owner.kind not in _TIED_TO_NODE


class _Sorter:
    """Collects pods by what is to be done with them. What a template decides is decided once."""

    def __init__(
        self,
        staying: frozenset[str],
        ours: frozenset[tuple[str, str]],
        place_by_uid: Mapping[str, str],
    ) -> None:
        self._staying = staying
        self._ours = ours
        self._place_by_uid = place_by_uid
        self._problem_by_spec: dict[int, Problem | None] = {}
        self._pods: list[Pod] = []
        self._refused: list[Refused] = []
        self._reserved: list[Pod] = []

    def add(self, pod: Pod) -> None:
        """Take in a pod without a node."""
        promised = pod.nominated_node_name
        is_theirs = bool(promised) and (pod.uid, promised) not in self._ours
        if is_theirs and promised in self._staying:
            self._reserved.append(msgspec.structs.replace(pod, node_name=promised))
        else:
            self.add_moving(pod)

    def add_moving(self, pod: Pod) -> None:
        """Take in a pod that needs a node whatever kube-scheduler promised."""
        place = self._place_by_uid.get(pod.uid)
        if place is not None:
            self._reserved.append(msgspec.structs.replace(pod, node_name=place))
            return
        problem = pod.problems[0] if pod.problems else self._problem_of(pod.spec)
        if problem is None:
            self._pods.append(pod)
        else:
            self._refused.append((pod, problem))

    def result(self) -> Waiting:
        """Everything taken in so far."""
        return Waiting(tuple(self._pods), tuple(self._refused), tuple(self._reserved))

    def _problem_of(self, spec: PodSpec) -> Problem | None:
        if id(spec) not in self._problem_by_spec:
            self._problem_by_spec[id(spec)] = spec_problem(spec)
        return self._problem_by_spec[id(spec)]


def spec_problem(spec: PodSpec) -> Problem | None:
    """What its template says that nobody can plan for."""
    if spec.is_gated:
        return Problem(
            Reason.SCHEDULING_GATED, say(Reason.SCHEDULING_GATED), "remove its scheduling gates"
        )
    if spec.scheduler_name not in ("", DEFAULT_SCHEDULER):
        return Problem(
            Reason.OTHER_SCHEDULER,
            say(Reason.OTHER_SCHEDULER, scheduler=spec.scheduler_name),
            f"set schedulerName to {DEFAULT_SCHEDULER}",
        )
    if spec.uses_dynamic_resources:
        return Problem(
            Reason.DYNAMIC_RESOURCES,
            say(Reason.DYNAMIC_RESOURCES),
            "request devices as extended resources instead of resource claims",
        )
    return None


def _will_return(pod: Pod) -> bool:
    """Whether a pod whose node goes whatever protects it will need another."""
    is_bound_here = pod.is_terminal or pod.is_daemon or pod.is_mirror
    return not is_bound_here and pod.deleting_at is None and pod.owner is not None


def is_movable(pod: Pod, budgets: tuple[DisruptionBudget, ...], now: datetime | None) -> bool:
    """Whether a pod on a leaving node will want another."""
    if pod.is_terminal or pod.is_daemon or pod.is_mirror:
        return False
    if pod.deleting_at is not None:
        # A StatefulSet makes the same pod again, so its room is needed again.
        return pod.owner is not None and pod.owner.kind == "StatefulSet"
    if pod.is_virtual:
        return True  # budgets are about pods that are there
    return not _is_protected(pod, now) and not is_kept_for_ever(pod, budgets)


def _is_protected(pod: Pod, now: datetime | None) -> bool:
    """Whether do-not-disrupt holds: for ever, or for a span after the pod's start."""
    wish = pod.annotations.get(labels.DO_NOT_DISRUPT)
    if wish is None:
        return False
    if wish == "true":
        return True
    span = protected_for(wish)
    if span is None:
        return False
    return now is None or pod.started_at is None or now < pod.started_at + span


def with_room_of_parting(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The cluster without the pods that are as good as gone; the very same if there are none."""
    told = [pod for pod in snapshot.pods if pod.deleting_at is not None]
    parting = {id(pod) for pod in told if is_parting(pod, now)}
    if not parting:
        return snapshot
    kept = tuple(pod for pod in snapshot.pods if id(pod) not in parting)
    return msgspec.structs.replace(snapshot, pods=kept)


def is_parting(pod: Pod, now: datetime) -> bool:
    """Whether its room may be given to others."""
    deadline = pod.deleting_at
    if deadline is None or pod.is_terminal or not pod.node_name:
        return False
    has_successor = pod.owner is not None and pod.owner.kind not in _AT_ONCE
    return not has_successor and deadline - SOON <= now < deadline + SLACK


def turns_at(snapshot: Snapshot) -> Iterator[datetime]:
    """When pods that are told to end are as good as gone, and when they are overdue."""
    for pod in snapshot.pods:
        if pod.deleting_at is not None and is_parting(pod, pod.deleting_at):
            yield pod.deleting_at - SOON
            yield pod.deleting_at + SLACK


def runs_out_at(snapshot: Snapshot, now: datetime) -> datetime | None:
    """The next moment at which a promise, a refusal or a pod's protection has run out, or at which
    the room of a pod that ends may be counted on, or not any more.
    """
    return min((moment for moment in _expiry_moments(snapshot, now) if moment > now), default=None)


def _expiry_moments(snapshot: Snapshot, now: datetime) -> Iterator[datetime]:
    for promise in snapshot.ledger.nominations:
        yield promise.until
    for refusal in snapshot.ledger.refusals:
        yield refusal.until
    yield from due_moments(snapshot)
    where = census(snapshot.pods)
    if where.unbound:
        yield from turns_at(snapshot)
    by_node = where.by_node
    for node in leaving_nodes(snapshot):  # their pods are planned for once they are not protected
        for pod in by_node.get(node, ()):
            until = protection(pod, now).until
            if until is not None:
                yield until
