"""On which nodes has a pod come, gone or ended? Heard from the watch, one bit of memory at a time.

What was there before the loop began is no news: a restart must not begin every wait anew
(spec/core.md 5.9). It is only remembered, so that what happens next is told apart from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import IntFlag
from typing import Final

from dovetail import api
from dovetail.decide.lifecycle.running import PodChange
from dovetail.decide.lifecycle.timing import POD_EVENT_DEDUPE
from dovetail.kube.mirror import Absent, Notice, Present
from dovetail.model.pod import TERMINAL_PHASES, Owner, Pod, PodSpec

_NOTHING: Final = PodSpec(requests={})


class _Stage(IntFlag):
    BOUND = 1
    TERMINAL = 2
    TERMINATING = 4


class PodTraffic:
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

    def hear(self, notice: Notice, now: datetime) -> PodChange | None:
        """What happened to a pod on a node, if it is news."""
        match notice:
            case Present(object=api.Pod() as pod) if pod.spec.node_name and not _is_daemon(pod):
                return self._came(pod, now)
            case Absent(object=api.Pod() as pod):
                stage = self._stages.pop(pod.metadata.uid, None)
                if stage is None or not self.is_live:
                    return None
                return PodChange(_noun(pod, _Stage(stage), now), None)
            case _:
                return None

    def _came(self, pod: api.Pod, now: datetime) -> PodChange | None:
        uid = pod.metadata.uid
        is_leaving = pod.metadata.deletion_timestamp is not None
        before, after = self._stages.get(uid), _stage(pod.status.phase, is_leaving=is_leaving)
        if before == after:
            return None
        self._stages[uid] = int(after)
        # One that has run to its end was seen before that, by whoever followed it then.
        if not self.is_live or (before is None and after & _Stage.TERMINAL):
            return None
        earlier = None if before is None else _noun(pod, _Stage(before), now)
        return PodChange(earlier, _noun(pod, after, now))


def found_on(pods: Iterable[Pod], last: datetime | None) -> PodChange | None:
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
    moment, latest = max(arrived, key=lambda one: (one[0], one[1].key))
    if last is not None and moment - last < POD_EVENT_DEDUPE:
        return None
    return PodChange(None, latest, is_listed=True)


def _stage(phase: str, *, is_leaving: bool) -> _Stage:
    stage = _Stage.BOUND
    if phase in TERMINAL_PHASES:
        stage |= _Stage.TERMINAL
    return stage | _Stage.TERMINATING if is_leaving else stage


def _noun(pod: api.Pod, stage: _Stage, now: datetime) -> Pod:
    """As much of a pod as tells what happened to it."""
    meta = pod.metadata
    return Pod(
        name=meta.name,
        namespace=meta.namespace,
        spec=_NOTHING,
        uid=meta.uid,
        node_name=pod.spec.node_name,
        phase="Succeeded" if stage & _Stage.TERMINAL else "Running",
        owner=Owner("DaemonSet", "") if _is_daemon(pod) else None,
        deleting_at=now if stage & _Stage.TERMINATING else None,
    )


def _is_daemon(pod: api.Pod) -> bool:
    return any(one.kind == "DaemonSet" for one in pod.metadata.owner_references)
