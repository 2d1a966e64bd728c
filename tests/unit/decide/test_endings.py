"""When something is done about an instance that will be gone, and for which pods first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dovetail.decide import decide
from dovetail.decide.endings import drained_at, is_due, precedes, replaced_at, with_due_endings
from dovetail.model.ending import InstanceEnding, KnownEnding
from dovetail.model.ledger import Ledger
from dovetail.model.snapshot import Snapshot
from dovetail.testing.scenario import parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)

_spans = st.integers(-3_600, 86_400).map(lambda n: n * SECOND)
_endings = st.builds(
    InstanceEnding,
    provider_id=st.just("cloud://n"),
    reason=st.sampled_from(["A", "B"]),
    message=st.just(""),
    at=st.none() | _spans.map(lambda span: NOW + span),
    is_forced=st.booleans(),
    drains_for=st.integers(0, 7_200).map(lambda n: n * SECOND),
)


def _planned(ending: InstanceEnding) -> KnownEnding:
    return KnownEnding(ending, NOW, is_planned=True)


@given(_endings.flatmap(lambda one: st.sampled_from([_planned(one), KnownEnding(one, NOW)])))
def test_a_node_is_replaced_before_it_is_drained_and_drained_before_it_goes(
    known: KnownEnding,
) -> None:
    """As far as there is time: nothing begins before it is announced."""
    ending, begins_at = known.ending, drained_at(known)
    due_at = replaced_at(ending)
    assert begins_at >= NOW
    assert due_at is None or due_at <= begins_at or ending.is_forced
    if ending.at is not None and ending.at >= NOW:
        assert begins_at <= ending.at
    assert is_due(ending, begins_at) or ending.is_forced


@given(_endings)
def test_a_plan_never_puts_off_a_drain(ending: InstanceEnding) -> None:
    """It may only begin sooner for it."""
    planned, waiting = (drained_at(KnownEnding(ending, NOW, one)) for one in (True, False))
    assert planned <= waiting <= planned + 15 * SECOND


@given(_endings, _endings)
def test_of_two_matters_one_stands(first: InstanceEnding, second: InstanceEnding) -> None:
    """However they are announced, the sooner one is acted upon."""
    if first.reason == second.reason or first.is_forced or second.is_forced:
        return
    stands = first if precedes(first, second) else second
    moments = [replaced_at(one) for one in (first, second)]
    sooner = None if None in moments else min(one for one in moments if one is not None)
    assert replaced_at(stands) == sooner


@given(_endings)
def test_what_is_far_away_wakes_the_next_decision_when_it_is_near(ending: InstanceEnding) -> None:
    """And nothing is lost on the way."""
    snapshot = Snapshot(ledger=Ledger(later_endings=(ending,)))
    due = with_due_endings(snapshot, NOW)
    assert (*due.ledger.endings, *due.ledger.later_endings) == (ending,)
    assert bool(due.ledger.endings) == is_due(ending, NOW)
    assert decide(snapshot, NOW).wake_at == (None if due.ledger.endings else replaced_at(ending))
    assert with_due_endings(due, NOW) is due


def test_pods_of_many_nodes_that_go_come_before_as_many_that_wait() -> None:
    """As many as the limit of the pool allows; where all have a place nothing changes."""
    nodes = [
        {
            "name": f"n{number}",
            "pool": "default",
            "type": "small",
            "pods": [{"name": f"moves-{number}", "cpu": 2}],
        }
        for number in range(4)
    ]
    cluster = {
        "nodes": nodes,
        "pods": [{"name": "waits", "replicas": 4, "cpu": 2}],
        "endings": [{"node": f"n{number}"} for number in range(4)],
    }
    limited = {"pools": {"default": {"limits": {"cpu": 8}}}}
    written = {"because": "-", "want": {"nodes": 1}}
    scarce = parse({"given": {**cluster, **limited}, **written}, "scarce")
    plan = decide(scarce.snapshot, scarce.now)
    placed = sorted(pod for launch in plan.launches for pod in launch.pods)
    assert placed == [f"default/moves-{number}" for number in range(4)]
    plenty = parse({"given": cluster, **written}, "plenty")
    calm = msgspec.structs.replace(plenty.snapshot, ledger=Ledger())
    marked = decide(plenty.snapshot, plenty.now)
    assert sum(len(launch.pods) for launch in marked.launches) == 8
    assert sum(len(launch.pods) for launch in decide(calm, plenty.now).launches) == 4
