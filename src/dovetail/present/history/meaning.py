"""Which object is meant, when decisions are looked back upon? The newest of that name."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, assert_never

import msgspec

from dovetail.errors import InputError
from dovetail.model.decision import Decision
from dovetail.model.node import Node
from dovetail.model.plan import Launch
from dovetail.model.pod import Pod
from dovetail.model.pool import NodePool
from dovetail.present.history.happenings import Decided, decision_of
from dovetail.present.lookup import LookupSubject, SubjectKind, find
from dovetail.present.plan import instant

_EARLIER: Final = timedelta(hours=1)  # by so much an order may be older than what came of it
Known = Pod | Node | NodePool | Launch


class Meant(msgspec.Struct, frozen=True):
    """The moment that is asked about, and the object in the last decision that has it."""

    moment: Decision
    seen: Decision
    object: Known

    @property
    def is_gone(self) -> bool:
        """Whether it is no more at that moment."""
        return self.seen.number != self.moment.number


def which(asked: LookupSubject, decided: Decided, until: datetime | None) -> Meant:
    """The object that is meant, as of the last decision up to a moment. Raises InputError."""
    moment: Decision | None = None
    for one in decided.newest_first(until):
        moment = moment or one
        found = _found(asked, one)
        if found is not None:
            return Meant(moment, one, found)
    if moment is None:
        when = "" if until is None else f" up to {instant(until)}"
        msg = f"the journal has no decision{when} that can be read"
        raise InputError(msg)
    try:
        find(asked, moment.snapshot)
    except InputError as error:
        msg = f"{error} ({decision_of(moment.number, moment.now)}, nor any before it)"
        raise InputError(msg) from None
    raise AssertionError(asked)


def _found(asked: LookupSubject, decision: Decision) -> Known | None:
    """The object in a decision. Of nodes and claims either name will do."""
    match asked.kind:
        case SubjectKind.POD:
            return _pod(asked, decision)
        case SubjectKind.NODE | SubjectKind.NODE_CLAIM:
            return _node(asked.name, decision)
        case SubjectKind.NODE_POOL:
            pools = decision.snapshot.node_pools
            return next((one for one in pools if one.name == asked.name), None)
        case unknown:
            assert_never(unknown)


def _pod(asked: LookupSubject, decision: Decision) -> Pod | None:
    alike = [
        pod
        for pod in decision.snapshot.pods
        if pod.name == asked.name and asked.namespace in ("", pod.namespace)
    ]
    if len(alike) > 1:
        find(asked, decision.snapshot)  # says which there are
    return alike[0] if alike else None


def _node(name: str, decision: Decision) -> Node | Launch | None:
    for node in decision.snapshot.nodes:
        if name in (node.name, node.node_claim):
            return node
    replacements = (one for going in decision.plan.disruptions for one in going.replacements)
    launches = (*decision.plan.launches, *replacements)
    return next((one for one in launches if one.name == name), None)


def since(found: Meant) -> datetime | None:
    """From when on it may have been heard of; None if that may be any time.

    Pods of a StatefulSet have lives before this one, under the same name.
    """
    match found.object:
        case Pod(owner=owner, created_at=at):
            is_numbered = owner is not None and owner.kind == "StatefulSet"
            return None if at is None or is_numbered else at - _EARLIER
        case Node(created_at=at):
            return None if at is None else at - _EARLIER
        case Launch():
            return found.seen.now - _EARLIER
        case NodePool():
            return None
        case unknown:
            assert_never(unknown)
