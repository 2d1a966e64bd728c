"""What does a decision move at the next scrape? How long it took, and what it left waiting."""

from __future__ import annotations

from typing import Final

from dovetail.clock import Timer
from dovetail.model.plan import Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.meters import Meters

PROVISIONER: Final = "provisioner"
_EMPTY: Final = ("empty", "empty")  # the reason, and how the reference calls the search for it


class DecisionMeters:
    """Told when a decision begins and when it is made."""

    def __init__(self, meters: Meters, timer: Timer) -> None:
        self._meters = meters
        self._timer = timer
        self._under_way: tuple[tuple[str, str], float] | None = None  # labels, and since when

    def begin(self, snapshot: Snapshot) -> None:
        """A decision is being made about so many pods."""
        n_waiting = sum(not pod.node_name for pod in snapshot.pods)
        labels = (PROVISIONER, str(snapshot.revision))
        self._meters.scheduler_queue_depth.labels(*labels).set(n_waiting)
        self._under_way = (labels, self._timer.elapsed_seconds())
        self.look()

    def look(self) -> None:
        """Somebody wants to know how long a decision that is under way has taken."""
        if self._under_way is not None:
            labels, since = self._under_way
            spent = self._timer.elapsed_seconds() - since
            self._meters.scheduler_unfinished_work_seconds.labels(*labels).set(spent)

    def over(self, snapshot: Snapshot) -> None:
        """It is made, or it failed: nothing is under way any more."""
        self._under_way = None
        labels = (PROVISIONER, str(snapshot.revision))
        self._meters.scheduler_queue_depth.remove(*labels)
        self._meters.scheduler_unfinished_work_seconds.remove(*labels)

    def end(self, snapshot: Snapshot, plan: Plan, seconds: float) -> None:
        """It is made."""
        self.over(snapshot)
        meters = self._meters
        meters.scheduler_scheduling_duration_seconds.labels(PROVISIONER).observe(seconds)
        meters.voluntary_disruption_decision_evaluation_duration_seconds.labels(*_EMPTY).observe(
            seconds
        )
        n_ignored = sum(not any(why.node_pool for why in one.reasons) for one in plan.unschedulable)
        meters.scheduler_ignored_pods_count.set(n_ignored)
        n_left = len(plan.unschedulable) - n_ignored
        meters.scheduler_unschedulable_pods_count.labels(PROVISIONER).set(n_left)
        meters.voluntary_disruption_eligible_nodes.labels(_EMPTY[0]).set(len(plan.proposals))
