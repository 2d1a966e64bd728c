"""Each step that was carried out moves the metrics that the reference moves for it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from dovetail.decide.lifecycle import running, termination
from dovetail.decide.lifecycle.claim import advance
from dovetail.decide.lifecycle.eviction import EvictionAnswer, QueuedEviction
from dovetail.decide.lifecycle.step import DeleteClaim, Milestone, Step
from dovetail.decide.lifecycle.termination import TerminationView
from dovetail.model.claim import (
    ClaimObject,
    ClaimView,
    InstanceState,
    Launched,
    LaunchFailed,
    LaunchFailure,
    NodeObject,
)
from dovetail.model.node import Condition
from dovetail.model.pool import Budget, Disruption
from dovetail.observe.meters import Meters
from dovetail.observe.steps import (
    count_claim_step,
    count_deletions,
    count_disrupted,
    count_eviction,
    count_node_step,
    count_unhealthy,
    count_unpriced,
    tell_budgets,
)
from dovetail.testing.builders import node, node_pool, snapshot
from dovetail.testing.virtual_time import START
from tests.unit.observe.scraped import metered

HELD = ("karpenter.sh/termination",)
LABELS = {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/capacity-type": "spot",
    "topology.kubernetes.io/zone": "a",
}


def claim(**fields: object) -> ClaimObject:
    """A claim of the pool `default`."""
    given = {"name": "c1", "uid": "u1", "labels": LABELS, "finalizers": HELD, "created_at": START}
    return ClaimObject(**{**given, **fields})  # type: ignore[arg-type]  # a builder


def test_a_node_that_registers_is_counted_by_pool_and_zone() -> None:
    """Though its zone became known in the very same step."""
    young = claim(labels={"karpenter.sh/nodepool": "default"})
    joined = NodeObject("n1", uid="n", provider_id="p1")
    launched = Launched("p1", labels={"topology.kubernetes.io/zone": "b"})
    step = advance(ClaimView(young, (joined,), outcome=launched), START)
    assert Milestone.NODE_REGISTERED in step.milestones
    meters = Meters()
    count_claim_step(meters, young, step, START)
    assert metered(meters, "karpenter_nodes_created_total", nodepool="default", zone="b") == [1]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (LaunchFailure.INSUFFICIENT_CAPACITY, "insufficient_capacity"),
        (LaunchFailure.NODE_CLASS_NOT_READY, "nodeclass_not_ready"),
    ],
)
def test_a_claim_given_up_is_counted_as_disrupted(failure: LaunchFailure, reason: str) -> None:
    """With its pool, capacity type and how long it may take to go."""
    given_up = claim()
    step = advance(ClaimView(given_up, outcome=LaunchFailed(failure, "why")), START)
    meters = Meters()
    count_claim_step(meters, given_up, step, START)
    assert metered(
        meters,
        "karpenter_nodeclaims_disrupted_total",
        reason=reason,
        nodepool="default",
        capacity_type="spot",
        consolidation_policy="",
        termination_mode="graceful",
    ) == [1]


@pytest.mark.parametrize(
    ("grace", "mode"),
    [(None, "graceful"), (timedelta(minutes=1), "eventual"), (timedelta(0), "forceful")],
)
def test_the_grace_period_says_how_a_claim_goes(grace: timedelta | None, mode: str) -> None:
    """No period: as long as it takes; none left: at once."""
    old = claim(termination_grace_period=grace, expire_after=timedelta(hours=1))
    step = running.expiration_step(old, START + timedelta(hours=1))
    meters = Meters()
    count_claim_step(meters, old, step, START + timedelta(hours=1))
    name = "karpenter_nodeclaims_disrupted_total"
    assert metered(meters, name, reason="expired", termination_mode=mode) == [1]


def test_the_end_of_a_claim_and_its_instance_is_timed() -> None:
    """The claim from its deletion, the instance from the moment it was told to go."""
    going = claim(
        provider_id="p1",
        deleting_at=START,
        conditions=(
            Condition("InstanceTerminating", "True", changed_at=START + timedelta(seconds=20)),
        ),
    )
    step = advance(ClaimView(going, instance=InstanceState.GONE), START + timedelta(seconds=50))
    meters = Meters()
    count_claim_step(meters, going, step, START + timedelta(seconds=50))
    for name, want in (
        ("karpenter_nodeclaims_termination_duration_seconds_sum", 50),
        ("karpenter_nodeclaims_instance_termination_duration_seconds_sum", 30),
        ("karpenter_nodeclaims_terminated_total", 1),
    ):
        assert metered(meters, name, nodepool="default") == [want]
    assert metered(
        meters, "karpenter_nodeclaims_terminated_total", capacity_type="spot", zone="a"
    ) == [1]


def test_a_step_that_waits_moves_nothing() -> None:
    """Deleting a claim that nobody disrupts is no disruption."""
    meters = Meters()
    before = meters.text()
    count_claim_step(meters, claim(), Step(), START)
    assert meters.text() == before


def test_the_end_of_a_node_is_counted_and_timed() -> None:
    """From its deletion, and from its creation."""
    going = NodeObject(
        "n1",
        labels=LABELS,
        finalizers=HELD,
        created_at=START - timedelta(hours=3),
        deleting_at=START,
    )
    now = START + timedelta(seconds=90)
    step = termination.step(TerminationView(going), now)
    meters = Meters()
    count_node_step(meters, going, step, now)
    for name, want in (
        ("karpenter_nodes_terminated_total", 1),
        ("karpenter_nodes_termination_duration_seconds_sum", 90),
        ("karpenter_nodes_lifetime_duration_seconds_sum", 3 * 3600 + 90),
    ):
        assert metered(meters, name, nodepool="default") == [want]
    assert metered(meters, "karpenter_nodes_drained_total") == []


def test_a_drained_node_is_counted_once_it_is_drained() -> None:
    """When the step says so."""
    meters = Meters()
    drained = NodeObject("n1", labels=LABELS)
    count_node_step(meters, drained, Step(milestones=(Milestone.NODE_DRAINED,)), START)
    assert metered(meters, "karpenter_nodes_drained_total", nodepool="default") == [1]
    assert metered(meters, "karpenter_nodes_terminated_total") == []


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (EvictionAnswer.EVICTED, 201, "200"),
        (EvictionAnswer.GONE, 0, "404"),
        (EvictionAnswer.REPLACED, 0, "409"),
        (EvictionAnswer.BLOCKED, 0, "429"),
        (EvictionAnswer.AMBIGUOUS, 0, "500"),
        (EvictionAnswer.FAILED, 503, "503"),
    ],
)
def test_evictions_are_counted_by_the_answers_code(
    answer: EvictionAnswer, status: int, code: str
) -> None:
    """Only a pod that was evicted has been drained."""
    meters = Meters()
    entry = QueuedEviction("default/p1", "u1", "n1", reason="Drifted")
    count_eviction(meters, entry, answer, status)
    assert metered(meters, "karpenter_pods_eviction_requests_total", code=code) == [1]
    drained = metered(meters, "karpenter_pods_drained_total", reason="Drifted")
    assert drained == ([1] if answer is EvictionAnswer.EVICTED else [])


def test_a_request_that_got_no_answer_has_no_code() -> None:
    """It is not counted as an answer."""
    meters = Meters()
    entry = QueuedEviction("default/p1", "u1", "n1")
    count_eviction(meters, entry, EvictionAnswer.FAILED)
    assert metered(meters, "karpenter_pods_eviction_requests_total") == []


def test_a_consolidated_claim_says_by_which_policy_and_how_many_pods_it_moves() -> None:
    """Both counters carry the same labels, spelled as metrics spell them."""
    meters = Meters()
    count_disrupted(
        meters,
        claim(),
        "Underutilized",
        n_pods=7,
        consolidation_policy="WhenEmptyOrUnderutilized",
    )
    labelled = {
        "reason": "underutilized",
        "consolidation_policy": "when_empty_or_underutilized",
    }
    assert metered(meters, "karpenter_nodeclaims_disrupted_total", **labelled) == [1]
    assert metered(meters, "karpenter_pods_disruption_initiated_total", **labelled) == [7]


def test_garbage_is_counted_for_each_claim() -> None:
    """A step about many claims counts those it deletes."""
    meters = Meters()
    step = Step(actions=(DeleteClaim("c1", "u1", "garbage_collected"), DeleteClaim("c2", "u2")))
    count_deletions(meters, {"c1": claim(), "c2": claim(name="c2")}, step)
    name = "karpenter_nodeclaims_disrupted_total"
    assert metered(meters, name) == metered(meters, name, reason="garbage_collected") == [1]


def test_a_broken_node_is_counted_by_its_condition_and_image() -> None:
    """The condition is spelled as metrics spell it."""
    meters = Meters()
    count_unhealthy(meters, claim(image_id="ami-1"), "MemoryPressure")
    name = "karpenter_nodeclaims_unhealthy_disrupted_total"
    assert metered(meters, name, condition="memory_pressure", image_id="ami-1") == [1]


def test_budgets_of_pools_that_are_gone_are_forgotten() -> None:
    """What a pool allows, and what counts against it, for each reason."""
    pools = (
        node_pool("a"),
        node_pool("b"),
    )
    several = tuple(
        msgspec.structs.replace(pool, disruption=Disruption(budgets=(Budget("3"),)))
        for pool in pools
    )
    nodes = [node(f"n{number}", pool="a", is_ready=number != 0) for number in range(5)]
    meters = Meters()
    tell_budgets(meters, snapshot(nodes=nodes, node_pools=several), START)
    allowed, used = (
        "karpenter_nodepools_allowed_disruptions",
        "karpenter_nodepools_nodes_consuming_budgets",
    )
    assert metered(meters, allowed, reason="Empty", nodepool="a") == [3]
    assert metered(meters, used, reason="Drifted", nodepool="a") == [1]
    assert metered(meters, used, reason="Underutilized", nodepool="b") == [0]
    tell_budgets(meters, snapshot(nodes=nodes, node_pools=several[1:]), START)
    assert metered(meters, allowed, nodepool="a") == metered(meters, used, nodepool="a") == []


def test_a_node_without_a_known_price_is_counted_once() -> None:
    """A claim that has no type yet is not an error."""
    meters = Meters()
    nodes = (node("n1", pool="default", type="exotic"), node("n2", pool="default"))
    cluster = snapshot(nodes=nodes)
    known = count_unpriced(meters, cluster, frozenset())
    assert count_unpriced(meters, cluster, known) == known == {"n1"}
    name = "karpenter_nodepools_cost_tracker_errors_total"
    assert metered(meters, name, nodepool="default") == [1]
