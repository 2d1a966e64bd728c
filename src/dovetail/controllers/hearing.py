"""Which claims does a change matter to? Those it is about, and those it stands beside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from dovetail import api, labels
from dovetail.clock import Clock
from dovetail.controllers.known import Known
from dovetail.controllers.pod_traffic import PodTraffic
from dovetail.decide.lifecycle.running import PodChange
from dovetail.kube.mirror import Absent, Notice, Present

_Mark = tuple[str, int, str, str, bool]


class Heard(msgspec.Struct, frozen=True):
    """Claims to see to, by name; what happened on the Nodes of some; and a claim or Node that is
    gone, by its UID.
    """

    names: tuple[str, ...] = ()
    pod_changes: tuple[tuple[str, PodChange], ...] = ()
    gone_uid: str = ""


_SILENCE: Final = Heard()


class ClaimsHearing:
    """Listens for claims. Pods count once `begin` was called."""

    def __init__(self, known: Known, clock: Clock) -> None:
        self._known = known
        self._clock = clock
        self._pods = PodTraffic()
        self._marks: dict[tuple[str, str], _Mark] = {}

    def begin(self) -> None:
        """From now on, what pods do is news; those on our Nodes are there already."""
        for claim in self._known.claims():
            for node in self._known.nodes_with(claim.status.provider_id):
                self._pods.begin(self._known.pods_on(node.metadata.name))
        self._pods.begin(())

    def hear(self, notice: Notice) -> Heard:
        """What a change comes to."""
        match notice:
            case Present(object=found) | Absent(object=found):
                gone_uid = found.metadata.uid if isinstance(notice, Absent) else ""
            case _:
                return _SILENCE
        match found:
            case api.Pod():
                return self._pod(notice)
            case api.NodeClaim():
                return Heard((found.metadata.name,), gone_uid=gone_uid)
            case api.Node():
                claims = self._known.claims_with(found.spec.provider_id)
                return Heard(_names(claims), gone_uid=gone_uid)
            case api.NodePool():
                return self._all_if_changed(found, is_gone=bool(gone_uid))
            case _ if self._known.is_node_class(found):
                return self._all_if_changed(found, is_gone=bool(gone_uid))
            case _:
                return _SILENCE

    def _pod(self, notice: Notice) -> Heard:
        change = self._pods.hear(notice, self._clock.now())
        pod = (change.after or change.before) if change is not None else None
        node = self._known.node(pod.node_name) if pod is not None else None
        if change is None or node is None:
            return _SILENCE
        names = _names(self._known.claims_with(node.spec.provider_id))
        return Heard(names, tuple((name, change) for name in names))

    def _all_if_changed(self, found: api.Object, *, is_gone: bool) -> Heard:
        """A pool's claims, or a node class's, when more than its status has changed."""
        meta = found.metadata
        key = (found.kind, meta.name)
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
        return Heard(_names(one for one in self._known.claims() if _is_of(one, found)))


def _is_of(claim: api.NodeClaim, owner: api.Object) -> bool:
    name = owner.metadata.name
    if isinstance(owner, api.NodePool):
        return claim.metadata.labels.get(labels.NODE_POOL) == name
    ref = claim.spec.node_class_ref
    return (ref.kind, ref.name) == (owner.kind, name)


def _names(claims: Iterable[api.NodeClaim]) -> tuple[str, ...]:
    return tuple(one.metadata.name for one in claims)
