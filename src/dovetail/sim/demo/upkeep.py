"""Deletes events after an hour and jobs after a day, since a demo may run for weeks.

A control plane does so, too: its API server lets events expire, and jobs are cleaned up.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dovetail import api
from dovetail.clock import Clock, Timer
from dovetail.kube.errors import NotFoundError
from dovetail.kube.seam import Deletion, Kube, Ref, Scope

_EVERY: Final = timedelta(minutes=30)
_KEPT_FOR: Final = (
    (api.Kind("", "v1", "Event", "events", api.Object), timedelta(hours=1)),
    (api.KINDS["batch", "Job"], timedelta(days=1)),
)


async def forget_the_old(kube: Kube, clock: Clock, timer: Timer) -> None:
    """Until cancelled."""
    while True:
        await timer.sleep(_EVERY.total_seconds())
        for kind, kept_for in _KEPT_FOR:
            await _forget(kube, clock, kind, kept_for)


async def _forget(kube: Kube, clock: Clock, kind: api.Kind, kept_for: timedelta) -> None:
    page = await kube.list(Scope(kind))
    oldest = clock.now() - kept_for
    for raw in page.items:
        meta = api.decode(api.Object, raw).metadata
        if meta.creation_timestamp is None or meta.creation_timestamp > oldest:
            continue
        try:
            await kube.delete(Ref(kind, meta.name, meta.namespace), Deletion(uid=meta.uid))
        except NotFoundError:
            continue
