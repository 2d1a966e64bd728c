"""Says which claims a change concerns, and on which of their Nodes a pod has come, gone or ended.

Pods that were there before the loop began are not news: a restart must not begin every wait anew.
They are only remembered, one small number each, so that what happens next is told apart from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import IntFlag
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.clock import Clock
from dovetail.controllers.cache import WatchCache
from dovetail.decide.lifecycle.running import PodChange
from dovetail.decide.lifecycle.timing import POD_EVENT_DEDUPE
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.pod import TERMINAL_PHASES, Owner, Pod, PodSpec

_Mark = tuple[str, int, str, str, bool]
_EMPTY_SPEC: Final = PodSpec(requests={})


class Routed(msgspec.Struct, frozen=True):
    """Claims to see to, by name; what happened on the Nodes of some; and a claim or Node that is
    gone, by its UID.
    """

    names: tuple[str, ...] = ()
    pod_changes: tuple[tuple[str, PodChange], ...] = ()
    gone_uid: str = ""


_SILENCE: Final = Routed()


class ClaimRouter:
    """Listens for claims. Pods count once `begin` was called."""

    def __init__(self, cache: WatchCache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._pods = PodChanges()
        self._marks: dict[tuple[str, str], _Mark] = {}

    def begin(self) -> None:
        """From now on, what pods do is news; those on our Nodes are there already."""
        for claim in self._cache.claims.all():
            for node in self._cache.nodes.under(claim.status.provider_id):
                self._pods.begin(self._cache.cluster.pods_on(node.metadata.name))
        self._pods.begin(())

    def route(self, notice: Notice) -> Routed:
        """What a change comes to."""
        match notice:
            case Present(object=item) | Absent(object=item):
                gone_uid = item.metadata.uid if isinstance(notice, Absent) else ""
            case _:
                return _SILENCE
        match item:
            case api.Pod():
                return self._pod(notice)
            case api.NodeClaim():
                return Routed((item.metadata.name,), gone_uid=gone_uid)
            case api.Node():
                claims = self._cache.claims.under(item.spec.provider_id)
                return Routed(_names(claims), gone_uid=gone_uid)
            case api.NodePool():
                return self._all_if_changed(item, is_gone=bool(gone_uid))
            case _ if self._cache.is_node_class(item):
                return self._all_if_changed(item, is_gone=bool(gone_uid))
            case _:
                return _SILENCE

    def _pod(self, notice: Notice) -> Routed:
        change = self._pods.change(notice, self._clock.now())
        pod = (change.after or change.before) if change is not None else None
        node = self._cache.nodes.get(pod.node_name) if pod is not None else None
        if change is None or node is None:
            return _SILENCE
        names = _names(self._cache.claims.under(node.spec.provider_id))
        return Routed(names, tuple((name, change) for name in names))

    def _all_if_changed(self, item: api.Object, *, is_gone: bool) -> Routed:
        """A pool's claims, or a node class's, when more than its status has changed."""
        meta = item.metadata
        key = (item.kind, meta.name)
        mark = (
            meta.uid,
            meta.generation,
            meta.annotations.get(labels.NODE_POOL_HASH, ""),
            meta.annotations.get(labels.NODE_POOL_HASH_VERSION, ""),
            meta.deletion_timestamp is not None,
        )
        if is_gone:
            self._marks.pop(key, None)
        elif self._marks.get(key) == mark:
            return _SILENCE
        else:
            self._marks[key] = mark
        return Routed(_names(claim for claim in self._cache.claims.all() if _is_of(claim, item)))


def _is_of(claim: api.NodeClaim, owner: api.Object) -> bool:
    name = owner.metadata.name
    if isinstance(owner, api.NodePool):
        return claim.metadata.labels.get(labels.NODE_POOL) == name
    ref = claim.spec.node_class_ref
    return (ref.kind, ref.name) == (owner.kind, name)


def _names(claims: Iterable[api.NodeClaim]) -> tuple[str, ...]:
    return tuple(claim.metadata.name for claim in claims)


class _Stage(IntFlag):
    BOUND = 1
    TERMINAL = 2
    TERMINATING = 4


class PodChanges:
    """Remembers how far each bound pod has come."""

    def __init__(self) -> None:
        self._stages: dict[str, int] = {}
        self.is_live = False  # whether what is heard is news

    def begin(self, pods: Iterable[Pod]) -> None:
        """From now on, what is heard is news; these are there already."""
        for pod in pods:
            if not pod.is_daemon:
                is_leaving = pod.deleting_at is not None
                self._stages[pod.uid] = int(_stage(pod.phase, is_leaving=is_leaving))
        self.is_live = True

    def change(self, notice: Notice, now: datetime) -> PodChange | None:
        """What happened to a pod on a node, if it is news."""
        match notice:
            case Present(object=api.Pod() as pod) if pod.spec.node_name and not _is_daemon(pod):
                return self._change_of(pod, now)
            case Absent(object=api.Pod() as pod):
                stage = self._stages.pop(pod.metadata.uid, None)
                if stage is None or not self.is_live:
                    return None
                return PodChange(_pod_at(pod, _Stage(stage), now), None)
            case _:
                return None

    def _change_of(self, pod: api.Pod, now: datetime) -> PodChange | None:
        uid = pod.metadata.uid
        is_leaving = pod.metadata.deletion_timestamp is not None
        before, after = self._stages.get(uid), _stage(pod.status.phase, is_leaving=is_leaving)
        if before == after:
            return None
        self._stages[uid] = int(after)
        # One that has run to its end was seen before that, by whoever followed it then.
        if not self.is_live or (before is None and after & _Stage.TERMINAL):
            return None
        earlier = None if before is None else _pod_at(pod, _Stage(before), now)
        return PodChange(earlier, _pod_at(pod, after, now))


def latest_arrival(pods: Iterable[Pod], last: datetime | None) -> PodChange | None:
    """The latest arrival among pods that were there already, unless it is about as old as the last
    that was written down.
    """
    arrived = [
        (moment, pod)
        for pod in pods
        if not pod.is_daemon and (moment := pod.started_at or pod.created_at) is not None
    ]
    if not arrived:
        return None
    moment, latest = max(arrived, key=lambda pair: (pair[0], pair[1].key))
    if last is not None and moment - last < POD_EVENT_DEDUPE:
        return None
    return PodChange(None, latest, is_listed=True)


def _stage(phase: str, *, is_leaving: bool) -> _Stage:
    stage = _Stage.BOUND
    if phase in TERMINAL_PHASES:
        stage |= _Stage.TERMINAL
    return stage | _Stage.TERMINATING if is_leaving else stage


def _pod_at(pod: api.Pod, stage: _Stage, now: datetime) -> Pod:
    """As much of a pod as tells what happened to it."""
    meta = pod.metadata
    return Pod(
        name=meta.name,
        namespace=meta.namespace,
        spec=_EMPTY_SPEC,
        uid=meta.uid,
        node_name=pod.spec.node_name,
        phase="Succeeded" if stage & _Stage.TERMINAL else "Running",
        owner=Owner("DaemonSet", "") if _is_daemon(pod) else None,
        deleting_at=now if stage & _Stage.TERMINATING else None,
    )


def _is_daemon(pod: api.Pod) -> bool:
    return any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
