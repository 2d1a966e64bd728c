"""Reports nodes that are removed by choice: events, metrics and log lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dovetail import api
from dovetail.controllers.cache import WatchCache
from dovetail.controllers.dependencies import Dependencies
from dovetail.controllers.disruption.disrupted_nodes import DisruptedNode
from dovetail.decide.disrupt.emptiness import is_empty
from dovetail.decide.lifecycle.step import Event
from dovetail.decide.remarks import DISRUPTION_BLOCKED
from dovetail.model.plan import Disrupt, DisruptionReason
from dovetail.model.verdict import Blocked
from dovetail.observe.steps import count_disrupted, count_scores, snake_case
from dovetail.state.objects import claim_object

TERMINATING: Final = "DisruptionTerminating"
LAUNCHING: Final = "DisruptionLaunching"
WAITING: Final = "DisruptionWaitingReadiness"
CANDIDATE: Final = "ConsolidationCandidate"
REJECTED: Final = "ConsolidationRejected"
APPROVED: Final = "ConsolidationApproved"
DELETE: Final = "delete"
REPLACE: Final = "replace"


class DisruptionReporter:
    """Tells it."""

    def __init__(self, dependencies: Dependencies, cache: WatchCache) -> None:
        self._dependencies = dependencies
        self._cache = cache
        self._log = dependencies.log.named("disruption")

    def report_begin(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> None:
        """These nodes are being taken away."""
        labelled = metric_labels(disrupt)
        meters = self._dependencies.meters
        meters.voluntary_disruption_decisions_total.labels(**labelled).inc()
        for pool in sorted({claim_object(node.claim).node_pool for node in going}):
            meters.voluntary_disruption_decisions_by_nodepool_total.labels(
                nodepool=pool, **labelled
            ).inc()
        saved = disrupt.saving_nanousd / 1e9
        if disrupt.reason == DisruptionReason.UNDERUTILIZED:
            self._tell(
                going, CANDIDATE, f"Estimated saving of moving its pods: ${saved:.4f} an hour"
            )
        self._report_approval(disrupt, going)
        self._log.info(
            "disrupting node(s)",
            reason=labelled["reason"],
            decision=labelled["decision"],
            **{
                "disrupted-node-count": len(going),
                "replacement-node-count": len(disrupt.replacements),
                # Without those of capacity buffers, of whom nobody is disturbed.
                "pod-count": sum(self._cache.cluster.pod(pod) is not None for pod in disrupt.pods),
                "disrupted-nodes": [node.name for node in going],
                "replacement-nodes": [replacement.name for replacement in disrupt.replacements],
                "savings_per_hour": saved,
            },
        )

    def _report_approval(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> None:
        """What Balanced pools made of it: told of its node, or of each pool if there are more."""
        count_scores(self._dependencies.meters, disrupt.scores, is_approved=True)
        for score in disrupt.scores:
            message = (
                f"Approved: what it saves is {score.thousandths / 1000:.2f} of what it disturbs"
            )
            if len(disrupt.nodes) == 1:
                self._tell(going, APPROVED, message)
                continue
            pool = self._cache.pool(score.node_pool)
            if pool is not None:
                self._record_event("NodePool", pool.metadata, APPROVED, message)

    def report_deletion(self, disrupt: Disrupt, going: Sequence[DisruptedNode]) -> None:
        """The claims of these nodes were deleted, and draining begins."""
        self._tell(going, TERMINATING, f"Disrupting node: {disrupt.reason}")
        is_saving = disrupt.reason == DisruptionReason.UNDERUTILIZED
        for node in going:
            claim = claim_object(node.claim)
            pool = self._cache.pool(claim.node_pool) if is_saving else None
            count_disrupted(
                self._dependencies.meters,
                claim,
                disrupt.reason,
                n_pods=sum(not is_empty([pod]) for pod in self._cache.cluster.pods_on(node.name)),
                consolidation_policy=pool.spec.disruption.consolidation_policy if pool else "",
            )

    def report_wait(self, unlaunched: Iterable[str], starting: Iterable[str], reason: str) -> None:
        """These replacements are waited for."""
        for name in unlaunched:
            self._record_claim(name, LAUNCHING, f"Launching NodeClaim: {reason}")
        for name in starting:
            self._record_claim(name, WAITING, "Waiting on readiness to continue disruption")

    def report_delay(self, going: Sequence[DisruptedNode], blocked: Iterable[Blocked]) -> None:
        """These nodes may not go just now."""
        why = {verdict.node: verdict.message for verdict in blocked}
        for node in going:
            if node.name in why:
                self._tell((node,), DISRUPTION_BLOCKED, why[node.name])

    def report_rejection(self, disrupt: Disrupt, going: Sequence[DisruptedNode], why: str) -> None:
        """What was decided is not right any more."""
        self._dependencies.meters.voluntary_disruption_failed_validations_total.labels(
            consolidation_type=metric_labels(disrupt)["consolidation_type"]
        ).inc()
        if disrupt.reason != DisruptionReason.DRIFTED:
            self._tell(going, REJECTED, why)
        self._log.info(
            "disruption is not right any more", nodes=[node.name for node in going], why=why
        )

    def report_failure(self, disrupt: Disrupt, going: Iterable[DisruptedNode], why: str) -> None:
        """What was decided could not be done."""
        labelled = metric_labels(disrupt)
        self._dependencies.meters.voluntary_disruption_queue_failures_total.labels(**labelled).inc()
        names = [node.name for node in going]
        self._log.error("disrupting node failed", node=", ".join(names), error=why)

    def _tell(self, going: Iterable[DisruptedNode], reason: str, message: str) -> None:
        for node in going:
            for kind, meta in (("Node", node.node.metadata), ("NodeClaim", node.claim.metadata)):
                self._record_event(kind, meta, reason, message)

    def _record_claim(self, name: str, reason: str, message: str) -> None:
        claim = self._cache.claims.get(name)
        if claim is not None:
            self._record_event("NodeClaim", claim.metadata, reason, message)

    def _record_event(self, kind: str, meta: api.ObjectMeta, reason: str, message: str) -> None:
        self._dependencies.recorder.tell(Event(kind, meta.name, reason, message, uid=meta.uid))


def metric_labels(disrupt: Disrupt) -> dict[str, str]:
    """How metrics name a decision."""
    return {
        "decision": REPLACE if disrupt.replacements else DELETE,
        "reason": snake_case(disrupt.reason),
        "consolidation_type": _consolidation_type(disrupt),
    }


def _consolidation_type(disrupt: Disrupt) -> str:
    if disrupt.reason == DisruptionReason.UNDERUTILIZED:
        return "multi" if len(disrupt.nodes) > 1 else "single"
    return "empty" if disrupt.reason == DisruptionReason.EMPTY else ""
