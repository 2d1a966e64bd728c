"""When could time alone change the answer? The moments at which something that is believed ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from dovetail.decide.census import census
from dovetail.decide.lifecycle.protection import protection
from dovetail.decide.nodes import leaving
from dovetail.decide.parting import turns_at
from dovetail.model.snapshot import Snapshot


def runs_out_at(snapshot: Snapshot, now: datetime) -> datetime | None:
    """The next moment at which a promise, a refusal or a pod's protection has run out, or at which
    the room of a pod that ends may be counted on, or not any more.
    """
    return min((moment for moment in _moments(snapshot, now) if moment > now), default=None)


def _moments(snapshot: Snapshot, now: datetime) -> Iterator[datetime]:
    for promise in snapshot.ledger.nominations:
        yield promise.until
    for refusal in snapshot.ledger.refusals:
        yield refusal.until
    where = census(snapshot.pods)
    if where.unbound:
        yield from turns_at(snapshot)
    by_node = where.by_node
    for node in leaving(snapshot):  # their pods are planned for once they are not protected
        for pod in by_node.get(node, ()):
            until = protection(pod, now).until
            if until is not None:
                yield until
