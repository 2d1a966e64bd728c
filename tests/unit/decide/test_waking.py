from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from dovetail import labels
from dovetail.decide import decide
from dovetail.decide.candidates import runs_out_at
from dovetail.model.ledger import Ledger, Nomination, Refusal
from dovetail.testing import node, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_whatever_is_believed_for_a_time_is_looked_at_again_when_it_runs_out() -> None:
    """The first promise or refusal that is still believed says when."""
    promises = tuple(Nomination("u", "n", NOW + n * SECOND) for n in (-1, 0, 9))
    refusals = tuple(Refusal("t", "z", "spot", NOW + n * SECOND) for n in (-2, 7))
    assert runs_out_at(snapshot(), NOW) is None
    for ledger, want in [
        (Ledger(nominations=promises), 9),
        (Ledger(refusals=refusals), 7),
        (Ledger(nominations=promises, refusals=refusals), 7),
    ]:
        told = msgspec.structs.replace(snapshot(), ledger=ledger)
        assert runs_out_at(told, NOW) == NOW + want * SECOND
        assert decide(told, NOW).wake_at == NOW + want * SECOND


def test_a_pod_that_protects_itself_on_a_leaving_node_is_planned_for_later() -> None:
    """When its protection ends it wants another node."""
    wish = {labels.DO_NOT_DISRUPT: "10s"}
    there = pod("web", node="old", annotations=wish, started_at=NOW.isoformat())
    cluster = snapshot([there], nodes=[node("old", deleting_at=NOW)])
    plan = decide(cluster, NOW)
    assert (plan.launches, plan.wake_at) == ((), NOW + 10 * SECOND)
    assert len(decide(cluster, NOW + 10 * SECOND).launches) == 1
