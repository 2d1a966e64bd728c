from __future__ import annotations

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.lifecycle import eviction
from dovetail.decide.lifecycle.eviction import EvictionAnswer, QueuedEviction
from dovetail.decide.lifecycle.step import (
    DeletePod,
    EnqueueEviction,
    EventType,
    EvictPod,
    ForgetEviction,
    RetryEviction,
    Step,
)
from dovetail.decide.lifecycle.timing import EVICTION_BACKOFF
from dovetail.model.pod import Pod
from tests.unit.decide.lifecycle.claims import BORN, MINUTE, NOW, SECOND, pod

POD = pod()
ENTRY = QueuedEviction("default/web", "uid-web", "n1")
FORGET = ForgetEviction("default/web", "uid-web")
KEPT = pod(annotations={labels.DO_NOT_DISRUPT: "true"})


def due(seconds: int) -> QueuedEviction:
    """The same, with a deadline in so many seconds."""
    return msgspec.structs.replace(ENTRY, deadline=NOW + seconds * SECOND)


def test_a_pod_that_may_leave_is_asked_to() -> None:
    """That very pod, by its uid."""
    assert eviction.step(ENTRY, POD, NOW) == Step(actions=(EvictPod("default/web", "uid-web"),))


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(None, id="it is gone"),
        pytest.param(pod(uid="another"), id="it is another by now"),
        pytest.param(pod(phase="Succeeded"), id="it has ended"),
        pytest.param(pod(deleting_at=NOW), id="it is on its way"),
    ],
)
def test_a_pod_that_leaves_by_itself_is_forgotten(one: Pod | None) -> None:
    """There is nothing to ask."""
    assert eviction.step(ENTRY, one, NOW) == Step(actions=(FORGET,))


def test_a_protected_pod_is_come_back_to() -> None:
    """Later each time: a tenth of a second, then twice that, up to ten seconds."""
    step = eviction.step(ENTRY, KEPT, NOW)
    assert step.actions == (RetryEviction("default/web", "uid-web", 1),)
    assert step.look_again_at == NOW + EVICTION_BACKOFF.first
    often = msgspec.structs.replace(ENTRY, n_failures=20)
    assert eviction.step(often, KEPT, NOW).look_again_at == NOW + 10 * SECOND


def test_a_pod_is_come_back_to_when_its_protection_ends() -> None:
    """Not ten seconds later."""
    kept = pod(annotations={labels.DO_NOT_DISRUPT: "62s"}, started_at=BORN)
    often = msgspec.structs.replace(ENTRY, n_failures=20)
    step = eviction.step(often, kept, NOW)
    assert step.look_again_at == NOW + 2 * SECOND
    assert [one.reason for one in step.events] == ["DoNotDisruptUntil"]


def test_a_pod_is_come_back_to_when_it_must_be_deleted() -> None:
    """Thirty seconds before the deadline, which is its grace period."""
    often = msgspec.structs.replace(due(33), n_failures=20)
    assert eviction.step(often, KEPT, NOW).look_again_at == NOW + 3 * SECOND


def test_a_deadline_overrides_whatever_protects_a_pod() -> None:
    """With what time is left; an event says so."""
    step = eviction.step(due(29), KEPT, NOW)
    assert step.actions == (DeletePod("default/web", "uid-web", 29), FORGET)
    assert [(one.kind, one.reason) for one in step.events] == [("Pod", "Disrupted")]


def test_a_pod_is_not_deleted_again_if_it_ends_no_sooner() -> None:
    """Past the deadline it has its one second already."""
    ending = pod(deleting_at=NOW + SECOND)
    assert eviction.step(due(-10), ending, NOW) == Step(actions=(FORGET,))
    slow = pod(deleting_at=NOW + MINUTE)
    assert eviction.step(due(-10), slow, NOW).actions == (
        DeletePod("default/web", "uid-web", 1),
        FORGET,
    )


@pytest.mark.parametrize(
    ("answer", "is_forgotten", "want_events"),
    [
        pytest.param(EvictionAnswer.EVICTED, True, [("Pod", "Evicted")], id="it goes"),
        pytest.param(EvictionAnswer.GONE, True, [], id="it was gone"),
        pytest.param(EvictionAnswer.REPLACED, True, [], id="it was another"),
        pytest.param(EvictionAnswer.BLOCKED, False, [("Node", "FailedDraining")], id="a budget"),
        pytest.param(EvictionAnswer.AMBIGUOUS, False, [("Node", "FailedDraining")], id="budgets"),
        pytest.param(EvictionAnswer.FAILED, False, [], id="the server failed"),
    ],
)
def test_the_answer_to_an_eviction_decides_what_follows(
    answer: EvictionAnswer,
    is_forgotten: bool,  # noqa: FBT001  a column of the table
    want_events: list[tuple[str, str]],
) -> None:
    """A pod that is gone is done with; one that a budget keeps is asked again later."""
    step = eviction.after_answer(ENTRY, POD, answer, NOW)
    want = (FORGET,) if is_forgotten else (RetryEviction("default/web", "uid-web", 1),)
    assert step.actions == want
    assert [(one.kind, one.reason) for one in step.events] == want_events
    assert (step.look_again_at is None) == is_forgotten


def test_an_eviction_says_what_it_was_for() -> None:
    """Or that somebody just wanted the node gone."""
    told = eviction.after_answer(ENTRY, POD, EvictionAnswer.EVICTED, NOW).events[0]
    assert told.message == "Evicted pod: Forceful Termination"
    blocked = eviction.after_answer(
        ENTRY, POD, EvictionAnswer.BLOCKED, NOW, "web-pdb says no"
    ).events
    assert blocked[0].type is EventType.WARNING
    assert "web-pdb says no" in blocked[0].message


def test_a_pod_keeps_the_earliest_deadline_it_was_given() -> None:
    """Whatever comes later cannot give it more time."""
    wanted = EnqueueEviction("default/web", "uid-web", "n1", NOW + MINUTE, "Drifted")
    first = eviction.queue_entry(None, wanted)
    assert first == QueuedEviction("default/web", "uid-web", "n1", NOW + MINUTE, "Drifted")
    later = msgspec.structs.replace(wanted, deadline=NOW + 2 * MINUTE)
    assert eviction.queue_entry(first, later) == first
    sooner = msgspec.structs.replace(wanted, deadline=NOW)
    assert eviction.queue_entry(first, sooner).deadline == NOW
    assert eviction.queue_entry(ENTRY, wanted).deadline == NOW + MINUTE


def test_a_pod_is_evicted_before_it_is_deleted_however_long_it_takes_to_end() -> None:
    """Until then only its budgets decide; from then on it has what is left of its grace period."""
    wanted = EnqueueEviction(
        "default/web", "uid-web", "n1", NOW + 2 * MINUTE, "Forceful", NOW + MINUTE
    )
    entry = eviction.queue_entry(None, wanted)
    spec = msgspec.structs.replace(POD.spec, termination_grace_seconds=600)
    slow = msgspec.structs.replace(POD, spec=spec)
    assert eviction.step(entry, slow, NOW).actions == (EvictPod("default/web", "uid-web"),)
    assert eviction.step(entry, slow, NOW + MINUTE).actions[0] == DeletePod(
        "default/web", "uid-web", 60
    )
    sooner = msgspec.structs.replace(wanted, deadline=NOW + MINUTE, patient_until=NOW)
    assert eviction.queue_entry(entry, sooner).patient_until == NOW
    assert eviction.queue_entry(eviction.queue_entry(entry, sooner), wanted).patient_until == NOW
