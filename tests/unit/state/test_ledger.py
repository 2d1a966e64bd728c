"""What the live memory keeps between decisions: proposals, departures, and promises taken over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail.decide import decide
from dovetail.decide.candidates import pending_pods
from dovetail.decide.nodes import leaving_nodes
from dovetail.model.ending import InstanceEnding, KnownEnding, ReclaimedOffering
from dovetail.model.ledger import Departure, Nomination, Proposal, Refusal, Setback
from dovetail.state.changes import (
    NOTHING,
    Change,
    Disrupting,
    DisruptionEnded,
    EndingAnnounced,
    EndingsPlanned,
    InstanceLaunchEnded,
    InstanceLaunchFailed,
    Nominated,
    Observed,
    PoolRefused,
    Proposed,
    Refused,
    Touched,
    Vanished,
)
from dovetail.state.cluster import Cluster
from tests.unit.state.heard import node, observed, pod, vanished

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WINDOW = 20 * SECOND


def cluster(*changes: Change) -> Cluster:
    """A cluster to which these have happened."""
    found = Cluster()
    for one in changes:
        found.apply(one)
    return found


def test_the_last_proposals_are_the_ones_that_stand() -> None:
    """And writing them down is no reason to decide anew."""
    known = cluster(node("n"))
    first, second = (Proposal("Empty", name, NOW) for name in ("n", "m"))
    assert known.apply(Proposed((first,))) == NOTHING
    assert known.snapshot(NOW).ledger.proposals == (first,)
    assert known.apply(Proposed((second,))) == NOTHING
    assert known.snapshot(NOW).ledger.proposals == (second,)
    known.apply(Proposed(()))
    assert known.snapshot(NOW).ledger.proposals == ()


def test_a_node_that_is_being_disrupted_is_marked_until_that_ends() -> None:
    """In order of names, and with the reason for which it began."""
    known = cluster(node("n"), node("m"))
    assert known.apply(Disrupting(("n", "m"), "Empty", NOW)) == Touched.NODES
    known.apply(Disrupting(("n",), "Drifted", NOW + SECOND))
    snapshot = known.snapshot(NOW)
    assert snapshot.ledger.disrupting == (
        Departure("m", "Empty", NOW),
        Departure("n", "Empty", NOW),
    )
    assert leaving_nodes(snapshot) == {"m", "n"}
    assert known.apply(DisruptionEnded(("m",))) == Touched.NODES
    assert leaving_nodes(known.snapshot(NOW)) == {"n"}


def test_a_node_that_is_gone_takes_its_mark_along() -> None:
    """Another node of that name has nothing to do with it."""
    known = cluster(node("n"), Disrupting(("n",), "Empty", NOW), vanished("Node", "n"))
    assert known.snapshot(NOW).ledger.disrupting == ()
    known.apply(node("n"))
    assert known.snapshot(NOW).ledger.disrupting == ()


def test_a_disruption_breaks_the_promises_of_its_node() -> None:
    """Pods that were meant for it wait again."""
    known = cluster(node("n"), pod("a"))
    known.snapshot(NOW)
    known.apply(Nominated("n", ("default/a",), NOW))
    assert pending_pods(known.snapshot(NOW), NOW).pods == ()
    known.apply(Disrupting(("n",), "Empty", NOW))
    assert [one.name for one in pending_pods(known.snapshot(NOW), NOW).pods] == ["a"]
    assert known.snapshot(NOW).ledger.nominations == ()


def test_a_leader_takes_over_the_promises_that_it_finds() -> None:
    """For the usual time: until then its pods are not planned for, then they wait again, and the
    word in their status is stale.
    """
    known = cluster(node("n"), pod("a", promised="n"))
    assert known.adopt(NOW) == Touched.PENDING
    first = known.snapshot(NOW)
    assert first.ledger.nominations == (Nomination("uid-a", "n", NOW + WINDOW),)
    assert [one.node_name for one in pending_pods(first, NOW).reserved] == ["n"]
    assert known.book.stale() == ()
    late = NOW + WINDOW
    assert [one.name for one in pending_pods(known.snapshot(late), late).pods] == ["a"]
    assert known.book.stale() == (("default/a", "n"),)


def test_a_promise_of_a_node_that_is_gone_is_not_waited_for() -> None:
    """Whoever made it."""
    known = cluster(pod("a", promised="gone"))
    known.adopt(NOW)
    assert [one.name for one in pending_pods(known.snapshot(NOW), NOW).pods] == ["a"]
    assert known.book.stale() == (("default/a", "gone"),)


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(pod("b", promised="n"), id="another pod"),
        pytest.param(pod("a", promised="m", annotations={"x": "y"}), id="another node"),
    ],
)
def test_promises_that_appear_later_are_not_ours(later: Observed) -> None:
    """kube-scheduler makes room for their pods."""
    known = cluster(node("n"), node("m"), pod("a", promised="n"))
    known.adopt(NOW)
    known.apply(later)
    snapshot = known.snapshot(NOW)
    assert "" not in {one.nominated_node_name for one in snapshot.pods if one.name == _name(later)}


def test_pods_that_run_promise_nothing() -> None:
    """Nothing is taken over where there is nothing to wait for."""
    known = cluster(node("n"), pod("a", "n", promised="n"), pod("b"))
    assert known.adopt(NOW) == NOTHING
    assert known.snapshot(NOW).ledger.nominations == ()


def _name(change: Observed | Vanished) -> str:
    return change.name if isinstance(change, Vanished) else change.object.metadata.name


def test_what_could_not_be_had_is_left_alone_for_a_while() -> None:
    """By every pool, or only by the one that tried where the provider did not say what failed."""
    known = cluster(
        Refused("m", "z", "spot", NOW),
        PoolRefused("p", (("m", "z", "spot"),), NOW),
    )
    assert known.snapshot(NOW).ledger.refusals == (
        Refusal("m", "z", "spot", NOW + 180 * SECOND),
        Refusal("m", "z", "spot", NOW + 5 * SECOND, "p"),
    )
    assert len(known.snapshot(NOW + 5 * SECOND).ledger.refusals) == 1
    assert known.snapshot(NOW + 180 * SECOND).ledger.refusals == ()


def test_a_setback_is_remembered_while_it_lasts_and_its_node_is_there() -> None:
    """A node of that name that comes later has had none."""
    known = cluster(node("n"), node("m"), Disrupting(("n", "m"), "Drifted", NOW))
    known.apply(DisruptionEnded(("n", "m"), NOW))
    assert [one.node for one in known.snapshot(NOW).ledger.setbacks] == ["m", "n"]
    known.apply(vanished("Node", "m"))
    assert known.snapshot(NOW).ledger.setbacks == (Setback("n", NOW + 60 * SECOND),)
    assert known.snapshot(NOW + 60 * SECOND).ledger.setbacks == ()


def test_each_setback_of_a_node_lasts_longer_than_the_one_before() -> None:
    """Until the node is gone; one of the same name begins anew."""
    known = cluster(node("n"))
    for n_minutes in (1, 2, 4):
        known.apply(DisruptionEnded(("n",), NOW))
        (setback,) = known.snapshot(NOW).ledger.setbacks
        assert setback.until == NOW + n_minutes * 60 * SECOND
    known.apply(vanished("Node", "n"))
    assert known.snapshot(NOW).ledger.setbacks == ()
    known.apply(node("n"))
    known.snapshot(NOW)
    known.apply(DisruptionEnded(("n",), NOW))
    assert known.snapshot(NOW).ledger.setbacks == (Setback("n", NOW + 60 * SECOND),)


def test_a_pool_whose_launches_fail_again_waits_longer_each_time() -> None:
    """What fails during a pause does not prolong it; after ten quiet minutes it is forgotten."""
    known, now = cluster(), NOW
    refused = (("m", "z", "spot"),)
    for n_seconds in (5, 10, 20):
        until = now + n_seconds * SECOND
        for _ in range(2):
            known.apply(PoolRefused("p", refused, now))
            assert [one.until for one in known.snapshot(now).ledger.refusals] == [until]
        now = until
    now += 600 * SECOND
    known.apply(PoolRefused("p", refused, now))
    assert known.snapshot(now).ledger.refusals[0].until == now + 5 * SECOND


def test_failed_launches_of_a_claim_are_counted_until_it_has_an_instance() -> None:
    """By the claim's UID, so that another claim of that name begins anew."""
    known = cluster(InstanceLaunchFailed("u"), InstanceLaunchFailed("u"))
    assert (known.book.n_failed_launches("u"), known.book.n_failed_launches("v")) == (2, 0)
    known.apply(InstanceLaunchEnded("u"))
    assert known.book.n_failed_launches("u") == 0


ENDING = InstanceEnding("cloud://n", "SpotInterrupted", "taken back", at=NOW + timedelta(minutes=2))


def test_an_instance_that_ends_is_known_with_its_instant_until_its_node_is_gone() -> None:
    """Announcing it again changes nothing; its node counts as leaving."""
    known = cluster(observed("Node", "n", spec={"providerID": "cloud://n"}))
    assert known.apply(EndingAnnounced(ENDING, NOW)) == Touched.NODES | Touched.PENDING
    assert known.apply(EndingAnnounced(ENDING, NOW + SECOND)) == NOTHING
    snapshot = known.snapshot(NOW)
    assert snapshot.ledger.endings == (ENDING,)
    assert leaving_nodes(snapshot) == {"n"}
    assert known.book.ending("cloud://n") == KnownEnding(ENDING, NOW)
    known.apply(EndingsPlanned(("cloud://n", "cloud://other")))
    assert known.book.ending("cloud://n") == KnownEnding(ENDING, NOW, is_planned=True)
    known.apply(vanished("Node", "n"))
    snapshot = known.snapshot(NOW + SECOND)
    assert snapshot.ledger.endings == ()
    assert known.book.ending("cloud://n") is None


def test_an_ending_may_be_announced_before_its_instance_is_known() -> None:
    """It is kept for a while, and then forgotten: it was some other cluster's."""
    known = cluster(EndingAnnounced(ENDING, NOW))
    assert known.snapshot(NOW + timedelta(minutes=14)).ledger.endings == (ENDING,)
    assert known.snapshot(NOW + timedelta(minutes=15)).ledger.endings == ()


def test_a_later_word_on_an_ending_takes_the_place_of_the_earlier() -> None:
    """And an instance without an id is none."""
    known = cluster(EndingAnnounced(ENDING, NOW))
    sooner = msgspec.structs.replace(ENDING, at=NOW)
    assert known.apply(EndingAnnounced(sooner, NOW)) == Touched.NODES
    nobody = msgspec.structs.replace(ENDING, provider_id="")
    assert known.apply(EndingAnnounced(nobody, NOW)) == NOTHING
    assert known.snapshot(NOW).ledger.endings == (sooner,)


FAR = InstanceEnding("cloud://n", "Retired", "its host is broken", at=NOW + timedelta(days=1))


def test_an_end_that_is_far_away_is_known_and_its_node_stays() -> None:
    """Until fifteen minutes before; a decision is made then, and pods that were sent there wait."""
    known = cluster(observed("Node", "n", spec={"providerID": "cloud://n"}), pod("a"))
    assert known.apply(EndingAnnounced(FAR, NOW)) == Touched.NODES
    assert FAR.at is not None
    due_at = FAR.at - timedelta(minutes=15)
    before = known.snapshot(due_at - SECOND)
    assert (before.ledger.endings, before.ledger.later_endings) == ((), (FAR,))
    assert leaving_nodes(before) == frozenset()
    assert decide(before, due_at - SECOND).wake_at == due_at
    known.apply(Nominated("n", ("default/a",), due_at - SECOND))
    assert [one.node for one in known.snapshot(due_at - SECOND).ledger.nominations] == ["n"]
    after = known.snapshot(due_at)
    assert (after.ledger.endings, after.ledger.later_endings) == ((FAR,), ())
    assert leaving_nodes(after) == {"n"}
    assert after.ledger.nominations == ()


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        pytest.param(ENDING, FAR, ENDING, id="a later matter does not put off a sooner one"),
        pytest.param(FAR, ENDING, ENDING, id="a sooner matter takes its place"),
        pytest.param(
            FAR,
            msgspec.structs.replace(FAR, at=NOW + timedelta(days=2)),
            msgspec.structs.replace(FAR, at=NOW + timedelta(days=2)),
            id="the same matter was put off",
        ),
        pytest.param(
            ENDING,
            InstanceEnding("cloud://n", "Impaired", "it does not answer", is_forced=True),
            InstanceEnding("cloud://n", "Impaired", "it does not answer", is_forced=True),
            id="a machine that does not answer is waited for no longer",
        ),
        pytest.param(
            InstanceEnding("cloud://n", "Stopping", "it stops"),
            ENDING,
            InstanceEnding("cloud://n", "Stopping", "it stops"),
            id="a warning that comes after the end changes nothing",
        ),
    ],
)
def test_of_two_endings_the_one_that_comes_first_stands(
    first: InstanceEnding, second: InstanceEnding, want: InstanceEnding
) -> None:
    """In whatever order they are announced, and however often."""
    known = cluster(EndingAnnounced(first, NOW), EndingAnnounced(second, NOW))
    held = known.book.ending("cloud://n")
    assert held is not None
    assert held.ending == want


def test_an_offering_that_the_cloud_takes_back_is_not_launched_for_a_while() -> None:
    """The decision that replaces the node knows of it already."""
    offering = ReclaimedOffering("m", "z", "spot")
    reclaimed = msgspec.structs.replace(ENDING, reclaimed=offering)
    known = cluster(EndingAnnounced(reclaimed, NOW))
    assert known.snapshot(NOW).ledger.refusals == (Refusal("m", "z", "spot", NOW + 180 * SECOND),)
