"""Records a decision in the metrics: how long it took, and which pods stay pending."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dovetail.clock import Timer
from dovetail.decide.lifecycle.conditions import DRIFTED, Status
from dovetail.model.node import Node
from dovetail.model.plan import DisruptionReason, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocker
from dovetail.observe.meters import Meters
from dovetail.observe.steps import count_scores, snake_case

PROVISIONER: Final = "provisioner"
# For each reason, how the reference calls its searches: here one decision makes all of them.
_SEARCHES: Final[Mapping[DisruptionReason, tuple[str, ...]]] = {
    DisruptionReason.EMPTY: ("empty",),
    DisruptionReason.DRIFTED: ("",),
    DisruptionReason.UNDERUTILIZED: ("multi", "single"),
}
# Blockers of nodes that might go as far as they themselves are concerned.
_OUTWEIGHED: Final = frozenset(
    {
        Blocker.NODE_POOL_BUDGET,
        Blocker.POD_STUCK,
        Blocker.NOTHING_TO_GAIN,
        Blocker.NOT_WORTH_IT,
        Blocker.SAVES_TOO_LITTLE,
    }
)


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

    def end_all(self, snapshot: Snapshot) -> None:
        """It is made, or it failed: nothing is under way any more."""
        self._under_way = None
        labels = (PROVISIONER, str(snapshot.revision))
        self._meters.scheduler_queue_depth.remove(*labels)
        self._meters.scheduler_unfinished_work_seconds.remove(*labels)

    def end(self, snapshot: Snapshot, plan: Plan, seconds: float) -> None:
        """It is made."""
        self.end_all(snapshot)
        meters = self._meters
        meters.scheduler_scheduling_duration_seconds.labels(PROVISIONER).observe(seconds)
        self._tell_disruptions(snapshot, plan, seconds)
        for verdict in plan.blocked:  # moves that are made are counted when they begin
            count_scores(meters, verdict.scores, is_approved=False)
        n_ignored = sum(not any(why.node_pool for why in pod.reasons) for pod in plan.unschedulable)
        meters.scheduler_ignored_pods_count.set(n_ignored)
        n_left = len(plan.unschedulable) - n_ignored
        meters.scheduler_unschedulable_pods_count.labels(PROVISIONER).set(n_left)

    def _tell_disruptions(self, snapshot: Snapshot, plan: Plan, seconds: float) -> None:
        timed = self._meters.voluntary_disruption_decision_evaluation_duration_seconds
        for reason in snapshot.policy.disrupts_for:
            for search in _SEARCHES[reason]:
                timed.labels(snake_case(reason), search).observe(seconds)
            eligible = self._meters.voluntary_disruption_eligible_nodes.labels(snake_case(reason))
            eligible.set(len(eligible_nodes(snapshot, plan, reason)))


def eligible_nodes(snapshot: Snapshot, plan: Plan, reason: DisruptionReason) -> set[str]:
    """The nodes that might go for this reason, whether or not they do."""
    going = {name for item in plan.disruptions if item.reason == reason for name in item.nodes}
    going |= {proposal.node for proposal in plan.proposals if proposal.reason == reason}
    if reason is DisruptionReason.EMPTY:
        return going
    drifted = {node.name for node in snapshot.nodes if _has_drifted(node)}
    weighed = {verdict.node for verdict in plan.blocked if verdict.reason in _OUTWEIGHED}
    empty = {item.node for item in plan.proposals if item.reason == DisruptionReason.EMPTY}
    if reason is DisruptionReason.DRIFTED:
        return going | (weighed & drifted)
    return going | (weighed - drifted - empty)


def _has_drifted(node: Node) -> bool:
    return any(item.type == DRIFTED and item.status == Status.TRUE for item in node.conditions)
