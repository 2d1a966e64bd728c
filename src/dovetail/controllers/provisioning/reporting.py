"""Reports decisions: which pods they were about, why others stay pending, and why nodes stay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.decide.lifecycle.step import DEDUPE_FOR, Event, EventType
from dovetail.decide.remarks import DISRUPTION_BLOCKED, impeding_pods, pool_events
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.observe.events import Repeats

FAILED_SCHEDULING: Final = "FailedScheduling"
UNCONSOLIDATABLE: Final = "Unconsolidatable"
_UNCONSOLIDATABLE_FOR: Final = timedelta(minutes=15)
_FAILED_FOR: Final = timedelta(minutes=5)
# What is said of nodes that could go if only that saved anything, or their pool wanted it.
_FOR_GOOD: Final = frozenset(
    {
        Blocker.NEVER,
        Blocker.WHEN_EMPTY,
        Blocker.UNPRICED,
        Blocker.NOTHING_TO_GAIN,
        Blocker.NOT_WORTH_IT,
        Blocker.SAVES_TOO_LITTLE,
    }
)
_SHOWN: Final = 5
_TOLD_FOR: Final = timedelta(hours=24)


class DecisionReporter:
    """Writes logs and events about decisions. The same pending pods are logged once, and the
    preferences of a pod once a day.
    """

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("provisioner")
        self._repeats = Repeats()
        self._last: tuple[str, ...] = ()

    def log(self, snapshot: Snapshot, plan: Plan, now: datetime, seconds: float) -> None:
        """In the log."""
        pods = (*plan.binding_order, *(verdict.pod for verdict in plan.unschedulable))
        if pods and pods != self._last:
            self._log.info(
                "found provisionable pod(s)",
                Pods=first_names(pods),
                duration=f"{seconds:.3f}s",
                unschedulable=len(plan.unschedulable),
            )
        self._last = pods
        self._log_preferences(snapshot, now)

    def tell(self, snapshot: Snapshot, plan: Plan, now: datetime) -> None:
        """What is done about it: in the log, and in events of pods, nodes and pools."""
        self._log_launches(plan)
        self._report_pending(plan)
        self._report_blocked(plan)
        if plan.n_pods or snapshot.nodes:
            for event in pool_events(snapshot, now):
                self._dependencies.recorder.tell(event)

    def _log_launches(self, plan: Plan) -> None:
        """In the log: what is launched, and for which pods."""
        if not plan.launches:
            return
        n_pods = sum(len(launch.pods) for launch in plan.launches)
        self._log.info(
            "computed new nodeclaim(s) to fit pod(s)",
            nodeclaims=len(plan.launches),
            pods=n_pods,
            price_per_hour=plan.cost.new_nanousd / 1e9,
            lower_bound_per_hour=plan.cost.lower_bound_nanousd / 1e9,
        )
        # One line for a whole plan: lines that come thick and fast are sampled.
        places = {launch.name: list(launch.pods) for launch in plan.launches}
        self._log.debug("planned pods", places=places)

    def _report_blocked(self, plan: Plan) -> None:
        """Say of each node that could go why it stays, to whoever looks at it or at its claim."""
        for verdict in plan.blocked:
            reason, told_for = DISRUPTION_BLOCKED, DEDUPE_FOR
            if verdict.reason in _FOR_GOOD:
                reason, told_for = UNCONSOLIDATABLE, _UNCONSOLIDATABLE_FOR
            node = self._cache.nodes.get(verdict.node)
            claims = () if node is None else self._cache.claims.under(node.spec.provider_id)
            subjects = [("Node", node.metadata)] if node is not None else []
            subjects += [("NodeClaim", claim.metadata) for claim in claims]
            for kind, meta in subjects:
                event = Event(kind, meta.name, reason, verdict.message, uid=meta.uid)
                # What keeps it now is news, though something else did a moment ago.
                dedupe = (str(verdict.reason),)
                self._tell(msgspec.structs.replace(event, dedupe=dedupe, dedupe_for=told_for))

    def _report_pending(self, plan: Plan) -> None:
        for item in plan.unschedulable:
            pod = self._cache.cluster.pod(item.pod)
            if pod is None:
                continue
            message = f"{item.summary} What would help: {item.fix}." if item.fix else item.summary
            self._tell(
                Event(
                    "Pod",
                    item.pod,
                    FAILED_SCHEDULING,
                    message,
                    type=EventType.WARNING,
                    uid=pod.uid,
                    dedupe_for=_FAILED_FOR,
                )
            )

    def _tell(self, event: Event) -> None:
        self._dependencies.recorder.tell(event)

    def _log_preferences(self, snapshot: Snapshot, now: datetime) -> None:
        reporter = [
            pod for pod in impeding_pods(snapshot) if not self._repeats.is_recent((pod.uid,), now)
        ]
        if not reporter:
            return
        for pod in reporter:
            self._repeats.note((pod.uid,), until=now + _TOLD_FOR, now=now)
        self._log.warning(
            "preferred anti-affinity or ScheduleAnyway spread may keep nodes from being "
            "consolidated",
            Pods=first_names([pod.key for pod in reporter]),
        )


def first_names(names: Sequence[str]) -> str:
    """The first few of many."""
    more = len(names) - _SHOWN
    listed = ", ".join(names[:_SHOWN])
    return f"{listed} and {more} other(s)" if more > 0 else listed
