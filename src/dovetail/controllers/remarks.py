"""What is said of a decision besides what it does? Which pods it was about, pools that can launch
nothing or may let nothing go, and preferences that may cost more than their owners know.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from dovetail.controllers.means import Means
from dovetail.decide.remarks import impeding_pods, pool_events
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.repeats import Repeats

_SHOWN: Final = 5
_TOLD_FOR: Final = timedelta(hours=24)


class Remarks:
    """Says it. The same pods, waiting for nothing new, are found once; a pod's preferences are
    remarked upon once a day.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._log = means.log.named("provisioner")
        self._repeats = Repeats()
        self._last: tuple[str, ...] = ()

    def log(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """In the log."""
        found = (*plan.binding_order, *(one.pod for one in plan.unschedulable))
        if found and found != self._last:
            self._log.info(
                "found provisionable pod(s)",
                Pods=shown(found),
                duration=f"{seconds:.3f}s",
                unschedulable=len(plan.unschedulable),
            )
        self._last = found
        self._log_preferences(snapshot, now)

    def tell(self, snapshot: Snapshot, plan: Plan, now: datetime) -> None:
        """To whoever looks at a pool."""
        if plan.n_pods or snapshot.nodes:
            for event in pool_events(snapshot, now):
                self._means.recorder.tell(event)

    def _log_preferences(self, snapshot: Snapshot, now: datetime) -> None:
        news = [
            pod for pod in impeding_pods(snapshot) if not self._repeats.is_recent((pod.uid,), now)
        ]
        if not news:
            return
        for pod in news:
            self._repeats.note((pod.uid,), until=now + _TOLD_FOR, now=now)
        self._log.warning(
            "preferred anti-affinity or ScheduleAnyway spread may keep nodes from being "
            "consolidated",
            Pods=shown([pod.key for pod in news]),
        )


def shown(names: Sequence[str]) -> str:
    """The first few of many."""
    more = len(names) - _SHOWN
    listed = ", ".join(names[:_SHOWN])
    return f"{listed} and {more} other(s)" if more > 0 else listed
