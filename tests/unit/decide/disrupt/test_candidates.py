from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dovetail import labels
from dovetail.decide.disrupt.blockers import SENTENCES
from dovetail.decide.disrupt.candidates import disruption_verdict, scene_of
from dovetail.model.ledger import Departure, Ledger, Nomination
from dovetail.model.node import Node
from dovetail.model.plan import Nominate, Plan
from dovetail.model.pod import Pod
from dovetail.model.snapshot import DisruptionBudget, Snapshot
from dovetail.model.topology import equality
from dovetail.model.verdict import Blocker
from dovetail.testing import node, node_pool, pod, snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PLAIN = node("n1", pool="default")
NONE_ALLOWED = DisruptionBudget("b", "default", equality({"app": "web"}))


def verdict(
    subject: Node = PLAIN,
    *pods: Pod,
    plan: Plan = Plan(),  # noqa: B008  frozen
    **fields: object,
) -> Blocker | None:
    """What keeps a node in a cluster with these pods and some fields changed."""
    plain = snapshot(pods, nodes=[subject], node_pools=[node_pool()])
    cluster: Snapshot = msgspec.structs.replace(plain, **fields)
    got = disruption_verdict(subject, scene_of(cluster, plan, NOW))
    return None if got is None else got.reason


def changed(**fields: object) -> Node:
    """The plain node with some fields changed."""
    return msgspec.structs.replace(PLAIN, **fields)


def web(**words: object) -> Pod:
    """A pod on the node."""
    return pod("web", node="n1", **words)


def wish(text: str, **words: object) -> Pod:
    """A pod on the node that wants to be left alone."""
    return web(annotations={labels.DO_NOT_DISRUPT: text}, **words)


@pytest.mark.parametrize(
    ("subject", "want"),
    [
        pytest.param(PLAIN, None, id="nothing"),
        pytest.param(changed(node_claim=""), Blocker.NO_NODE_CLAIM, id="it is not ours"),
        pytest.param(changed(is_initialized=False), Blocker.NOT_INITIALIZED, id="it starts"),
        pytest.param(changed(deleting_at=NOW), Blocker.LEAVING, id="it leaves"),
        pytest.param(
            changed(annotations={labels.DO_NOT_DISRUPT: "true"}),
            Blocker.NODE_PROTECTED,
            id="it says no",
        ),
        pytest.param(
            changed(annotations={labels.DO_NOT_DISRUPT: "1h"}), None, id="only true means no"
        ),
        pytest.param(changed(node_pool=""), Blocker.NO_NODE_POOL, id="it has no pool"),
        pytest.param(changed(node_pool="other"), Blocker.NO_NODE_POOL, id="its pool is gone"),
    ],
)
def test_what_a_node_says_itself_may_keep_it(subject: Node, want: Blocker | None) -> None:
    """Each in its turn."""
    assert verdict(subject) == want


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([web()], None, id="a plain pod"),
        pytest.param([wish("true")], Blocker.POD_PROTECTED, id="for ever"),
        pytest.param([wish("true", owner="DaemonSet/d")], Blocker.POD_PROTECTED, id="a daemon pod"),
        pytest.param([wish("true", owner="Node/n1")], Blocker.POD_PROTECTED, id="a static pod"),
        pytest.param([wish("true", phase="Failed")], None, id="it has ended"),
        pytest.param([wish("true", deleting_at=NOW.isoformat())], None, id="it is leaving"),
        pytest.param([wish("1h")], Blocker.POD_PROTECTED, id="it has yet to start"),
        pytest.param([wish("soon")], None, id="no duration"),
    ],
)
def test_a_pod_that_wants_to_be_left_alone_keeps_its_node(
    pods: list[Pod], want: Blocker | None
) -> None:
    """As long as it is active."""
    assert verdict(PLAIN, *pods) == want


def test_protection_for_a_time_ends_by_itself() -> None:
    """And says when."""
    begun = (NOW - 30 * MINUTE).isoformat()
    assert verdict(PLAIN, wish("30m", started_at=begun)) is None
    cluster = snapshot([wish("31m", started_at=begun)], nodes=[PLAIN])
    got = disruption_verdict(PLAIN, scene_of(cluster, Plan(), NOW))
    assert got is not None
    assert got.until == NOW + MINUTE


@pytest.mark.parametrize(
    ("there", "budget", "want"),
    [
        pytest.param(web(), {}, Blocker.POD_DISRUPTION_BUDGET, id="nothing is allowed"),
        pytest.param(web(), {"disruptions_allowed": 1}, None, id="one may go"),
        pytest.param(web(), {"namespace": "other"}, None, id="another namespace"),
        pytest.param(web(labels={}), {}, None, id="other pods"),
        pytest.param(web(owner="Node/n1"), {}, None, id="a static pod is never evicted"),
        pytest.param(web(phase="Succeeded"), {}, None, id="it has ended"),
        pytest.param(
            web(tolerations=[f"{labels.DISRUPTED_TAINT}:NoSchedule"]), {}, None, id="it stays"
        ),
        pytest.param(
            web(is_ready=False), {}, Blocker.POD_DISRUPTION_BUDGET, id="unhealthy, and it counts"
        ),
        pytest.param(
            web(is_ready=False), {"always_allows_unhealthy": True}, None, id="unhealthy, it may go"
        ),
        pytest.param(
            web(), {"always_allows_unhealthy": True}, Blocker.POD_DISRUPTION_BUDGET, id="healthy"
        ),
    ],
)
def test_a_disruption_budget_keeps_the_nodes_of_its_pods(
    there: Pod, budget: dict[str, object], want: Blocker | None
) -> None:
    """While it allows nothing."""
    held = msgspec.structs.replace(NONE_ALLOWED, **budget)
    assert verdict(PLAIN, there, disruption_budgets=(held,)) == want


def test_several_disruption_budgets_for_one_pod_keep_its_node_whatever_they_allow() -> None:
    """The eviction API refuses."""
    one = msgspec.structs.replace(NONE_ALLOWED, disruptions_allowed=9)
    two = msgspec.structs.replace(one, name="c")
    assert (
        verdict(PLAIN, web(), disruption_budgets=(one, two))
        is Blocker.SEVERAL_POD_DISRUPTION_BUDGETS
    )


@pytest.mark.parametrize("name", ["n1", "claim-1"])
def test_a_node_that_pods_are_meant_for_stays(name: str) -> None:
    """Whoever means it, under the node's name or its claim's; not for longer than is believed."""
    subject = changed(node_claim="claim-1")
    believed = Ledger(nominations=(Nomination("u", name, NOW + MINUTE),))
    past = Ledger(nominations=(Nomination("u", name, NOW),))
    assert verdict(subject, ledger=believed) is Blocker.NOMINATED
    assert verdict(subject, ledger=past) is None
    assert verdict(subject, pod("p", nominated_node=name)) is Blocker.NOMINATED
    assert verdict(subject, plan=Plan(nominations=(Nominate(name, ("a/b",)),))) is Blocker.NOMINATED


def test_a_node_is_not_disrupted_twice() -> None:
    """What has begun is told with its reason."""
    ledger = Ledger(disrupting=(Departure("n1", "Drifted", NOW),))
    cluster = msgspec.structs.replace(snapshot(nodes=[PLAIN]), ledger=ledger)
    got = disruption_verdict(PLAIN, scene_of(cluster, Plan(), NOW))
    assert got is not None
    assert (got.reason, got.until) == (Blocker.DISRUPTING, None)
    assert "Drifted" in got.message


def test_every_blocker_has_its_sentence() -> None:
    """Whoever adds one says it in words."""
    assert set(SENTENCES) == set(Blocker)
