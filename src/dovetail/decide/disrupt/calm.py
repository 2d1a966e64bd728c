"""Says which pods and workloads are better left alone for now, whatever could be saved.

    unrest      why the pods of a node are better left alone for now
    overtaxed   the workload that a move would evict too often in a day
    changes_at  when time alone could make a move look worse

All of it is about moves that save money; nodes that must go are not asked. What workloads have in
common is worked out once for each list of pods, so that asking for every node costs what looking
at every pod costs, once.

A Deployment of which pods of two templates run, and a StatefulSet with pods of two revisions, is
being rolled out, and makes and deletes pods by itself. One that has made no pod for as long as a
Deployment gives itself by default (`progressDeadlineSeconds`) is stuck, and is not waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail import labels
from dovetail.decide.disrupt.blockers import block
from dovetail.decide.disrupt.candidates import Scene
from dovetail.decide.disrupt.cost import expected_end, grows_at
from dovetail.decide.evictions import free_at
from dovetail.decide.lifecycle.protection import is_active
from dovetail.decide.lifecycle.step import soonest
from dovetail.decide.nodes import with_memory
from dovetail.decide.pools import pools_by_name
from dovetail.model.node import Node
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker
from dovetail.units import knobs

ENDS_WITHIN: Final = timedelta(minutes=5)  # a pod that ends so soon is waited for
SETTLES_WITHIN: Final = timedelta(minutes=1)  # a pod that has started so lately is left alone

_Held = tuple[datetime, Pod]  # until when a pod keeps its node
PROGRESS_WITHIN: Final = timedelta(minutes=10)


class Overtaxed(msgspec.Struct, frozen=True):
    """A workload whose pods may not be evicted as often as a move would, and until when."""

    workload: str
    n_allowed: int
    until: datetime | None


# ------------------------------------------------------------------ who is left alone


def unrest(node: Node, scene: Scene) -> Blocked | None:
    """Why the pods of this node are better left alone for now; None if nothing speaks for that."""
    pods = [pod for pod in scene.pods_by_node.get(node.name, ()) if _may_move(pod)]
    for blocker, find in _CAUSES:
        unrest_of_pod = find(pods, scene)
        if unrest_of_pod is not None:
            until, pod = unrest_of_pod
            return block(node.name, blocker, until=until, pod=pod.key, workload=pod.workload)
    over = overtaxed_workload(pods, scene.snapshot, scene.now)
    return None if over is None else evicted_often(node.name, over)


def evicted_often(node: str, over: Overtaxed) -> Blocked:
    """Why a node stays whose pods were moved enough."""
    return block(
        node,
        Blocker.EVICTED_OFTEN,
        until=over.until,
        workload=over.workload,
        allowed=over.n_allowed,
        annotation=labels.MOST_EVICTIONS,
    )


def _may_move(pod: Pod) -> bool:
    return not pod.is_daemon and not pod.is_mirror and not pod.is_virtual and is_active(pod)


def _rolled_out(pods: Sequence[Pod], scene: Scene) -> _Held | None:
    """The pod whose workload is being rolled out for longest."""
    until = rollouts(scene.snapshot.pods)
    if not until:
        return None
    return _last(((until.get(pod.workload), pod) for pod in pods), scene.now)


def _last_to_end(pods: Sequence[Pod], scene: Scene) -> _Held | None:
    """The last pod to end, of those that end soon."""
    latest = scene.now + ENDS_WITHIN
    ends = ((expected_end(pod, scene.snapshot.pods), pod) for pod in pods)
    return _last(((at, pod) for at, pod in ends if at is not None and at <= latest), scene.now)


def _last_started(pods: Sequence[Pod], scene: Scene) -> _Held | None:
    """The pod that has started last, if that was just now."""
    return _last(((_settled_at(pod), pod) for pod in pods), scene.now)


def _settled_at(pod: Pod) -> datetime | None:
    since = pod.started_at or pod.created_at
    return None if since is None else since + SETTLES_WITHIN


def _last(ends: Iterable[tuple[datetime | None, Pod]], now: datetime) -> _Held | None:
    still = [(at, pod) for at, pod in ends if at is not None and at > now]
    return max(still, key=lambda pair: (pair[0], pair[1].key), default=None)


_CAUSES: Final[tuple[tuple[Blocker, Callable[[Sequence[Pod], Scene], _Held | None]], ...]] = (
    (Blocker.ROLLOUT, _rolled_out),
    (Blocker.ENDS_SOON, _last_to_end),
    (Blocker.JUST_FILLED, _last_started),
)


# ------------------------------------------------------------------ who was moved enough


def overtaxed_workload(
    moving: Iterable[Pod], snapshot: Snapshot, now: datetime
) -> Overtaxed | None:
    """The workload that would suffer more evictions within a day than its pods may, were these
    evicted now. What each pod may suffer is allowed as often as the workload has pods.
    """
    if snapshot.policy.most_evictions is None and not _says_so(snapshot.node_pools, snapshot.pods):
        return None
    limits = _limits(moving, snapshot)
    n_pods = _n_pods(snapshot.pods)
    for workload in sorted(limits):
        most, n_moving = limits[workload]
        n_allowed = most * max(n_pods.get(workload, 0), n_moving)
        if n_moving > n_allowed:
            return Overtaxed(workload, n_allowed, None)
        until = free_at(workload, n_allowed - n_moving, snapshot.ledger.evictions, now)
        if until is not None:
            return Overtaxed(workload, n_allowed, until)
    return None


@with_memory
def _says_so(pools: tuple[NodePool, ...], pods: tuple[Pod, ...]) -> bool:
    """Whether any pool or pod says how often pods may be evicted; most never do."""
    return any(pool.disruption.most_evictions is not None for pool in pools) or any(
        pod.annotations and labels.MOST_EVICTIONS in pod.annotations for pod in pods
    )


def _limits(moving: Iterable[Pod], snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """For each workload with a limit: what a pod of it may suffer, and how many of them move, those
    that have no limit where they are counted too.
    """
    pools, pool_of = pools_by_name(snapshot.node_pools), _pool_names(snapshot.nodes)
    limits: dict[str, int] = {}
    n_moving: Counter[str] = Counter()
    for pod in moving:
        workload = pod.workload
        n_moving[workload] += 1
        most = _most_evictions(pod, pools.get(pool_of.get(pod.node_name, "")), snapshot)
        if most is not None and workload:
            limits[workload] = min(limits.get(workload, most), most)
    return {workload: (most, n_moving[workload]) for workload, most in limits.items()}


def _most_evictions(pod: Pod, pool: NodePool | None, snapshot: Snapshot) -> int | None:
    """The pod's own word, its pool's, the operator's; a word that is no number says nothing."""
    annotation = pod.annotations.get(labels.MOST_EVICTIONS)
    if annotation is not None:
        try:
            return knobs.most_evictions(annotation)
        except ValueError:
            pass  # `dovetail validate` refuses it
    theirs = pool.disruption.most_evictions if pool is not None else None
    return snapshot.policy.most_evictions if theirs is None else theirs


@with_memory
def _n_pods(pods: tuple[Pod, ...]) -> Mapping[str, int]:
    """How many pods each workload has."""
    return Counter([pod.workload for pod in pods if pod.owner is not None and is_active(pod)])


@with_memory
def _pool_names(nodes: tuple[Node, ...]) -> Mapping[str, str]:
    return {node.name: node.node_pool for node in nodes}


# ------------------------------------------------------------------ what grows dearer


def changes_at(moving: Iterable[Pod], snapshot: Snapshot, now: datetime) -> datetime | None:
    """When time alone could make a move of these pods look worse: it costs more, or one of them is
    about to end.
    """
    moments: list[datetime | None] = []
    for pod in moving:
        if pod.is_virtual:
            continue  # nobody is disturbed
        moments.append(grows_at(pod, now))
        ends_at = expected_end(pod, snapshot.pods)
        nears_at = None if ends_at is None else ends_at - ENDS_WITHIN
        moments.append(nears_at if nears_at is not None and nears_at > now else None)
    return soonest(*moments)


@with_memory
def rollouts(pods: tuple[Pod, ...]) -> Mapping[str, datetime]:
    """Until when each workload with pods of several revisions counts as being rolled out."""
    first: dict[str, str] = {}
    mixed: set[str] = set()
    for pod in pods:
        revision = _revision(pod)
        if revision and is_active(pod) and first.setdefault(pod.workload, revision) != revision:
            mixed.add(pod.workload)
    if not mixed:
        return {}
    newest: dict[str, datetime] = {}
    for pod in pods:
        if _revision(pod) and pod.created_at is not None and is_active(pod):
            workload = pod.workload
            if workload in mixed:
                newest[workload] = max(newest.get(workload, pod.created_at), pod.created_at)
    return {workload: at + PROGRESS_WITHIN for workload, at in newest.items()}


def _revision(pod: Pod) -> str:
    """Which template of its workload it was made from; empty where that is not said."""
    pod_labels, owner = pod.labels, pod.owner
    if owner is None:
        return ""
    if owner.kind == "ReplicaSet":
        return pod_labels.get(labels.POD_TEMPLATE_HASH, "")
    return (
        pod_labels.get(labels.CONTROLLER_REVISION_HASH, "") if owner.kind == "StatefulSet" else ""
    )
