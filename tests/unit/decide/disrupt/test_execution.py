"""Nodes whose replacements are on their way: go on waiting, go, or stay after all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.disrupt.execution import (
    Futile,
    Unready,
    is_passing,
    outlook,
    patience,
    removal_objections,
    second_look,
)
from dovetail.model.claim import ClaimObject
from dovetail.model.ledger import Departure, Ledger, Setback
from dovetail.model.node import Condition, Node
from dovetail.model.pod import Pod
from dovetail.model.pool import Budget, Disruption
from dovetail.model.snapshot import DisruptionBudget
from dovetail.model.topology import equality
from dovetail.model.verdict import Blocker
from dovetail.testing import node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WEB = pod("web", node="a")
PROTECTED = pod("web", node="a", annotations={labels.DO_NOT_DISRUPT: "true"})
NONE_ALLOWED = DisruptionBudget("b", "default", equality({"app": "web"}))


def claim(name: str, *true: str, deleting: bool = False) -> ClaimObject:
    """A replacement of which these conditions are true."""
    said = tuple(Condition(one, "True", one) for one in true)
    return ClaimObject(name, uid=name, conditions=said, deleting_at=NOW if deleting else None)


READY = claim("ready", "Launched", "Registered", "Initialized")
STARTING = claim("starting", "Launched")
NEW = claim("new")


@pytest.mark.parametrize(
    ("n_candidates", "want"),
    [
        pytest.param(1, 10 * MINUTE, id="ten minutes for a few"),
        pytest.param(10_000, 80 * timedelta(seconds=10), id="80 ms for each of many"),
        pytest.param(10**6, 60 * MINUTE, id="never more than an hour"),
    ],
)
def test_patience_grows_with_what_is_under_way(n_candidates: int, want: timedelta) -> None:
    """At least ten minutes, at most an hour."""
    assert patience(n_candidates) == want


@pytest.mark.parametrize(
    ("claims", "is_late", "want"),
    [
        pytest.param([READY], False, None, id="all have started"),
        pytest.param([READY], True, None, id="in the nick of time"),
        pytest.param(
            [READY, STARTING, NEW], False, Unready(("new",), ("starting",)), id="some have not"
        ),
        pytest.param(
            [STARTING],
            True,
            Futile("replacement starting did not start in time", is_late=True),
            id="too late",
        ),
        pytest.param(
            [claim("gone", deleting=True)],
            False,
            Futile("replacement gone does not exist any more"),
            id="going",
        ),
    ],
)
def test_replacements_are_waited_for_until_they_started_or_cannot(
    claims: list[ClaimObject], *, is_late: bool, want: Unready | Futile | None
) -> None:
    """Those to be launched are told from those launched."""
    assert outlook({one.name: one for one in claims}, NOW, is_late=is_late) == want


def test_a_replacement_that_is_not_there_will_not_come() -> None:
    """Whoever took it away."""
    assert outlook({"new": None}, NOW, is_late=False) == Futile(
        "replacement new does not exist any more"
    )


def objections(
    *pods: Pod, subject: Node | None = None, reason: str = "Drifted", **fields: object
) -> list[Blocker]:
    """What keeps node a of a cluster in which it is being disrupted, with some fields changed."""
    going = subject or node("a", pool="default")
    plain = snapshot(pods, nodes=[going], node_pools=[node_pool()])
    ledger = Ledger(disrupting=(Departure("a", reason, NOW),))
    changed: dict[str, object] = {"ledger": ledger, **fields}
    cluster = msgspec.structs.replace(plain, **changed)
    return [one.reason for one in second_look(cluster, ("a",), reason, NOW)]


def test_its_own_mark_does_not_keep_a_node() -> None:
    """Or nothing would ever go."""
    assert objections(WEB) == []
    assert objections() == []


def test_who_is_protected_meanwhile_stays() -> None:
    """Unless draining ends in any case."""
    assert objections(PROTECTED) == [Blocker.POD_PROTECTED]
    bounded = msgspec.structs.replace(
        node("a", pool="default"), termination_grace_period=10 * MINUTE
    )
    assert objections(PROTECTED, subject=bounded) == []
    assert objections(PROTECTED, subject=bounded, reason="Underutilized") == [Blocker.POD_PROTECTED]


def test_a_budget_of_pods_may_pass() -> None:
    """What a node or a pod says itself does not."""
    web = pod("web", node="a", labels={"app": "web"})
    cluster = snapshot([web], nodes=[node("a", pool="default")], node_pools=[node_pool()])
    cluster = msgspec.structs.replace(cluster, disruption_budgets=(NONE_ALLOWED,))
    (found,) = second_look(cluster, ("a",), "Drifted", NOW)
    assert is_passing(found)
    (kept,) = second_look(
        msgspec.structs.replace(cluster, pods=(PROTECTED,)), ("a",), "Drifted", NOW
    )
    assert not is_passing(kept)


@pytest.mark.parametrize(
    ("budget", "want"), [("3", []), ("1", ["b", "c"]), ("0", ["b", "a", "c"])], ids=str
)
def test_nodes_without_replacements_stay_as_far_as_budgets_shrank(
    budget: str, want: list[str]
) -> None:
    """Of those that are about to go, the first may, as many as the pool still allows; a node with
    another objection does not take its share.
    """
    names = ("b", "a", "c", "d")
    nodes = [node(name, pool="default") for name in names]
    pool = msgspec.structs.replace(node_pool(), disruption=Disruption(budgets=(Budget(budget),)))
    protected = pod("protected", node="b", annotations={labels.DO_NOT_DISRUPT: "true"})
    departures = tuple(Departure(name, "Empty", NOW) for name in names[:3])
    cluster = msgspec.structs.replace(
        snapshot([protected], nodes=nodes, node_pools=[pool]), ledger=Ledger(disrupting=departures)
    )
    assert [one.node for one in removal_objections(cluster, names[:3], "Empty", NOW)] == (
        want or ["b"]
    )


def test_a_pool_that_lets_nobody_go_any_more_is_heard() -> None:
    """A budget of some is not: the node has its share of it already."""

    def pools(nodes: str) -> tuple[object, ...]:
        plain = node_pool()
        budgets = Disruption(budgets=(Budget(nodes),))
        return (msgspec.structs.replace(plain, disruption=budgets),)

    assert objections(WEB, node_pools=pools("0")) == [Blocker.NODE_POOL_BUDGET]
    assert objections(WEB, node_pools=pools("1")) == []


def test_a_setback_keeps_a_node_until_it_has_passed() -> None:
    """Then it is tried again."""
    for until, want in ((NOW + MINUTE, [Blocker.SETBACK]), (NOW, [])):
        assert objections(WEB, ledger=Ledger(setbacks=(Setback("a", until),))) == want
