"""What is said of an object that recorded decisions have seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dovetail.errors import InputError
from dovetail.model.ledger import Departure, Ledger
from dovetail.model.plan import Disrupt, Launch, Nominate, Plan
from dovetail.model.snapshot import Snapshot
from dovetail.observe.journal.reader import RecentDecisions
from dovetail.present.explanation import Explanation
from dovetail.present.history.past import explain
from dovetail.present.lookup import subject
from dovetail.testing import node, node_pool, pod, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
N1 = node("n1", pool="default", type="small", created_at=START)
N2 = node("n2", pool="default", type="small", created_at=START)
WEB = pod("web", node="n1", owner="ReplicaSet/web-1")
EMPTY = Disrupt("Empty", ("n1",), saving_nanousd=100_000_000)


def recorded(*seen: tuple[Snapshot, Plan]) -> RecentDecisions:
    """Decisions a minute apart."""
    held = RecentDecisions()
    for place, (cluster, plan) in enumerate(seen):
        held.add(cluster, plan, START + place * MINUTE, 0.1)
    return held


def asked(what: str, held: RecentDecisions, until: datetime | None = None) -> Explanation:
    """The answer."""
    return explain(subject(what), held, until, lambda _: None)


def story(told: Explanation) -> list[str]:
    """What happened, in words."""
    history: Any = told.data["history"]
    return [one["what"] for one in history]


def with_ledger(cluster: Snapshot, **held: Any) -> Snapshot:
    """The same cluster, with this in its memory."""
    return msgspec.structs.replace(cluster, ledger=Ledger(**held))


def test_a_disruption_that_was_called_off_is_told_and_not_held_against_the_node() -> None:
    """It stays, and may be asked about as any other."""
    plain = snapshot(nodes=[N1, N2])
    leaving = with_ledger(plain, disrupting=(Departure("n1", "Empty", START),))
    told = asked(
        "node/n1", recorded((plain, Plan(disruptions=(EMPTY,))), (leaving, Plan()), (plain, Plan()))
    )
    assert story(told)[-2:] == [
        "being removed for reason Empty",
        "no longer being removed",
    ]
    assert told.verdict.startswith("It stays.")
    assert told.data["removed"] is None


def test_a_node_that_vanished_is_nobodys_doing() -> None:
    """And it is said that no decision took it away."""
    told = asked("node/n1", recorded((snapshot(nodes=[N1, N2]), Plan()), (snapshot(), Plan())))
    assert "No decision of this journal removed it" in told.verdict
    assert told.data["isGone"]


def test_a_node_that_somebody_deleted_is_told_apart() -> None:
    """No plan, no note in the ledger, and not old either."""
    going = msgspec.structs.replace(N1, deleting_at=START + MINUTE)
    told = asked("nodeclaim/n1", recorded((snapshot(nodes=[going]), Plan()), (snapshot(), Plan())))
    assert "but not by a decision of this journal" in told.verdict


def test_a_claim_that_became_no_node_is_known_by_its_launch() -> None:
    """Also in decisions that came later."""
    launch = Launch("c1", "default", "small", "a", "on-demand", 10**8, ("small",), {}, ("a/b",))
    told = asked("nodeclaim/c1", recorded((snapshot(), Plan(launches=(launch,)))))
    assert told.verdict == "It was created, and no node has registered yet."
    assert story(told) == [
        "created for 1 pod: small on-demand a of NodePool default for $0.1000 an hour"
    ]


def test_a_node_is_known_by_its_claims_name_from_before_it_came() -> None:
    """Whichever of its names is asked for."""
    launch = Launch("c1", "default", "small", "a", "on-demand", 10**8, ("small",), {}, ("a/b",))
    ordered = msgspec.structs.replace(N1, name="c1", node_claim="c1", is_registered=False)
    joined = msgspec.structs.replace(N1, name="ip-7", node_claim="c1")
    held = recorded(
        (snapshot(), Plan(launches=(launch,))),
        (snapshot(nodes=[ordered]), Plan()),
        (snapshot(nodes=[joined]), Plan()),
    )
    for what in ("node/ip-7", "nodeclaim/c1", "node/c1"):
        told = asked(what, held)
        assert told.data["created"]
        assert story(told)[1:] == ["launched, not registered yet", "ready"]


def test_a_pod_that_was_moved_says_by_whom_and_where_to() -> None:
    """Its successor has another name, so it is gone."""
    plain = snapshot((WEB,), nodes=[N1, N2])
    going = Disrupt("Underutilized", ("n1",), pods=(WEB.key,), places=(Nominate("n2", (WEB.key,)),))
    told = asked(
        "pod/web", recorded((plain, Plan(disruptions=(going,))), (snapshot(nodes=[N2]), Plan()))
    )
    assert "Its node n1 was removed for reason Underutilized, by decision 1" in told.verdict
    assert story(told) == [
        "first seen, on node n1",
        "node n1 is chosen for removal, for reason Underutilized: it moves to n2",
        "gone",
    ]


def test_a_pod_whose_node_left_without_a_plan_says_why() -> None:
    """As for an expired node."""
    plain = snapshot((WEB,), nodes=[N1])
    leaving = with_ledger(plain, disrupting=(Departure("n1", "Expired", START),))
    told = asked("pod/web", recorded((leaving, Plan()), (snapshot(), Plan())))
    assert "Its node n1 was being removed, for reason Expired." in told.verdict


def test_a_pod_that_was_told_to_end_and_one_that_ended() -> None:
    """Each in its own words, once."""
    leaving = msgspec.structs.replace(WEB, deleting_at=START)
    done = msgspec.structs.replace(WEB, phase="Succeeded")
    for last, word in ((leaving, "terminating"), (done, "ended: Succeeded")):
        cluster = snapshot((last,), nodes=[N1])
        told = asked("pod/web", recorded((cluster, Plan()), (cluster, Plan())))
        assert story(told) == ["first seen, on node n1", word]


def test_a_pool_tells_of_its_changes_and_of_nodes_that_went_by_themselves() -> None:
    """And of its end."""
    before = snapshot(nodes=[N1])
    after = snapshot(node_pools=[node_pool(weight=5, limits={"cpu": 4})])
    gone = snapshot(node_pools=[])
    told = asked("nodepool/default", recorded((before, Plan()), (after, Plan()), (gone, Plan())))
    assert story(told) == [
        "first seen",
        "changed: weight, limits",
        "n1 disappeared without a decision",
        "gone",
    ]
    assert told.data["lost"] == {"no decision": 1}
    assert told.verdict == "It has been gone since decision 3 of 2026-01-01T00:02:00Z."


def test_one_may_ask_as_of_an_earlier_moment() -> None:
    """What came later is not known then."""
    held = recorded((snapshot(nodes=[N1, N2]), Plan()), (snapshot(nodes=[N2]), Plan()))
    assert not asked("node/n1", held, START + timedelta(seconds=59)).data["isGone"]
    assert asked("node/n1", held, START + MINUTE).data["isGone"]


@pytest.mark.parametrize(
    ("what", "until", "said"),
    [
        pytest.param("node/n11", None, "did you mean n1", id="nearly right"),
        pytest.param("pod/nobody", None, "nor any before it", id="nobody at all"),
        pytest.param("pod/web", None, "say pod/default/web or pod/shop/web", id="two of a name"),
        pytest.param("pod/web", START - MINUTE, "no decision up to 2025-12-31", id="too early"),
    ],
)
def test_what_the_journal_does_not_know_is_one_clear_message(
    what: str, until: datetime | None, said: str
) -> None:
    """With what might have been meant."""
    shop = msgspec.structs.replace(WEB, namespace="shop")
    held = recorded((snapshot((WEB, shop), nodes=[N1]), Plan()))
    with pytest.raises(InputError, match=said):
        asked(what, held, until)
