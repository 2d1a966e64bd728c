"""Which pods is a node needed for? Those that wait, and those whose node is leaving.

What a pod says about its expressions was checked when it was read: a pod with an operator or value
that means nothing arrives with `problems`. Labels that no pool can offer (a host name, a restricted
domain, `karpenter.sh/nodepool` DoesNotExist) are no reason to refuse it here, since an existing
node may satisfy them; a pool's nodes simply never match.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.census import census
from dovetail.decide.explain import say
from dovetail.decide.nodes import leaving
from dovetail.decide.pdbs import is_kept_for_ever
from dovetail.decide.promises import kept_places
from dovetail.decide.recall import recalled
from dovetail.model.node import Node
from dovetail.model.pod import TERMINAL_PHASES, Pod, PodSpec
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.verdict import Problem, Reason
from dovetail.units import duration

DEFAULT_SCHEDULER: Final = "default-scheduler"
_TIED_TO_NODE: Final = frozenset({"DaemonSet", "Node"})

Refused = tuple[Pod, Problem]


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """The pods to plan for, and those that wait but cannot be planned for.

    `reserved` are pods that have been promised a node: by kube-scheduler, which preempts others for
    them, or by an earlier plan that the ledger remembers. They need no plan, but their room is
    taken: each has that node as its `node_name`.
    """

    pods: tuple[Pod, ...] = ()
    refused: tuple[Refused, ...] = ()
    reserved: tuple[Pod, ...] = ()


def waiting(snapshot: Snapshot, now: datetime | None = None) -> Waiting:
    """Sort out who needs a node. Timed do-not-disrupt protection only ends where `now` is given."""
    gone = leaving(snapshot)
    staying = _staying(snapshot.nodes, gone)
    ours = frozenset((one.pod_uid, one.node) for one in snapshot.ledger.nominations)
    where = census(snapshot.pods)
    sorter = _Sorter(staying, ours, kept_places(snapshot, staying, where, now))
    for pod in where.unbound:
        if _is_unbound_candidate(pod):
            sorter.add(pod)
    for node in sorted(gone):
        for pod in where.by_node.get(node, ()):
            if is_movable(pod, snapshot.disruption_budgets, now):
                sorter.add_moving(pod)
    return sorter.result()


@recalled
def _staying(nodes: tuple[Node, ...], gone: frozenset[str]) -> frozenset[str]:
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
            Reason.SCHEDULING_GATED,
            say(Reason.SCHEDULING_GATED),
            "remove its scheduling gates",
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


def is_movable(pod: Pod, budgets: tuple[DisruptionBudget, ...], now: datetime | None) -> bool:
    """Whether a pod on a leaving node will want another (spec/core.md 3.17)."""
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
    span = _span(wish)
    if span is None:
        return False
    return now is None or pod.started_at is None or now < pod.started_at + span


def _span(text: str) -> timedelta | None:
    try:
        span = duration.parse(text)
    except ValueError:
        return None
    return span if span > timedelta(0) else None
