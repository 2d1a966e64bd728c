from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import termination
from dovetail.decide.lifecycle.conditions import (
    DISRUPTION_REASON,
    DRAINED,
    INSTANCE_TERMINATING,
    VOLUMES_DETACHED,
    SetCondition,
    Status,
    conditions_of_claim,
    hold,
    rfc3339,
    wait,
)
from dovetail.decide.lifecycle.step import (
    STAY,
    DeleteClaim,
    DeleteInstance,
    EnqueueEviction,
    Event,
    Milestone,
    NodePatch,
    Step,
    claim_with,
    node_after,
)
from dovetail.decide.lifecycle.termination import TerminationView
from dovetail.model.claim import Attachment, ClaimObject, InstanceState, NodeObject
from dovetail.model.taints import Taint
from tests.unit.decide.lifecycle.claims import (
    BORN,
    DAEMON,
    MINUTE,
    NOW,
    PROVIDER_ID,
    SECOND,
    TOLERATES_ALL,
    initialized,
    node,
    pod,
)

GONE = InstanceState.GONE
DISRUPTED = Taint("karpenter.sh/disrupted", "", "NoSchedule")
FENCED = node(
    deleting_at=BORN,
    finalizers=(labels.TERMINATION_FINALIZER,),
    taints=(DISRUPTED,),
    labels={"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"},
)
RELEASED = Step(nodes=(NodePatch("n1", finalizers=()),), milestones=(Milestone.NODE_TERMINATED,))
CLAIM = initialized(deleting_at=BORN)
DRAINED_CLAIM = initialized(hold(DRAINED), deleting_at=BORN)
VOLUME = Attachment("csi-1", "pv-1")


def seen(one: ClaimObject | None = CLAIM, **fields: object) -> TerminationView:
    """A Node that is being deleted."""
    bare = TerminationView(FENCED, claims=() if one is None else (one,))
    return msgspec.structs.replace(bare, **fields)


def due(one: ClaimObject, deadline: datetime) -> ClaimObject:
    """The claim with a deadline."""
    stamp = {labels.TERMINATION_TIMESTAMP: rfc3339(deadline)}
    return msgspec.structs.replace(one, annotations=stamp)


def told(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    """What is told of whom."""
    return [(one.kind, one.reason) for one in events]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(node(finalizers=FENCED.finalizers), id="not being deleted"),
        pytest.param(node(deleting_at=BORN), id="not ours to hold"),
    ],
)
def test_only_deleted_nodes_that_we_hold_are_terminated(one: NodeObject) -> None:
    """Nothing is to be done for the others."""
    assert termination.step(TerminationView(one), NOW) == STAY


def test_a_node_that_goes_takes_its_claim_along() -> None:
    """A person may delete either; no disruption is counted for it."""
    step = termination.step(seen(initialized()), NOW)
    assert step.actions == (DeleteClaim("one", "uid-1"),)


def test_a_node_whose_instance_is_gone_is_let_go_at_once() -> None:
    """Nothing is left to drain: only while the Node is ready is there somebody to drain it."""
    broken = msgspec.structs.replace(FENCED, conditions=())
    assert termination.asks_cloud(broken)
    assert not termination.asks_cloud(FENCED)
    assert termination.step(seen(node=broken, pods=(pod(),), instance=GONE), NOW) == RELEASED
    assert termination.step(seen(pods=(pod(),), instance=GONE), NOW) != RELEASED
    assert termination.step(seen(node=broken, pods=(pod(),)), NOW).actions != ()


def test_a_node_that_goes_is_fenced_off() -> None:
    """No pod comes to it and no load balancer sends to it."""
    bare = node(
        deleting_at=BORN,
        finalizers=(labels.TERMINATION_FINALIZER,),
        taints=(Taint("own"), Taint("karpenter.sh/disrupted", "", "NoExecute")),
    )
    after = node_after(bare, termination.step(seen(node=bare), NOW).nodes)
    assert after.taints == (Taint("own"), DISRUPTED)
    assert after.labels == FENCED.labels
    assert termination.step(seen(node=after), NOW).nodes == ()


def test_pods_are_sent_away_tier_by_tier() -> None:
    """The node says that it waits, and is looked at every second."""
    waiting = seen(pods=(pod("a"), pod("d", owner=DAEMON), pod("t", tolerations=TOLERATES_ALL)))
    step = termination.step(waiting, NOW)
    assert step.conditions == (wait(DRAINED, "Draining"),)
    assert step.actions == (
        EnqueueEviction("default/a", "uid-a", "n1", None, "Forceful Termination"),
    )
    assert told(step.events) == [("Node", "FailedDraining")]
    assert "2 pods" in step.events[0].message
    assert step.look_again_at == NOW + SECOND


def test_pods_are_told_what_the_disruption_was_for() -> None:
    """And by when they must be gone."""
    why = SetCondition(DISRUPTION_REASON, Status.TRUE, "Drifted")
    one = due(initialized(why, deleting_at=BORN), NOW + MINUTE)
    step = termination.step(seen(one, pods=(pod("a"),)), NOW)
    assert step.actions == (
        EnqueueEviction("default/a", "uid-a", "n1", NOW + MINUTE, "Drifted", NOW),
    )
    assert told(step.events)[0] == ("Node", "TerminationGracePeriodExpiring")


def test_a_node_counts_as_drained_once_it_was_empty_for_a_moment() -> None:
    """Five seconds, so that pods which were about to come are seen."""
    step = termination.step(seen(), NOW)
    assert step == Step(conditions=(wait(DRAINED, "Draining"),), look_again_at=NOW + 5 * SECOND)
    waiting = claim_with(CLAIM, step, NOW)
    soon = termination.step(seen(waiting), NOW + 4 * SECOND)
    assert soon == Step(look_again_at=NOW + 5 * SECOND)
    done = termination.step(seen(waiting), NOW + 5 * SECOND)
    assert done.conditions[:2] == (hold(DRAINED), hold(VOLUMES_DETACHED))
    assert Milestone.NODE_DRAINED in done.milestones


def test_a_drain_does_not_wait_for_a_clock_that_was_set_back() -> None:
    """What is said to have begun in an hour began before the clock was set."""
    waiting = claim_with(CLAIM, termination.step(seen(), NOW), NOW)
    step = termination.step(seen(waiting), NOW - 60 * MINUTE)
    assert Milestone.NODE_DRAINED in step.milestones


def test_a_pod_that_comes_late_makes_the_node_drain_again() -> None:
    """It was drained, and is not any more."""
    step = termination.step(seen(DRAINED_CLAIM, pods=(pod(),)), NOW)
    assert step.conditions == (wait(DRAINED, "Draining"),)


def test_volumes_are_waited_for() -> None:
    """Else a pod's next node could not attach them."""
    step = termination.step(seen(DRAINED_CLAIM, attachments=(VOLUME,)), NOW)
    said = conditions_of_claim(DRAINED_CLAIM, NOW).after(step.conditions, NOW)
    found = said.get(VOLUMES_DETACHED)
    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "AwaitingVolumeDetachment")
    assert told(step.events) == [("Node", "AwaitingVolumeDetachment")]
    assert step.look_again_at == NOW + SECOND
    assert step.actions == ()


def test_volumes_are_not_waited_for_past_the_deadline() -> None:
    """The node goes with them."""
    one = due(DRAINED_CLAIM, NOW - SECOND)
    step = termination.step(seen(one, attachments=(VOLUME,)), NOW)
    change = step.conditions[0]
    assert isinstance(change, SetCondition)
    assert (change.status, change.reason) == ("False", "TerminationGracePeriodElapsed")
    assert step.actions == (DeleteInstance(PROVIDER_ID, "one"),)


def test_volumes_of_pods_that_stay_hold_nothing_up() -> None:
    """They never would be detached."""
    staying = pod("s", tolerations=TOLERATES_ALL)
    step = termination.step(
        seen(
            DRAINED_CLAIM,
            pods=(staying,),
            attachments=(VOLUME,),
            volumes_by_pod={staying.key: ("pv-1",)},
        ),
        NOW,
    )
    assert step.conditions[0] == hold(VOLUMES_DETACHED)


def test_then_the_instance_goes_and_is_asked_for_until_it_is_gone() -> None:
    """Every five seconds; then the Node is let go."""
    step = termination.step(seen(DRAINED_CLAIM), NOW)
    assert step == Step(
        conditions=(hold(VOLUMES_DETACHED), hold(INSTANCE_TERMINATING)),
        actions=(DeleteInstance(PROVIDER_ID, "one"),),
        look_again_at=NOW + 5 * SECOND,
    )
    done = termination.step(seen(DRAINED_CLAIM, instance=GONE), NOW)
    assert done == Step(conditions=(hold(VOLUMES_DETACHED),)).then(RELEASED)


@pytest.mark.parametrize("claims", [(), (CLAIM, DRAINED_CLAIM)], ids=["none", "two"])
def test_a_node_without_a_clear_claim_is_drained_all_the_same(
    claims: tuple[ClaimObject, ...],
) -> None:
    """Nothing is said of any claim, and no instance is ended."""
    waiting = seen(claims=claims, pods=(pod("a"),), attachments=(VOLUME,))
    draining = termination.step(waiting, NOW)
    assert [type(one) for one in draining.actions] == [EnqueueEviction]
    assert draining.conditions == ()
    detaching = termination.step(msgspec.structs.replace(waiting, pods=()), NOW)
    assert (detaching.conditions, told(detaching.events)) == (
        (),
        [("Node", "AwaitingVolumeDetachment")],
    )
    assert termination.step(seen(claims=claims), NOW) == RELEASED
