from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import labels
from dovetail.decide.lifecycle.draining import (
    blocking_attachments,
    delete_at,
    grace_seconds,
    is_drainable,
    is_evictable,
    is_waiting,
    leaving_next,
    must_be_deleted,
    patient_until,
    tier,
)
from dovetail.model.claim import Attachment, ClaimObject
from dovetail.model.pod import Pod
from dovetail.model.taints import Toleration
from tests.unit.decide.lifecycle.claims import (
    DAEMON,
    MINUTE,
    MIRROR,
    NOW,
    SECOND,
    TOLERATES_ALL,
    pod,
)

KEPT = {labels.DO_NOT_DISRUPT: "true"}
CRITICAL = "system-node-critical"
PLAIN = pod("plain")
DAEMON_POD = pod("daemon", owner=DAEMON)
CRITICAL_POD = pod("critical", priority_class="system-cluster-critical")
CRITICAL_DAEMON = pod("critical-daemon", priority_class=CRITICAL, owner=DAEMON)
ALL = (CRITICAL_DAEMON, CRITICAL_POD, DAEMON_POD, PLAIN)


@pytest.mark.parametrize(
    ("one", "want"),
    [  # drainable, waited for, evictable
        pytest.param(PLAIN, (True, True, True), id="an ordinary pod"),
        pytest.param(pod(annotations=KEPT), (True, True, False), id="a protected pod stalls"),
        pytest.param(pod(phase="Failed"), (True, False, False), id="an ended pod"),
        pytest.param(pod(deleting_at=NOW), (True, True, False), id="a pod on its way out"),
        pytest.param(
            pod(deleting_at=NOW - MINUTE - SECOND), (False, False, False), id="a pod that is stuck"
        ),
        pytest.param(pod(deleting_at=NOW - MINUTE), (True, True, False), id="not stuck yet"),
        pytest.param(pod(owner=MIRROR), (False, False, False), id="a static pod"),
        pytest.param(pod(tolerations=TOLERATES_ALL), (False, False, False), id="it means to stay"),
        pytest.param(
            pod(tolerations=(Toleration(labels.DISRUPTED_TAINT, "Exists", "", "NoSchedule"),)),
            (False, False, False),
            id="it names the taint",
        ),
        pytest.param(
            pod(tolerations=(Toleration(labels.DISRUPTED_TAINT, "Exists", "", "NoExecute"),)),
            (True, True, True),
            id="it names another effect",
        ),
    ],
)
def test_some_pods_leave_and_some_stay(one: Pod, want: tuple[bool, bool, bool]) -> None:
    """Static pods, those that tolerate the drain and those that are stuck are not waited for."""
    assert (is_drainable(one, NOW), is_waiting(one, NOW), is_evictable(one, NOW)) == want


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param(ALL, ("plain",), id="ordinary pods first"),
        pytest.param(ALL[:3], ("daemon",), id="then daemons"),
        pytest.param(ALL[:2], ("critical",), id="then critical pods"),
        pytest.param(ALL[:1], ("critical-daemon",), id="critical daemons last"),
        pytest.param((), (), id="nobody is left"),
        pytest.param(
            (DAEMON_POD, pod("kept", annotations=KEPT)), ("kept",), id="a protected pod holds up"
        ),
        pytest.param(
            (DAEMON_POD, pod("going", deleting_at=NOW)), ("going",), id="and so does one that goes"
        ),
    ],
)
def test_pods_leave_in_tiers(pods: tuple[Pod, ...], want: tuple[str, ...]) -> None:
    """A tier begins when the one before is gone."""
    assert tuple(one.name for one in leaving_next(pods, NOW)) == want


def test_both_critical_classes_are_critical() -> None:
    """And nothing else is, whatever its number."""
    assert [tier(pod(priority_class=name)) for name in ("", CRITICAL, "mine")] == [0, 2, 0]


def test_what_would_miss_the_deadline_is_deleted_early_whatever_its_tier() -> None:
    """A pod gets its whole grace period before the deadline, and no more."""
    deadline = NOW + 60 * SECOND
    slow = pod("slow", priority_class=CRITICAL, termination_grace_seconds=90)
    assert [one.name for one in leaving_next((*ALL, slow), NOW, deadline)] == ["slow", "plain"]
    assert delete_at(slow, deadline) == NOW - 30 * SECOND
    assert delete_at(PLAIN, deadline) == NOW + 30 * SECOND
    assert not must_be_deleted(PLAIN, NOW + 29 * SECOND, deadline)
    assert must_be_deleted(PLAIN, NOW + 30 * SECOND, deadline)
    assert must_be_deleted(PLAIN, NOW + 31 * SECOND, deadline)
    assert not must_be_deleted(PLAIN, NOW + 1000 * MINUTE, None)


def test_a_pod_that_would_end_after_the_deadline_is_deleted_again() -> None:
    """Somebody gave it more time than there is."""
    late = pod(deleting_at=NOW + 2 * MINUTE, termination_grace_seconds=1)
    assert must_be_deleted(late, NOW, NOW + MINUTE)
    assert not must_be_deleted(late, NOW, NOW + 3 * MINUTE)


@pytest.mark.parametrize(
    ("deadline", "want"),
    [
        pytest.param(NOW + timedelta(seconds=29.9), 29, id="what is left, in whole seconds"),
        pytest.param(NOW + timedelta(seconds=0.4), 1, id="a second at least"),
        pytest.param(NOW - MINUTE, 1, id="even too late"),
    ],
)
def test_a_pod_that_is_deleted_has_what_time_there_is(deadline: datetime, want: int) -> None:
    """Never none: that would leave its end unknown."""
    assert grace_seconds(NOW, deadline) == want


def test_volumes_of_pods_that_stay_are_not_waited_for() -> None:
    """Nor are attachments without a PersistentVolume."""
    staying = pod("staying", tolerations=TOLERATES_ALL)
    attachments = (
        Attachment("b", "pv-gone"),
        Attachment("a", "pv-plain"),
        Attachment("c", "pv-staying"),
        Attachment("d"),
    )
    volumes = {staying.key: ("pv-staying",), PLAIN.key: ("pv-plain",)}
    held = blocking_attachments(attachments, (staying, PLAIN), volumes, NOW)
    assert [one.name for one in held] == ["a", "b"]


PODS = st.lists(
    st.builds(
        lambda name, daemon, critical, kept, grace: pod(
            name,
            owner=DAEMON if daemon else None,
            priority_class=CRITICAL if critical else "",
            annotations=KEPT if kept else {},
            termination_grace_seconds=grace,
        ),
        st.text("abc", min_size=1, max_size=4),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.integers(0, 120),
    ),
    max_size=8,
    unique_by=lambda one: one.key,
)


@given(PODS, st.integers(-60, 180))
def test_somebody_leaves_as_long_as_anybody_waits(pods: list[Pod], seconds: int) -> None:
    """And never one of a later tier before its time, unless the deadline demands it."""
    deadline = NOW + seconds * SECOND
    leaving = leaving_next(pods, NOW, deadline)
    assert bool(leaving) == any(is_waiting(one, NOW) for one in pods)
    assert leaving == leaving_next(list(reversed(pods)), NOW, deadline)
    graceful = [one for one in leaving if not must_be_deleted(one, NOW, deadline)]
    left = [one for one in pods if one not in leaving]
    assert all(tier(one) < tier(other) for one in graceful for other in left)
    assert not any(must_be_deleted(one, NOW, deadline) for one in left)


@pytest.mark.parametrize(
    ("grace", "want"),
    [
        pytest.param(None, MINUTE, id="its machine goes: half of the time that it has"),
        pytest.param(
            5 * MINUTE, MINUTE, id="its machine goes before the claim's own grace is over"
        ),
        pytest.param(2 * MINUTE, None, id="its claim asks for no more"),
    ],
)
def test_budgets_hold_for_half_of_the_time_that_a_machine_has(
    grace: timedelta | None, want: timedelta | None
) -> None:
    """However long its pods take to end. Where a claim's own grace period is the limit, a pod with
    a longer one is deleted at once.
    """
    claim = ClaimObject("one", deleting_at=NOW, termination_grace_period=grace)
    until = patient_until(claim, NOW + 2 * MINUTE)
    assert until == (None if want is None else NOW + want)
    slow = msgspec.structs.replace(
        PLAIN, spec=msgspec.structs.replace(PLAIN.spec, termination_grace_seconds=600)
    )
    assert must_be_deleted(slow, NOW, NOW + 2 * MINUTE, until) == (want is None)
    assert must_be_deleted(slow, NOW + MINUTE, NOW + 2 * MINUTE, until)
    assert not must_be_deleted(PLAIN, NOW + MINUTE, NOW + 2 * MINUTE, until)


def test_without_a_deadline_there_is_nothing_to_be_patient_for() -> None:
    """Nor for a claim that stands."""
    deleted = ClaimObject("one", deleting_at=NOW)
    assert patient_until(deleted, None) is None
    assert patient_until(ClaimObject("one"), NOW) is None
    assert patient_until(None, NOW) is None
