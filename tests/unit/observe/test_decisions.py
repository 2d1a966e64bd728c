"""What a decision moves at the next scrape."""

from __future__ import annotations

from datetime import UTC, datetime

from dovetail.model.ledger import Proposal
from dovetail.model.node import Condition, Node
from dovetail.model.plan import Disrupt, DisruptionReason, Plan
from dovetail.model.policy import Policy
from dovetail.model.snapshot import Snapshot
from dovetail.model.verdict import Blocked, Blocker, Score
from dovetail.observe.decisions import DecisionMeters, eligible_nodes
from dovetail.observe.meters import Meters
from dovetail.testing.virtual_time import VirtualTime
from tests.unit.observe.scraped import metered

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Policy(disrupts_for=tuple(DisruptionReason))


def test_nodes_that_might_go_are_counted_by_reason() -> None:
    """Whether they go, wait to be confirmed, or are kept by something other than themselves."""
    drifted = (Condition("Drifted", "True"),)
    nodes = [Node(name) for name in ("empty", "saves", "dear", "kept", "protected")]
    nodes += [Node(name, conditions=drifted) for name in ("old", "stuck", "guarded")]
    plan = Plan(
        disruptions=(Disrupt("Drifted", ("old",)),),
        proposals=(Proposal("Empty", "empty", NOW), Proposal("Underutilized", "saves", NOW)),
        blocked=(
            Blocked("dear", Blocker.NOTHING_TO_GAIN, ""),
            Blocked("kept", Blocker.NODE_POOL_BUDGET, ""),
            Blocked("protected", Blocker.NODE_PROTECTED, ""),
            Blocked("stuck", Blocker.POD_STUCK, ""),
            Blocked("guarded", Blocker.POD_PROTECTED, ""),
        ),
    )
    snapshot = Snapshot(nodes=tuple(nodes), policy=ALL)
    found = {reason: eligible_nodes(snapshot, plan, reason) for reason in DisruptionReason}
    assert found == {
        DisruptionReason.EMPTY: {"empty"},
        DisruptionReason.DRIFTED: {"old", "stuck"},
        DisruptionReason.UNDERUTILIZED: {"saves", "dear", "kept"},
    }


def test_every_search_for_nodes_to_go_is_timed() -> None:
    """Under the reference's names for it, for the reasons that are looked for at all."""
    meters = Meters()
    told = DecisionMeters(meters, VirtualTime())
    told.end(Snapshot(policy=ALL), Plan(), 0.25)
    name = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_sum"
    for reason, search in (
        ("empty", "empty"),
        ("drifted", ""),
        ("underutilized", "multi"),
        ("underutilized", "single"),
    ):
        assert metered(meters, name, reason=reason, consolidation_type=search) == [0.25]
    none = Meters()
    DecisionMeters(none, VirtualTime()).end(Snapshot(policy=Policy(disrupts_for=())), Plan(), 1.0)
    assert metered(none, name) == []


def test_moves_that_balanced_pools_reject_are_counted_with_their_scores() -> None:
    """Others were not weighed."""
    meters = Meters()
    said = (Score("even", 250), Score("other", 1500))
    plan = Plan(
        blocked=(
            Blocked("dear", Blocker.NOT_WORTH_IT, "", scores=said),
            Blocked("kept", Blocker.NODE_POOL_BUDGET, ""),
        )
    )
    DecisionMeters(meters, VirtualTime()).end(Snapshot(policy=ALL), plan, 0.25)
    for pool, want in (("even", 0.25), ("other", 1.5)):
        labelled = {"decision": "rejected", "nodepool": pool, "policy": "balanced"}
        assert metered(meters, "karpenter_consolidation_moves_total", **labelled) == [1]
        assert metered(meters, "karpenter_consolidation_score_sum", **labelled) == [want]
